"""Runs in GitHub Actions: each finding as an annotation of the workflow, and a summary of the run in Markdown.

See "Workflow commands for GitHub Actions" in GitHub's documentation: commands, their escapes, job summaries.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from cts.judging.events import Event, GeneratorFault, Rejected, Result, RunFinished, RunStarted, Trouble
from cts.running.corpus import FILES
from cts.running.names import root
from cts.running.tally import Tally
from cts.showing.report.ending import counts_text, next_step, verdict_texts
from cts.showing.report.failure import headline, reproduce, title
from cts.showing.report.reasons import summed_up

#: Annotations of one kind that GitHub shows for a step; it drops the others.
SHOWN = 10

#: Bytes of a summary. GitHub refuses one of more than a mebibyte, and other steps' parts do not count.
MAX_SUMMARY = 900_000


class GitHub:
    """Consumes events. `write` gets the annotations, a line each, as findings happen; `summary` is the file to add to.

    `run` is the folder of the run, `workspace` the checkout: files in it are named in annotations.
    """

    def __init__(self, run: Path, write: Callable[[str], None], summary: Path | None, workspace: Path) -> None:
        self.run = run
        self.write = write
        self.summary = summary
        self.workspace = workspace.resolve()
        self.tally = Tally()
        self.header: RunStarted | None = None
        self.findings: list[Result] = []
        #: What the run or a driver could not do, each once.
        self.problems: dict[Rejected | Trouble, None] = {}

    @classmethod
    def from_environment(
        cls, run: Path, write: Callable[[str], None], environment: Mapping[str, str] = os.environ
    ) -> GitHub | None:
        """The consumer for the workflow that this process is part of; None elsewhere."""
        if environment.get("GITHUB_ACTIONS") != "true":
            return None
        summary = environment.get("GITHUB_STEP_SUMMARY")
        return cls(run, write, Path(summary) if summary else None, Path(environment.get("GITHUB_WORKSPACE", ".")))

    def __call__(self, event: Event) -> None:
        self.tally(event)
        match event:
            case RunStarted():
                self.header = event
            case Result() if event.fails_run:
                self.findings.append(event)
                self._annotate(title(event), self._text(event), self._file(event))
            case Rejected() | Trouble() if event not in self.problems:
                self.problems[event] = None
                self._annotate(f"error[{event.code}]", _problem_text(event))
            case RunFinished():
                self._finish(event)
            case _:
                pass

    def _annotate(self, heading: str, text: str, file: str = "") -> None:
        if len(self.findings) + len(self.problems) <= SHOWN:
            properties = {"file": file, "title": heading} if file else {"title": heading}
            self.write(command("error", text, properties))

    def _text(self, result: Result) -> str:
        """What is wrong, and how to see it. The run's folder is not elsewhere: a generated case is drawn again."""
        return f"{headline(result)}\nreproduce: {reproduce(result, None, self.header)}"

    def _file(self, result: Result) -> str:
        """The path of a result's case in the checkout, "" where it is not there."""
        if result.generated:
            return ""
        path = Path(result.name) if result.area == FILES else root() / f"{result.name.replace('.', '/')}.yaml"
        path = path.resolve()
        return str(path.relative_to(self.workspace)) if path.is_relative_to(self.workspace) and path.exists() else ""

    def _finish(self, footer: RunFinished) -> None:
        left = len(self.findings) + len(self.problems) - SHOWN
        if left > 0:
            where = "the summary of this step" if self.summary is not None else str(self.run)
            self.write(command("notice", f"{left} more findings are in {where}", {"title": "cts"}))
        if self.summary is None:
            return
        try:
            with self.summary.open("a", encoding="utf-8") as file:
                file.write(self.markdown(footer))
        except OSError as e:
            what = f"the summary cannot be written: {e.strerror or e}"
            self.write(command("warning", what, {"title": "cts"}))

    def markdown(self, footer: RunFinished) -> str:
        """The summary of a run: verdicts by driver and area, findings, and why cases were not judged."""
        parts, size, listed = [], 0, 0
        for part in [*self._head(footer), *self._findings()]:
            size += len(part.encode())
            if size > MAX_SUMMARY:
                left = len(self.findings) + len(self.problems) - listed
                parts.append(f"\n{left} more findings are in `{self.run}`.\n")
                break
            listed += part.startswith("\n#### ")
            parts.append(part)
        return "".join(parts)

    def _head(self, footer: RunFinished) -> Iterator[str]:
        yield f"## cts: {counts_text(footer)}\n\n"
        if self.header is not None:
            yield f"cts {self.header.version}, profile {self.header.profile}, seed {self.header.seed}\n"
        if self.tally.rows:
            yield "\n| driver | area | cases | judged | unsupported | verdicts |\n"
            yield "| --- | --- | --- | ---: | ---: | --- |\n"
        for (driver, area, generated), row in self.tally.rows.items():
            verdicts = ", ".join(text for _, text in verdict_texts(row))
            cells = (driver, area, "generated" if generated else "corpus", row.judged, row.unsupported, verdicts)
            yield f"| {' | '.join(_cell(str(cell)) for cell in cells)} |\n"
        reasons = list(summed_up(self.tally, None))
        if reasons:
            yield "\n" + _fenced("\n".join(reasons))
        if (step := next_step(self.tally, self.findings, self.header, None)) != "":
            command, separator, rest = step.partition("; ") if step.startswith("cts ") else ("", "", step)
            yield f"\nnext: {f'`{command}`' if command else ''}{separator}{rest}\n"

    def _findings(self) -> Iterator[str]:
        if self.findings or self.problems:
            yield "\n### Findings\n"
        for result in self.findings:
            yield f"\n#### {_plain(title(result))}\n\n{_fenced(self._text(result))}"
        for problem in self.problems:
            yield f"\n#### {_plain(f'error[{problem.code}]')}\n\n{_fenced(_problem_text(problem))}"


def _problem_text(problem: Rejected | Trouble) -> str:
    how = f"reproduce: {problem.reproduce}" if isinstance(problem, GeneratorFault) else problem.remedy
    return "\n".join(filter(None, (problem.what, problem.where, how)))


def command(name: str, text: str, properties: Mapping[str, str]) -> str:
    r"""A workflow command, in one line.

    >>> command("error", "50% wrong\nreproduce: x", {"title": "FAIL a:b, c"})
    '::error title=FAIL a%3Ab%2C c::50%25 wrong%0Areproduce: x'
    """
    property_list = ",".join(
        f"{key}={_escaped(value).replace(':', '%3A').replace(',', '%2C')}" for key, value in properties.items()
    )
    return f"::{name} {property_list}::{_escaped(text)}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _cell(text: str) -> str:
    """Text in a table of Markdown."""
    return _plain(text).replace("|", "\\|")


def _plain(text: str) -> str:
    r"""Text, escaped so that Markdown shows it unchanged.

    >>> _plain("FAIL fake:a_b c.d_e")
    'FAIL fake:a\\_b c.d\\_e'
    """
    return re.sub(r"([\\`*_<>\[\]#])", r"\\\1", text)


def _fenced(text: str) -> str:
    """Text in a block of its own, which it cannot end."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}text\n{text}\n{fence}\n"
