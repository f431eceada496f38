"""Results as a dEQP program prints and logs them, for harnesses that start one: deqp-runner, Mesa's and vendors' CI."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import IO
from xml.sax.saxutils import escape, quoteattr

import cts
from cts.base.printable import printable
from cts.judging.events import Result
from cts.judging.verdict import Verdict
from cts.showing.report.failure import full, headline

#: dEQP's word for a verdict. It has none for a lost device, whose program it ends, nor for results that differ.
WORDS = {
    Verdict.PASS: "Pass",
    Verdict.FAIL: "Fail",
    Verdict.CRASH: "Crash",
    Verdict.TIMEOUT: "Timeout",
    Verdict.DEVICE_LOST: "Crash",
    Verdict.UNSUPPORTED: "NotSupported",
    Verdict.FLAKY: "Fail",
    Verdict.ERROR: "InternalError",
    Verdict.NOT_RUN: "NotSupported",
}

#: The lines of the totals, and the words that each counts.
_TOTALS = {
    "Passed": ("Pass",),
    "Failed": ("Fail", "Crash", "Timeout", "InternalError"),
    "Not supported": ("NotSupported",),
    "Warnings": (),
    "Waived": ("Waiver",),
}


def word(result: Result) -> str:
    """The word of a result. A known failure is waived, and a case that passes and should fail fails."""
    if result.unexpected:
        return "Fail"
    return "Waiver" if result.known else WORDS[result.verdict]


def detail(result: Result) -> str:
    """What stands in parentheses behind the word, in one line."""
    if result.known:
        return f"known: {result.known}"
    if result.verdict is Verdict.PASS and not result.unexpected:
        return "all memory is as expected"
    if result.verdict in (Verdict.UNSUPPORTED, Verdict.NOT_RUN):
        return next(iter(result.detail.splitlines()), result.verdict.value)
    text = headline(result)
    return f"device lost: {text}" if result.verdict is Verdict.DEVICE_LOST else text


class Printed:
    """The output of one program: a header, two lines for each case, totals; and a log (.qpa), if there is one.

    `write` gets lines. Each case is announced before it runs: if the process dies, its parent knows with which.
    """

    def __init__(self, write: Callable[[str], None], log: IO[str] | None = None) -> None:
        self._write, self._log = write, log
        self._counts: Counter[str] = Counter()

    def begin(self, spec: str, identity: str, log_name: str) -> None:
        """The header."""
        self._write(f"dEQP Core coopmat-cts-{cts.__version__} (0x00000000) starting..")
        self._write(f"  target implementation = {spec!r}")
        if identity:
            self._write(f"  device = {identity!r}")
        if self._log is not None:
            self._write(f"Writing test log into {log_name}")
        self._write("")
        self._to_log(f"#sessionInfo releaseName coopmat-cts-{cts.__version__}\n#sessionInfo releaseId 0x00000000\n")
        self._to_log(f"#sessionInfo targetName {quoteattr(identity or spec)}\n#beginSession\n")

    def starting(self, name: str) -> None:
        """A case is about to run."""
        self._write(f"Test case '{name}'..")
        self._to_log(f"\n#beginTestCaseResult {name}\n")

    def ended(self, result: Result, again: str) -> None:
        """A case has ended; the command `again` shows it again."""
        status, says = word(result), printable(detail(result))
        self._counts[status] += 1
        self._write(f"  {status} ({says})")
        self._write("")
        text = f"{full(result, None).rpartition('reproduce: ')[0]}reproduce: {again}"
        bad = result.verdict not in (Verdict.PASS, Verdict.UNSUPPORTED, Verdict.NOT_RUN)
        shown = f" <Text>{_xml(text)}</Text>\n" if bad else ""
        self._to_log(
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            f'<TestCaseResult Version="0.3.4" CasePath={quoteattr(result.name)} CaseType="SelfValidate">\n{shown}'
            ' <Number Name="TestDuration" Description="Test case duration in microseconds" Tag="Time" Unit="us">'
            f"{round(result.seconds * 1e6)}</Number>\n"
            f' <Result StatusCode="{status}">{_xml(says)}</Result>\n</TestCaseResult>\n\n#endTestCaseResult\n'
        )

    def finish(self) -> None:
        """The totals."""
        self._write("DONE!")
        self._write("")
        self._write("Test run totals:")
        total = self._counts.total()
        for title, words in _TOTALS.items():
            count = sum(self._counts[status] for status in words)
            self._write(f"  {title + ':':<15}{count}/{total} ({100 * count / max(total, 1):.1f}%)")
        self._to_log("\n#endSession\n")

    def _to_log(self, text: str) -> None:
        if self._log is not None:
            with suppress(OSError):  # a full disk loses the log, not the verdicts
                self._log.write(text)
                self._log.flush()


def _xml(text: str) -> str:
    return escape("\n".join(map(printable, text.splitlines())))
