"""`cts conversions`: the function and the command that convert matrices, held against the specifications."""

from __future__ import annotations

from typing import Annotated

import typer

from cts.cli import completion

#: Places where a statement is broken that are printed.
_MOST = 3


def conversions(
    driver: Annotated[
        str | None,
        typer.Option("--driver", "-d", help="The driver to try, with its options.", autocompletion=completion.drivers),
    ] = None,
) -> None:
    """Try vkConvertCooperativeVectorMatrixNV and vkCmdConvertCooperativeVectorMatrixNV of a driver's device.

    Sizes, return values, what is written and what is not, and every element, by the function and by the command.
    """
    from cts.errors import BadInput

    if driver is None:
        raise BadInput("no-driver", "no driver to try", "cts conversions", "--driver SPEC: vulkan, or emulator")
    raise typer.Exit(_judge(driver))


def _judge(spec: str) -> int:
    """Print what becomes of a driver's conversions; returns the exit status."""
    from contextlib import closing

    from cts.cli.judgements import print_judged, row
    from cts.device_queries.names import component_name
    from cts.driver import ConvertingDriver, NamedDriver
    from cts.errors import BadInput, HarnessTrouble
    from cts.layout_conversions.abilities import abilities
    from cts.layout_conversions.judge import judge, trials
    from cts.plugins import registry
    from cts.running.opening import open_driver

    opened = open_driver(spec)
    with closing(opened):
        if not isinstance(opened.driver, ConvertingDriver):
            remedy = "--driver vulkan, with its options, or --driver emulator"
            raise BadInput(
                "no-conversions", f"driver {spec!r} has no function that converts matrices", "--driver", remedy
            )
        if lacking := opened.driver.lacks_conversions():
            remedy = "a device with VK_NV_cooperative_vector: `cts drivers -d` shows what one supports"
            raise HarnessTrouble("nothing-tested", f"{spec}: unsupported: {lacking}", "cts conversions", remedy)
        found = abilities(opened.capabilities)
        typer.echo(spec)
        if isinstance(opened.driver, NamedDriver):
            row("device", opened.driver.identity())
        row("types", ", ".join(map(component_name, found.components)))
        wanted = trials(found)
        row("trials", str(len(wanted)))
        return print_judged(judge(wanted, opened.driver.convert(wanted), registry.oracle()), spec, _MOST)
