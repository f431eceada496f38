"""The templates that exports fill in.

Between `//%` and `%//` stands a statement of the template language (Jinja), in `$(...)` an expression without
parentheses: what is left is C, or Markdown, that an editor can show.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment


def render(template: str, /, **values: Any) -> str:
    """The template of that file name, with these values. A value that is missing is an error."""
    return _environment().get_template(template).render(values)


@lru_cache(maxsize=1)
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("cts.showing.export", "templates"),
        variable_start_string="$(",
        variable_end_string=")",
        block_start_string="//%",
        block_end_string="%//",
        comment_start_string="//##",
        comment_end_string="##//",
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701 - what is written is no HTML
        keep_trailing_newline=True,
    )
