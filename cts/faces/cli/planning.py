"""What `cts run` was asked for, checked as a whole, and the plan that follows from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from cts.base.errors import BadInput, Checks, did_you_mean
from cts.base.settings import Settings
from cts.judging.known.baseline import NO_BASELINE, with_flaky
from cts.judging.known.quarantine import NO_RULES
from cts.plugins import registry, variations
from cts.running import corpus, store
from cts.running.checks import check_drivers, check_jobs, load_known
from cts.running.fitted import fit
from cts.running.listed import listed
from cts.running.outputs import check_file, check_folder
from cts.running.plan import Plan
from cts.running.policy import Policy
from cts.running.processes import DEVICE
from cts.running.profiles import check_shared_seed, profile
from cts.running.retried import known, retried
from cts.running.shard import WHOLE, parse
from cts.running.store.failed import failed
from cts.running.sweeps.selection import select

if TYPE_CHECKING:
    from cts.running.corpus import Entry
    from cts.running.profiles import Profile
    from cts.running.sweeps.selection import SweepEntry

#: Settings of a file that select among all cases, and their values if the command line names cases.
_OF_ALL_CASES: dict[str, Any] = {"area": (), "corpus": None, "generate": None, "shard": "1/1"}


@dataclass(frozen=True)
class Request:
    """What is to run, as it was asked for: by which command, its settings, cases, and universes that are swept."""

    command: str
    settings: Settings
    targets: tuple[str, ...] = ()
    universes: tuple[str, ...] = ()

    def processes(self, checks: Checks) -> tuple[int, tuple[str, ...]]:
        """How many processes share the run, and their devices. What is wrong with these is noted."""
        settings, jobs = self.settings, 1
        devices = tuple(name.strip() for name in (settings.devices or "").split(",") if name.strip())
        with checks.part(settings.origin("jobs")):
            jobs = check_jobs(settings.jobs)
        with checks.part(settings.origin("driver")):
            if settings.scheduler is not None:
                if settings.jobs != "1" or settings.devices is not None:
                    what = "--scheduler with --jobs or --devices"
                    remedy = "the workers have processes and devices of their own: see `cts docs scaling`"
                    raise BadInput("whose-processes", what, self.command, remedy)
            elif settings.driver and any(DEVICE in spec for spec in settings.driver) != bool(devices):
                what = f"--devices {settings.devices!r} with --driver {' '.join(settings.driver)!r}"
                remedy = f"both or none: -d 'vulkan:{DEVICE}' --devices 0,1"
                raise BadInput("devices", what, self.command, remedy)
        return jobs, devices


def check_outputs(settings: Settings, checks: Checks, *, resumed: bool) -> None:
    """Note the paths that cannot be written, and files that are named twice."""
    to_stdout = settings.json is not None and str(settings.json) == "-"
    files = {"json": None if to_stdout else settings.json, "junit": settings.junit, "html": settings.html}
    outputs: dict[Path, str] = {}
    for name, path in files.items():
        with checks.part(settings.origin(name)):
            check_file(path, f"--{name}")
            if path is not None:
                first = outputs.setdefault(path.resolve(), name)
                if first != name:
                    where = f"--{first} and --{name}"
                    raise BadInput("output-path", f"two reports would be {path}", where, "a file for each")
    for name, path in (("bundle_dir", settings.bundle_dir), ("save_dir", None if resumed else settings.save_dir)):
        with checks.part(settings.origin(name)):
            check_folder(path, f"--{name.replace('_', '-')}")


def make_plan(request: Request, checks: Checks) -> Plan:
    """The plan of a request. Raises what `checks` has collected, and what is wrong with the request besides."""
    settings = _alone(request)
    request = replace(request, settings=settings)
    before = None
    if settings.failed is not None:
        _check_alone(request)
        before = failed(store.load(settings.failed))
        settings = replace(settings, driver=settings.driver or before.specs, corpus=False, generate=False)
        request = replace(request, settings=settings, targets=before.targets)
    drivers = _drivers(request, checks)
    jobs, devices = request.processes(checks)
    quarantine, baseline = NO_RULES, NO_BASELINE
    with checks.part():
        quarantine, baseline = load_known(settings.quarantine, settings.baseline)
    with checks.part(settings.origin("flaky")):
        baseline = with_flaky(baseline, settings.flaky, f"--flaky {settings.flaky}")
    with checks.part(settings.origin("cases", "max_examples")):
        if settings.cases is not None and settings.max_examples is not None:
            what = "--cases with --max-examples"
            raise BadInput(
                "cases", what, request.command, "--cases N for all areas together, or --max-examples N for each"
            )
    profile = _profile(request, checks)
    entries, areas = _selected(request, profile, checks)
    if before is not None:
        entries = before.failed_entries(entries, drivers)
    sweeps = _sweeps(request, checks)
    checks.finish()
    assert profile is not None, "it is only missing with an error"
    if settings.listed:
        from_lists = listed(drivers, settings.save_dir, settings.keyword, profile.shard)
        entries = list(from_lists.entries)
        for what in from_lists.left_out:
            typer.echo(f"left out: {what}", err=True)
    if settings.retry_never is not None:
        again = retried(drivers, quarantine, settings.retry_never, profile.seed or 0, settings.save_dir)
        entries, quarantine, baseline = list(again.entries), again.quarantine, again.expected
    if settings.fit:
        entries = fit(drivers, entries, settings.save_dir)
    if settings.known is not None:
        entries = known(drivers, quarantine, baseline, settings.known, profile.seed or 0, settings.save_dir)
    return Plan(
        drivers,
        profile,
        tuple(entries),
        tuple(areas),
        settings.exitfirst,
        quarantine=quarantine,
        baseline=baseline,
        reruns=settings.reruns,
        max_seconds=settings.max_time,
        jobs=jobs,
        sweeps=tuple(sweeps),
        policy=Policy(settings.keep, settings.cases or 0, settings.by_novelty, settings.chunk),
        devices=devices,
        scheduler=settings.scheduler or "",
    )


def _alone(request: Request) -> Settings:
    """The settings, without the file's selection among all cases if the command line names cases."""
    settings = request.settings
    if not (request.targets or settings.listed or settings.failed or settings.known or settings.retry_never):
        return settings
    of_file = {name: value for name, value in _OF_ALL_CASES.items() if name in settings.origins}
    return replace(settings, **of_file)


def _check_alone(request: Request) -> None:
    """Raise BadInput where more is asked for than what failed in another run."""
    settings = request.settings
    if request.targets or settings.area or settings.corpus or settings.generate or settings.listed:
        what = "--failed with CASE, --area, --corpus, --generate or --listed"
        raise BadInput("failed-alone", what, request.command, "--failed RUN alone; -k TEXT chooses some of its cases")


def _drivers(request: Request, checks: Checks) -> tuple[str, ...]:
    """The specs of all drivers, those included that options add."""
    settings = request.settings
    if not settings.driver:
        with checks.part():
            remedy = "--driver emulator; `cts drivers` lists them"
            raise BadInput("no-driver", "no driver to test", request.command, remedy)
    drivers = tuple(dict.fromkeys(settings.driver))
    device = (settings.devices or "0").split(",")[0].strip()
    are_drivers = False

    def check() -> None:
        check_drivers(spec.replace(DEVICE, device) for spec in drivers)

    with checks.part(settings.origin("driver")):
        check()
        are_drivers = True
        if settings.validation:
            drivers = registry.validated(drivers)
    with checks.part(settings.origin("transform")):
        for text in settings.transform:
            registry.check_transform(text)
        drivers = registry.transformed(drivers, settings.transform)
        if are_drivers:
            check()
    with checks.part(settings.origin("vary")):
        if settings.vary and are_drivers:
            drivers = variations.varied(drivers, settings.vary)
            check()
        else:
            variations.parse(settings.vary)
    return drivers


def _profile(request: Request, checks: Checks) -> Profile | None:
    """Profile, seed and shard, None where one of them is wrong."""
    settings, shard = request.settings, None
    with checks.part(settings.origin("shard")):
        shard = parse(settings.shard)
    chosen = None
    with checks.part(settings.origin("profile", "max_examples", "seed")):
        chosen = profile(settings.profile, settings.max_examples, settings.seed, shard or WHOLE, settings.sets)
    if chosen is not None and shard is not None and shard != WHOLE and settings.by_novelty:
        with checks.part(settings.origin("shard")):
            what = "each shard would plan its cases by what it found itself"
            raise BadInput(
                "shard-novelty", what, "--by-novelty with --shard", "--in-turn; or other seeds, and `cts merge`"
            )
    if chosen is None or shard is None:
        return None
    ends_otherwise = settings.cases is not None or (request.command == "cts campaign" and settings.max_time is not None)
    chosen = replace(chosen, steer=settings.steer)
    return replace(chosen, max_examples=0) if ends_otherwise else chosen


def _sweeps(request: Request, checks: Checks) -> list[SweepEntry]:
    """The universes that are swept, and how many sets of each."""
    settings = request.settings
    if request.universes:
        targets = [] if request.universes == ("*",) else list(request.universes)
        entries, errors = select(targets, settings.max_sets)
    elif settings.sweep:
        entries, errors = select([], settings.sweep)
    else:
        return []
    checks.errors += errors
    with checks.part(settings.origin("shard")):
        if any(entry.max_sets for entry in entries):
            check_shared_seed(settings.profile, settings.seed, parse(settings.shard))
    return entries


def _selected(request: Request, found: Profile | None, checks: Checks) -> tuple[list[Entry], list[str]]:
    """The cases and the areas that are asked for."""
    before, settings = len(checks.errors), request.settings
    alone = {"listed": settings.listed, "known": settings.known, "retry-never": settings.retry_never}
    if options := [name for name, is_given in alone.items() if is_given]:
        option, *others = options
        with checks.part():
            if others or request.targets or settings.area or settings.corpus or settings.generate:
                what = f"--{option} with CASE, --area, --corpus, --generate or another of {', '.join(alone)}"
                raise BadInput(f"{option}-alone", what, request.command, f"--{option} alone")
        return [], []
    if request.universes:
        return [], []
    entries = _entries(request, checks)
    areas = _areas(request, checks)
    if len(checks.errors) > before:
        return entries, areas
    with checks.part():
        if not entries and not areas:
            raise BadInput("nothing-selected", "no case and no area is selected", request.command, "CASE, or --corpus")
        entries, areas = _with_words(settings.keyword, entries, areas)
        if found is not None:
            entries = corpus.of_shard(entries, found.shard)
            if areas:
                check_shared_seed(settings.profile, settings.seed, found.shard)
    return entries, areas


def _entries(request: Request, checks: Checks) -> list[Entry]:
    targets, with_corpus = request.targets, request.settings.corpus
    entries, errors = corpus.select(targets) if targets else ([], [])
    if with_corpus or (with_corpus is None and not targets):
        paths = {e.path.resolve() for e in entries}
        every, more = corpus.select([])
        entries += [e for e in every if e.path.resolve() not in paths]
        errors += more
    checks.errors += errors
    return entries


def _areas(request: Request, checks: Checks) -> list[str]:
    settings = request.settings
    if not (settings.generate or (settings.generate is None and (settings.area or not request.targets))):
        return []
    areas = list(dict.fromkeys(settings.area or registry.names("cts.areas")))
    for name in areas:
        with checks.part(settings.origin("area")):
            registry.area(name)
    return areas


def _with_words(words: Sequence[str], entries: list[Entry], areas: list[str]) -> tuple[list[Entry], list[str]]:
    """The cases and areas whose names have all the words. Raises BadInput, with the nearest name, if no name has.

    A file outside the corpus is named after the file, without its folder.
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
    return did_you_mean(word.lower(), parts, "text that is part of a name, as `cts list` prints them")
