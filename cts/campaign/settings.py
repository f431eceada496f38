"""What a campaign is: all that its chunks follow from, as data that is kept and sent to workers."""

from __future__ import annotations

import hashlib
import platform
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import msgspec
from msgspec import Struct

import cts
from cts.input_files import Kind, decoded, require_format
from cts.known.quarantine import Rule
from cts.model.identity import HASHES
from cts.store.manifest import versions
from cts.sweeps.selection import SweepRecord

#: Of `campaign.json`.
FORMAT = 1

#: In the spec of a driver: the device of the process that opens it.
DEVICE = "{device}"


class Settings(Struct, frozen=True, forbid_unknown_fields=True):
    """A campaign, from which its chunks follow; `driver` may have `{device}` in the place of a device.

    `cases` is how many are drawn, None for as many as there is time for; `sets` other parameter sets are judged of each
    that passes. Chunks have `chunk` cases, and `round` chunks are planned together. `sweeps` are
    universes of which so many sets are judged, too. `suite` is the `identity` of the suite that draws and judges.
    """

    driver: str
    areas: tuple[str, ...]
    seed: int
    cases: int | None
    chunk: int
    round: int
    suite: dict[str, str]
    sets: int = 0
    reruns: int = 1
    sweeps: tuple[SweepRecord, ...] = ()
    quarantine: tuple[Rule, ...] = ()
    baseline: tuple[Rule, ...] = ()
    command: tuple[str, ...] = ()
    started: str = ""
    format: int = FORMAT

    @property
    def key(self) -> str:
        """What tells a campaign's settings from others."""
        return hashlib.sha256(msgspec.json.encode(self)).hexdigest()


@cache
def identity() -> dict[str, str]:
    """What must be the same in all processes of a campaign: versions, and a digest of the suite's own files."""
    digest = hashlib.sha256()
    for root in map(Path, cts.__path__):
        for path in sorted(root.rglob("*.py")):
            digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return {"coopmat-cts": cts.__version__, "files": digest.hexdigest()[:16], "hashes": str(HASHES), **versions()}


def differing(ours: dict[str, str], theirs: dict[str, str]) -> str:
    """In which parts two identities differ, "" where they are the same."""
    names = [name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)]
    return ", ".join(f"{name} {theirs.get(name, 'missing')} in the place of {ours.get(name)}" for name in names)


def now() -> str:
    """The time in UTC, as a campaign keeps it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


FILE = Kind("campaign", "a file that `cts campaign` wrote")

_decoder = msgspec.json.Decoder(Settings)


def encode(settings: Settings) -> bytes:
    """The text of `campaign.json`."""
    return msgspec.json.format(msgspec.json.encode(settings), indent=1) + b"\n"


def decode(text: bytes, where: str) -> Settings:
    """Settings from their text. Raises BadInput for anything else, a newer format included."""
    require_format(text, FORMAT, FILE, where)
    return decoded(text, _decoder.decode, FILE, where)


def host() -> str:
    """The name of this machine, for reports."""
    return platform.node()
