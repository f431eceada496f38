"""The `cts` command: one verb per module, registered in `cts.cli.app`."""

from __future__ import annotations

import io
import logging
import sys
import traceback


class _Notices(logging.Handler):
    """What takes long, as it begins: on stderr as it is now, which a progress bar may have redirected."""

    def emit(self, record: logging.LogRecord) -> None:
        print(self.format(record), file=sys.stderr, flush=True)


def main() -> None:
    """Run the command line and exit: 0 no findings, 1 findings, 2 wrong input, 3 an error of a driver or the suite."""
    from cts.cli.app import app
    from cts.errors import BadInput, CtsError

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a console may lack characters of a device's name
    notices = logging.getLogger("cts")
    notices.addHandler(_Notices())
    notices.setLevel(logging.INFO)
    try:
        app(prog_name="cts")
    except CtsError as e:
        print(e, file=sys.stderr)
        sys.exit(2 if isinstance(e, BadInput) else 3)
    except Exception:  # noqa: BLE001 - a bug of ours must not look like a finding
        traceback.print_exc()
        sys.exit(3)
