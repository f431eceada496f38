"""What a case has, under one name each: sites, their attributes, and conditions over them. See docs/features.md.

A *site* is a thing of a case: an instruction, what it refers to (a value, memory, a function, a layout), a block, an
expression of a callback, a conversion, or the case itself. A site has *attributes*: numbers, words, truths, and other
sites. An attribute may have several values at once: those of a list, and those that an operand has in each workgroup.
"""

from cts.features.attributes import Attribute
from cts.features.instructions import KINDS, attributes_of
from cts.features.language import Condition, parse
from cts.features.sites import Site, view

__all__ = ["KINDS", "Attribute", "Condition", "Site", "attributes_of", "parse", "view"]
