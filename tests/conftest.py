"""The options of the tiers of tests (tests/tiers.py)."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator

import pytest

from tests import families
from tests.tiers import Tier, listed, rotates, tier_of, unmatched

_TIER, _LEFT_OUT = pytest.StashKey[Tier | None](), pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tiers of tests")
    group.addoption("--all", dest="whole", action="store_true", help="run the rotating tests, too: tests/rotating.txt")
    group.addoption("--fast", action="store_true", help="leave the rotating tests out, even if they are named")
    group.addoption("--eighth", metavar="N", help="add this eighth of the rotating tests: 1 to 8, or commit")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_LEFT_OUT] = 0
    try:
        tier = tier_of(config.option.eighth, whole=config.option.whole, tree=config.rootpath)
    except ValueError as e:
        raise pytest.UsageError(str(e)) from e
    config.stash[_TIER] = tier if config.option.fast or _is_whole(config) else None


def _is_whole(config: pytest.Config) -> bool:
    """Whether no test is named, so that the run is one of the whole suite."""
    named = {(config.invocation_params.dir / arg).resolve() for arg in config.args}
    whole = {config.rootpath.resolve(), (config.rootpath / "tests").resolve()}
    option = config.option
    return named <= whole and not (option.keyword or option.markexpr or getattr(option, "lf", False))


@pytest.hookimpl(optionalhook=True, wrapper=True)
def pytest_xdist_auto_num_workers() -> Generator[None, int, int]:
    """Half as many workers more than processors: a third of the time, tests wait for processes of their own."""
    count: int = yield
    return count if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ else count + (count + 1) // 2


def pytest_report_header(config: pytest.Config) -> str:
    tier = config.stash[_TIER]
    if tier is None:
        return "tier: all tests that are named"
    return f"tier: {tier}" + ("" if tier.whole else f"; {len(listed())} entries of tests/rotating.txt rotate: --all")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    families.generate(metafunc, together=not metafunc.config.option.keyword)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    return True if families.call(pyfuncitem) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    tier = config.stash[_TIER]
    if tier is None:
        return
    entries = listed()
    gone = unmatched((item.nodeid for item in items), entries)
    if gone and _is_whole(config):
        raise pytest.UsageError(f"tests/rotating.txt names no test of this tree: {', '.join(sorted(gone))}")
    left_out = [item for item in items if rotates(item.nodeid, entries) and not tier.keeps(item.nodeid)]
    config.stash[_LEFT_OUT] = len(left_out)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        away = set(left_out)
        items[:] = [item for item in items if item not in away]


@pytest.hookimpl(wrapper=True)
def pytest_sessionfinish(session: pytest.Session) -> Iterator[None]:
    """A worker of pytest-xdist tells the count, since only workers collect."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["left_out"] = session.config.stash[_LEFT_OUT]
    return (yield)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object) -> None:
    config: pytest.Config = node.config  # type: ignore[attr-defined]
    left_out = getattr(node, "workeroutput", {}).get("left_out", 0)
    config.stash[_LEFT_OUT] = max(config.stash[_LEFT_OUT], left_out)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    count = config.stash[_LEFT_OUT]
    if count:
        terminalreporter.write_line(f"{count:,} rotating tests were left out: --all runs them, --eighth N some")
