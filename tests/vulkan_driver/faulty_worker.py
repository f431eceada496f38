"""A worker that speaks the protocol and misbehaves: run as a program by the tests of fault handling.

It "runs" a module by adding 1 to every byte of the first buffer's window. The first byte of that window
names a fault of FAULTS to commit instead; 0 is none. The environment variable CTS_FAULT names one of
START_FAULTS to commit before that, of QUERY_FAULTS where it is asked what the device answers to queries, or of
TRIAL_FAULTS where it is asked for a trial of conversions, and
CTS_FAULT_ONCE a file whose absence cancels it (it is removed). CTS_ABORT_AT is the number of an opcode: it aborts at
pipelines of modules that have it, and makes all others, without looking at their memory.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from pathlib import Path

import msgspec

from cts.drivers.vulkan.worker.frames import frame
from cts.drivers.vulkan.worker.protocol import (
    VERSION,
    Answers,
    Ask,
    Asking,
    Description,
    Devices,
    Done,
    Failed,
    Hello,
    Open,
    Opened,
    Progress,
    Run,
    Tried,
    Try,
)
from cts.drivers.vulkan.worker.wire import Wire

FAULTS = (
    "none",
    "segfault in pipeline creation",
    "abort in dispatch",
    "hang in pipeline creation",
    "hang in dispatch",
    "fence timeout",
    "device lost",
    "out of memory",
    "pipeline refused",
    "garbage",
    "truncated frame",
    "crash within a frame",
    "enormous frame",
    "exit 0",
    "exit 3",
    "result of another run",
    "no memory",
    "short memory",
    "message of the wrong type",
    "text that is not UTF-8",
    "deep message",
    "array of four billion",
    "endless progress",
    "flood of stderr, then death",
    "stopped process",
    "closed output",
    "python exception",
    "exit once",
)

START_FAULTS = (
    "silence",
    "death",
    "no loader",
    "no device",
    "refuses the version",
    "older version",
    "newer message",
    "unknown type of device",
    "garbage",
)

QUERY_FAULTS = ("crash in a query", "hang in a query", "bug in a query", "endless queries")

#: With these the device converts matrices, as the emulator does.
TRIAL_FAULTS = (
    "no fault of conversions",
    "wrong conversions",
    "crash in a conversion",
    "lost in a conversion",
    "timeout of a conversion",
    "bug in a conversion",
    "no result of a conversion",
    "stale conversion",
    "no conversions",
)


def main() -> None:
    wire = Wire(os.fdopen(0, "rb"), os.fdopen(1, "wb"))
    description = msgspec.json.decode(
        (Path(__file__).parent / "devices" / "lavapipe.json").read_bytes(), type=Description
    )
    if "CTS_ABORT_AT" in os.environ:
        features = {**description.features, "pipelineExecutableInfo": True}
        description = msgspec.structs.replace(description, features=features)
    if os.environ.get("CTS_FAULT") in TRIAL_FAULTS:
        from tests.vulkan_driver import devices

        description = devices.CONVERTING
    for request in wire.requests():
        if isinstance(request, Hello):
            start_fault(wire)
            wire.send(Devices(VERSION, "faulty", (description.device,)))
        elif isinstance(request, Ask):
            wire.send(asked(wire))
        elif isinstance(request, Try):
            wire.send(Asking("vkConvertCooperativeVectorMatrixNV of it"))
            reply = converted(request)
            wire.send(reply)
            if isinstance(reply, Failed) and reply.status in ("timeout", "device-lost"):
                sys.exit(0)
        elif isinstance(request, Open):
            wire.send(Opened(description))
        else:
            with contextlib.suppress(Answered):
                serve(wire, request)


def start_fault(wire: Wire) -> None:
    fault, once = os.environ.get("CTS_FAULT", ""), os.environ.get("CTS_FAULT_ONCE")
    if not fault or (once and not Path(once).exists()):
        return
    if once:
        Path(once).unlink()
    if fault == "silence":
        time.sleep(3600)
    elif fault == "death":
        sys.exit("no such library")
    elif fault == "no loader":
        wire.send(Failed("no-device", "no Vulkan loader"))
        sys.exit(0)
    elif fault == "no device":
        wire.send(Devices(VERSION, "faulty", ()))
    elif fault == "refuses the version":
        wire.send(Failed("error", "the worker speaks protocol version 0, the suite version 1"))
        sys.exit(0)
    elif fault == "older version":
        wire.send(Devices(VERSION - 1, "faulty", ()))
    elif fault == "newer message":
        write({"type": "devices", "version": VERSION + 1, "machine": "lab-7"})
    elif fault == "unknown type of device":
        device = {"index": 0, "name": "a", "uuid": "", "type": "quantum", "api": "", "driver": ""}
        write({"type": "devices", "version": VERSION, "worker": "faulty", "devices": [device]})
    elif fault == "garbage":
        os.write(1, b"Welcome to Ubuntu 14.04 LTS (GNU/Linux 3.13.0-24-generic x86_64)\n")


def write(message: object) -> None:
    """A frame of any message."""
    write_body(msgspec.msgpack.encode(message))


def write_body(body: bytes) -> None:
    os.write(1, len(body).to_bytes(4, "little") + body)


def asked(wire: Wire) -> Answers | Failed:
    fault = os.environ.get("CTS_FAULT", "")
    wire.send(Asking("vkGetPhysicalDeviceFeatures2"))
    wire.send(Asking("vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR with an array of 0"))
    if fault == "crash in a query":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif fault == "hang in a query":
        time.sleep(3600)
    elif fault == "endless queries":
        while True:
            wire.send(Asking("vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR with an array of 0"))
    elif fault == "bug in a query":
        return Failed("error", "KeyError: 'subgroupSize'")
    folder = Path(__file__).parents[1] / "device_queries" / "answers"
    return Answers(msgspec.json.decode((folder / "lavapipe-26.1.6.json").read_bytes(), type=dict))


def converted(request: Try) -> Tried | Failed:
    """What the emulator makes of a trial, but for the fault."""
    fault = os.environ.get("CTS_FAULT", "")
    if fault == "crash in a conversion":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif fault == "lost in a conversion":
        return Failed("device-lost", "VkErrorDeviceLost: ", request.id)
    elif fault == "timeout of a conversion":
        return Failed("timeout", "the device did not finish within 10 s of vkQueueSubmit", request.id)
    elif fault == "bug in a conversion":
        return Failed("error", "KeyError: 'do'", request.id)
    elif fault == "no result of a conversion":
        return Tried(request.id, {"answers": "none"})
    elif fault == "no conversions":
        return Failed("unsupported", "the device has no vkConvertCooperativeVectorMatrixNV", request.id)
    number = request.id - (fault == "stale conversion")
    # Other faults need no Numba.
    from cts.device.driver_options import parse
    from cts.device.trials import Trial
    from cts.drivers.emulator.options import Options
    from cts.drivers.emulator.vectors.converter import Converter
    from cts.drivers.emulator.vectors.trials import run_trial

    bug = {"mutant": "conversion-ties-away"} if fault == "wrong conversions" else {}
    trial = msgspec.convert(request.trial, Trial, builtin_types=(bytes,), strict=False)
    found = run_trial(Converter(parse(Options, bug, "emulator")), trial)
    return Tried(number, msgspec.to_builtins(found, builtin_types=(bytes,)))


def compiled(wire: Wire, run: Run, opcode: int) -> None:
    wire.send(Progress(run.id, "pipeline"))
    words = memoryview(run.module).cast("I")
    at = 5
    while at < len(words):
        if words[at] & 0xFFFF == opcode:
            print(f"compiler: unhandled opcode {opcode}", file=sys.stderr, flush=True)
            os.abort()
        at += words[at] >> 16
    wire.send(Done(run.id, (), statistics={"Instructions": len(words)} if run.statistics else {}))


def serve(wire: Wire, run: Run) -> None:
    if "CTS_ABORT_AT" in os.environ:
        compiled(wire, run, int(os.environ["CTS_ABORT_AT"]))
        return
    first = run.sets[0].buffers[0]
    fault = FAULTS[first.data[first.start]]
    wire.send(Progress(run.id, "pipeline"))
    if fault == "segfault in pipeline creation":
        print("compiler: about to crash", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGSEGV)
    if fault == "hang in pipeline creation":
        time.sleep(3600)
    if fault == "pipeline refused":
        wire.send(Failed("rejected", "VkErrorUnknown in vkCreateComputePipelines", run.id))
        return
    wire.send(Progress(run.id, "dispatch"))
    misbehave(wire, run, fault)
    others = (None,) * (len(run.sets[0].buffers) - 1)
    wire.send(Done(run.id, tuple((changed(s.buffers[0].data, s.buffers[0].start), *others) for s in run.sets)))


def changed(data: bytes, start: int) -> bytes:
    end = len(data) - start
    return data[:start] + bytes((b + 1) % 256 for b in data[start:end]) + data[end:]


def misbehave(wire: Wire, run: Run, fault: str) -> None:
    """Everything that can go wrong after submission; returns only where there is nothing to do."""
    if fault == "abort in dispatch":
        print(
            "python3: ../src/nir/pass.c:7: nir_pass: Assertion `x == 1' failed.", *range(30), sep="\n", file=sys.stderr
        )
        sys.stderr.flush()
        os.abort()
    elif fault == "hang in dispatch":
        time.sleep(3600)
    elif fault == "fence timeout":
        wire.send(Failed("timeout", "the device did not finish within 0.5 s of vkQueueSubmit", run.id))
        os._exit(0)
    elif fault == "device lost":
        wire.send(Failed("device-lost", "VK_ERROR_DEVICE_LOST in vkQueueSubmit", run.id))
        os._exit(0)
    elif fault == "out of memory":
        answer(wire, Failed("out-of-memory", "VkErrorOutOfDeviceMemory in vkQueueSubmit", run.id))
    elif fault == "garbage":
        os.write(1, b"\x10\x00\x00\x00 a driver wrote this to standard output")
    elif fault == "truncated frame":
        os.write(1, frame(Done(run.id, ((None,),)))[:-3])
        os._exit(0)
    elif fault == "crash within a frame":
        os.write(1, frame(Done(run.id, ((None,),)))[:-3])
        os.kill(os.getpid(), signal.SIGSEGV)
    elif fault == "enormous frame":
        os.write(1, b"\xff\xff\xff\xff")
    elif fault == "exit 0":
        os._exit(0)
    elif fault == "exit 3":
        os._exit(3)
    elif fault == "result of another run":
        wire.send(Done(run.id + 1, ((None,),)))
    elif fault == "no memory":
        answer(wire, Done(run.id, ()))
    elif fault == "short memory":
        answer(wire, Done(run.id, ((b"\0",),)))
    elif fault == "message of the wrong type":
        wire.send(Devices(VERSION, "faulty", ()))
    elif fault == "text that is not UTF-8":
        write_body(frame(Failed("error", "xxxx", run.id))[4:].replace(b"xxxx", b"\xff\xfe\xfd\xfc"))
    elif fault == "deep message":
        write_body(b"\x82\xa4type\xa8progress\xa2id" + b"\x91" * 100_000)
    elif fault == "array of four billion":
        write_body(b"\x82\xa4type\xa4done\xa4sets\xdd\xff\xff\xff\xff")
    elif fault == "endless progress":
        while True:
            wire.send(Progress(run.id, "dispatch"))
    elif fault == "flood of stderr, then death":
        for number in range(20_000):
            print(f"line {number}", file=sys.stderr)
        sys.stderr.flush()
        os.write(2, b"x" * 100_000)
        os.write(2, b"\nlast line\n")
        os._exit(134)
    elif fault == "stopped process":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif fault == "closed output":
        os.close(1)
        time.sleep(3600)
    elif fault == "exit once":
        once = Path(os.environ["CTS_FAULT_ONCE"])
        if once.exists():
            once.unlink()
            os._exit(4)
    elif fault == "python exception":
        answer(wire, Failed("error", "ValueError: a bug in the worker", run.id))


class Answered(Exception):
    """The run has been answered."""


def answer(wire: Wire, reply: Done | Failed) -> None:
    wire.send(reply)
    raise Answered


if __name__ == "__main__":
    main()
