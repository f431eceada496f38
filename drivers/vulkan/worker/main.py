"""The worker's main loop: greet, answer queries, open one device, then run what arrives until the input ends."""

from __future__ import annotations

import faulthandler
import traceback
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from . import protocol
from .frames import ProtocolError
from .wire import Wire, claim_standard_streams

# For type checkers only: importing these loads the Vulkan loader, which may not be there.
if TYPE_CHECKING:
    from .engine import Engine
    from .instance import Instance


def main(loaded: Callable[[], None] = lambda: None) -> None:
    """Run the worker on this process's standard streams; does not return before the input ends.

    `loaded` is called when all of the worker's code has been.
    """
    faulthandler.enable()
    wire = claim_standard_streams()
    missing = _load()
    loaded()
    requests = wire.requests()
    try:
        instance = _greet(wire, next(requests, None), missing)
        engine = _serve(wire, instance, requests) if instance else None
    except ProtocolError as e:
        wire.send(protocol.Failed("error", f"protocol: {e}"))
        return
    if engine is not None:
        engine.serve(requests)


def _load() -> str:
    """Import what needs a Vulkan loader; what is missing, in words."""
    try:
        from . import answers, engine, trials  # noqa: F401
    except ImportError as e:
        return f"the worker's Python lacks a package: {e}"
    except OSError as e:
        return f"no Vulkan loader (libvulkan.so.1) on the worker's machine: {e}"
    return ""


def _greet(wire: Wire, hello: protocol.Request | None, missing: str) -> Instance | None:
    if hello is None:
        return None
    if not isinstance(hello, protocol.Hello):
        raise ProtocolError(f"expected hello, got {type(hello).__name__}")
    if hello.version != protocol.VERSION:
        wire.send(
            protocol.Failed(
                "error", f"the worker speaks protocol version {protocol.VERSION}, the suite version {hello.version}"
            )
        )
        return None
    if missing:
        wire.send(protocol.Failed("no-device", missing))
        return None
    from .instance import Instance, NoDevice, versions

    try:
        instance = Instance(hello, announce=lambda call: wire.send(protocol.Asking(call)))
    except NoDevice as e:
        wire.send(protocol.Failed("no-device", str(e)))
        return None
    wire.send(protocol.Devices(protocol.VERSION, versions(), instance.summaries()))
    return instance


def _serve(wire: Wire, instance: Instance, requests: Iterator[protocol.Request]) -> Engine | None:
    """Answer queries and run trials until a device is to be opened."""
    from .answers import answers
    from .convert import Unsupported
    from .device import Home, LogicalDevice
    from .submission import Hung
    from .tables import CONVERSIONS
    from .trials import run_trial

    def announce(call: str) -> None:
        wire.send(protocol.Asking(call))

    tried: dict[tuple[int, str], LogicalDevice] = {}
    for request in requests:
        if not isinstance(request, (protocol.Ask, protocol.Open, protocol.Try)):
            raise ProtocolError(f"expected ask, try or open, got {type(request).__name__}")
        if not 0 <= request.device < len(instance.physical):
            wire.send(
                protocol.Failed("no-device", f"no device number {request.device}: there are {len(instance.physical)}")
            )
            return None
        if isinstance(request, protocol.Open):
            return _open(wire, instance, request)
        number = request.id if isinstance(request, protocol.Try) else None
        try:
            if isinstance(request, protocol.Ask):
                wire.send(protocol.Answers(answers(instance, request.device, announce)))
                continue
            place = request.device, request.memory
            if place not in tried:
                supported = instance.describe(request.device).features
                if lacking := sorted(name for name in CONVERSIONS if not supported.get(name)):
                    raise Unsupported(f"the device does not support {', '.join(lacking)}")
                announce("vkCreateDevice")
                tried[place] = LogicalDevice(instance, request.device, Home(CONVERSIONS), request.memory)
            wire.send(protocol.Tried(request.id, run_trial(tried[place], request.trial, announce)))
        except Unsupported as e:
            wire.send(protocol.Failed("unsupported", str(e), number))
        except Hung as e:
            wire.send(protocol.Failed("timeout", str(e), number))
            return None
        except Exception as e:  # noqa: BLE001 - the worker must answer whatever went wrong
            traceback.print_exc()
            lost = type(e).__name__ == "VkErrorDeviceLost"
            wire.send(protocol.Failed("device-lost" if lost else "error", f"{type(e).__name__}: {e}", number))
            if lost:
                return None
    return None


def _open(wire: Wire, instance: Instance, request: protocol.Open) -> Engine:
    from .engine import Engine

    wire.send(protocol.Opened(instance.describe(request.device)))
    return Engine(wire, instance, request)
