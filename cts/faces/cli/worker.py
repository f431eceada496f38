"""`cts worker`: a driver's worker as one file, for a machine where this suite is not installed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cts.faces.cli import completion


def worker(
    zipapp: Annotated[
        Path,
        typer.Option(
            "--out", metavar="FILE", help="Where to write it, for example worker.pyz.", autocompletion=completion.paths
        ),
    ],
    driver: Annotated[
        str, typer.Option("--driver", "-d", help="The driver whose worker is meant.", autocompletion=completion.drivers)
    ] = "vulkan",
) -> None:
    """Write a driver's worker as one self-contained file that Python runs."""
    from cts.base.errors import BadInput, CtsError
    from cts.device.driver import WorkerFactory
    from cts.plugins import registry

    try:
        factory = registry.driver_factory(driver)
        if not isinstance(factory, WorkerFactory):
            raise BadInput(
                "no-worker", f"driver {driver!r} has no worker", "--driver", "a driver that runs in one: vulkan"
            )
        zipapp.write_bytes(factory.worker())
        zipapp.chmod(0o755)
    except CtsError as e:
        typer.echo(str(e), err=True)
        raise typer.Exit(2 if isinstance(e, BadInput) else 3) from e
    except OSError as e:
        typer.echo(
            str(BadInput("worker-file", e.strerror or str(e), str(zipapp), "a file that can be written")), err=True
        )
        raise typer.Exit(2) from e
