"""The folder of a campaign: `campaign.json`, a line of `answers.jsonl` for each task that is done, and new findings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from cts.campaign.chunks import Answer, Reduced, Report
from cts.campaign.settings import FILE, Settings, decode, differing, encode, identity
from cts.campaign.totals import Totals
from cts.errors import BadInput, HarnessTrouble
from cts.input_files import Kind, decoded_lines, is_file, is_folder, read_bytes
from cts.report.failure import shortened
from cts.store import lines
from cts.store.folder import CAMPAIGN, new_folder
from cts.store.lines import Lines

SETTINGS, ANSWERS, FINDINGS, PAGE = CAMPAIGN, "answers.jsonl", "findings", "report.html"


class Line(Struct, frozen=True):
    """An answer, and after how many seconds of the campaign it came."""

    at: float
    answer: Answer


_LINES = Kind("campaign-answers", "a line that `cts campaign` wrote")

_decoder = msgspec.json.Decoder(Line)


class CampaignFolder:
    """A campaign that is being written: what it has come to, and its files. `seconds` is how long it took so far.

    Raises BadInput where another process writes it.
    """

    def __init__(self, path: Path, settings: Settings) -> None:
        self.path = path
        self.settings = settings
        self.totals = Totals()
        self.answers: list[Answer] = []
        self.seconds = 0.0
        self._lines = Lines(path / ANSWERS)
        try:
            for line in _read(self._lines.before, path / ANSWERS, self.totals):
                self.seconds = line.at
                self.answers.append(line.answer)
        except BaseException:
            self._lines.close()
            raise

    def add(self, answer: Answer, at: float) -> None:
        """Keep an answer: first its line, then the cases that are new in it."""
        new = isinstance(answer, Report) and bool(answer.kept)
        self._lines.append(msgspec.json.encode(Line(round(at, 3), answer)), durable=new)
        self.totals.add(answer, at)
        self.seconds = at
        if isinstance(answer, Report):
            for kept in answer.kept:
                base = self.findings(kept.cause)
                _write(base / f"{kept.hash}.yaml", kept.case)
                _write(base / f"{kept.hash}.txt", f"{kept.verdict}\n{kept.detail}\n")
        elif isinstance(answer, Reduced) and answer.case:
            _write(self.findings(answer.task.cause) / "reduced.yaml", answer.case)

    def findings(self, cause: str) -> Path:
        """The folder of a cause's cases."""
        return self.path / FINDINGS / slug(cause)

    def close(self) -> None:
        """Let others at it."""
        self._lines.close()


def slug(cause: str) -> str:
    """The name of a cause's folder.

    >>> slug("fail: MatrixStore TA-030")
    'fail_MatrixStore_TA-030'
    """
    return shortened(re.sub(r"[^\w.=-]+", "_", cause).strip("_"), cause)


def create(runs: Path, settings: Settings) -> CampaignFolder:
    """A new campaign in a folder of runs. Raises HarnessTrouble where it cannot be written."""
    path = new_folder(runs)
    _write(path / SETTINGS, encode(settings).decode())
    return CampaignFolder(path, settings)


def is_campaign(path: Path) -> bool:
    """Whether a folder is that of a campaign."""
    return is_file(path / SETTINGS)


def settings_of(path: Path) -> Settings:
    """The settings of a campaign's folder. Raises BadInput where it is none."""
    if not is_campaign(path):
        what = "no campaign is kept here" if is_folder(path) else "no such folder"
        raise BadInput("no-campaign", what, str(path), "the folder of a campaign, as `cts campaign` names it")
    return decode(read_bytes(path / SETTINGS, FILE), str(path / SETTINGS))


def resume(path: Path) -> CampaignFolder:
    """A campaign, to go on with. Raises BadInput where the suite is not the one that began it."""
    settings = settings_of(path)
    if what := differing(settings.suite, identity()):
        remedy = "the suite that began it, or a new campaign"
        raise BadInput("other-suite", f"the suite is another one now: {what}", str(path), remedy)
    return CampaignFolder(path, settings)


def load(path: Path) -> tuple[Settings, Totals]:
    """A campaign, to look at, ended or not. Raises BadInput where it is none."""
    settings, totals = settings_of(path), Totals()
    for _ in _read(lines.read(path / ANSWERS), path / ANSWERS, totals):
        pass
    return settings, totals


def _read(texts: list[bytes], path: Path, totals: Totals) -> Iterator[Line]:
    """Lines, each added to the totals. Raises BadInput for what no campaign wrote."""
    for number, line in enumerate(decoded_lines(texts, _decoder.decode, _LINES, str(path)), 1):
        totals.add(line.answer, line.at)
        if missing := totals.causes.keys() - totals.kept.keys():
            raise _LINES.malformed(f"no case of the cause {min(missing)!r} is kept", f"{path}:{number}")
        yield line


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as e:
        raise HarnessTrouble("run-unwritable", e.strerror or str(e), str(path), "a folder that can be written") from e
