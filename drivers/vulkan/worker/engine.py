"""One opened device: a thread reads and has pipelines created, the main thread runs them in order."""

from __future__ import annotations

import contextlib
import os
import queue
import threading
import time
import traceback
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future

import vulkan as vk

from . import protocol
from .convert import Refused, TooSmall, Unsupported
from .device import Devices
from .execute import execute
from .frames import ProtocolError
from .instance import Instance
from .pipeline import Key, Pipeline, Pipelines, key
from .submission import Hung
from .wire import Wire


class Engine:
    """Runs what arrives, in order, until the input ends."""

    def __init__(self, wire: Wire, instance: Instance, request: protocol.Open) -> None:
        self._wire = wire
        self._instance = instance
        self._pipelines = Pipelines(Devices(instance, request.device, request.memory), request.threads)
        self._waiting: queue.SimpleQueue[tuple[protocol.Run, Key, Future[Pipeline], bool]] = queue.SimpleQueue()

    def serve(self, requests: Iterator[protocol.Request]) -> None:
        """Never returns: the reader ends the process with the input, even while a driver hangs."""
        threading.Thread(target=self._read, args=(requests,), name="reader", daemon=True).start()
        while True:
            run, wanted, pipeline, cached = self._waiting.get()
            with contextlib.closing(self._run(run, pipeline, cached)) as replies:
                for reply in replies:
                    self._wire.send(reply)
            self._pipelines.release(wanted)

    def _read(self, requests: Iterator[protocol.Request]) -> None:
        try:
            for request in requests:
                if not isinstance(request, protocol.Run):
                    raise ProtocolError(f"expected run, got {type(request).__name__}")
                # Runs of a layer's judgement come one at a time.
                self._instance.stops_rejected = request.only_pipeline
                wanted = key(request)
                future, cached = self._pipelines.request(wanted, self._announce(request.id, "pipeline"))
                self._waiting.put((request, wanted, future, cached))
        except ProtocolError as e:
            self._wire.send(protocol.Failed("error", f"protocol: {e}"))
        except BaseException:  # noqa: BLE001 - without its reader the worker would wait for ever
            traceback.print_exc()
            os._exit(70)
        os._exit(0)

    def _announce(self, run: int, phase: protocol.Phase) -> Callable[[], None]:
        return lambda: self._wire.send(protocol.Progress(run, phase))

    def _run(self, run: protocol.Run, future: Future[Pipeline], cached: bool) -> Generator[protocol.Reply]:
        status: protocol.FailureStatus
        where = protocol.pipeline_command(run)
        self._instance.take_remarks()
        try:
            pipeline = future.result()
            ready = time.perf_counter()
            where = "vkQueueSubmit"
            if any(m.startswith("error") for m in self._instance.messages):
                # A pipeline that the layer rejects could crash the worker when run, and the messages would be lost.
                yield protocol.Failed(
                    "error", "the validation layer rejects the pipeline", run.id, self._instance.take_messages()
                )
                return
            if run.only_pipeline:
                seconds = {"pipeline": 0.0 if cached else pipeline.seconds}
                yield protocol.Done(
                    run.id, (), self._instance.take_messages(), seconds, cached, pipeline.statistics, pipeline.listing
                )
                return
            yield protocol.Progress(run.id, "dispatch")
            sets = execute(pipeline, run)
            seconds = {"pipeline": 0.0 if cached else pipeline.seconds, "dispatch": time.perf_counter() - ready}
            yield protocol.Done(run.id, sets, self._instance.take_messages(), seconds, cached)
            return
        except Hung as e:
            status, what = "timeout", str(e)
        except vk.VkErrorDeviceLost as e:
            status, what = "device-lost", f"VK_ERROR_DEVICE_LOST in {where}{self._remarks(e)}"
        except (vk.VkErrorOutOfHostMemory, vk.VkErrorOutOfDeviceMemory) as e:
            status, what = "out-of-memory", f"{type(e).__name__} in {where}"
        except (vk.VkErrorFeatureNotPresent, vk.VkErrorExtensionNotPresent) as e:
            status, what = "unsupported", f"{type(e).__name__} while enabling {', '.join(run.features)}"
        except Unsupported as e:
            status, what = "unsupported", str(e)
        except Refused as e:
            status, what = "rejected", f"{e}{self._remarks(e)}"
        except TooSmall as e:
            status, what = "error", str(e)
        except (vk.VkError, vk.VkException) as e:
            status, what = "rejected", f"{type(e).__name__} in {where}{self._remarks(e)}"
        except Exception as e:  # noqa: BLE001 - the worker must answer whatever went wrong
            traceback.print_exc()
            status, what = "error", f"{type(e).__name__}: {e} (in {where})"
        yield protocol.Failed(status, what, run.id, self._instance.take_messages())
        if status in ("timeout", "device-lost"):
            os._exit(0)

    def _remarks(self, error: Exception) -> str:
        """What the driver said to the thread in which it failed."""
        remarks = (*getattr(error, "__notes__", ()), *self._instance.take_remarks())
        return "".join(f"\nthe driver says: {remark}" for remark in dict.fromkeys(remarks))
