"""The shim for the worker's process: compiled here, loaded there."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from cts.base.errors import BadInput, HarnessTrouble
from cts.drivers.intel.options import Options
from cts.drivers.intel.shim import preloading, shim

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler: install one")

#: Loads the stand-in for libdrm's answer: one PCI device of Intel, as `drmGetDevices2` of the shim has it.
_ASK = """
import ctypes
own = ctypes.CDLL(None)
devices = (ctypes.c_void_p * 1)()
assert own.drmGetDevices2(0, devices, 1) == 1
words = ctypes.cast(ctypes.c_void_p.from_address(devices[0] + 24).value, ctypes.POINTER(ctypes.c_uint16))
node = ctypes.c_char_p.from_address(ctypes.c_void_p.from_address(devices[0]).value + 16).value
file = own.open(node, 2)
value = ctypes.c_int(0)
asked = (ctypes.c_uint64 * 2)(4, ctypes.addressof(value))
assert own.ioctl(file, ctypes.c_ulong(0xC0106446), asked) == 0
print(hex(words[0]), hex(words[1]), hex(value.value), flush=True)
own.ioctl(file, ctypes.c_ulong(0xC010645E), asked)
"""


@needs_compiler
@pytest.mark.parametrize(
    ("chip", "device"), [("lnl", "0x64a0"), ("bmg", "0xe20b"), ("ptl", "0xb080"), ("dg2", "0x56a0")]
)
def test_a_chip_is_there_and_unknown_calls_are_named(chip: str, device: str) -> None:
    command = ["env", f"CTS_INTEL_CHIP={chip}", *preloading(sys.executable), "-c", _ASK]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.stdout.split() == ["0x8086", device, device]
    assert ended.returncode == 70
    assert ended.stderr == "cts: the shim of Intel's devices does not know the call of i915 0xc010645e\n"


@needs_compiler
def test_an_unknown_chip_ends_the_process() -> None:
    command = ["env", "CTS_INTEL_CHIP=nil", *preloading(sys.executable), "-c", _ASK]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (70, "cts: the shim of Intel's devices has no chip nil\n")


@needs_compiler
def test_a_driver_by_its_file_is_the_only_one() -> None:
    """The loader is told of the file by the worker; names of files choose among installed drivers alone."""
    chosen = Options(worker="chroot /srv/mesa python3", icd="/opt/anv.json")
    assert chosen.vulkan().hello.icd == "/opt/anv.json" and "VK_LOADER_DRIVERS_SELECT" not in chosen.command()
    assert "VK_LOADER_DRIVERS_SELECT" in Options(worker="chroot /srv/mesa python3").command()


@pytest.mark.parametrize(("compiler", "says"), [("no-such-compiler", "is not compiled"), ("false", "does not compile")])
def test_without_a_compiler(monkeypatch: pytest.MonkeyPatch, compiler: str, says: str) -> None:
    monkeypatch.setenv("CC", compiler)
    shim.cache_clear()
    with pytest.raises(HarnessTrouble, match=says) as raised:
        Options(worker="chroot /srv/mesa python3").command()
    assert raised.value.code == "no-shim" and "C compiler" in raised.value.remedy
    shim.cache_clear()


@pytest.mark.parametrize(("chip", "size", "remedy"), [("lnl", 8, "16 or 32"), ("dg2", 12, "8 or 16 or 32")])
def test_sizes_that_subgroups_do_not_have(chip: str, size: int, remedy: str) -> None:
    with pytest.raises(BadInput) as raised:
        Options(chip=chip, subgroup_size=size)  # type: ignore[arg-type]
    assert raised.value.remedy == remedy
