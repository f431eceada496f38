"""The worker's life: greet, open one device, then run what arrives, in order, until the input ends."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import queue
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import BinaryIO

from .protocol import (
    VERSION,
    Devices,
    Done,
    Failed,
    FailureStatus,
    Hello,
    Open,
    Opened,
    Phase,
    Progress,
    ProtocolError,
    Reply,
    Request,
    Run,
    frame,
    read_request,
)

try:
    import vulkan as vk

    from .device import Devices as LogicalDevices
    from .execute import Hung, execute
    from .instance import Instance, NoDevice, versions
    from .pipeline import Key, Pipeline, Pipelines, key
except ImportError as e:
    _NO_LOADER = f"the worker's Python lacks a package: {e}"
except OSError as e:
    _NO_LOADER = f"no Vulkan loader (libvulkan.so.1) on the worker's machine: {e}"
else:
    _NO_LOADER = ""


class Wire:
    """The worker's end of the stream. Safe to send from several threads."""

    def __init__(self, source: BinaryIO, sink: BinaryIO) -> None:
        self._source = source
        self._sink = sink
        self._lock = threading.Lock()

    def send(self, reply: Reply) -> None:
        data = frame(reply)
        with self._lock:
            self._sink.write(data)
            self._sink.flush()

    def requests(self) -> Iterator[Request]:
        """What arrives, until the input ends. Raises ProtocolError."""
        while (request := read_request(self._source)) is not None:
            yield request


def claim_standard_streams() -> Wire:
    """Take stdin and stdout for the protocol alone: whatever a driver prints goes to stderr."""
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    return Wire(source, sink)


def main() -> None:
    """Run the worker on this process's standard streams; does not return before the input ends."""
    faulthandler.enable()
    wire = claim_standard_streams()
    try:
        requests = wire.requests()
        instance = _greet(wire, next(requests, None))
        session = _open(wire, instance, next(requests, None)) if instance else None
    except ProtocolError as e:
        wire.send(Failed("error", f"protocol: {e}"))
        return
    if session is not None:
        session.serve(requests)


def _greet(wire: Wire, hello: Request | None) -> Instance | None:
    if not isinstance(hello, Hello):
        raise ProtocolError(f"expected hello, got {type(hello).__name__}")
    if hello.version != VERSION:
        wire.send(Failed("error", f"this worker speaks protocol version {VERSION}, the driver {hello.version}"))
        return None
    if _NO_LOADER:
        wire.send(Failed("no-device", _NO_LOADER))
        return None
    try:
        instance = Instance(validation=hello.validation)
    except NoDevice as e:
        wire.send(Failed("no-device", str(e)))
        return None
    wire.send(Devices(VERSION, versions(), instance.summaries()))
    return instance


def _open(wire: Wire, instance: Instance, request: Request | None) -> Session | None:
    if request is None:
        return None
    if not isinstance(request, Open):
        raise ProtocolError(f"expected open, got {type(request).__name__}")
    if not 0 <= request.device < len(instance.physical):
        wire.send(Failed("no-device", f"no device number {request.device}: there are {len(instance.physical)}"))
        return None
    wire.send(Opened(instance.describe(request.device)))
    return Session(wire, instance, request)


class Session:
    """One opened device: a thread reads and has pipelines created, the main thread runs them in order."""

    def __init__(self, wire: Wire, instance: Instance, request: Open) -> None:
        self._wire = wire
        self._instance = instance
        self._pipelines = Pipelines(LogicalDevices(instance, request.device, request.memory), request.threads)
        self._waiting: queue.SimpleQueue[tuple[Run, Key, Future[Pipeline], bool]] = queue.SimpleQueue()

    def serve(self, requests: Iterator[Request]) -> None:
        """Never returns: the reader ends the process with the input, even while a driver hangs."""
        threading.Thread(target=self._read, args=(requests,), name="reader", daemon=True).start()
        while True:
            run, wanted, pipeline, cached = self._waiting.get()
            started = time.perf_counter()
            with contextlib.closing(self._run(run, pipeline, cached, started)) as replies:
                for reply in replies:
                    self._wire.send(reply)
            self._pipelines.release(wanted)

    def _read(self, requests: Iterator[Request]) -> None:
        try:
            for request in requests:
                if not isinstance(request, Run):
                    raise ProtocolError(f"expected run, got {type(request).__name__}")
                wanted = key(request)
                future, cached = self._pipelines.request(wanted, self._announce(request.id, "pipeline"))
                self._waiting.put((request, wanted, future, cached))
        except ProtocolError as e:
            self._wire.send(Failed("error", f"protocol: {e}"))
        os._exit(0)

    def _announce(self, run: int, phase: Phase) -> Callable[[], None]:
        return lambda: self._wire.send(Progress(run, phase))

    def _run(self, run: Run, future: Future[Pipeline], cached: bool, started: float) -> Iterator[Reply]:
        status: FailureStatus
        where = "vkCreateComputePipelines"
        try:
            pipeline = future.result()
            ready = time.perf_counter()
            where = "vkQueueSubmit"
            if any(m.startswith("error") for m in self._instance.messages):
                # Running what the layer rejects could do anything, and lose what it said.
                yield Failed("error", "the validation layer rejects the pipeline", run.id, self._instance.take_messages())
                return
            yield Progress(run.id, "dispatch")
            sets = execute(pipeline, run)
            seconds = {"pipeline": ready - started, "dispatch": time.perf_counter() - ready}
            yield Done(run.id, sets, self._instance.take_messages(), seconds, cached)
            return
        except Hung as e:
            status, what = "timeout", str(e)
        except vk.VkErrorDeviceLost:
            status, what = "device-lost", f"VK_ERROR_DEVICE_LOST in {where}"
        except (vk.VkErrorOutOfHostMemory, vk.VkErrorOutOfDeviceMemory) as e:
            status, what = "out-of-memory", f"{type(e).__name__} in {where}"
        except (vk.VkErrorFeatureNotPresent, vk.VkErrorExtensionNotPresent) as e:
            status, what = "unsupported", f"{type(e).__name__} while enabling {', '.join(run.features)}"
        except (vk.VkError, vk.VkException) as e:
            status, what = "rejected", f"{type(e).__name__} in {where}"
        except Exception as e:  # noqa: BLE001 - the worker must answer whatever went wrong
            traceback.print_exc()
            status, what = "error", f"{type(e).__name__}: {e} (in {where})"
        yield Failed(status, what, run.id, self._instance.take_messages())
        if status in ("timeout", "device-lost"):
            os._exit(0)
