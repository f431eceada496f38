"""What a driver may have beside the driver interface: who has it, and that a driver without any of it is one."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from cts.base.errors import BadInput
from cts.device import driver as interface
from cts.device.capabilities import Capabilities, everything
from cts.device.driver import (
    Driver,
    DriverFactory,
    Job,
    MutantFactory,
    OptionsFactory,
    Outcome,
    StagedFactory,
    Status,
    TunableFactory,
    ValidatingFactory,
    VariantFactory,
    WorkerFactory,
)
from cts.drivers import emulator, interpreter, vulkan
from cts.faces.cli.drivers import drivers as list_drivers
from cts.faces.cli.worker import worker
from cts.plugins import registry
from cts.plugins.variations import of_sizes, parse, varied

#: The type checker compares whole signatures, which `isinstance` does not.
TYPED: tuple[
    VariantFactory,
    MutantFactory,
    TunableFactory,
    ValidatingFactory,
    WorkerFactory,
    StagedFactory,
    OptionsFactory,
    OptionsFactory,
    OptionsFactory,
] = (
    emulator.create,
    emulator.create,
    interpreter.create,
    vulkan.create,
    vulkan.create,
    interpreter.create,
    emulator.create,
    interpreter.create,
    vulkan.create,
)

OPTIONS: dict[str, set[type]] = {
    "emulator": {VariantFactory, MutantFactory, OptionsFactory},
    "interpreter": {TunableFactory, MutantFactory, StagedFactory, OptionsFactory},
    "amd": {VariantFactory, MutantFactory, OptionsFactory},
    "intel": {MutantFactory, OptionsFactory},
    "vulkan": {ValidatingFactory, WorkerFactory, StagedFactory, OptionsFactory},
    "plain": set(),
}


class Plain:
    """What docs/your-own-driver.md asks for, and nothing else."""

    name = "plain"

    def capabilities(self) -> Capabilities:
        return everything()

    def run(self, job: Job) -> Outcome:
        return Outcome(Status.CRASH, detail="it always does")

    def close(self) -> None:
        pass


def create(options: dict[str, str]) -> Driver:
    return Plain()


def create_validating(options: dict[str, str]) -> Driver:
    return Plain()


create_validating.validates = True  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    embedded = registry._EMBEDDED["cts.drivers"]
    monkeypatch.setitem(embedded, "plain", f"{__name__}:create")
    monkeypatch.setitem(embedded, "validating", f"{__name__}:create_validating")


@pytest.mark.parametrize("name", OPTIONS)
def test_a_factory_has_the_options_that_it_should(name: str) -> None:
    factory: DriverFactory = registry.driver_factory(name)
    every = {kind for kinds in OPTIONS.values() for kind in kinds}
    assert {kind for kind in every if isinstance(factory, kind)} == OPTIONS[name]


def test_every_option_is_in_the_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "your-own-driver.md").read_text()
    options = [n for n in vars(interface) if n.endswith(("Driver", "Factory")) and n not in ("Driver", "DriverFactory")]
    assert len(options) == 23
    assert [name for name in options if f"`{name}`" not in page] == []


def test_a_driver_without_options_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as ended:
        list_drivers(["plain"], json=None)
    assert ended.value.exit_code == 0
    assert capsys.readouterr().out.startswith("plain\n  subgroup size")


def test_validation_is_for_those_that_have_it() -> None:
    assert registry.validated(["plain", "validating"]) == ("plain", "validating:validation=yes")
    with pytest.raises(BadInput, match="no-validation"):
        registry.validated(["plain"])


def test_options_of_a_dispatch_are_for_those_that_take_them() -> None:
    assert registry.with_options(["plain", "interpreter"], {"robust": "yes"}) == ("plain", "interpreter:robust=yes")
    with pytest.raises(BadInput, match="driver-option"):
        registry.with_options(["plain"], {"robust": "yes"})


def test_a_driver_without_worker_has_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as ended:
        worker(tmp_path / "worker.pyz", "plain")
    assert ended.value.exit_code == 2
    assert "error[no-worker]: driver 'plain' has no worker" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("specs", "text", "found"),
    [
        (["interpreter"], "16,32", ["interpreter", "interpreter:subgroup_size=16"]),
        (["interpreter:max_steps=9|form:phis"], "8", ["interpreter:max_steps=9,subgroup_size=8|form:phis"]),
        (["emulator"], "all", [f"emulator:subgroup_size={n}" for n in (1, 4, 8, 16, 64, 128)]),
        (["emulator:vendor=nvk", "emulator:subgroup_size=8", "interpreter"], "8", ["interpreter:subgroup_size=8"]),
    ],
)
def test_sizes_of_subgroups(specs: list[str], text: str, found: list[str]) -> None:
    """Drivers that name a size or a profile run as they are."""
    made = of_sizes(tuple(specs), text)
    assert set(made) == {*specs, *found}


@pytest.mark.parametrize(
    ("specs", "text", "says"),
    [
        (["interpreter"], "wide", "no sizes of subgroups: 'wide'"),
        (["emulator"], "12", "emulator has no subgroups of 12"),
        (["emulator:vendor=nvk"], "all", "none of the drivers has several sizes of subgroups"),
    ],
)
def test_sizes_that_there_are_not(specs: list[str], text: str, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        of_sizes(tuple(specs), text)


@pytest.mark.parametrize(
    ("variation", "says"),
    [
        ("formz=2", "there is no variation 'formz'"),
        ("forms=0", "forms cannot be '0'"),
        ("optimised=many", "optimised cannot be 'many'"),
        ("stages=fragmnt", "'fragmnt' is not a shader stage"),
        ("subgroup-sizes=-1", "no sizes of subgroups"),
    ],
)
def test_variations_that_there_are_not(variation: str, says: str) -> None:
    with pytest.raises(BadInput, match=says) as raised:
        parse([variation])
    assert raised.value.where == f"--vary {variation}" and raised.value.remedy


def test_a_variation_is_given_once() -> None:
    with pytest.raises(BadInput, match="given twice"):
        parse(["forms=2", "forms"])


def test_variations_of_several_kinds_multiply() -> None:
    made = varied(["emulator", "interpreter"], ["forms", "stages=miss"])
    staged = "interpreter:stage=miss"
    assert made == ("emulator", "interpreter", "interpreter|form:drawn:1", staged, f"{staged}|form:drawn:1")
