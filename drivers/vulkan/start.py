"""Starting a worker: the greeting, and the choice of a device."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time
from dataclasses import dataclass
from typing import Any, TypeVar

from msgspec.structs import replace

from cts.base.child_process import ChildProcess, Ended
from cts.base.errors import BadInput, HarnessTrouble
from cts.device.driver import QueryFailed
from cts.device.stops import stop
from cts.device.trials import Trial, from_plain, to_plain
from cts.device.trials import Tried as TrialResult
from cts.drivers.vulkan import package
from cts.drivers.vulkan.worker import frames, protocol

_R = TypeVar("_R", protocol.Devices, protocol.Opened)

#: What a worker has been killed from outside with so often is given up: a run, or its start.
MAX_KILLS = 5

#: Which type of device is meant when none is named.
_PREFERENCE = ("discrete", "integrated", "virtual", "cpu", "other")


#: What to use where the worker is another one.
_OUR_WORKER = "the worker of this suite: `cts worker --out FILE` writes it"


class WorkerProcess(ChildProcess[protocol.Reply]):
    """A started worker. `stopped` is the assertion of a driver that it wrote last, with its place, "" if none."""

    stopped = ""

    def __init__(self, argv: list[str], preamble: bytes = b"") -> None:
        """Raises OSError where the command cannot be started."""
        super().__init__(argv, frames.read_reply, preamble)

    def ask(self, message: protocol.Request) -> None:
        """Queue a message."""
        self.send(frames.frame(message))

    def heard(self, line: str) -> None:
        self.stopped = stop(self.stopped, line)


#: What to do where the driver ends or blocks the worker, and where the worker never says anything.
_OF_DRIVER = "another driver, or report the call to the vendor of this one: VK_DRIVER_FILES names the driver to be used"
_OF_COMMAND = (
    "a command of the option `worker` that reaches its machine, and Python >= 3.11 there with vulkan, cffi and msgspec"
)


class WorkerKilled(HarnessTrouble):
    """The worker was killed from outside before it was ready."""


@dataclass(frozen=True)
class Opening:
    """What to start and which device to open.

    `command` is that of `package.command`. `device` is an index, a UUID or part of a name; "" means
    the best type of device there is, and with several of it one for each pytest-xdist worker in turn.
    `hello` and `open` are the messages to the worker, the latter with the index of no device yet. `timeout` is in
    seconds, for all of it; `limit` is GiB of address space, 0 for none.
    """

    command: str
    device: str
    hello: protocol.Hello
    open: protocol.Open
    timeout: float
    limit: int = 0


def open_device(
    opening: Opening, again: protocol.Description | None = None
) -> tuple[WorkerProcess, protocol.Description]:
    """A worker with its device open; `again` is what the device was before. Raises HarnessTrouble, BadInput.

    One that is killed from outside before it is ready is started again.
    """
    for _ in range(MAX_KILLS - 1):
        with contextlib.suppress(WorkerKilled):
            return _opened(opening, again)
    return _opened(opening, again)


def _opened(opening: Opening, again: protocol.Description | None) -> tuple[WorkerProcess, protocol.Description]:
    worker, devices = greet(opening)
    if opening.limit:
        _limit(worker.pid, opening.limit << 30)
    try:
        chosen = choose(devices.devices, again.device.uuid if again else opening.device)
        worker.ask(replace(opening.open, device=chosen.index))
        return worker, expect(worker, protocol.Opened, opening.timeout).description
    except BaseException:
        worker.kill()
        raise


def _limit(pid: int, size: int) -> None:
    """Limit a process's address space in bytes. Only Linux can do that."""
    if sys.platform == "linux":
        import resource

        with contextlib.suppress(OSError):
            resource.prlimit(pid, resource.RLIMIT_AS, (size, size))


def ask_device(opening: Opening, device: str) -> dict[str, Any]:
    """What the device of a UUID answers to every query. Raises HarnessTrouble, and QueryFailed where a query fails."""
    worker, devices = greet(opening)
    try:
        worker.ask(protocol.Ask(choose(devices.devices, device).index))
        call, reply = _answer(worker, "the first query", opening.timeout)
        if isinstance(reply, protocol.Answers):
            return reply.answers
        what = f"no answer within {opening.timeout:g} s" if reply is None else getattr(reply, "detail", str(reply))
        words = worker.last_words()
        told = f"{what}\nlast lines of the worker:\n{words}" if words else what
        if reply is None or isinstance(reply, Ended):
            raise QueryFailed(call, told)
        raise HarnessTrouble("queries", told, call, "this is a bug of the suite: please report it")
    finally:
        worker.kill()


def _answer(worker: WorkerProcess, call: str, timeout: float) -> tuple[str, protocol.Reply | Ended | None]:
    """What comes of a request, None if nothing does in time, and the last of the calls that the worker announces."""
    deadline = time.monotonic() + timeout
    while (left := deadline - time.monotonic()) > 0:
        reply = worker.receive(left)
        if not isinstance(reply, protocol.Asking):
            return call, reply
        call = reply.call
    return call, None


class Trials:
    """A worker that runs trials of conversions on the device of a UUID, started again where one of them ended it."""

    def __init__(self, opening: Opening, device: str) -> None:
        self._opening = opening
        self._uuid = device
        self._worker: WorkerProcess | None = None
        self._index = self._number = 0

    def run(self, trial: Trial) -> TrialResult:
        """What came of a trial. Raises HarnessTrouble where the worker cannot run any."""
        if self._worker is None:
            self._worker, devices = greet(self._opening)
            self._index = choose(devices.devices, self._uuid).index
        self._number += 1
        self._worker.ask(protocol.Try(self._number, self._index, to_plain(trial), self._opening.open.memory))
        call, reply = _answer(self._worker, "the first call", self._opening.timeout)
        if isinstance(reply, (protocol.Tried, protocol.Failed)) and reply.id not in (None, self._number):
            self.close()
            what = f"the worker broke the protocol: it answered trial {reply.id} in the place of {self._number}"
            raise HarnessTrouble("trial", what, call, _OUR_WORKER)
        if isinstance(reply, protocol.Tried):
            return self._result(reply, call)
        if isinstance(reply, protocol.Failed) and reply.status not in ("timeout", "device-lost"):
            what = f"{reply.what}\n{self._worker.last_words()}"
            raise HarnessTrouble("trial", what, call, "another driver if it lacks the call; else please report this")
        what = f"no answer within {self._opening.timeout:g} s" if reply is None else str(reply)
        if isinstance(reply, (Ended, protocol.Failed)):
            what = reply.detail if isinstance(reply, Ended) else reply.what
        self.close()
        return TrialResult(call=call, lost=what)

    def _result(self, reply: protocol.Tried, call: str) -> TrialResult:
        try:
            return from_plain(reply.result)
        except ValueError as e:
            self.close()
            raise HarnessTrouble("trial", f"the worker broke the protocol: {e}", call, _OUR_WORKER) from e

    def close(self) -> None:
        """End the worker."""
        if self._worker is not None:
            self._worker.kill()
            self._worker = None


def greet(opening: Opening) -> tuple[WorkerProcess, protocol.Devices]:
    """A worker that has said which devices it has. Raises HarnessTrouble."""
    argv, preamble = package.command(opening.command)
    try:
        worker = WorkerProcess(argv, preamble)
    except OSError as e:
        raise HarnessTrouble(
            "worker-start", f"the worker cannot be started: {e}", " ".join(argv[:3]), "correct the option `worker`"
        ) from e
    try:
        worker.ask(opening.hello)
        return worker, _of_our_version(expect(worker, protocol.Devices, opening.timeout))
    except BaseException:
        worker.kill()
        raise


def _of_our_version(devices: protocol.Devices) -> protocol.Devices:
    """Raises HarnessTrouble for a worker that speaks another version of the protocol."""
    if devices.version != protocol.VERSION:
        what = f"the worker speaks protocol version {devices.version}, the suite version {protocol.VERSION}"
        raise HarnessTrouble("worker-version", what, f"the Vulkan worker: {devices.worker}", _OUR_WORKER)
    return devices


def expect(worker: WorkerProcess, kind: type[_R], timeout: float) -> _R:
    """The reply to a request of the greeting. Raises HarnessTrouble."""
    call, reply = _answer(worker, "", timeout)
    if isinstance(reply, kind):
        return reply
    if isinstance(reply, protocol.Failed):
        what, code, remedy = reply.what, "worker-start", _OUR_WORKER
        if reply.status == "no-device":
            code = "no-device"
            remedy = "install a Vulkan driver there, or name another machine with the option `worker`"
    else:
        code, remedy = "worker-start", _OF_DRIVER if call else _OF_COMMAND
        where = f", in {call}" if call else ""
        if reply is None:
            what = f"no answer within {timeout:g} s{where}"
        elif isinstance(reply, Ended):
            what = f"{reply.detail}{where}"
            if reply.how == "killed":
                raise WorkerKilled(code, f"{what}, from outside", "the Vulkan worker", "enough memory for it")
            remedy = f"{_OF_COMMAND}; {_OUR_WORKER}" if reply.how == "garbage" else remedy
        else:
            what, remedy = f"expected {kind.__name__}, got {reply}", _OUR_WORKER
    words = worker.last_words()
    raise HarnessTrouble(code, f"{what}\n{words}" if words else what, "the Vulkan worker", remedy)


def choose(devices: tuple[protocol.DeviceSummary, ...], wish: str) -> protocol.DeviceSummary:
    """The device that was asked for. Raises BadInput if no device or several devices match."""
    usable = [d for d in devices if not d.unusable]
    listing = "; ".join(f"{d.index}: {d.name} {d.uuid}{f' ({d.unusable})' if d.unusable else ''}" for d in devices)
    if not devices:
        raise HarnessTrouble("no-device", "the Vulkan loader finds no device", remedy="install a Vulkan driver")
    if not wish:
        if not usable:
            raise HarnessTrouble("no-device", "no device can be used", listing, "a device with Vulkan 1.3")
        best = min(_PREFERENCE.index(d.type) for d in usable)
        equals = [d for d in usable if _PREFERENCE.index(d.type) == best]
        return equals[_xdist_number() % len(equals)]
    matches = [d for d in devices if _matches(d, wish)]
    if len(matches) != 1 or matches[0].unusable:
        how_many = "no device matches" if not matches else f"{len(matches)} devices match"
        what = f"{how_many} {wish!r}" if len(matches) != 1 else f"device {wish!r} cannot be used: {matches[0].unusable}"
        raise BadInput("vulkan-device", what, "driver vulkan", f"an index, a UUID or part of a name of: {listing}")
    return matches[0]


def _matches(device: protocol.DeviceSummary, wish: str) -> bool:
    if wish.isdigit() and len(wish) < 4:
        return device.index == int(wish)
    compact = wish.replace("-", "").lower()
    if re.fullmatch("[0-9a-f]{32}", compact):
        return device.uuid == compact
    return wish.lower() in device.name.lower()


def _xdist_number() -> int:
    match = re.fullmatch(r"gw(\d+)", os.environ.get("PYTEST_XDIST_WORKER", ""))
    return int(match[1]) if match else 0
