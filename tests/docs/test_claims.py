"""The claims of the pages of findings: in their one form, and of cases and rules that their pages name."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from cts.base.plain_yaml import parse
from cts.judging.known.claims import Block, Claim, claims, defects, dumps
from cts.modules.validation.rules import rules
from cts.modules.validation.shaders import shader_rules
from cts.plugins.registry import names
from cts.running import corpus

CLAIMS = claims()
IDS = [claim.id for claim in CLAIMS]
#: Names of transforms before the first colon.
TRANSFORMS = set(names("cts.transforms"))
CASES = {entry.name for entry in corpus.entries()}
RULES = {rule.name for rule in rules()} | {rule.name for rule in shader_rules()}


def test_ids_are_unique() -> None:
    assert len(set(IDS)) == len(IDS) > 100


@pytest.mark.family("claim", CLAIMS, ids=IDS)
def test_a_block_has_its_one_form(claim: Claim) -> None:
    assert f"```claim\n{dumps(claim.block)}```\n" in claim.page.read_text(encoding="utf-8")


@pytest.mark.family("claim", CLAIMS, ids=IDS)
def test_what_a_claim_runs_is_there_and_in_its_page(claim: Claim) -> None:
    text = claim.page.read_text(encoding="utf-8")
    for shown in claim.block.shows:
        assert set(shown.cases) <= CASES
        assert set(shown.rules) <= RULES
        assert {t.partition(":")[0] for t in shown.transform.split("|") if t} <= TRANSFORMS
        prose = re.sub(r"^```claim\n.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
        words = set(re.findall(r"[\w.]+", prose))
        assert all(name in words or name.rpartition(".")[2] in words for name in (*shown.cases, *shown.rules))


def test_defects_that_findings_share_have_a_name_of_their_own_or_that_of_a_finding() -> None:
    alone = [d for d in {c.block.defect for c in CLAIMS} if d and sum(c.defect == d for c in CLAIMS) < 2]
    assert alone == []


def test_a_version_is_found_by_its_words() -> None:
    mesa, older = defects(CLAIMS, "Mesa 26"), defects(CLAIMS, "spirv-val 2023.5")
    assert "mesa-26.1.6-lavapipe/1" in mesa and "mesa-26.2.6-radv/7" in mesa
    assert "lavapipe-26.1.6-reductions" not in mesa
    assert "spirv-val-2026.4-accepts/3" in older and "spirv-val-2026.4-accepts/1" not in older
    assert defects(CLAIMS, "Mesa 2") == ()


def test_the_example_of_the_page_is_a_block_in_its_one_form() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "claims.md"
    (text,) = re.findall(r"^```claim\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    block = msgspec.convert(parse(text, str(page)), Block)
    assert dumps(block) == text
    assert block.id in IDS
