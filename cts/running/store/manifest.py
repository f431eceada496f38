"""The manifest of a run: everything that is needed to read its results, and to continue it."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

import cts
from cts.base.errors import BadInput
from cts.base.input_files import Kind, decoded, digest, require_format
from cts.base.located import Origin, convert
from cts.base.revision import commit
from cts.case.model.identity import HASHES
from cts.judging.events import DriverOpened
from cts.judging.known.baseline import Baseline
from cts.judging.known.quarantine import Quarantine, Rule
from cts.judging.reruns import RERUNS
from cts.running.corpus import Entry
from cts.running.plan import Plan
from cts.running.policy import Policy
from cts.running.profiles import Profile, profile
from cts.running.shard import WHOLE
from cts.running.shard import parse as parse_shard
from cts.running.suite import files, versions
from cts.running.sweeps.selection import SweepRecord, sweep_entry, sweep_record

#: The format that this suite writes, and the oldest one that it reads: that of 1.0.
FORMAT = OLDEST = 4

#: The file of campaigns before 1.0, which had folders of their own kind.
OLD_CAMPAIGN = "campaign.json"

#: The last release that reads older folders.
READS_OLDER = "1.0.0"


class EntryRecord(Struct, frozen=True, forbid_unknown_fields=True):
    """A case file of a run. `digest` is the SHA-256 of its bytes, "" where it could not be read."""

    name: str
    path: str
    in_corpus: bool
    digest: str
    drivers: tuple[str, ...] = ()


class Manifest(Struct, frozen=True, forbid_unknown_fields=True):
    """The plan of a run and where it ran. `drivers` are those that have been opened, `specs` those asked for.

    `command` is what was typed; `started` is a time in UTC. A run of pytest has `origin` "pytest" and no `entries`.
    `hashes` is how its content hashes were computed (`cts.case.model.identity.HASHES`).
    `keep`, `budget`, `by_novelty` and `chunk` are the policy by which generated cases are looked for; a run whose
    examples are planned by novelty says the digest of the suite's own `files`. `devices` are those of its processes.
    A run that was merged has the folders of its `parts`. `commit` is the suite's, "" if unknown.
    """

    format: int
    origin: Literal["cts run", "pytest"]
    command: tuple[str, ...]
    started: str
    suite: str
    python: str
    platform: str
    versions: dict[str, str]
    specs: tuple[str, ...]
    profile: str
    max_examples: int
    seed: int
    areas: tuple[str, ...] = ()
    entries: tuple[EntryRecord, ...] = ()
    stop_at_first: bool = False
    reruns: int = RERUNS
    quarantine: tuple[Rule, ...] = ()
    baseline: tuple[Rule, ...] = ()
    drivers: tuple[DriverOpened, ...] = ()
    hashes: int = 1
    shard: str = str(WHOLE)
    sets: int = 0
    steer: bool = False
    sweeps: tuple[SweepRecord, ...] = ()
    keep: int = 0
    budget: int = 0
    by_novelty: bool = False
    chunk: int = 0
    files: str = ""
    devices: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    commit: str = ""

    @classmethod
    def from_plan(cls, plan: Plan, origin: Literal["cts run", "pytest"], command: Sequence[str]) -> Manifest:
        """The manifest of a plan that is about to run here."""
        assert plan.profile.seed is not None, "profile() settles the seed"
        return cls(
            FORMAT,
            origin,
            tuple(command),
            datetime.now(UTC).isoformat(timespec="seconds"),
            cts.__version__,
            platform.python_version(),
            platform.platform(),
            versions(),
            plan.drivers,
            plan.profile.name,
            plan.profile.max_examples,
            plan.profile.seed,
            plan.areas,
            tuple(map(record, plan.entries)),
            plan.stop_at_first,
            plan.reruns,
            plan.quarantine.rules,
            plan.baseline.rules,
            hashes=HASHES,
            shard=str(plan.profile.shard),
            sets=plan.profile.sets,
            steer=plan.profile.steer,
            sweeps=tuple(map(sweep_record, plan.sweeps)),
            keep=plan.policy.keep,
            budget=plan.policy.budget,
            by_novelty=plan.policy.by_novelty,
            chunk=plan.policy.chunk,
            files=files() if plan.policy.by_novelty else "",
            devices=plan.devices,
            commit=commit(),
        )

    def plan(self) -> Plan:
        """The plan again. Raises BadInput where a case file is not what it was."""
        from cts.running import corpus

        installed = {e.name: e.path for e in corpus.entries()} if any(r.in_corpus for r in self.entries) else {}
        return Plan(
            self.specs,
            self._profile(),
            tuple(_entry(r, installed) for r in self.entries),
            self.areas,
            self.stop_at_first,
            quarantine=Quarantine(self.quarantine),
            reruns=self.reruns,
            baseline=Baseline(self.baseline),
            sweeps=tuple(map(sweep_entry, self.sweeps)),
            policy=self.policy,
            devices=self.devices,
        )

    @property
    def policy(self) -> Policy:
        """How generated cases are looked for."""
        return Policy(self.keep, self.budget, self.by_novelty, self.chunk)

    def _profile(self) -> Profile:
        shard = parse_shard(self.shard, "shard")
        return replace(
            profile(self.profile, None, self.seed, shard, self.sets), max_examples=self.max_examples, steer=self.steer
        )


def record(entry: Entry) -> EntryRecord:
    """What is kept of a case file."""
    return EntryRecord(entry.name, str(entry.path), entry.in_corpus, digest(entry.path), entry.drivers)


FILE = Kind("run", "a file that `cts run` wrote")


def encode(manifest: Manifest) -> bytes:
    """The text of `manifest.json`."""
    return msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n"


def decode(text: bytes, where: str) -> Manifest:
    """A manifest from its text. Raises BadInput for anything else, a newer format and those before 1.0 included."""
    require_format(text, FORMAT, FILE, where)
    plain = decoded(text, msgspec.json.decode, FILE, where)
    format_number = plain.get("format") if isinstance(plain, dict) else None
    if isinstance(format_number, int) and format_number < OLDEST:
        raise before_1_0(f"a run of format {format_number}", where)
    manifest: Manifest = convert(plain, Manifest, Origin(text.decode(), where, "run-malformed", "", remedy=FILE.remedy))
    return manifest


def before_1_0(what: str, where: str) -> BadInput:
    """The refusal of a folder that a preview of 1.0 wrote."""
    return BadInput(
        "run-format",
        f"{what} was written before 1.0",
        where,
        f"a new run; coopmat-cts {READS_OLDER} is the last release that reads this folder",
    )


def _entry(record: EntryRecord, installed: Mapping[str, Path]) -> Entry:
    """The entry of a record, whose file must be what it was; that of the corpus, wherever that is installed now."""
    path = installed.get(record.name, Path(record.path)) if record.in_corpus else Path(record.path)
    if digest(path) != record.digest:
        raise BadInput("case-changed", f"{record.name} is not what it was when the run began", str(path), "a new run")
    return Entry(record.name, path, record.in_corpus, record.drivers)
