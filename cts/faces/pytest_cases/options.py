"""What the options of a session ask for, checked as a whole: typed ones, then `[tool.cts]`, then what is built in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from cts.base.config import Config, find
from cts.base.errors import BadInput, Checks
from cts.base.settings import declared
from cts.judging.known.baseline import NO_BASELINE, with_flaky
from cts.judging.known.quarantine import NO_RULES
from cts.plugins import registry
from cts.running.checks import check_drivers, load_known
from cts.running.outputs import check_folder
from cts.running.plan import Plan
from cts.running.profiles import check_shared_seed, profile
from cts.running.shard import WHOLE, parse

#: The settings that are options of pytest, by the keys of `[tool.cts]` or else by their names.
OPTIONS = {one.name.replace("_", "-"): one for one in declared().values() if one.option.pytest}


@dataclass(frozen=True)
class Request:
    """The options of a session by the keys of `[tool.cts]`. `origins` says where those stand that were not typed."""

    drivers: tuple[str, ...]
    values: Mapping[str, Any]
    config: Config | None = None
    origins: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_config(cls, config: pytest.Config) -> Request:
        """The typed settings, and for the rest those of the nearest file. Raises BadInput if that file is no TOML."""
        table = find(config.invocation_params.dir)
        settings = table.settings if table is not None else {}
        values, origins = {}, {}
        for key, setting in OPTIONS.items():
            option = config.getoption(f"--cts-{key}")
            values[key] = option if option is not None else settings.get(key, setting.default)
            if option is None and table is not None and key in settings:
                origins[key] = table.place(key)
        return cls(tuple(dict.fromkeys(config.getoption("--cts-driver"))), values, table, origins)

    def path(self, key: str) -> Path | None:
        """An option that is a path."""
        return Path(self.values[key]) if self.values[key] is not None else None


def plan_of(request: Request, given_seed: int | None) -> Plan:
    """The plan of a session, in which every area is generated. Raises BadInput, or BadInputs where more is wrong.

    `given_seed` is that of the controller, in a worker of pytest-xdist.
    """
    values, origins = request.values, request.origins
    checks = Checks()
    checks.errors += request.config.errors if request.config is not None else ()
    drivers = request.drivers
    with checks.part():
        check_drivers(drivers)
        if values["validation"]:
            drivers = registry.validated(drivers)
    seed = values["seed"] if given_seed is None else given_seed
    settings, shard = None, WHOLE
    with checks.part(origins.get("shard", "")):
        shard = parse(values["shard"], "--cts-shard")
    with checks.part(", ".join(origins[key] for key in ("profile", "max-examples", "seed") if key in origins)):
        settings = profile(values["profile"], values["max-examples"], seed, shard)
        check_shared_seed(values["profile"], seed, shard, "--cts-")
    for key, setting in OPTIONS.items():
        least = setting.option.at_least
        if (
            key not in ("max-examples", "seed")
            and least is not None
            and values[key] is not None
            and values[key] < least
        ):
            checks.errors.append(BadInput(key, f"{values[key]:g}", f"--cts-{key}", f"{least:g} or more"))
    quarantine, baseline = NO_RULES, NO_BASELINE
    with checks.part():
        quarantine, baseline = load_known(request.path("quarantine"), request.path("baseline"))
        baseline = with_flaky(baseline, values["flaky"], origins.get("flaky", "--cts-flaky"))
    for key in ("save-dir", "bundle-dir"):
        with checks.part(origins.get(key, "")):
            check_folder(request.path(key), f"--cts-{key}")
    checks.finish()
    assert settings is not None, "it is only missing with an error"
    if values["reduce-time"] is not None:
        settings = replace(settings, reduce_seconds=values["reduce-time"])
    return Plan(
        drivers,
        settings,
        areas=tuple(registry.names("cts.areas")),
        quarantine=quarantine,
        baseline=baseline,
        reruns=values["reruns"],
        max_seconds=values["max-time"],
        config=str(request.config.path) if request.config is not None else "",
    )
