"""Profiles of devices: what they list, and cases for each of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from cts.base.errors import BadInput
from cts.device.capabilities import Feature, everything, limited
from cts.device.driver_options import parse
from cts.device.vendors import VENDORS
from cts.drivers.emulator.options import Options
from cts.judging.events import Result
from cts.judging.verdict import Verdict
from cts.plugins import registry
from cts.running.store.run import load
from tests.cli.command_line import ran_in


@pytest.mark.parametrize("name", VENDORS)
def test_every_area_has_cases_or_says_why_not(name: str, tmp_path: Path) -> None:
    """Two executors that share nothing agree on what is drawn for the profile."""
    drivers = ("--driver", f"emulator:vendor={name}", "--driver", f"interpreter:vendor={name}")
    ran = ran_in(tmp_path, "run", *drivers, "--no-corpus", "--max-examples", "6", "--seed", "3", "--save-dir", "runs")
    assert ran.status == 0, ran.out + ran.err
    results: list[Result] = list(load(tmp_path / "runs" / "001").results)
    matrices = {"matrix_memory", "matrix_arithmetic", "conversions", "matrix_programs", "kernels"}
    drawn = {r.area for r in results if r.verdict is Verdict.PASS}
    assert matrices <= drawn and ("vector_arithmetic" in drawn) is (name == "vectors-of-4")
    assert all(r.detail for r in results if r.verdict is not Verdict.PASS)


def test_what_a_profile_lists() -> None:
    every = everything()
    gfx12, nvk, of_ext = (limited(every, VENDORS[name]) for name in ("radv-gfx12", "nvk", "maintenance1"))
    assert {(m.rows, m.cols) for m in gfx12.matrices} == {(16, 16)} and all(m.exact for m in gfx12.matrices)
    assert (8, 8, 16) in {(p.m, p.n, p.k) for p in nvk.mul_adds} and Feature.REDUCTIONS not in nvk.features
    assert of_ext.maintenance1 and not nvk.maintenance1 and Feature.TRANSPOSES not in of_ext.features
    assert limited(every, VENDORS["vectors-of-4"]).max_vector_length == 4
    assert not any(c.component.is_float for c in limited(every, VENDORS["integers"]).matrices)


@pytest.mark.parametrize(
    ("spec", "size"), [("emulator:vendor=integers", 16), ("interpreter:vendor=radv-gfx11", 64), ("emulator", 32)]
)
def test_subgroups_are_the_devices(spec: str, size: int) -> None:
    driver = registry.driver(spec)
    assert driver.capabilities().subgroup_size == size
    driver.close()


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("emulator:vendor=nvk,tile=row", "vendor=nvk decides tile itself"),
        ("interpreter:vendor=nvk,subgroup_size=32", "vendor=nvk decides subgroup_size itself"),
        ("emulator:vendor=nvidia", "vendor cannot be 'nvidia'"),
    ],
)
def test_what_does_not_go_together(spec: str, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        registry.driver(spec)


def test_tiles_are_those_of_the_emulator() -> None:
    for vendor in VENDORS.values():
        assert parse(Options, {"tile": vendor.tile}, "emulator").tile_shape
