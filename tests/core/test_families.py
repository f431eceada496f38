"""Members of a family run together and fail by name, or one by one."""

from __future__ import annotations

from pathlib import Path

import pytest

CONFTEST = """
import pytest
from tests import families

def pytest_generate_tests(metafunc):
    families.generate(metafunc, together=not metafunc.config.option.keyword)

@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    return True if families.call(pyfuncitem) else None
"""

TESTS = """
import pytest

@pytest.fixture
def least():
    return 3

@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.family("number", range(100), ids=lambda n: f"n{n:03}")
def test_numbers(number, sign, least):
    assert number >= least

@pytest.mark.family("letter", "abc")
def test_letters(letter):
    if letter == "b":
        pytest.skip("no b here")

@pytest.mark.family(("x", "y"), lambda: [(1, 2), pytest.param(2, 2, id="twins"), (3, 2)], parts=2)
def test_pairs(x, y):
    if x == 3:
        pytest.fail("x is 3")
    assert x < y
"""


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2]))
    pytester.makeconftest(CONFTEST)
    pytester.makeini("[pytest]\nmarkers = family: members")
    pytester.makepyfile(test_it=TESTS)
    return lambda *arguments: pytester.runpytest_inprocess("-p", "no:cacheprovider", *arguments)


def test_a_run_has_few_items_that_name_what_fails(run) -> None:  # type: ignore[no-untyped-def]
    result = run()
    result.assert_outcomes(failed=6, skipped=1)
    result.stdout.fnmatch_lines_random(
        ["*2 of 50 members fail*", "*member 'n002': pytest 'test_it.py::test_numbers' -k 'n002'*", "*1 of 50 members*",
         "*member 'twins': *", "*1 of 2 members fail*", "*x is 3*"]
    )  # fmt: skip


def test_what_is_skipped_is_said(run) -> None:  # type: ignore[no-untyped-def]
    result = run("-rs")
    result.assert_outcomes(failed=6, skipped=1)
    result.stdout.fnmatch_lines(["*1 of 3 members, the first of them b: no b here*"])


def test_a_name_selects_one_member(run) -> None:  # type: ignore[no-untyped-def]
    run("-k", "twins").assert_outcomes(failed=1)
    run("-k", "n002 or n003").assert_outcomes(failed=2, passed=2)
