"""`cts doctor --conversions`: a device's conversions of matrices, checked against the specifications."""

from __future__ import annotations

import typer

#: Places of a broken statement that are printed: the first few show the pattern, and --json has all.
_MOST = 3


def judge_conversions(spec: str) -> int:
    """Print what becomes of a driver's conversions; returns the exit status."""
    from contextlib import closing

    from cts.base.errors import BadInput, HarnessTrouble
    from cts.device.driver import ConvertingDriver, NamedDriver
    from cts.device.queries.names import component_name
    from cts.faces.cli.judgements import print_judged, row
    from cts.modules.layout_conversions.abilities import abilities
    from cts.modules.layout_conversions.judge import judge, trials
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
            raise HarnessTrouble(
                "nothing-tested", f"{spec}: unsupported: {lacking}", "cts doctor --conversions", remedy
            )
        able = abilities(opened.capabilities)
        typer.echo(spec)
        if isinstance(opened.driver, NamedDriver):
            row("device", opened.driver.identity())
        row("types", ", ".join(map(component_name, able.components)))
        wanted = trials(able)
        row("trials", str(len(wanted)))
        return print_judged(judge(wanted, opened.driver.convert(wanted), registry.oracle()), spec, _MOST)
