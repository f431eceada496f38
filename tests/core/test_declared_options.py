"""Options of drivers: what is declared is what is parsed, refused, completed, listed and documented."""

from __future__ import annotations

import os
import re
from enum import Enum
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import pytest

from cts.base.errors import BadInput
from cts.device.driver_options import Option, among, number, options_of, parse, says, seconds
from cts.drivers import amd, emulator, intel, interpreter, vulkan
from cts.drivers.interpreter.options import Options as InterpreterOptions
from cts.drivers.vulkan.options import Options as VulkanOptions
from cts.faces.cli.completion import drivers as completed
from cts.modules.validation import tools
from cts.plugins import own_process

PAGE = Path(__file__).parents[2] / "docs" / "driver-options.md"

DECLARED: dict[str, type[msgspec.Struct]] = {
    "emulator": emulator.create.option_struct,
    "interpreter": interpreter.create.option_struct,
    "vulkan": vulkan.create.option_struct,
    "amd": amd.create.option_struct,
    "intel": intel.create.option_struct,
    "spirv-val": tools.Options,
    "process": own_process.Options,
}


class Colour(Enum):
    RED = "red"
    GREEN = "green"


class Sample(msgspec.Struct, frozen=True):
    count: Annotated[int, number("how many", least=1, most=5)] = 3
    more: Annotated[int, number("how many more", least=0)] | None = None
    way: Annotated[Literal["up", "down"], says("where to")] = "up"
    watch: Annotated[frozenset[Literal["cats", "dogs"]], says("what to look for")] = frozenset()
    colour: Annotated[Colour, says("the colour")] = Colour.RED
    folder: Annotated[Path, says("where")] = Path("here")
    loud: Annotated[bool, says("with noise")] = False
    limit: Annotated[float, seconds("at most")] = 2.5
    name: Annotated[str, says("which", bare=True)] = ""
    size: Annotated[int, among("the size", {"8": "small", "16": "large"})] = 8

    def __post_init__(self) -> None:
        if self.loud and self.way == "down":
            raise BadInput("driver-option", "nobody hears it", remedy="way=up")


def test_every_kind_of_value_is_read() -> None:
    given = {"count": "5", "more": "0", "way": "down", "watch": "cats+dogs", "colour": "green", "folder": "/x"}
    assert parse(Sample, {**given, "limit": "0.5", "": "it", "size": "16"}, "d") == Sample(
        5, 0, "down", frozenset({"cats", "dogs"}), Colour.GREEN, Path("/x"), limit=0.5, name="it", size=16
    )
    assert [parse(Sample, {"loud": text}, "d").loud for text in ("yes", "1", "true", "no", "0", "false")] == [
        *[True] * 3,
        *[False] * 3,
    ]


@pytest.mark.parametrize(
    ("given", "what", "where", "remedy"),
    [
        ({"count": "6"}, "count cannot be '6'", "d:count=6", "count=N from 1 to 5"),
        ({"count": "\u0663"}, "count cannot be '\u0663'", "d:count=\u0663", "count=N from 1 to 5"),
        ({"count": "9" * 5000}, f"count cannot be '{'9' * 5000}'", f"d:count={'9' * 5000}", "count=N from 1 to 5"),
        ({"more": "-1"}, "more cannot be '-1'", "d:more=-1", "more=N from 0"),
        ({"way": "dwn"}, "way cannot be 'dwn'", "d:way=dwn", "did you mean 'down'?"),
        ({"watch": "cats+cows"}, "watch cannot be 'cats+cows'", "d:watch=cats+cows", "did you mean 'cats'?"),
        ({"colour": "blue"}, "colour cannot be 'blue'", "d:colour=blue", "one of: red, green"),
        ({"loud": "perhaps"}, "loud cannot be 'perhaps'", "d:loud=perhaps", "one of: yes, no"),
        ({"limit": "inf"}, "limit cannot be 'inf'", "d:limit=inf", "limit=SECONDS above 0"),
        ({"size": "9"}, "size cannot be '9'", "d:size=9", "one of: 8, 16"),
        ({"cuont": "1"}, "d has no option 'cuont'", "d:cuont=1", "did you mean 'count'?"),
        ({"name": "x", "": "y"}, "name is given twice", "d:y", "give each option once"),
        ({"loud": "yes", "way": "down"}, "nobody hears it", "d:loud=yes,way=down", "way=up"),
    ],
)
def test_what_is_wrong_is_said_in_one_form(given: dict[str, str], what: str, where: str, remedy: str) -> None:
    with pytest.raises(BadInput) as raised:
        parse(Sample, given, "d")
    assert (raised.value.code, raised.value.what, raised.value.where) == ("driver-option", what, where)
    assert raised.value.remedy == remedy


def test_a_value_that_stands_alone_is_told_whose_it_is() -> None:
    with pytest.raises(BadInput) as raised:
        parse(emulator.create.option_struct, {"": "reversed"}, "emulator")
    assert raised.value.remedy == "did you mean 'order=reversed'?"


@pytest.mark.parametrize("name", DECLARED)
def test_a_default_is_what_an_absent_option_means(name: str) -> None:
    kind = DECLARED[name]
    said = {o.name: o.read(o.default) for o in options_of(kind) if o.default in o.values}
    assert said == {option: getattr(kind(), option) for option in said}


def test_options_that_do_not_go_together_are_refused() -> None:
    for given in ("stage=fragment,subgroup_size=6", "stage=miss,check=races", "mutant=inputs-packed"):
        options = dict(item.split("=") for item in given.split(","))
        with pytest.raises(BadInput) as raised:
            parse(InterpreterOptions, options, "interpreter")
        assert raised.value.where == f"interpreter:{given}"


def test_what_one_option_means_may_depend_on_another() -> None:
    assert VulkanOptions().all_features
    assert not VulkanOptions(validation=True).all_features
    assert VulkanOptions(validation=True, features="all").all_features


def test_shells_complete_names_and_values() -> None:
    assert completed("vulkan:p") == ["vulkan:pipeline_timeout="]
    assert completed("vulkan:s") == ["vulkan:start_timeout=", "vulkan:subgroup_size=", "vulkan:stage="]
    assert completed("vulkan:me") == completed("vulkan:memory=")
    assert completed("vulkan:0,memory=") == ["vulkan:0,memory=auto", "vulkan:0,memory=host", "vulkan:0,memory=staged"]
    assert completed("interpreter:robust=") == ["interpreter:robust=yes", "interpreter:robust=no"]
    assert completed("interpreter:check=r") == ["interpreter:check=races"]
    assert "emulator:mutant=clamp-value-zero" in completed("emulator:mutant=clamp")


def test_the_page_has_the_tables() -> None:
    text = PAGE.read_text(encoding="utf-8")
    made = re.sub(r"(<!-- table: ([\w-]+) -->\n\n)(\|.*\n)*", lambda m: m[1] + _table(DECLARED[m[2]]), text)
    if os.environ.get("CTS_UPDATE_SNAPSHOTS"):
        PAGE.write_text(made, encoding="utf-8")
    assert text == made
    assert re.findall("<!-- table: (.*) -->", text) == list(DECLARED)


def _table(kind: type[msgspec.Struct]) -> str:
    rows = [f"| `{o.name}` | {_values(o)} | {o.default} | {_meaning(o)} |" for o in options_of(kind)]
    return "\n".join(["| option | values | default | meaning |", "| --- | --- | --- | --- |", *rows, ""])


def _values(option: Option) -> str:
    named = ", ".join(f"`{value}`" for value in option.values)
    bare = ", also alone: `vulkan:0`" if option.bare else ""
    several = ", several joined by `+`" if "+" in option.takes else ""
    return (named + several if 0 < len(option.values) <= 16 else option.takes) + bare


def _meaning(option: Option) -> str:
    lines = [f"`{value}`: {said}" for value, said in option.values.items() if said]
    return "<br>".join([option.description, *lines])
