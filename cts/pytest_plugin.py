"""Conformance cases as pytest items, for each `--cts-driver`. Does nothing, and imports nothing, without one.

Corpus files (`pytest --pyargs cts.cases`) and case files of one's own become an item per driver;
generated cases become an item per driver and area of `cts.cases`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from cts.pytest_cases.items import Session

_SESSION: pytest.StashKey[Session] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options `--cts-...`. None is one that was not given: `cts.pytest_cases.options` says what it is then."""
    group = parser.getgroup("cts", "conformance cases on drivers (cts)")
    group.addoption(
        "--cts-driver",
        action="append",
        default=[],
        metavar="SPEC",
        help="run conformance cases on this driver, e.g. emulator:subgroup_size=64 (repeatable)",
    )
    group.addoption("--cts-profile", metavar="NAME", help="smoke, default (the default) or nightly")
    group.addoption("--cts-max-examples", type=int, metavar="N", help="generated cases per area and driver")
    group.addoption("--cts-seed", type=int, metavar="N", help="seed of generation; the header prints it")
    group.addoption(
        "--cts-save-dir",
        metavar="DIR",
        help="the folder of runs, which gets one for this session (cts-run)",
    )
    group.addoption("--cts-bundle-dir", metavar="DIR", help="write a bundle of each finding, to be shown to others")
    group.addoption(
        "--cts-bundle-seconds", type=float, metavar="S", help="how long a bundle's case is made smaller (20)"
    )
    group.addoption("--cts-quarantine", metavar="FILE", help="cases known to hang or crash a device: left out or last")
    group.addoption("--cts-baseline", metavar="FILE", help="failures that are known; a listed case that passes fails")
    group.addoption(
        "--cts-reruns", type=int, metavar="N", help="how often a finding is run again, to find flaky ones (1)"
    )
    group.addoption("--cts-shard", metavar="I/N", help="only this part of all cases, by their content, such as 2/3")
    group.addoption("--cts-max-time", type=float, metavar="S", help="begin no case after so many seconds")
    group.addoption(
        "--cts-validation",
        action="store_true",
        default=None,
        help="load validation layers: a case that one rejects is an error",
    )
    group.addoption(
        "--cts-no-validation",
        action="store_false",
        dest="cts_validation",
        default=None,
        help="load none, whatever pyproject.toml says",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Prepare a session where a driver is asked for."""
    if config.getoption("--cts-driver"):
        from cts.pytest_cases.items import Session

        session = Session.from_config(config)
        config.stash[_SESSION] = session
        config.pluginmanager.register(session, "cts-session")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Give xdist's workers the seed of the controller, and the folder of its run."""
    session = node.config.stash.get(_SESSION, None)
    if session is not None:
        node.workerinput["cts_seed"] = session.header.seed
        node.workerinput["cts_run"] = str(session.run)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Case files, and the generated cases in the place of the corpus package's `__init__.py`."""
    session = parent.config.stash.get(_SESSION, None)
    return session.collect(file_path, parent) if session is not None else None
