"""What the pytest plugin collects and runs. Imported only where a driver is asked for."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from _pytest._code.code import ReprEntryNative, ReprExceptionInfo, ReprFileLocation, ReprTraceback

import cts
from cts.base.deadline import Deadline
from cts.base.errors import BadInput, CtsError, HarnessTrouble
from cts.base.input_files import read_bytes
from cts.case.model import load_case
from cts.case.model.yaml import FILE
from cts.faces.pytest_cases.options import Request, plan_of
from cts.faces.pytest_cases.selection import named
from cts.judging import events as ev
from cts.judging.judge import OpenDriver
from cts.judging.verdict import CLEAN, Verdict
from cts.plugins import registry
from cts.running import corpus, store
from cts.running.archive import is_bundle
from cts.running.cases import run_entries
from cts.running.exploring import run_area
from cts.running.names import root
from cts.running.opening import described, not_validated, open_driver
from cts.running.plan import Plan
from cts.running.store import RunFolder
from cts.running.store.failed import Failed, failed
from cts.running.tally import Tally
from cts.showing.export.bundles import Bundles
from cts.showing.report.failure import failure, fault_text, headline
from cts.showing.report.github import GitHub
from cts.showing.report.reasons import summed_up
from cts.showing.report.save import Saver

#: The property of a test in pytest's own JUnit XML that names its driver.
_DRIVER = "cts_driver"

#: Where a test's report carries events, in JSON, from xdist's workers to the controller.
_EVENTS = "cts_events"

#: Exit codes of sessions that have run to their end.
_ENDED = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)


class Session:
    """The drivers of one pytest session, opened when first used, and the events of what is judged on them.

    Events are counted and kept in the process of the session. A worker of pytest-xdist sends them there, with the
    reports of its tests.
    """

    def __init__(
        self, config: pytest.Config, request: Request, plan: Plan, run: Path | None, failed: Failed | None
    ) -> None:
        self.config, self.plan = config, plan
        self.drivers, self.areas, self.quarantine = plan.drivers, plan.areas, plan.quarantine
        self.settings, self.save_dir = settings, save_dir = plan.profile, Path(request.values["save-dir"])
        assert settings.seed is not None, "profile() settles the seed"
        self.header = ev.RunStarted(
            cts.__version__, settings.name, settings.max_examples, settings.seed, plan.drivers, plan.areas, 0,
            config=plan.config,
        )  # fmt: skip
        #: Where the run is kept. xdist's workers only add findings there, and tell the controller the rest.
        self.folder: RunFolder | None = None
        self.bundles: Bundles | None = None
        self._open: dict[str, OpenDriver] = {}
        config.add_cleanup(self.close)
        if run is None and not config.option.collectonly:
            self._keep()
        self.run = run or (self.folder.path if self.folder else save_dir)
        self.saver = Saver(self.run)
        self.saver(self.header)
        #: What GitHub is to show, where this is part of a workflow there.
        self.annotations: list[str] = []
        self.github = GitHub.from_environment(self.run, self.annotations.append) if self.folder else None
        if self.github is not None:
            self.github(self.header)
        bundle_dir, seconds = request.path("bundle-dir"), plan.profile.reduce_seconds
        self.time_is_up = Deadline(plan.max_seconds, "--cts-max-time")
        if bundle_dir is not None:
            self.bundles = Bundles(bundle_dir, plan.quarantine, seconds, self.time_is_up)
        self.tally = Tally(plan.baseline)
        self.is_worker = hasattr(config, "workerinput")
        #: Events of a worker that no test's report has taken along yet.
        self._unsent: list[ev.Event] = []
        #: Kinds of generators' faults that are already reported, by area.
        self.faults: dict[str, set[str]] = {}
        #: The failures of another run, if nothing else is to run.
        self.failed = failed
        self._failed: dict[str, CtsError] = {}
        self._start, self._ended = time.perf_counter(), False

    @classmethod
    def from_config(cls, config: pytest.Config) -> Session:
        """The session that the options ask for. Raises pytest.UsageError where they are wrong, with all that is."""
        worker: dict[str, Any] = getattr(config, "workerinput", {})
        try:
            request = Request.from_config(config)
            plan = plan_of(request, worker.get("cts_seed"))
            before = request.path("failed")
            only = failed(store.load(before)) if before is not None else None
            return cls(config, request, plan, Path(worker["cts_run"]) if "cts_run" in worker else None, only)
        except CtsError as e:
            raise pytest.UsageError(str(e)) from None

    def driver(self, spec: str) -> OpenDriver:
        """The driver, opened now if it is not. Raises CtsError where that fails, which is tried once."""
        if spec in self._failed:
            raise self._failed[spec]
        if spec not in self._open:
            try:
                self._open[spec] = open_driver(spec, self.quarantine, self.plan.baseline)
            except CtsError as e:
                self._failed[spec] = e
                raise
            opened = described(self._open[spec])
            self.emit(opened)
            if self.bundles is not None:
                self.bundles(opened)
        return self._open[spec]

    def emit(self, event: ev.Event) -> None:
        """An event of this process: what it found is saved here, where a test's report names the files."""
        self.saver(event)
        if not self.is_worker:
            self._receive(event)
        elif not isinstance(event, ev.Passing):
            self._unsent.append(event)

    def _receive(self, event: ev.Event) -> None:
        """An event of this process or of a worker: it is counted and kept."""
        if self.tally.has_fault(event):
            return  # another worker has met it, too
        self.tally(event)
        for listener in filter(None, (self.folder, self.github)):
            listener(event)

    def bundled(self, result: ev.Result) -> list[str]:
        """Write the bundle of a finding, where one is wanted; returns what to say of it."""
        if self.bundles is None:
            return []
        self.bundles(result)
        lines = [*(f"bundle: {path}" for path in self.bundles.written), *map(str, self.bundles.troubles)]
        self.bundles.written.clear()
        self.bundles.troubles.clear()
        return lines

    def _keep(self) -> None:
        command = ["pytest", *map(str, self.config.invocation_params.args)]
        manifest = store.Manifest.from_plan(self.plan, "pytest", command)
        self.folder = store.create(self.save_dir, manifest)
        self.folder(self.header)
        if missing := not_validated():
            self.folder(missing)

    def close(self) -> None:
        """Close the run's folder, its bundles, and every driver that was opened."""
        if self.folder is not None:
            self.folder.close()
        if self.bundles is not None:
            self.bundles.close()
        while self._open:
            self._open.popitem()[1].close()

    def collect(self, path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """The collector of a file, None for a file that is not ours."""
        if path.name == "__init__.py" and path.parent.resolve() == root().resolve():
            areas: Areas = Areas.from_parent(parent, path=path)
            areas.session_of_cts = self
            return areas
        if path.suffix in (".yaml", ".yml") and self._is_ours(path, parent):
            return CaseFile.of_session(parent, path, self)
        return None

    def _is_ours(self, path: Path, parent: pytest.Collector) -> bool:
        """Corpus files, files named on the command line, and what has a case's `program` but no run has saved."""
        try:
            entry = corpus.of_path(path)
            if self.failed is not None:
                return bool(self.failed.failed_entries([entry], self.drivers))
            if entry.in_corpus or parent.session.isinitpath(path):
                return True
            data = read_bytes(path, FILE)
        except BadInput:  # another tool's file, which need not be one of ours
            return False
        if path.resolve().is_relative_to(self.save_dir.resolve()) or is_bundle(path.parent):
            return False
        return data.startswith(b"program:") or b"\nprogram:" in data

    def pytest_report_header(self) -> str:
        """The line that makes a run repeatable, and whether modules are validated."""
        settings, drivers = f"profile {self.settings.name}", ", ".join(self.drivers)
        settings += f", {self.settings.max_examples} examples per area, seed {self.settings.seed}"
        config = f", settings of {self.plan.config}" if self.plan.config else ""
        header = f"cts: {settings}{config}, drivers {drivers}"
        return f"{header}\ncts: {missing.what}; {missing.remedy}" if (missing := not_validated()) else header

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Tell of a test that could not be run; give a worker's report its events, as text."""
        report = yield
        if call.when == "call" and isinstance(item, _Item):
            if call.excinfo is not None and isinstance(call.excinfo.value, CtsError):
                self.emit(ev.problem(call.excinfo.value))
            if self.is_worker:
                report.__dict__[_EVENTS] = [ev.encode(event).decode() for event in self._unsent]
                self._unsent.clear()
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take a worker's events from the report of a test."""
        if not self.is_worker:
            for event in map(ev.decode, report.__dict__.get(_EVENTS, ())):
                self._receive(event)

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str) -> None:
        """A worker has died, and with it what no report has taken along."""
        what, remedy = "a worker of pytest-xdist died", "`cts run` of the same, which --resume continues"
        self.emit(ev.problem(HarnessTrouble("worker-died", what, crashitem, remedy)))

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Move to the end what a quarantine leaves for last on any driver: only then are case files read."""
        if any(rule.when == "last" for rule in self.quarantine.rules):
            items.sort(key=lambda item: isinstance(item, CaseItem) and item.is_last())

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Say what there is to say when all has run; a session fails that a run of `cts run` would fail."""
        if self.is_worker:
            return
        self._ended = session.exitstatus in _ENDED and not (session.shouldstop or session.shouldfail)
        if self._ended:
            for event in self.tally.closing():
                self.emit(event)
        if self.tally.exit_status != CLEAN and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if session.exitstatus in _ENDED:
            self.emit(self.tally.footer(time.perf_counter() - self._start))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Annotate for GitHub; list reasons for unjudged cases, the number of known failures, cases that pass against
        the baseline, its unused entries, faults of generators, and drivers on which nothing was tested.
        """
        tally = self.tally
        for line in self.annotations:
            terminalreporter.write_line(line)
        for line in summed_up(tally, self.run):
            terminalreporter.write_line(f"cts: {line}" if not line.startswith(" ") else line, yellow=True)
        for r in tally.unexpected:
            text = f"cts: {r.name} passes on {r.driver}, and should fail: {r.unexpected}"
            terminalreporter.write_line(text, red=True)
        for unused in tally.unused:
            terminalreporter.write_line(f"cts: not seen on {unused.driver}: {unused.entry}: {unused.why}", yellow=True)
        for fault in tally.faults.values():
            terminalreporter.write_line(f"cts: {fault_text(fault, self.run, self.header)}", red=True)
        for spec in tally.untested() if self._ended else ():
            terminalreporter.write_line(f"cts: nothing was tested on {spec}{tally.why_untested(spec)}", red=True)


class CaseFile(pytest.File):
    """One case: an item per driver. The file is read when an item runs, so that a bad one fails alone."""

    session_of_cts: Session

    @classmethod
    def of_session(cls, parent: pytest.Collector, path: Path, session: Session) -> CaseFile:
        """The collector of a file."""
        file: CaseFile = cls.from_parent(parent, path=path)
        file.session_of_cts = session
        return file

    def collect(self) -> Iterator[pytest.Item]:
        if not corpus.in_shard(self.path, self.session_of_cts.settings.shard):
            return
        session = self.session_of_cts
        entries = [corpus.of_path(self.path)]
        for entry in entries if session.failed is None else session.failed.failed_entries(entries, session.drivers):
            for spec in filter(entry.is_for, session.drivers):
                yield named(CaseItem.for_driver(self, session, spec, spec), entry.name)


class Areas(pytest.File):
    """The generated cases: an item per area and driver, in each shard with its part of the cases."""

    session_of_cts: Session

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        if self.session_of_cts.failed is not None:
            for path in self.session_of_cts.failed.own:
                yield CaseFile.of_session(self, path, self.session_of_cts)
            return
        for area in self.session_of_cts.areas:
            for spec in self.session_of_cts.drivers:
                item = AreaItem.for_driver(self, self.session_of_cts, f"generated.{area}[{spec}]", spec)
                item.area = area
                yield item


class DidNotPass(Exception):
    """Carries the text of a finding to pytest's report, and its `headline` of one line."""

    def __init__(self, text: str, headline: str) -> None:
        super().__init__(text)
        self.headline = headline


class _Item(pytest.Item):
    """One thing to run on one driver."""

    session_of_cts: Session
    spec: str

    @classmethod
    def for_driver(cls, parent: pytest.Collector, session: Session, name: str, spec: str) -> Any:
        """The item; its driver is opened when it runs."""
        item: _Item = cls.from_parent(parent, name=name)
        item.session_of_cts, item.spec = session, spec
        item.user_properties.append((_DRIVER, spec))
        return item

    def result(self, driver: OpenDriver) -> ev.Result:
        raise NotImplementedError

    def runtest(self) -> None:
        ours = self.session_of_cts
        if why := ours.time_is_up():
            pytest.skip(f"not run on {self.spec}: {why}")
        result = self.result(ours.driver(self.spec))
        ours.emit(result)
        if result.known:
            pytest.xfail(f"known to fail on {self.spec}: {result.known}")
        if result.unexpected:
            text = f"{result.name} passes on {self.spec}, and should fail: {result.unexpected}"
            raise DidNotPass(text, headline(result))
        if result.verdict is Verdict.NOT_RUN:
            pytest.skip(f"not run on {self.spec}: {result.detail}")
        if result.verdict is Verdict.UNSUPPORTED:
            pytest.skip(f"unsupported by {self.spec}: {result.detail}")
        if result.verdict is not Verdict.PASS:
            text = "\n".join([failure(result, ours.run, ours.header), *ours.bundled(result)])
            raise DidNotPass(text, headline(result))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        error = excinfo.value
        if not isinstance(error, (DidNotPass, CtsError)):
            return super().repr_failure(excinfo, style)
        # What pytest takes for the place of a crash is the message in its summary and its JUnit XML.
        message = error.headline if isinstance(error, DidNotPass) else error.what
        text = ReprTraceback([ReprEntryNative([f"{error}\n"])], extraline=None, style="native")
        return ReprExceptionInfo(text, ReprFileLocation(str(self.path), 0, message))


class CaseItem(_Item):
    """One case file on one driver."""

    def result(self, driver: OpenDriver) -> ev.Result:
        ours, entry, oracle = self.session_of_cts, corpus.of_path(self.path), registry.oracle()
        case = corpus.read(entry, oracle)
        (result,) = next(run_entries([(entry, case)], [driver], oracle, ours.emit, ours.plan.reruns, ours.time_is_up))
        return result

    def is_last(self) -> bool:
        """Whether the quarantine leaves the case for last on some driver; a file that is no case fails in its turn."""
        try:
            return self.session_of_cts.quarantine.last(load_case(self.path))
        except BadInput:
            return False

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, f"{corpus.of_path(self.path).name}[{self.spec}]"


class AreaItem(_Item):
    """Generated cases of one area on one driver."""

    area: str

    def result(self, driver: OpenDriver) -> ev.Result:
        ours = self.session_of_cts
        kinds = ours.faults.setdefault(self.area, set())
        ran = run_area(
            self.area, [driver], registry.oracle(), ours.settings, ours.emit, ours.plan.reruns, kinds, ours.time_is_up
        )
        kinds |= set(ran.faults)
        for fault in ran.faults.values():
            ours.emit(fault)
        (result,) = ran.results
        return result

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, self.name
