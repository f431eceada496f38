"""Trials of conversions: a worker's, on a Vulkan of Python functions, and what the driver makes of a worker's end."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from cts.base.errors import HarnessTrouble
from cts.device.driver import ConvertingDriver
from cts.device.queries import Judged, State
from cts.device.trials import Trial, Tried, from_plain, to_plain
from cts.drivers.vulkan.driver import VulkanDriver
from cts.drivers.vulkan.options import Options
from cts.modules.layout_conversions.abilities import Abilities
from cts.modules.layout_conversions.judge import judge, trials
from cts.plugins import registry
from tests.layout_conversions.lies import honest
from tests.vulkan_driver.devices import CONVERTING, LAVAPIPE
from tests.vulkan_driver.fake_device import FakeDevice
from tests.vulkan_driver.worker_modules import loaded

ROOT = Path(__file__).parents[2]

#: float16, float32 and int8, as the device of Python functions has them.
ABLE = Abilities((0, 1, 3))


@pytest.fixture(params=["staged", "host"])
def fake(request: pytest.FixtureRequest) -> FakeDevice:
    return FakeDevice(staged=request.param == "staged", kernel=lambda memory, push: None)


@pytest.fixture
def worker(fake: FakeDevice) -> Iterator[SimpleNamespace]:
    """The worker's modules that speak to this device."""
    with loaded(fake.package()) as modules:
        yield modules


def tried(fake: FakeDevice, worker: SimpleNamespace, wanted: list[Trial]) -> Iterator[Tried]:
    """What the worker makes of trials, as it travels."""
    device = fake.logical(worker)
    for trial in wanted:
        yield from_plain(worker.trials.run_trial(device, to_plain(trial), lambda _: None))


def broken(found: list[Judged]) -> set[str]:
    return {j.fact for j in found if j.state is not State.HOLDS}


def test_every_statement_holds(fake: FakeDevice, worker: SimpleNamespace) -> None:
    """VK-053, VK-056."""
    wanted = trials(ABLE)
    assert broken(judge(wanted, tried(fake, worker, wanted), registry.oracle())) == set()


def test_a_command_buffer_waits_for_its_conversions(fake: FakeDevice, worker: SimpleNamespace) -> None:
    """VK-056, VK-078: copies and the host see what was converted; both submissions are the same commands."""
    wanted = [t for t in trials(ABLE) if t.fact == "LC-021"][:1]
    assert next(tried(fake, worker, wanted)).lost == ""
    first, second, *_ = fake.log
    assert first == second
    names = [command[0] for command in first]
    staged = fake.host is not fake.memory
    assert names == (["copy", "barrier", "convert", "barrier", "copy", "barrier"] if staged else ["convert", "barrier"])


def test_what_the_device_does_wrong_is_seen(fake: FakeDevice, worker: SimpleNamespace) -> None:
    """LC-020: it drops secondary command buffers."""
    run = fake._run
    fake._run = lambda recorded: run([c for c in recorded if c[0] != "execute"])  # type: ignore[method-assign]
    wanted = trials(ABLE)
    assert broken(judge(wanted, tried(fake, worker, wanted), registry.oracle())) == {"LC-020"}


def test_what_the_function_returns_is_seen(fake: FakeDevice, worker: SimpleNamespace) -> None:
    """LC-001, LC-007: VK_ERROR_OUT_OF_HOST_MEMORY. Nothing is left to be converted."""
    fake.result = -1
    wanted = trials(ABLE)
    found = judge(wanted, tried(fake, worker, wanted), registry.oracle())
    assert {"LC-001", "LC-007", "LC-009"} <= broken(found)
    (first, *_) = next(j for j in found if j.fact == "LC-007").broken
    assert (first.reported, first.right) == ("VkResult -1", "VK_SUCCESS")


def spec(fault: str) -> str:
    """A driver whose worker has the emulator for a device, and a fault."""
    worker = Path(__file__).parent / "faulty_worker.py"
    command = shlex.join(["env", f"PYTHONPATH={ROOT}", f"CTS_FAULT={fault}", sys.executable, str(worker)])
    return f"vulkan:worker={command},start_timeout=20"


def through(fault: str) -> tuple[str, list[Tried]]:
    """What a driver lacks, and three trials on it."""
    driver = registry.driver(spec(fault))
    try:
        assert isinstance(driver, ConvertingDriver)
        return driver.lacks_conversions(), list(driver.convert(trials(ABLE)[20:23]))
    finally:
        driver.close()


def test_trials_travel() -> None:
    lacks, found = through("no fault of conversions")
    assert lacks == ""
    assert found == list(honest().convert(trials(ABLE)[20:23]))


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("crash in a conversion", "the worker was killed by SIGSEGV"),
        ("lost in a conversion", "VkErrorDeviceLost"),
        ("timeout of a conversion", "the device did not finish within 10 s"),
    ],
)
def test_a_trial_that_does_not_come_back(fault: str, words: str) -> None:
    """The next ones run in another worker, and end alike."""
    _, found = through(fault)
    for one in found:
        assert one.call == "vkConvertCooperativeVectorMatrixNV of it" and words in one.lost
        assert one.answers == ()


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("bug in a conversion", "KeyError: 'do'"),
        ("no result of a conversion", "the worker broke the protocol"),
        ("stale conversion", "it answered trial 0 in the place of 1"),
        ("no conversions", "the device has no vkConvertCooperative"),
    ],
)
def test_what_is_no_result_of_a_trial(fault: str, words: str) -> None:
    with pytest.raises(HarnessTrouble, match=words):
        through(fault)


def test_what_a_device_lacks() -> None:
    """VK-001, VK-056: lavapipe has no such extension; a device may have it without addresses of buffers."""
    without = VulkanDriver.lacks_conversions
    plain = SimpleNamespace(description=LAVAPIPE, _options=Options())
    assert without(plain) == "the device does not list the extension VK_NV_cooperative_vector"  # type: ignore[arg-type]
    description = msgspec.structs.replace(
        CONVERTING, features=CONVERTING.features | {"bufferDeviceAddress": False, "cooperativeVector": False}
    )
    found = without(SimpleNamespace(description=description, _options=Options()))  # type: ignore[arg-type]
    assert found == "the device does not support bufferDeviceAddress, cooperativeVector"
    validated = SimpleNamespace(description=CONVERTING, _options=Options(validation=True))
    assert "LC-009" in without(validated)  # type: ignore[arg-type]
