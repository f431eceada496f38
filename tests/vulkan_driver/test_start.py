"""Options, the worker command, and the choice of a device."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from cts.base.errors import BadInput, HarnessTrouble
from cts.device.driver import IN_PROCESSES
from cts.device.driver_options import parse
from cts.drivers.vulkan import package
from cts.drivers.vulkan.options import Options
from cts.drivers.vulkan.start import WorkerProcess, choose, expect
from cts.drivers.vulkan.worker.frames import ProtocolError, frame, read_reply, read_request
from cts.drivers.vulkan.worker.protocol import (
    VERSION,
    Devices,
    DeviceSummary,
    Done,
    Failed,
    Hello,
)
from cts.faces.cli.app import app

UUIDS = ("00112233445566778899aabbccddeeff", "ffeeddccbbaa99887766554433221100", "0" * 32, "1" * 32)
GPU, TWIN, CPU, OLD = (
    DeviceSummary(0, "NVIDIA H100", UUIDS[0], "discrete", "1.4.312", "NVIDIA 580"),
    DeviceSummary(1, "NVIDIA H200", UUIDS[1], "discrete", "1.4.312", "NVIDIA 580"),
    DeviceSummary(2, "llvmpipe", UUIDS[2], "cpu", "1.4.354", "llvmpipe"),
    DeviceSummary(3, "Old one", UUIDS[3], "integrated", "1.1.0", "x", unusable="supports Vulkan 1.2 at most"),
)
DEVICES = (GPU, TWIN, CPU, OLD)


@pytest.mark.parametrize(
    ("wish", "found"),
    [
        ("0", GPU),
        ("2", CPU),
        ("h200", TWIN),
        ("llvm", CPU),
        (UUIDS[1], TWIN),
        ("FFEEDDCC-BBAA-9988-7766-554433221100", TWIN),
        ("", GPU),
    ],
)
def test_devices_are_chosen_by_index_name_and_uuid(
    monkeypatch: pytest.MonkeyPatch, wish: str, found: DeviceSummary
) -> None:
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)  # which may be a worker's of these very tests
    assert choose(DEVICES, wish) is found


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        ("7", "no device matches '7'"),
        ("nvidia", "2 devices match 'nvidia'"),
        ("intel", "no device matches"),
        ("old", "cannot be used: supports Vulkan 1.2 at most"),
    ],
)
def test_a_wrong_choice_lists_the_devices(wish: str, words: str) -> None:
    with pytest.raises(BadInput, match=words) as caught:
        choose(DEVICES, wish)
    assert "2: llvmpipe" in caught.value.remedy


def test_xdist_workers_take_the_best_devices_in_iteration(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = []
    for number in range(4):
        monkeypatch.setenv("PYTEST_XDIST_WORKER", f"gw{number}")
        taken.append(choose(DEVICES, ""))
    assert taken == [GPU, TWIN, GPU, TWIN]


@pytest.mark.parametrize("devices", [(), (OLD,)])
def test_no_device_is_trouble(devices: tuple[DeviceSummary, ...]) -> None:
    with pytest.raises(HarnessTrouble, match="no device"):
        choose(devices, "")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"timout": "3"}, "did you mean 'timeout'"),
        ({"memory": "vram"}, "auto, host, staged"),
        ({"timeout": "-1"}, "timeout=SECONDS above 0"),
        ({"timeout": "soon"}, "timeout=SECONDS above 0"),
        ({"threads": "0"}, "threads=N from 1"),
        ({"workers": "all"}, "workers=N from 1"),
        ({"validation": "maybe"}, "yes, no"),
        ({"features": "some"}, "all, needed"),
        ({"unlisted": "yes"}, "try"),
    ],
)
def test_wrong_options(options: dict[str, str], words: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse(Options, options, "vulkan")
    assert words in caught.value.remedy


@pytest.mark.parametrize(("processes", "threads"), [("", 8), ("1", 8), ("4", 4), ("16", 2), ("30", 2)])
def test_the_processes_of_a_run_share_the_processors(
    processes: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 16)
    monkeypatch.delenv(IN_PROCESSES, raising=False)
    if processes:
        monkeypatch.setenv(IN_PROCESSES, processes)
    assert parse(Options, {}, "vulkan").threads_of_worker == threads
    assert parse(Options, {"threads": "3"}, "vulkan").threads_of_worker == 3


def test_right_options() -> None:
    options = parse(
        Options, {"": "1", "worker": "ssh lab python3", "validation": "yes", "timeout": "2.5", "threads": "3"}, "vulkan"
    )
    assert (options.device, options.worker, options.validation) == ("1", "ssh lab python3", True)
    assert not options.all_features  # what is not enabled, the layers miss
    assert parse(Options, {}, "vulkan").all_features
    assert parse(Options, {"validation": "yes", "features": "all"}, "vulkan").all_features
    assert (options.timeout, options.threads, options.journal) == (2.5, 3, Path("cts-run/vulkan"))
    assert [parse(Options, given, "vulkan").tries for given in ({}, {"unlisted": "try"}, {"unlisted": "refuse"})] == [
        False,
        True,
        False,
    ]


def test_each_xdist_worker_has_one_worker_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    assert parse(Options, {}, "vulkan").processes is None
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw0")
    assert parse(Options, {}, "vulkan").processes == 1
    assert parse(Options, {"workers": "2"}, "vulkan").processes == 2


def test_the_zipapp_is_complete_and_reproducible() -> None:
    names = zipfile.ZipFile(io.BytesIO(package.zipapp())).namelist()
    worker = Path(package.__file__).parent / "worker"
    sources = {f"cts_vulkan_worker/{s.relative_to(worker).as_posix()}" for s in worker.rglob("*.py")}
    assert "cts_vulkan_worker/shaders/rays.py" in sources
    assert sources | {"__main__.py"} == set(names)
    package.zipapp.cache_clear()
    first = package.zipapp()
    package.zipapp.cache_clear()
    assert package.zipapp() == first


def test_commands() -> None:
    argv, preamble = package.command("chroot /srv/root python3")
    assert argv[:5] == ["chroot", "/srv/root", "python3", "-P", "-c"]
    assert preamble[4:] == package.zipapp()
    assert package.command("")[0][0] == sys.executable
    assert package.command("python3 'my worker.pyz'") == (["python3", "my worker.pyz"], b"")
    quoted = package.command("ssh lab python3")[0][-1]
    assert quoted == f"'{argv[-1]}'"


def only(folder: Path) -> dict[str, str]:
    """An environment whose Python finds the folder's modules, and msgspec."""
    return {"PYTHONPATH": os.pathsep.join([str(folder), str(Path(msgspec.__file__).parents[1])])}


def ssh(folder: Path) -> Path:
    """Does as ssh does: joins the command with spaces and gives it to a shell, whose streams are pipes of its own."""
    script = folder / "ssh"
    script.write_text('#!/bin/sh\n[ "$1" = -p ] && shift 2\nshift\ncat | sh -c "$*" | cat\n')
    script.chmod(0o755)
    return script


@pytest.mark.parametrize("how", ["sent", "sent over ssh", "file"])
def test_the_worker_needs_no_part_of_the_suite(how: str, tmp_path: Path) -> None:
    """A Vulkan package whose loader is missing, and nothing of ours importable."""
    (tmp_path / "vulkan.py").write_text("raise OSError('Cannot find Vulkan SDK version')\n")
    if how == "sent":
        argv, preamble = package.command("")
    elif how == "sent over ssh":
        (tmp_path / "cts.py").write_text("raise ImportError('no cts here')\n")
        argv, preamble = package.command(f"{ssh(tmp_path)} -p 2222 lab env LC_ALL=C {sys.executable}")
    else:
        (tmp_path / "worker.pyz").write_bytes(package.zipapp())
        argv, preamble = [sys.executable, str(tmp_path / "worker.pyz")], b""
    blocked = "import sys; sys.modules['cts'] = None; "
    if how == "sent":
        argv[-1] = blocked + argv[-1]
    ran = subprocess.run(
        argv,
        input=preamble + frame(Hello()),
        capture_output=True,
        cwd=tmp_path,
        env=only(tmp_path),
        timeout=60,
        check=False,
    )
    reply = read_reply(io.BytesIO(ran.stdout))
    assert isinstance(reply, Failed), ran.stderr.decode()
    assert reply.status == "no-device"
    assert "no Vulkan loader" in reply.what


def test_what_a_driver_prints_does_not_reach_the_protocol(tmp_path: Path) -> None:
    (tmp_path / "vulkan.py").write_text("import os\nos.write(1, b'noise')\nraise OSError('no loader')\n")
    (tmp_path / "worker.pyz").write_bytes(package.zipapp())
    ran = subprocess.run(
        [sys.executable, str(tmp_path / "worker.pyz")],
        input=frame(Hello()),
        capture_output=True,
        env=only(tmp_path),
        timeout=60,
        check=True,
    )
    assert b"noise" in ran.stderr
    assert isinstance(read_reply(io.BytesIO(ran.stdout)), Failed)


def test_frames_round_trip() -> None:
    for message in (
        Hello(validation=True),
        Devices(1, "w", DEVICES),
        Done(3, ((b"\0\xff", None),), ("m",), {"x": 1.5}),
    ):
        stream = io.BytesIO(frame(message))
        assert (read_request if isinstance(message, Hello) else read_reply)(stream) == message
        assert stream.read() == b""
    assert read_reply(io.BytesIO()) is None


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\x01", "truncated frame: 1 of"),
        (b"\x05\0\0\0abc", "truncated frame: 7 of 9"),
        (b"\x05\0\0\0abcde", f"no message of protocol version {VERSION}"),
        (b"\xff\xff\xff\xff", "a frame of 4294967295 bytes"),
        (frame(Hello()), f"no message of protocol version {VERSION}: "),
        (frame(Hello(VERSION + 1)), f"no message of protocol version {VERSION}, but of version {VERSION + 1}: "),
        (frame(Failed("error", "ab")).replace(b"ab", b"\xff\xfe"), "invalid start byte"),
        (b"\x10\x27\0\0" + b"\x91" * 10_000, "no message"),
        (b"\x05\0\0\0\xdd\xff\xff\xff\xff", "no message"),
    ],
)
def test_bytes_that_are_no_protocol(data: bytes, words: str) -> None:
    with pytest.raises(ProtocolError, match=words):
        read_reply(io.BytesIO(data))


def _greeting(hello: object) -> bytes:
    body = msgspec.msgpack.encode(hello)
    return len(body).to_bytes(4, "little") + body


@pytest.mark.parametrize(
    ("hello", "words"),
    [
        ({"type": "hello", "version": VERSION - 1}, f"protocol version {VERSION}, the suite version {VERSION - 1}"),
        ({"type": "hello", "version": VERSION + 1, "layers": []}, f"version {VERSION}, but of version {VERSION + 1}: "),
        ({"type": "hello", "version": "8"}, f"no message of protocol version {VERSION}: "),
        ({"type": "open", "device": 0}, "expected hello, got Open"),
    ],
)
def test_the_worker_refuses_a_suite_of_another_version(hello: dict[str, object], words: str, tmp_path: Path) -> None:
    path = tmp_path / "worker.pyz"
    path.write_bytes(package.zipapp())
    ran = subprocess.run(
        [sys.executable, str(path)], input=_greeting(hello), capture_output=True, timeout=60, check=True
    )
    reply = read_reply(io.BytesIO(ran.stdout))
    assert isinstance(reply, Failed) and reply.status == "error"
    assert words in reply.what


def test_cts_worker_writes_the_zipapp(tmp_path: Path) -> None:
    out = tmp_path / "worker.pyz"
    assert CliRunner().invoke(app, ["worker", "--out", str(out)]).exit_code == 0
    assert out.read_bytes() == package.zipapp()
    assert os.access(out, os.X_OK)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--out", "{folder}/no/such/worker.pyz"], "error[worker-file]"),
        (["--out", "{folder}/worker.pyz", "--driver", "emulator"], "error[no-worker]"),
        (["--out", "{folder}/worker.pyz", "--driver", "vulcan"], "did you mean 'vulkan'?"),
    ],
)
def test_cts_worker_says_what_is_wrong(arguments: list[str], words: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["worker", *(a.format(folder=tmp_path) for a in arguments)])
    assert result.exit_code == 2
    assert words in result.output


@pytest.mark.parametrize("arguments", [["--help"], ["--answers", "first"], ["--answers", "0", "1"]])
def test_a_worker_as_a_program_says_what_it_takes(arguments: list[str], tmp_path: Path) -> None:
    path = tmp_path / "worker.pyz"
    path.write_bytes(package.zipapp())
    ran = subprocess.run([sys.executable, str(path), *arguments], capture_output=True, text=True, check=False)
    assert ran.returncode == 1 and ran.stderr == "usage: worker.pyz [--answers [NUMBER OF A DEVICE]]\n"


_DYING = """
import os, sys
from cts.drivers.vulkan.worker.frames import frame
from cts.drivers.vulkan.worker.protocol import Asking
for call in {calls!r}:
    sys.stdout.buffer.write(frame(Asking(call)))
sys.stdout.flush()
os.abort()
"""


@pytest.mark.parametrize(
    ("calls", "said", "remedy"),
    [
        (("vkCreateInstance", "vkEnumeratePhysicalDevices"), "SIGABRT, in vkEnumeratePhysicalDevices", "vendor"),
        ((), "SIGABRT", "Python >= 3.11"),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="a process that aborts has a status of its own there")
def test_who_ended_the_worker_is_said(calls: tuple[str, ...], said: str, remedy: str) -> None:
    worker = WorkerProcess([sys.executable, "-c", _DYING.format(calls=calls)])
    with pytest.raises(HarnessTrouble) as trouble:
        expect(worker, Devices, 60)
    worker.kill()
    assert said in trouble.value.what and remedy in trouble.value.remedy
    assert ("in vk" in trouble.value.what) == bool(calls)
