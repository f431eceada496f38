"""What the worker does as a program of its own: speak the protocol, or print the answers of a device."""

from __future__ import annotations

import os
import sys

import msgspec

from .main import main

_USAGE = "usage: worker.pyz [--answers [NUMBER OF A DEVICE]]"


def start(arguments: list[str]) -> None:
    """Without arguments the worker; `--answers` prints a device's raw answers as JSON, that of number 0 by default."""
    if not arguments:
        main()
        return
    option, *rest = arguments
    if option != "--answers" or len(rest) > 1 or not all(word.isdecimal() for word in rest):
        sys.exit(_USAGE)
    _print_answers(int(rest[0]) if rest else 0)


def _print_answers(index: int) -> None:
    from .answers import answers
    from .instance import Instance, NoDevice
    from .protocol import Hello

    # Whatever a driver prints goes to stderr.
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        instance = Instance(Hello())
    except NoDevice as e:
        sys.exit(str(e))
    devices = instance.summaries()
    if index >= len(devices):
        sys.exit(f"no device number {index}: there are {len(devices)}")
    if devices[index].unusable:
        sys.exit(f"{devices[index].name} {devices[index].unusable}")
    answered = answers(instance, index, lambda call: print(call, file=sys.stderr, flush=True))
    with sink:
        sink.write(msgspec.json.format(msgspec.json.encode(answered), indent=1) + b"\n")
