"""The options of the driver's spec string."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cts.driver import IN_PROCESSES
from cts.errors import BadInput, did_you_mean
from cts.stages import Stage

#: Seconds that a dispatch may take where nobody says otherwise.
DEFAULT_TIMEOUT = 10.0


@dataclass(frozen=True)
class Options:
    """What stands after `vulkan:`; a bare word is `device`.

    `device`: index, UUID or part of a name. `worker`: the command that starts the worker, see
    `package.command`. `memory`: where buffers lie. `timeout`, `pipeline_timeout` and `start_timeout`
    in seconds, the first None for that of the job or DEFAULT_TIMEOUT. `threads`: pipelines created at
    a time. `workers`: processes, see `pool.Pool`.
    `validation`: load the validation layer. `journal`: the folder of `journal.Journal`.
    `offsets`: those of buffers are in their descriptors, or given when these are bound, as far as the device's limits
    allow. `features`: enable all that modules may need, as `features.widened` does, or what a module needs alone.
    `subgroup_size`: use this one of several. `unlisted`: also run what the device does not list.
    `large_buffers`: also run cases whose buffers reach beyond 256 MiB, which take gigabytes on the device.
    `stage`: run cases in shaders of this stage.
    """

    device: str = ""
    worker: str = ""
    memory: Literal["auto", "host", "staged"] = "auto"
    offsets: Literal["fixed", "dynamic"] = "fixed"
    features: Literal["all", "needed"] = "all"
    timeout: float | None = None
    pipeline_timeout: float = 60.0
    start_timeout: float = 60.0
    threads: int = 0
    workers: int | None = None
    validation: bool = False
    journal: Path = Path("cts-run/vulkan")
    subgroup_size: int | None = None
    unlisted: bool = False
    large_buffers: bool = False
    stage: Stage = Stage.COMPUTE


def parse(options: dict[str, str]) -> Options:
    """Options from `key=value` pairs. Raises BadInput."""
    given = {"device" if key == "" else key: value for key, value in options.items()}
    known = Options.__dataclass_fields__
    for key in given:
        if key not in known:
            remedy = did_you_mean(key, known)
            raise BadInput("driver-option", f"no option {key!r}", "driver vulkan", remedy)
    validation = _truth("validation", given.get("validation", "no"))
    return Options(
        device=given.get("device", ""),
        worker=given.get("worker", ""),
        memory=_memory(given.get("memory", "auto")),
        offsets=_offsets(given.get("offsets", "fixed")),
        features=_features(given.get("features", "needed" if validation else "all")),
        timeout=_seconds(given, "timeout", DEFAULT_TIMEOUT) if "timeout" in given else None,
        pipeline_timeout=_seconds(given, "pipeline_timeout", 60.0),
        start_timeout=_seconds(given, "start_timeout", 60.0),
        threads=_integer(given, "threads") or min(8, os.cpu_count() or 1),
        workers=_workers(given),
        validation=validation,
        journal=Path(given.get("journal", "cts-run/vulkan")),
        subgroup_size=_integer(given, "subgroup_size"),
        unlisted=_unlisted(given.get("unlisted", "refuse")),
        large_buffers=_truth("large_buffers", given.get("large_buffers", "no")),
        stage=_stage(given.get("stage", Stage.COMPUTE.value)),
    )


def _memory(value: str) -> Literal["auto", "host", "staged"]:
    if value in ("auto", "host", "staged"):
        return value  # type: ignore[return-value]
    raise BadInput("driver-option", f"memory={value!r}", "driver vulkan", "auto, host or staged")


def _offsets(value: str) -> Literal["fixed", "dynamic"]:
    if value in ("fixed", "dynamic"):
        return value  # type: ignore[return-value]
    raise BadInput("driver-option", f"offsets={value!r}", "driver vulkan", "fixed or dynamic")


def _features(value: str) -> Literal["all", "needed"]:
    if value in ("all", "needed"):
        return value  # type: ignore[return-value]
    raise BadInput("driver-option", f"features={value!r}", "driver vulkan", "all or needed")


def _stage(value: str) -> Stage:
    names = [stage.value for stage in Stage]
    if value in names:
        return Stage(value)
    remedy = did_you_mean(value, names)
    raise BadInput("driver-option", f"stage={value!r}", "driver vulkan", remedy)


def _unlisted(value: str) -> bool:
    if value in ("try", "refuse"):
        return value == "try"
    raise BadInput("driver-option", f"unlisted={value!r}", "driver vulkan", "try or refuse")


def _seconds(given: dict[str, str], key: str, default: float) -> float:
    try:
        value = float(given.get(key, default))
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise BadInput("driver-option", f"{key}={given[key]!r}", "driver vulkan", "a positive number of seconds")
    return value


def _integer(given: dict[str, str], key: str) -> int | None:
    if key not in given:
        return None
    if not given[key].isdigit() or int(given[key]) < 1:
        raise BadInput("driver-option", f"{key}={given[key]!r}", "driver vulkan", "a positive integer")
    return int(given[key])


def _workers(given: dict[str, str]) -> int | None:
    """Each process of a run, or of pytest-xdist, has one worker unless more are asked for."""
    several = "PYTEST_XDIST_WORKER" in os.environ or IN_PROCESSES in os.environ
    return _integer(given, "workers") or (1 if several else None)


def _truth(key: str, value: str) -> bool:
    if value in ("yes", "no", "1", "0", "true", "false"):
        return value in ("yes", "1", "true")
    raise BadInput("driver-option", f"{key}={value!r}", "driver vulkan", "yes or no")
