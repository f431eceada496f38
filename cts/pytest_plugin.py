"""Conformance cases as pytest items, for each `--cts-driver`. Does nothing, and imports nothing, without one.

Corpus files (`pytest --pyargs cts.cases`) and case files of one's own become an item per driver;
generated cases become an item per driver and area of `cts.cases`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from cts.base.settings import declared

if TYPE_CHECKING:
    from pathlib import Path

    from cts.faces.pytest_cases.items import Session

_SESSION: pytest.StashKey[Session] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options `--cts-...`. None is one that was not given: `pytest_cases.options` says what it is then."""
    group = parser.getgroup("cts", "conformance cases on drivers (cts)")
    group.addoption(
        "--cts-driver",
        action="append",
        default=[],
        metavar="SPEC",
        help="run conformance cases on this driver, e.g. emulator:subgroup_size=64 (repeatable)",
    )
    for setting in (declared_setting for declared_setting in declared().values() if declared_setting.option.pytest):
        name, text = setting.name.replace("_", "-"), setting.option.pytest
        if setting.kind is bool:
            destination = f"cts_{setting.name}"
            group.addoption(f"--cts-{name}", action="store_true", default=None, help=text)
            group.addoption(
                f"--cts-no-{name}",
                action="store_false",
                dest=destination,
                default=None,
                help="not that, whatever pyproject.toml says",
            )
        else:
            kind = setting.kind if setting.kind in (int, float) else None
            group.addoption(f"--cts-{name}", type=kind, metavar=setting.option.metavar or name.upper(), help=text)


def pytest_configure(config: pytest.Config) -> None:
    """Prepare a session where a driver is asked for."""
    if config.getoption("--cts-driver"):
        from cts.faces.pytest_cases.items import Session
        from cts.faces.pytest_cases.selection import Selection

        session = Session.from_config(config)
        config.stash[_SESSION] = session
        config.pluginmanager.register(session, "cts-session")
        config.pluginmanager.register(Selection(), "cts-selection")


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
