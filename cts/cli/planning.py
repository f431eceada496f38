"""What `cts run` was asked for, checked as a whole, and the plan that follows from it."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from cts.errors import BadInput, Checks
from cts.known.baseline import NO_BASELINE
from cts.known.quarantine import NO_RULES
from cts.plugins import registry
from cts.running import corpus
from cts.running.checks import check_drivers, load_known
from cts.running.listed import listed
from cts.running.outputs import check_file, check_folder
from cts.running.profiles import check_shared_seed, profile
from cts.running.runner import Plan
from cts.running.shard import WHOLE, parse
from cts.stages import parse as parse_stages

if TYPE_CHECKING:
    from cts.running.corpus import Entry
    from cts.running.profiles import Profile
    from cts.sweeps.selection import SweepEntry


@dataclass(frozen=True)
class Request:
    """What is to run, as it was asked for. `origins` says where a parameter stands that was not typed, by name."""

    targets: Sequence[str]
    drivers: Sequence[str]
    areas: Sequence[str]
    corpus: bool | None
    generate: bool | None
    profile: str
    max_examples: int | None
    seed: int | None
    words: Sequence[str]
    shard: str
    max_seconds: float | None
    stop: bool
    quarantine: Path | None
    baseline: Path | None
    validation: bool
    transforms: Sequence[str]
    reruns: int
    #: None: it is no sweep.
    sweeps: Sequence[SweepEntry] | None = None
    sets: int = 0
    forms: int = 0
    #: The folder of runs where it is to run what the drivers list.
    listed: Path | None = None
    optimised: int = 0
    #: Names of shader stages, as `cts.stages.parse` takes them.
    stages: str = ""
    origins: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Outputs:
    """Where a run is to write, None for nothing."""

    json: Path | None = None
    junit: Path | None = None
    html: Path | None = None
    bundle_dir: Path | None = None
    save_dir: Path | None = None

    def check(self, checks: Checks, origins: Mapping[str, str]) -> None:
        """Note the paths that cannot be written, and files that are named twice."""
        to_stdout = self.json is not None and str(self.json) == "-"
        files = {"json": None if to_stdout else self.json, "junit": self.junit, "html": self.html}
        seen: dict[Path, str] = {}
        for name, path in files.items():
            with checks.part(origins.get(name, "")):
                check_file(path, f"--{name}")
                if path is not None:
                    first = seen.setdefault(path.resolve(), name)
                    if first != name:
                        where = f"--{first} and --{name}"
                        raise BadInput("output-path", f"two reports would be {path}", where, "a file for each")
        for name, path in (("bundle_dir", self.bundle_dir), ("save_dir", self.save_dir)):
            with checks.part(origins.get(name, "")):
                check_folder(path, f"--{name.replace('_', '-')}")


def make_plan(request: Request, checks: Checks) -> Plan:
    """The plan of a request. Raises what `checks` has collected, and what is wrong with the request besides."""
    origin = request.origins
    if not request.drivers:
        with checks.part():
            remedy = "--driver emulator; `cts drivers` lists them"
            raise BadInput("no-driver", "no driver to test", "cts run", remedy)
    drivers = tuple(dict.fromkeys(request.drivers))
    are_drivers = False
    with checks.part(origin.get("driver", "")):
        check_drivers(drivers)
        are_drivers = True
        if request.validation:
            drivers = registry.validated(drivers)
    with checks.part(origin.get("transform", "")):
        for text in request.transforms:
            registry.check_transform(text)
        drivers = registry.transformed(drivers, request.transforms)
        if are_drivers:
            check_drivers(drivers)
    with checks.part(origin.get("stages", "")):
        if request.stages:
            stages = parse_stages(request.stages)
            if are_drivers:
                drivers = registry.in_stages(drivers, stages)
                check_drivers(drivers)
    with checks.part(", ".join(origin[name] for name in ("forms", "optimised") if name in origin)):
        if (request.forms or request.optimised) and are_drivers:
            drivers = registry.with_drawn(drivers, request.forms, request.optimised)
            check_drivers(drivers)
    quarantine, baseline = NO_RULES, NO_BASELINE
    with checks.part():
        quarantine, baseline = load_known(request.quarantine, request.baseline)
    settings = _settings(request, checks)
    entries, areas = _selected(request, settings, checks)
    checks.finish()
    assert settings is not None, "it is only missing with an error"
    if request.listed is not None:
        found = listed(drivers, request.listed, request.words, settings.shard)
        entries = list(found.entries)
        for what in found.left_out:
            typer.echo(f"left out: {what}", err=True)
    return Plan(
        drivers,
        settings,
        tuple(entries),
        tuple(areas),
        request.stop,
        quarantine=quarantine,
        baseline=baseline,
        reruns=request.reruns,
        max_seconds=request.max_seconds,
        sweeps=tuple(request.sweeps or ()),
    )


def _settings(request: Request, checks: Checks) -> Profile | None:
    """Profile, seed and shard, None where one of them is wrong."""
    shard, origin = None, request.origins
    with checks.part(origin.get("shard", "")):
        shard = parse(request.shard)
    settings = None
    with checks.part(", ".join(origin[name] for name in ("profile", "max_examples", "seed") if name in origin)):
        settings = profile(request.profile, request.max_examples, request.seed, shard or WHOLE, request.sets)
    return settings if shard is not None else None


def _selected(request: Request, settings: Profile | None, checks: Checks) -> tuple[list[Entry], list[str]]:
    """The cases and the areas that are asked for."""
    before = len(checks.errors)
    if request.listed is not None:
        with checks.part():
            if request.targets or request.areas or request.corpus or request.generate:
                what = "--listed with CASE, --area, --corpus or --generate"
                raise BadInput("listed-alone", what, "cts run", "--listed alone; -k TEXT chooses some of its cases")
        return [], []
    if request.sweeps is not None:
        with checks.part():
            if settings is not None and any(entry.max_sets for entry in request.sweeps):
                check_shared_seed(request.profile, request.seed, settings.shard)
        return [], []
    entries = _entries(request, checks)
    areas = _areas(request, checks)
    if len(checks.errors) > before:
        return entries, areas
    with checks.part():
        if not entries and not areas:
            raise BadInput("nothing-selected", "no case and no area is selected", "cts run", "CASE, or --corpus")
        entries, areas = _with_words(request.words, entries, areas)
        if settings is not None:
            entries = corpus.of_shard(entries, settings.shard)
            if not entries and not areas:
                what = "none of the selected cases is in this shard"
                raise BadInput("nothing-selected", what, f"--shard {settings.shard}", "another shard, or more cases")
            if areas:
                check_shared_seed(request.profile, request.seed, settings.shard)
    return entries, areas


def _entries(request: Request, checks: Checks) -> list[Entry]:
    targets, with_corpus = request.targets, request.corpus
    entries, errors = corpus.select(targets) if targets else ([], [])
    if with_corpus or (with_corpus is None and not targets):
        known = {e.path.resolve() for e in entries}
        every, more = corpus.select([])
        entries += [e for e in every if e.path.resolve() not in known]
        errors += more
    checks.errors += errors
    return entries


def _areas(request: Request, checks: Checks) -> list[str]:
    if not (request.generate or (request.generate is None and (request.areas or not request.targets))):
        return []
    areas = list(dict.fromkeys(request.areas or registry.names("cts.areas")))
    for name in areas:
        with checks.part(request.origins.get("area", "")):
            registry.area(name)
    return areas


def _with_words(words: Sequence[str], entries: list[Entry], areas: list[str]) -> tuple[list[Entry], list[str]]:
    """The cases and areas whose names have all the words. Raises BadInput where there is none, with the nearest name.

    The name of a file outside the corpus is that of the file, without its folder.
    """
    names = {e: e.name if e.in_corpus else e.path.stem for e in entries}
    generated = {area: f"generated.{area}" for area in areas}
    every = [*names.values(), *generated.values()]
    checks = Checks()
    for word in words:
        with checks.part():
            if not word.strip():
                raise BadInput("no-such-name", "the text is empty", "-k", "text that is part of a name")
            if not any(corpus.has_words(name, [word]) for name in every):
                what = f"no selected case has {word!r} in its name"
                raise BadInput("no-such-name", what, f"-k {word}", _near(word, every))
    checks.finish()
    chosen = [e for e, name in names.items() if corpus.has_words(name, words)]
    generating = [area for area, name in generated.items() if corpus.has_words(name, words)]
    if not chosen and not generating:
        where = " ".join(f"-k {word}" for word in words)
        raise BadInput("no-such-name", "no selected case has all of these in its name", where, "fewer of them")
    return chosen, generating


def _near(word: str, names: Sequence[str]) -> str:
    """The remedy for a text that is in no name: the name, or the part of one, that is most like it."""
    if {"and", "or", "not"} & set(word.split()):
        return "-k takes text, and no expression; of several -k all must match"
    parts = dict.fromkeys(part for name in names for part in (name, *name.split(".")))
    close = difflib.get_close_matches(word.lower(), parts, n=1)
    return f"did you mean {close[0]!r}?" if close else "text that is part of a name, as `cts list` prints them"
