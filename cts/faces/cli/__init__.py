"""The `cts` command: one verb per module, registered in `cts.faces.cli.app`."""

from __future__ import annotations

import atexit
import contextlib
import gc
import logging
import os
import signal
import sys
import threading
import traceback
from pathlib import Path
from typing import NoReturn

#: What libraries for linear algebra read as they are loaded, and processes inherit (docs/decisions/one-thread.md).
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

#: Seconds for threads that a driver has left to end: the user waits for that, and their work is done.
_GRACE = 1.0


class _Notices(logging.Handler):
    """Prints long operations as they begin, to the current stderr, which a progress bar may have redirected."""

    def emit(self, record: logging.LogRecord) -> None:
        # The code that logs this, such as a driver, must not fail because nobody reads it.
        with contextlib.suppress(BrokenPipeError):
            print(self.format(record), file=sys.stderr, flush=True)


def main() -> None:
    """Run the command line and exit: 0 no findings, 1 findings, 2 wrong input, 3 an error of a driver or the suite.

    If nobody reads the output any more, as with `| head`, the command exits silently with status 141 (SIGPIPE).
    """
    from cts.base.errors import OutputClosed
    from cts.base.heartbeat import heartbeat
    from cts.faces.cli.streams import printed_streams
    from cts.running.garbage import rarely_collected

    # Nothing is worth collecting when the process ends: looking through all modules takes a tenth of a short command.
    atexit.register(gc.freeze)
    if not any(name in os.environ for name in _THREADS):
        os.environ.update(dict.fromkeys(_THREADS, "1"))
    notices = logging.getLogger("cts")
    notices.addHandler(_Notices())
    notices.setLevel(logging.INFO)
    if sys.stdout is None:  # closed, as by `>&-`
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - until the process ends
    # A job that is cancelled or out of time ends like one that Ctrl-C ends: reports are written, devices given back.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with printed_streams(), heartbeat.watching(lambda word: _say(f"cts: {word}")):
        try:
            with rarely_collected():
                status = _run()
            sys.stdout.flush()
        except (BrokenPipeError, OutputClosed):
            status = 128 + signal.SIGPIPE
        except OSError as e:
            _say(f"error[output]: what is printed cannot be written: {e.strerror or e}")
            status = 3
    _exit(status)


def _exit(status: int) -> NoReturn:
    """End the process, also where a driver has left threads that do not end."""
    others = [t for t in threading.enumerate() if t is not threading.main_thread() and not t.daemon]
    for thread in others:
        thread.join(_GRACE)
    if left := [thread.name for thread in others if thread.is_alive()]:
        _say(f"left by a driver, and not waited for: threads {', '.join(left)}")
        os._exit(status)
    sys.exit(status)


def _say(line: str) -> None:
    with contextlib.suppress(OSError, ValueError):
        print(line, file=sys.stderr, flush=True)


def _run() -> int:
    """The exit status of the command line. Raises BrokenPipeError or OutputClosed where its output is not read."""
    from cts.base.errors import BadInput, CtsError
    from cts.faces.cli import dispatching, surroundings

    try:
        surroundings.check(sys.argv[1:])
        asked = dispatching.plain(sys.argv[1:])
        if asked is not None:
            return dispatching.run(asked)
        from cts.faces.cli.app import app

        app(prog_name="cts")
    except SystemExit as e:
        if isinstance(e.__context__, BrokenPipeError):  # typer makes status 1 of it
            raise e.__context__ from None
        if isinstance(getattr(e.__context__, "__cause__", None), KeyboardInterrupt):  # and status 130 of that
            _say("interrupted")
        return e.code if isinstance(e.code, int) else 0
    except CtsError as e:
        print(e, file=sys.stderr)
        return 2 if isinstance(e, BadInput) else 3
    except BrokenPipeError:
        raise
    except (OSError, MemoryError) as e:
        print(surroundings.trouble(e), file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        _say("interrupted")
        return 128 + signal.SIGINT
    except Exception:  # noqa: BLE001 - a bug of ours must not look like a finding
        if surroundings.is_short_of_memory():
            print(surroundings.trouble(MemoryError()), file=sys.stderr)
            return 3
        traceback.print_exc()
        return 3
    return 0
