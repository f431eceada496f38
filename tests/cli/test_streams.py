"""What the command prints is fit for terminals and logs, whatever drivers and files put into it."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from typing import IO, Any, cast

import pytest
from rich.table import Table

from cts.base.errors import BadInput
from cts.base.heartbeat import SILENCE, Heartbeat
from cts.base.printable import KEPT, printable_data, said
from cts.base.processor_time import is_busy, used
from cts.faces.cli.streams import Printed, command_writer, printed_streams
from cts.showing.report.console import ReportConsole


def stream(*, in_log: bool = False) -> tuple[Printed, io.BytesIO]:
    raw = io.BytesIO()
    return Printed(cast("Any", raw), "utf-8", in_log=in_log, line_buffering=False), raw


def printed(text: str, *, in_log: bool = False) -> str:
    out, raw = stream(in_log=in_log)
    out.write(text)
    out.flush()
    return raw.getvalue().decode()


@pytest.mark.parametrize(
    ("text", "fit"),
    [
        ("plain, with\ttabs\nand lines\n", "plain, with\ttabs\nand lines\n"),
        ("\x1b[2J\x00\x07", r"\x1b[2J\x00\x07"),
        ("a\r\nb\rc", "a\nb\\x0dc"),
        ("\ud800", r"\ud800"),
        ("\u202eabc\x9b", r"\u202eabc\x9b"),
    ],
)
def test_control_characters_are_escaped(text: str, fit: str) -> None:
    assert printed(text) == fit


def test_no_text_passes_for_a_command_of_the_service_that_reads_the_log() -> None:
    text = "::error::a\n  ::b\nstd::vector ::c ##[d] ##vso[e] #f\n"
    assert printed(text) == text
    assert printed(text, in_log=True) == "\\x3a:error::a\n  \\x3a:b\nstd::vector ::c \\x23#[d] \\x23#vso[e] #f\n"


def test_only_the_beginning_of_a_line_is_one() -> None:
    out, raw = stream(in_log=True)
    for part in ("std", "::vector\n", "::a"):
        out.write(part)
    command_writer(cast("IO[str]", out))("::error::the suite's own")
    assert raw.getvalue().decode() == "std::vector\n\\x3a:a\n::error::the suite's own\n"


def test_a_console_escapes_in_texts_and_tables_and_has_its_colours() -> None:
    out, raw = stream()
    console = ReportConsole(file=out, force_terminal=True, width=80, color_system="standard")
    console.print("a\x1b[2Jb", style="red", markup=False, highlight=False)
    table = Table("c\x1bd")
    console.print(table)
    out.flush()
    text = raw.getvalue().decode()
    assert "\x1b[31ma\\x1b[2Jb" in text and "\x1bd" not in text


def test_streams_are_put_back(capsys: pytest.CaptureFixture[str]) -> None:
    import sys

    before = sys.stdout
    with printed_streams({}):
        assert isinstance(sys.stdout, Printed)
        print("a\x00b")
    assert sys.stdout is before
    print("c")
    assert capsys.readouterr().out == "a\\x00b\nc\n"


def test_what_is_said_is_cut() -> None:
    assert said(3) == "3"
    assert said("x" * (KEPT + 5)) == "x" * KEPT + "\n... and 5 more characters"
    assert printable_data({"a\ud800": ["b\x00", 1, None]}) == {"a\\ud800": ["b\\x00", 1, None]}
    assert "\x1b" not in str(BadInput("code", "what\x1b", "where\x1b", "remedy\x1b"))


def test_a_word_after_a_silence() -> None:
    now = 0.0
    beat = Heartbeat(lambda: now, lambda pid: None)
    now = SILENCE - 1
    assert beat.word() == ""
    beat.heard()
    now = 2 * SILENCE - 2
    assert beat.word() == ""
    now, beat.doing = 2 * SILENCE, "example 3 of 500"
    assert beat.word() == "still at work after 60 s: example 3 of 500"
    assert beat.word() == "", "that was one"
    beat.started("vulkan", ["mul_add.largest_k", "mul_add.smallest_k", "clip.columns"])
    beat.returned()
    now = 3 * SILENCE
    assert beat.word().endswith(": example 3 of 500; SLOW 30 s mul_add.smallest_k on vulkan (1 queued)")
    now += 1
    beat.returned()
    beat.doing, now = "", 4 * SILENCE
    assert beat.word() == "still at work after 120 s: vulkan: running clip.columns for 29 s"
    beat.returned()
    now = 5 * SILENCE
    assert beat.word() == "still at work after 150 s"


def test_a_slow_case_is_named_whatever_else_is_printed() -> None:
    """In this process or another one, once until there is silence; and whether its process computes."""
    now = 0.0
    beat = Heartbeat(lambda: now, lambda pid: pid == 7)
    beat.started("emulator", ["quick", "queued"], "another process", 7)
    beat.started("vulkan", ["hangs"])
    for second in range(29):
        now = float(second)
        beat.heard()
        assert beat.word() == ""
    assert beat.wait == 2
    beat.ended("another process")
    now = 31.0
    beat.heard()
    assert beat.wait <= 0
    assert [beat.word(), beat.word()] == ["SLOW 31 s hangs on vulkan (waiting)", ""]
    beat.started("emulator", ["slow", "next"], "another process", 7)
    beat.doing = lambda: f"at {now:.0f}"
    now = 62.0
    running = "SLOW 62 s hangs on vulkan (waiting); SLOW 31 s slow on emulator (computing, 1 queued)"
    assert beat.word() == f"still at work after 62 s: at 62; {running}"
    beat.returned()
    assert beat.cases == ()


def test_a_slow_case_is_told_apart_while_it_compiles_and_while_it_runs() -> None:
    now, told = 0.0, list[str]()
    beat = Heartbeat(lambda: now, lambda pid: pid == 7)
    beat.on_phase = told.append
    beat.started("vulkan", ["slow", "next"], "another process", 7)
    beat.started("vulkan", ["hangs", "quick"])
    beat.entered("compiling", "another process")
    beat.entered("running")
    assert told == ["running"], "the other process has told by itself"
    now = 31.0
    beat.heard()
    assert (
        beat.word()
        == "SLOW 31 s slow on vulkan (compiling, 1 queued); SLOW 31 s hangs on vulkan (running, waiting, 1 queued)"
    )
    beat.returned()
    now = 62.0
    assert "SLOW 31 s quick on vulkan (waiting)" in beat.word()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux says what processes use")
def test_processor_time_is_that_of_a_process_and_its_children() -> None:
    before = used(os.getpid())
    assert before is not None
    work = "import time\nwhile time.process_time() < 0.2: pass\nprint('done', flush=True)\ninput()"
    with subprocess.Popen([sys.executable, "-c", work], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        after, of_child = used(os.getpid()), used(child.pid)
        assert after is not None and of_child is not None
        assert after - before > 0.15 and of_child > 0.15  # in ticks of the system
        assert is_busy(child.pid) is False
        child.communicate(b"\n")
    assert used(child.pid) is None and is_busy(child.pid) is None


def test_it_is_said_from_a_thread() -> None:
    heard: list[str] = []
    times = iter([0.0, 0.0, *[SILENCE] * 1000])
    beat = Heartbeat(lambda: next(times))
    with beat.watching(heard.append):
        while not heard:
            pass
    assert heard[0].startswith("still at work")
