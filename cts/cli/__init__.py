"""The `cts` command: one verb per module, registered in `cts.cli.app`."""

from __future__ import annotations

import atexit
import contextlib
import gc
import io
import logging
import os
import signal
import sys
import traceback
from pathlib import Path

#: What libraries for linear algebra read as they are loaded, and processes inherit (docs/decisions/one-thread.md).
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class _Notices(logging.Handler):
    """What takes long, as it begins: on stderr as it is now, which a progress bar may have redirected."""

    def emit(self, record: logging.LogRecord) -> None:
        # Whoever logs this, such as a driver, is not to fail because nobody reads it.
        with contextlib.suppress(BrokenPipeError):
            print(self.format(record), file=sys.stderr, flush=True)


def main() -> None:
    """Run the command line and exit: 0 no findings, 1 findings, 2 wrong input, 3 an error of a driver or the suite.

    Where nobody reads the output any more, as with `| head`, the command ends without a word, and with the status that
    a shell shows for a program that the signal SIGPIPE has ended.
    """
    from cts.errors import OutputClosed
    from cts.running.garbage import rarely_collected

    # Nothing is worth collecting when the process ends: looking through all modules takes a tenth of a short command.
    atexit.register(gc.freeze)
    if not any(name in os.environ for name in _THREADS):
        os.environ.update(dict.fromkeys(_THREADS, "1"))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a console may lack characters of a device's name
    notices = logging.getLogger("cts")
    notices.addHandler(_Notices())
    notices.setLevel(logging.INFO)
    if sys.stdout is None:  # closed, as by `>&-`
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - until the process ends
    # A job that is cancelled or out of time ends like one that Ctrl-C ends: reports are written, devices given back.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with rarely_collected():
            status = _run()
        sys.stdout.flush()
    except (BrokenPipeError, OutputClosed):
        _discard_output()
        status = 128 + signal.SIGPIPE
    sys.exit(status)


def _run() -> int:
    """The exit status of the command line. Raises BrokenPipeError or OutputClosed where its output is not read."""
    from cts.cli import dispatching, surroundings
    from cts.errors import BadInput, CtsError

    try:
        surroundings.check(sys.argv[1:])
        asked = dispatching.plain(sys.argv[1:])
        if asked is not None:
            return dispatching.run(asked)
        from cts.cli.app import app

        app(prog_name="cts")
    except SystemExit as e:
        if isinstance(e.__context__, BrokenPipeError):  # typer makes status 1 of it
            raise e.__context__ from None
        return e.code if isinstance(e.code, int) else 0
    except CtsError as e:
        print(e, file=sys.stderr)
        return 2 if isinstance(e, BadInput) else 3
    except BrokenPipeError:
        raise
    except OSError as e:
        print(surroundings.trouble(e), file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except Exception:  # noqa: BLE001 - a bug of ours must not look like a finding
        traceback.print_exc()
        return 3
    return 0


def _discard_output() -> None:
    """Send what is still buffered nowhere, so that Python does not complain of it when it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.__stdout__, sys.__stderr__):
        if stream is not None:
            os.dup2(nowhere, stream.fileno())
