"""The settings of a run, each declared once.

The options of `cts run`, `cts sweep`, `cts campaign` and pytest, the table `[tool.cts]` and its schema follow from this
declaration. A setting is added here, and where it is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

#: The verbs that run cases.
RUN, SWEEP, CAMPAIGN = "run", "sweep", "campaign"
_ALL, _DRAWING = (RUN, SWEEP, CAMPAIGN), (RUN, CAMPAIGN)


@dataclass(frozen=True)
class Option:
    """How a user sets a setting. `flags` are its option, by default `--name`.

    `verbs` have it, and `pytest` is the help of pytest's option `--cts-name`, "" if pytest has no such option. `key` is
    its name in `[tool.cts]`: by default the setting's name, "" if a file cannot set it. `at_least` bounds numbers. A
    path is a file or folder to `write`, or one to read. `complete` names the function that completes it. One that
    says who carries out the run, and how it is reported, goes with `--resume` (`resumed`).
    """

    help: str
    flags: tuple[str, ...] = ()
    metavar: str | None = None
    verbs: tuple[str, ...] = _ALL
    pytest: str = ""
    key: str | None = None
    at_least: float | None = None
    write: bool = False
    complete: str = ""
    resumed: bool = False


@dataclass(frozen=True)
class Settings:
    """The settings of a run. None is unset, if it is no value. `origins`: where settings that were not typed stand."""

    driver: Annotated[
        tuple[str, ...],
        Option(
            "A driver to test, e.g. emulator:subgroup_size=64. Repeatable. {device} in it is the device of each "
            "process, see --devices.",
            ("--driver", "-d"),
            key="drivers",
            complete="drivers",
        ),
    ] = ()
    area: Annotated[
        tuple[str, ...],
        Option("Generate cases of this area only. Repeatable.", verbs=_DRAWING, key="areas", complete="areas"),
    ] = ()
    corpus: Annotated[
        bool | None,
        Option("Run the corpus. Default: yes, unless CASEs are given.", ("--corpus/--no-corpus",), verbs=(RUN,)),
    ] = None
    generate: Annotated[
        bool | None,
        Option("Generate cases. Default: yes, unless CASEs are given.", ("--generate/--no-generate",), verbs=(RUN,)),
    ] = None
    profile: Annotated[
        str,
        Option(
            "smoke (of 20 examples the small ones, seed 0), default (500) or nightly (10000).",
            verbs=(RUN,),
            pytest="smoke, default (the default) or nightly",
            complete="profiles",
        ),
    ] = "default"
    max_examples: Annotated[
        int | None,
        Option(
            "Generated cases per area and driver.",
            metavar="N",
            verbs=(RUN,),
            pytest="generated cases per area and driver",
        ),
    ] = None
    cases: Annotated[
        int | None,
        Option(
            "Generated cases of all areas together, instead of --max-examples.",
            metavar="N",
            verbs=_DRAWING,
            key="",
            at_least=1,
        ),
    ] = None
    seed: Annotated[
        int | None,
        Option("Seed of generation; printed by every run.", pytest="seed of generation; the header prints it"),
    ] = None
    keep: Annotated[
        int,
        Option(
            "Go on after findings: judge all cases, and keep the N shortest of each suspected cause. "
            "0: an area ends with its first finding.",
            metavar="N",
            verbs=_DRAWING,
            key="",
            at_least=0,
        ),
    ] = 0
    by_novelty: Annotated[
        bool,
        Option(
            "Generate more cases of areas in which cases still have new features.",
            ("--by-novelty/--in-turn",),
            verbs=_DRAWING,
            key="",
        ),
    ] = False
    chunk: Annotated[
        int,
        Option(
            "Generated cases that a process gets at a time; 0: as many as fit.",
            metavar="N",
            verbs=_DRAWING,
            key="",
            at_least=0,
        ),
    ] = 0
    steer: Annotated[
        bool,
        Option(
            "Draw cases that a condition of the baseline or quarantine matches anew, all but one in twenty.",
            ("--steer/--no-steer",),
            verbs=_DRAWING,
            key="",
        ),
    ] = True
    sets: Annotated[
        int,
        Option(
            "Also run each passing generated case with N other sets of operands and buffer contents.",
            metavar="N",
            verbs=_DRAWING,
            key="",
            at_least=0,
        ),
    ] = 0
    sweep: Annotated[
        int, Option("Also run N parameter sets of each universe.", metavar="N", verbs=_DRAWING, key="", at_least=0)
    ] = 0
    max_sets: Annotated[
        int | None,
        Option(
            "Only N parameter sets of each universe, evenly spread.", metavar="N", verbs=(SWEEP,), key="", at_least=1
        ),
    ] = None
    listed: Annotated[
        bool,
        Option("Run the smallest and largest case of each listed row instead.", ("--listed",), verbs=(RUN,), key=""),
    ] = False
    fit: Annotated[
        bool,
        Option("Give corpus cases that a driver cannot run sizes that it lists.", ("--fit",), verbs=(RUN,), key=""),
    ] = False
    known: Annotated[
        int | None,
        Option(
            "Run N cases of each known failure instead, to see which are fixed; `cts baseline --audit` then counts.",
            metavar="N",
            verbs=(RUN,),
            key="",
            at_least=1,
        ),
    ] = None
    retry_never: Annotated[
        int | None,
        Option(
            "Run N cases of each quarantine entry with `when: never` instead. Drivers must run in their own "
            "processes. The last lines name the entries whose cases all pass.",
            metavar="N",
            verbs=(RUN,),
            key="",
            at_least=1,
        ),
    ] = None
    failed: Annotated[
        Path | None,
        Option(
            "Re-run the failures of RUN (default: on the same drivers).",
            metavar="RUN",
            verbs=(RUN,),
            pytest="re-run the failures of this run only",
            key="",
        ),
    ] = None
    keyword: Annotated[
        tuple[str, ...],
        Option(
            "Only cases with this text in their names, upper or lower case: of corpus cases as `cts list` prints "
            "them, generated.AREA, of other files without folder. Repeatable: all must match.",
            ("-k",),
            metavar="TEXT",
            verbs=(RUN,),
            key="",
        ),
    ] = ()
    shard: Annotated[
        str,
        Option(
            "Only this part of all cases, by their content: 2/3 is the second of three.",
            metavar="I/N",
            pytest="only this part of all cases, by their content, such as 2/3",
        ),
    ] = "1/1"
    jobs: Annotated[
        str,
        Option(
            "Processes that share the run; auto: one for each processor.", ("--jobs", "-j"), metavar="N", resumed=True
        ),
    ] = "1"
    devices: Annotated[
        str | None,
        Option(
            "The devices of the processes, in turn: 0,1. For {device} in --driver.",
            metavar="LIST",
            key="",
            resumed=True,
        ),
    ] = None
    scheduler: Annotated[
        str | None,
        Option(
            'Use the workers of this Dask scheduler that declare --resources "cts=1", and no processes here.',
            metavar="ADDRESS",
            key="",
            resumed=True,
        ),
    ] = None
    max_time: Annotated[
        float | None,
        Option(
            "Begin nothing after so many seconds.",
            metavar="S",
            pytest="begin no case after so many seconds",
            at_least=0,
            resumed=True,
        ),
    ] = None
    exitfirst: Annotated[
        bool, Option("Stop at the first finding.", ("-x", "--exitfirst"), verbs=(RUN, SWEEP), key="")
    ] = False
    quarantine: Annotated[
        Path | None,
        Option(
            "Cases known to hang or crash a device: left out, or run last. A file, or a shipped one's name, such as "
            "nvidia-580.",
            metavar="FILE",
            pytest="cases known to hang or crash a device: left out or last",
        ),
    ] = None
    baseline: Annotated[
        Path | None,
        Option(
            "Known failures: new ones and unexpected passes fail the run. A file, or a shipped one's name, such as "
            "nvidia-580 or mesa-26.",
            metavar="FILE",
            pytest="failures that are known; a listed case that passes fails",
        ),
    ] = None
    validation: Annotated[
        bool,
        Option(
            "Load the drivers' validation layers: a case that they reject is an error.",
            ("--validation/--no-validation",),
            pytest="load validation layers: a case that one rejects is an error",
        ),
    ] = False
    transform: Annotated[
        tuple[str, ...],
        Option(
            "Transform modules before drivers get them, e.g. spirv-opt:-O. Repeatable.",
            verbs=_DRAWING,
            key="transforms",
        ),
    ] = ()
    vary: Annotated[
        tuple[str, ...],
        Option(
            "Also run each driver in variations: forms=N and optimised=N write its modules in N other forms, or after "
            "N lists of passes of spirv-opt; stages=all, or names such as stages=fragment,miss, runs cases of "
            "cooperative vectors there; subgroup-sizes=all, or numbers. Repeatable.",
            metavar="KIND=VALUES",
            verbs=(RUN,),
            complete="variations",
        ),
    ] = ()
    reruns: Annotated[
        int,
        Option(
            "How often a finding is run again, to find flaky ones.",
            metavar="N",
            pytest="how often a finding is run again, to find flaky ones (1)",
            at_least=0,
        ),
    ] = 1
    flaky: Annotated[
        str,
        Option(
            "fail (the default), or tolerate: findings that a rerun does not confirm are counted and kept, and fail "
            "nothing.",
            metavar="POLICY",
            pytest="fail (the default) or tolerate findings that a rerun does not confirm",
            complete="flaky",
        ),
    ] = "fail"
    reduce_time: Annotated[
        float | None,
        Option(
            "How long each finding of generated cases or parameter sets, and the case of each bundle, is reduced; "
            "0: not at all. Default: 20, and 5 with smoke.",
            metavar="S",
            pytest="how long a finding of generated cases, and the case of a bundle, is reduced (20; smoke 5)",
            at_least=0,
            resumed=True,
        ),
    ] = None
    json: Annotated[
        Path | None,
        Option("Write events as JSON lines to this file; - for stdout.", metavar="FILE", write=True, resumed=True),
    ] = None
    junit: Annotated[
        Path | None, Option("Write JUnit XML when the run ends.", metavar="FILE", write=True, resumed=True)
    ] = None
    html: Annotated[
        Path | None, Option("Write an HTML report when the run ends.", metavar="FILE", write=True, resumed=True)
    ] = None
    bundle_dir: Annotated[
        Path | None,
        Option(
            "Write a bundle for each finding, to report it to others.",
            metavar="DIR",
            pytest="write a bundle of each finding, to be shown to others",
            write=True,
            resumed=True,
        ),
    ] = None
    save_dir: Annotated[
        Path,
        Option(
            "The folder of runs, in which this run gets its own.",
            metavar="DIR",
            pytest="the folder of runs, which gets one for this session (cts-run)",
            write=True,
        ),
    ] = Path("cts-run")
    origins: Mapping[str, str] = field(default_factory=dict)

    def origin(self, *names: str) -> str:
        """Where settings stand that were not typed, for messages; "" where all were."""
        return ", ".join(self.origins[name] for name in names if name in self.origins)


@dataclass(frozen=True)
class Declared:
    """A setting: its name, its type without None, its default, and how it is given."""

    name: str
    kind: type
    default: Any
    option: Option

    @property
    def flags(self) -> tuple[str, ...]:
        """Its option on the command line."""
        return self.option.flags or (f"--{self.name.replace('_', '-')}",)

    @property
    def key(self) -> str:
        """Its name in `[tool.cts]`, "" for none."""
        return self.name.replace("_", "-") if self.option.key is None else self.option.key


@cache
def declared() -> dict[str, Declared]:
    """All settings by name, in their order."""
    hints = get_type_hints(Settings, include_extras=True)
    settings = {}
    for setting in fields(Settings):
        kind, *metadata = get_args(hints[setting.name])
        if metadata and isinstance(metadata[0], Option):
            plain = next((k for k in get_args(kind) if k is not type(None)), kind)
            kind = tuple if get_origin(kind) is tuple else plain
            settings[setting.name] = Declared(setting.name, kind, setting.default, metadata[0])
    return settings


def of_verb(verb: str) -> list[Declared]:
    """The settings of a verb, in their order."""
    return [setting for setting in declared().values() if verb in setting.option.verbs]
