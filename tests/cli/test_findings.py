"""`cts findings`: what a page claims is checked by running it, and every way to contradict a claim is seen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cts.judging.judge import OpenDriver
from cts.judging.known.claims import dumps, load
from cts.running.claims import sight
from cts.running.opening import open_driver
from tests.cli.command_line import Cts

CASE = "tensor_addressing.clip.width_beyond_the_columns"
MUTANT = "emulator:mutant=clip-width-remaining"


@pytest.fixture
def cts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Cts:
    """`cts` in an empty folder."""
    return Cts(monkeypatch, capsys, tmp_path)


def section(number: int, shows: str, more: str = "") -> str:
    """A finding with a claim."""
    return f"""\
## {number}. A title

```claim
id: page/{number}
{more}shows:
- {shows}
seen:
- {{driver: emulator 0.9, date: 2026-01-02}}
upstream: not searched
```
"""


def page(cts: Cts, *sections: str) -> str:
    (cts.folder / "page.md").write_text("# A page\n\n" + "\n".join(sections), encoding="utf-8")
    return "page.md"


FAILS = f"{{driver: '{MUTANT}', verdict: fail, cases: [{CASE}]"


def test_a_mutant_reproduces_what_is_claimed_of_it(cts: Cts) -> None:
    ran = cts("findings", "check", page(cts, section(1, FAILS + "}")), "-d", MUTANT)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out == f"reproduced    page/1 on {MUTANT}: 1 fail\n1 reproduced\n"


def test_a_part_of_the_message_is_compared(cts: Cts) -> None:
    right, wrong = FAILS + ", says: 'elements of dst differ'}", FAILS + ", says: 'elements of src differ'}"
    ran = cts("findings", "check", page(cts, section(1, right), section(2, wrong)), "-d", MUTANT)
    assert ran.status == 1
    first, second, last = ran.out.splitlines()
    assert first == f"reproduced    page/1 on {MUTANT}: 1 fail"
    assert second.startswith(f"contradicted  page/2 on {MUTANT}: {CASE}: fail: ")
    assert second.endswith("claimed is the message 'elements of src differ'")
    assert last == "1 reproduced, 1 contradicted"


def test_a_check_is_printed_line_by_line(cts: Cts) -> None:
    other = f"{{driver: 'NVIDIA*', verdict: fail, cases: [{CASE}]}}"
    wrong = f"{{driver: '{MUTANT}', verdict: crash, cases: [{CASE}]}}"
    page(cts, section(1, FAILS + "}"), section(2, wrong), section(3, other))
    cts.snapshot("findings_check", "findings", "check", "page.md", "-d", MUTANT)
    cts.snapshot("findings_list", "findings", "list", "page.md")


def test_tools_are_named_as_in_the_pages() -> None:
    assert sight("glslang v16.6.0") == "glslang 16.6.0"
    assert sight("NVK , NVK Mesa 26.1.6-1") == "NVK , NVK Mesa 26.1.6-1"
    assert sight("interpreter", "form:groups:1") == "interpreter"
    assert sight("interpreter", "form:groups:1|spirv-opt:-O").startswith("spirv-opt 2")


def test_another_verdict_contradicts_a_claim(cts: Cts) -> None:
    passes = f"{{driver: emulator, verdict: [fail, crash], cases: [{CASE}]}}"
    ran = cts("findings", "check", page(cts, section(1, passes)), "-d", "emulator")
    assert ran.status == 1
    assert f"contradicted  page/1 on emulator: {CASE}: pass; claimed is fail or crash" in ran.out


def test_a_claim_with_several_drivers_runs_on_each(cts: Cts) -> None:
    both = FAILS + f"}}\n- {{driver: emulator, verdict: fail, cases: [{CASE}]}}"
    ran = cts("findings", "check", page(cts, section(1, both)), "-d", MUTANT, "-d", "emulator")
    assert ran.status == 1
    assert [line.split()[0] for line in ran.out.splitlines()[:2]] == ["reproduced", "contradicted"]


def test_what_is_claimed_of_others_is_not_run(cts: Cts) -> None:
    of_task = f"{{driver: '{MUTANT}', verdict: fail, cases: [{CASE}], stages: [task]}}"
    other = f"{{driver: 'NVIDIA*', verdict: fail, cases: [{CASE}]}}"
    file = page(cts, section(1, FAILS + "}"), section(2, of_task), section(3, other))
    ran = cts("findings", "check", file, "-d", MUTANT)
    assert ran.status == 0
    assert "not run       page/2: its stages are task shaders\n" in ran.out
    assert "not run       page/3: its drivers are NVIDIA*\n" in ran.out
    assert ran.out.endswith("1 reproduced, 2 not run\n")


def test_a_driver_without_a_claim_is_trouble(cts: Cts) -> None:
    """Whoever upgrades a driver learns that nothing is claimed of the new version."""
    file = page(cts, section(1, FAILS + "}"))
    ran = cts("findings", "check", file, "-d", MUTANT, "-d", "interpreter")
    assert ran.status == 3
    assert ran.out.startswith("reproduced ")
    assert "error[nothing-tested]: no claim could run on interpreter\n" in ran.err


class MakesPipelines:
    """A driver that makes pipelines and runs none."""

    only_makes = True

    def __init__(self, driver: Any) -> None:
        self._driver = driver

    def __getattr__(self, name: str) -> Any:
        return getattr(self._driver, name)


def test_a_driver_that_only_makes_pipelines_says_nothing_of_memory(cts: Cts, monkeypatch: pytest.MonkeyPatch) -> None:
    def opened(spec: str) -> OpenDriver:
        driver = open_driver(spec)
        return replace(driver, driver=MakesPipelines(driver.driver))

    monkeypatch.setattr("cts.running.claims.open_driver", opened)
    crash = f"{{driver: '{MUTANT}', verdict: [fail, crash], cases: [{CASE}]}}"
    ran = cts("findings", "check", page(cts, section(1, FAILS + "}"), section(2, crash)), "-d", MUTANT)
    assert "not run       page/1: this driver makes pipelines and runs none\n" in ran.out
    assert "reproduced    page/2" in ran.out


def test_rules_are_asked_of_validators(cts: Cts) -> None:
    accepts = "{driver: 'spirv-val*', verdict: fail, rules: [RULE], says: accepted though forbidden}"
    file = page(
        cts,
        section(1, accepts.replace("RULE", "cooperative_matrix.multiply_result_use")),
        section(2, accepts.replace("RULE", "tensor_addressing.layout_dim_zero")),
    )
    ran = cts("findings", "check", file, "-d", "spirv-val")
    assert ran.status == 1
    assert "reproduced    page/1 on spirv-val " in ran.out
    assert "tensor_addressing.layout_dim_zero: pass: rejected: " in ran.out


def test_an_optimiser_counts_with_its_own_version(cts: Cts) -> None:
    crashes = (
        "{driver: interpreter, verdict: crash, cases: [vector_arithmetic.parts.sum_of_null], "
        "transform: 'spirv-opt:--ccp', says: crashed, version: '>=VERSION'}"
    )
    file = page(cts, section(1, crashes.replace("VERSION", "2020")), section(2, crashes.replace("VERSION", "2999")))
    ran = cts("findings", "check", file, "-d", "interpreter")
    assert ran.status == 0
    assert "reproduced    page/1 on spirv-opt 2" in ran.out
    assert "not run       page/2: claimed of versions >=2999: this is spirv-opt 2" in ran.out


def test_what_was_reproduced_is_written(cts: Cts) -> None:
    file = page(cts, section(1, FAILS + "}", "defect: one\n"), section(2, FAILS + ", says: no such words}"))
    before = (cts.folder / file).read_text(encoding="utf-8")
    ran = cts("findings", "check", file, "-d", MUTANT, "--write", "--date", "2026-03-04")
    assert (ran.status, ran.err) == (1, "written: 1 claims of page.md\n")
    after = (cts.folder / file).read_text(encoding="utf-8")
    first, second = load(cts.folder / file)
    assert [(s.driver, str(s.date)) for s in first.block.seen] == [
        ("emulator 0.9", "2026-01-02"),
        (MUTANT, "2026-03-04"),
    ]
    assert first.block.seen[1].commit
    assert [s.driver for s in second.block.seen] == ["emulator 0.9"]
    added = [line for line in after.splitlines() if line not in before.splitlines()]
    assert len(added) == 1 and MUTANT in added[0]
    cts("findings", "check", file, "-d", MUTANT, "--write", "--date", "2026-03-05")
    assert [str(s.date) for s in load(cts.folder / file)[0].block.seen] == ["2026-01-02", "2026-03-05"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("check",), "error[no-driver]"),
        (("chek", "-d", "emulator"), "did you mean 'check'?"),
        (("list", "-d", "emulator"), "error[findings-list]"),
        (("check", "mesa-26.2.6-radw", "-d", "emulator"), "did you mean 'mesa-26.2.6-radv'?"),
        (("check", "mesa-26.2.6-radv/22", "-d", "emulator"), "did you mean 'mesa-26.2.6-radv/2'?"),
        (("list", "nothing-like-this.md"), "error[unknown-claim]"),
        (("check", "-d", "emulator", "--date", "2026-01-01"), "error[findings-date]: --date without --write"),
        (("check", "-d", "emulator", "--write", "--date", "2026-13-01"), "is no date"),
        (("check", "-d", "emulatr"), "did you mean 'emulator'?"),
    ],
)
def test_wrong_command_lines(cts: Cts, arguments: tuple[str, ...], says: str) -> None:
    ran = cts("findings", *arguments)
    assert ran.status == 2
    assert says in ran.err


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("id: page/1", "id: page/2", "page.md:6: id\n  fix:   page/1"),
        ("verdict: fail", "verdict: fial", "page.md:8: shows[0].verdict\n  fix:   a value of `cts docs claims`"),
        ("upstream:", "upsteam:", "did you mean 'upstream'?"),
        ("date: 2026-01-02", "date: soon", "page.md:10: seen[0].date"),
        (
            "upstream: not searched",
            "upstream: {tracker: x, searched: 2026-01-01, result: same}",
            "`number` or `mended`",
        ),
        (f"cases: [{CASE}]", f"cases: [{CASE}], rules: [a.b]", "give one of `cases`, `rules` and `shader`"),
        (f"cases: [{CASE}]", "shader: true", "error[claim-shader]"),
        (f"cases: [{CASE}]", "cases: [tensor_addressing.clip.width_beyond_the_column]", f"did you mean '{CASE}'?"),
        (f"cases: [{CASE}]", f"cases: [{CASE}], transform: spirv-opd", "'spirv-opd' is not a transform"),
        (f"cases: [{CASE}]", f"cases: [{CASE}], version: new", "is no range of versions"),
        ("```claim", "```yaml", "page.md:3\n  fix:   one block of ```claim"),
        ("A title", "Withdrawn: a title", "error[claim-withdrawn]"),
    ],
)
def test_wrong_blocks(cts: Cts, old: str, new: str, says: str) -> None:
    file = page(cts, section(1, FAILS + "}"))
    text = (cts.folder / file).read_text(encoding="utf-8")
    assert old in text
    (cts.folder / file).write_text(text.replace(old, new), encoding="utf-8")
    ran = cts("findings", "check", file, "-d", MUTANT)
    assert ran.status == 2
    assert says in ran.err


def test_a_rule_that_there_is_not_is_named(cts: Cts) -> None:
    file = page(cts, section(1, "{driver: 'spirv-val*', verdict: fail, rules: [tensor_addressing.layout_dim_zer]}"))
    ran = cts("findings", "check", file, "-d", "spirv-val")
    assert ran.status == 2
    assert "did you mean 'tensor_addressing.layout_dim_zero'?" in ran.err


def test_a_withdrawn_finding_needs_no_block(cts: Cts) -> None:
    file = page(cts, "## 1. Withdrawn: a title\n", section(2, FAILS + "}"))
    assert [claim.id for claim in load(cts.folder / file)] == ["page/2"]


def test_a_page_without_sections_is_one_finding(cts: Cts) -> None:
    text = section(1, FAILS + "}").replace("## 1. A title", "# A title").replace("page/1", "whole")
    (cts.folder / "whole.md").write_text(text, encoding="utf-8")
    (claim,) = load(cts.folder / "whole.md")
    assert (claim.id, claim.title, claim.defect) == ("whole", "A title", "whole")
    assert dumps(claim.block) in text
