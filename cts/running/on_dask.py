"""The workers of a run on many machines, by Dask distributed (the extra `dask`)."""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from cts.base.deadline import NO_DEADLINE, Deadline
from cts.base.errors import BadInput, HarnessTrouble, described
from cts.base.heartbeat import heartbeat
from cts.device.driver import Job, Outcome
from cts.judging.events import problem
from cts.judging.judge import OpenDriver
from cts.running.opening import open_driver
from cts.running.processes import DEVICE, TRIES, ProcessConfig, WorkerProcess
from cts.running.suite import differing, identity
from cts.running.tasks import NAMED, Answer, Task, described_task, not_done, unanswered

if TYPE_CHECKING:
    from distributed import Client, Future

    from cts.running.plan import Plan

#: What workers declare: `dask worker ... --resources "cts=1"`, as many as they are to do at a time.
RESOURCE = "cts"

#: Seconds that a scheduler has for any answer, and for none when it is left.
PATIENCE, CLOSING = 20.0, 2.0

#: Seconds that a worker has to open a driver, and that a run waits for a first worker after the last has left.
OPENING = WITHOUT_WORKERS = 120.0

#: Seconds that a run waits for its workers after its time is up: with its report it ends within 20.
OVERRUN = 5.0

#: Seconds between two looks at the clock.
TICK = 0.5

#: Tasks that each process has: one that it works on, and the next.
QUEUED = 2

#: The environment variable that names the device of a worker, for `{device}` in a driver's spec.
VARIABLE = "CTS_DEVICE"

_T = TypeVar("_T")


class Cluster:
    """The workers of a Dask scheduler that declare the resource `cts`. A context manager.

    Each call to the scheduler has a deadline. Raises BadInput if Dask is missing, HarnessTrouble if the scheduler does
    not answer, if no worker is there, or if one has another suite.
    """

    def __init__(self, address: str, time_is_up: Deadline = NO_DEADLINE) -> None:
        self._address, self._time_is_up = address, time_is_up
        self._config: ProcessConfig | None = None
        self._key = uuid.uuid4().hex
        self._finished: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()
        self._had_workers = time.monotonic()
        #: By worker: its last sign of life by the scheduler's clock, and when that came here.
        self._signs: dict[str, tuple[object, float]] = {}
        self._client = _client(address)
        try:
            self._check()
        except BaseException:
            self._close()
            raise

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    @property
    def size(self) -> int:
        """How many tasks the workers carry out at a time. Raises HarnessTrouble if there have long been none."""
        workers = self._asked(lambda: self._client.scheduler_info(n_workers=-1)["workers"])
        size = int(sum(worker.get("resources", {}).get(RESOURCE, 0) for worker in workers.values()))
        now = time.monotonic()
        for name, worker in workers.items():
            if (sign := worker.get("last_seen")) != self._signs.get(name, (None,))[0]:
                self._signs[name] = sign, now
        self._had_workers = now if size else self._had_workers
        if now - self._had_workers > WITHOUT_WORKERS:
            raise self._no_workers()
        return size

    def opened(self, spec: str, plan: Plan) -> OpenDriver:
        """A worker's description of a driver, as an open driver that runs nothing. Raises BadInput, HarnessTrouble."""
        future = self._client.submit(_described, spec, resources={RESOURCE: 1}, pure=False)
        future.add_done_callback(self._finished.put)
        until = time.monotonic() + OPENING
        while not self._ended():
            if time.monotonic() > until or self._time_is_up.left < -OVERRUN:
                what = f"no worker has opened {spec!r} in time"
                raise HarnessTrouble("no-workers", what, self._address, "workers that are not busy")
            _ = self.size
        found: Any = self._asked(future.result)
        if isinstance(found, BadInput | HarnessTrouble):
            raise found
        names = (spec, found.identity) if found.identity else (spec,)
        stage = found.capabilities.stage
        assert isinstance(found, OpenDriver)
        return replace(
            found,
            quarantine=plan.quarantine.for_driver(*names, stage=stage),
            baseline=plan.baseline.for_driver(*names, stage=stage),
        )

    def working(self, config: ProcessConfig) -> Cluster:
        """The same, for tasks of a run with this configuration."""
        # A moment of this machine's clock says nothing on others: with each task goes how much time is left.
        self._config = replace(config, time_is_up=config.time_is_up.elsewhere())
        return self

    def perform(
        self, tasks: Iterable[Task | None], stale: Callable[[Task], bool] = lambda task: False
    ) -> Iterator[tuple[Task, Answer]]:
        """Each task with its answer. A task whose worker dies goes to another worker, so many times."""
        source, exhausted = iter(tasks), False
        flying: dict[Future[Any], tuple[Task, int]] = {}
        ready: deque[tuple[Task, Answer]] = deque()
        while True:
            while ready:
                yield ready.popleft()
            over = self._time_is_up.left < -OVERRUN
            if over and flying:
                ready += self._left(flying)
                threading.Thread(target=self._client.cancel, args=(list(flying),), daemon=True).start()
                flying.clear()
            room = QUEUED * (1 if over or (exhausted and not flying) else max(1, self.size))
            while not exhausted and not ready and len(flying) < room:
                try:
                    task = next(source)
                except StopIteration:
                    exhausted = True
                    break
                if task is None:
                    break
                if stale(task):
                    ready.append((task, Answer()))
                elif over:
                    ready.append((task, not_done(task, self._time_is_up())))
                else:
                    flying[self._submit(task, 1)] = task, 1
            if not flying and not ready:
                assert exhausted, "what no answer can decide is no reason to wait"
                return
            ready += self._answered(flying)

    def _left(self, flying: Mapping[Future[Any], tuple[Task, int]]) -> list[tuple[Task, Answer]]:
        """Tasks without an answer long after the time, as not done; an error if a worker that has one is silent.

        What a worker still does after a sign of life is a long case, which a resumed run judges.
        """
        going_on = self._going_on()
        left = [(task, not_done(task, self._time_is_up())) for task, _ in flying.values()]
        silent = [pair for pair, future in zip(left, flying, strict=True) if future.key not in going_on]
        if silent:
            error = unanswered([task for task, _ in silent], OVERRUN, self._address)
            silent[0][1].events.append(problem(error))
        return left

    def _going_on(self) -> set[object]:
        """The keys of tasks of workers that have given a sign of life of late; none without the scheduler's word."""
        try:
            _ = self.size
            given = self._asked(self._client.processing)
        except HarnessTrouble:
            return set()
        since = time.monotonic() - OVERRUN
        return {key for name, keys in given.items() if self._signs.get(name, (None, 0.0))[1] > since for key in keys}

    def _submit(self, task: Task, tries: int) -> Future[Any]:
        key = f"{described_task(task)} {tries} {uuid.uuid4().hex}"
        future = self._client.submit(
            _answer, self._key, self._config, task, self._time_is_up.left, key=key, resources={RESOURCE: 1}, pure=False
        )
        future.add_done_callback(self._finished.put)
        return future

    def _ended(self) -> list[Future[Any]]:
        """Futures that have ended, after a moment at most."""
        ended: list[Future[Any]] = []
        with contextlib.suppress(queue.Empty):
            ended.append(self._finished.get(timeout=TICK))
            while True:
                ended.append(self._finished.get_nowait())
        return ended

    def _answered(self, flying: dict[Future[Any], tuple[Task, int]]) -> Iterator[tuple[Task, Answer]]:
        """Tasks with answers, after a moment at most; tasks whose worker has died are given out again."""
        if not flying:
            return
        begun = [described_task(task) for task, _ in list(flying.values())[:NAMED]]
        heartbeat.doing = f"waiting for {'; '.join(begun)}"
        for future in self._ended():
            if future not in flying:
                continue
            task, tries = flying.pop(future)
            if future.status != "finished":
                _ = self.size  # with the scheduler all futures are lost
                if tries < TRIES:  # Dask gives up a task whose workers die again and again
                    flying[self._submit(task, tries + 1)] = task, tries + 1
                    continue
                why = f"{future.status} {TRIES} times: {self._asked(partial(_exception, future))}"
                lost = not_done(task, why)
                lost.events.append(
                    problem(HarnessTrouble("worker-died", why, described_task(task), "a look at its log"))
                )
                yield task, lost
                continue
            found = self._asked(future.result)
            if isinstance(found, BadInput | HarnessTrouble):
                raise found
            yield task, found

    def _check(self) -> None:
        """Compare the suites of all workers before anything runs."""
        if not self.size:
            raise self._no_workers()
        ours = identity()
        for worker, theirs in sorted(self._asked(lambda: self._client.run(_identity)).items()):
            what = differing(ours, theirs) if isinstance(theirs, dict) else theirs
            if what:
                raise HarnessTrouble("other-suite", f"the suite is another one there: {what}", worker, "the same suite")

    def _no_workers(self) -> HarnessTrouble:
        remedy = f'dask worker {self._address} --nthreads 1 --resources "{RESOURCE}=1"'
        return HarnessTrouble("no-workers", f"no worker declares the resource {RESOURCE}", self._address, remedy)

    def _asked(self, call: Callable[[], _T]) -> _T:
        """What a call to the scheduler returns. Raises HarnessTrouble if it fails, or does not return in time."""
        try:
            return _within(min(PATIENCE, max(CLOSING, self._time_is_up.left + OVERRUN)), call)
        except Exception as e:
            what = f"the scheduler does not answer: {type(e).__name__}: {e}"
            raise HarnessTrouble("scheduler-lost", what, self._address, "a scheduler that runs, with workers") from e

    def _close(self) -> None:
        with contextlib.suppress(Exception):
            _within(CLOSING, lambda: self._client.close(timeout=CLOSING / 2))


def _within(seconds: float, call: Callable[[], _T]) -> _T:
    """What a call returns or raises; TimeoutError if it does neither for so long. Then it goes on, and nobody waits."""
    ended: queue.SimpleQueue[tuple[list[_T], Exception | None]] = queue.SimpleQueue()

    def work() -> None:
        try:
            ended.put(([call()], None))
        except Exception as e:  # noqa: BLE001 - it is raised where it is waited for
            ended.put(([], e))

    threading.Thread(target=work, daemon=True).start()
    try:
        found, error = ended.get(timeout=seconds)
    except queue.Empty:
        raise TimeoutError(f"no answer within {seconds:g} s") from None
    if error is not None:
        raise error
    return found[0]


def _exception(future: Future[Any]) -> object:
    """The exception of a future that has failed, or what takes it away."""
    try:
        return future.exception()
    except BaseException as e:  # noqa: BLE001 - a cancelled future raises
        return e


class Elsewhere:
    """A driver that only the workers of a scheduler have."""

    name = "elsewhere"

    def __init__(self, driver: OpenDriver) -> None:
        self._capabilities = driver.capabilities
        self.own_process = driver.own_process
        self.restarts = 0

    def capabilities(self) -> Any:
        return self._capabilities

    def run(self, job: Job) -> Outcome:
        raise NotImplementedError("it is elsewhere")

    def close(self) -> None:
        pass


def _client(address: str) -> Client:
    try:
        from distributed import Client
    except ImportError:
        what = "the package distributed is not installed"
        raise BadInput("no-dask", what, f"--scheduler {address}", "the extra: coopmat-cts[dask]") from None
    for name in ("distributed", "distributed.client"):  # whatever matters of their messages is an error of ours
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        return _within(PATIENCE, lambda: Client(address, timeout=PATIENCE))
    except Exception as e:  # of many types: a wrong address, a missing key, no scheduler
        remedy = "the address that `dask scheduler` printed"
        raise HarnessTrouble("no-scheduler", f"{type(e).__name__}: {e}", f"--scheduler {address}", remedy) from e


def _identity() -> dict[str, str] | str:
    """The identity of a worker's suite, in the worker; an error if it has none."""
    try:
        return identity()
    except Exception as e:  # noqa: BLE001 - any error is reported
        return f"{type(e).__name__}: {e}"


def _device(spec: str) -> str:
    """The device of this worker, for specs that have one. Raises BadInput if it has none."""
    device = os.environ.get(VARIABLE, "")
    if DEVICE in spec and not device:
        what = f"the driver {spec!r} has a device of each process, and this one has none"
        raise BadInput("no-device", what, f"the worker {os.getpid()}", f"{VARIABLE}=0 for it")
    return device


def _described(spec: str) -> OpenDriver | BadInput | HarnessTrouble:
    """A driver's description of itself, in a worker."""
    try:
        driver = open_driver(spec.replace(DEVICE, _device(spec)))
        driver.close()
        return replace(driver, driver=Elsewhere(driver))
    except (BadInput, HarnessTrouble) as e:
        return e


#: That of the run which this process works for, by its key.
_workers: dict[str, WorkerProcess] = {}


def _answer(key: str, config: ProcessConfig, task: Task, left: float) -> Answer | BadInput | HarnessTrouble:
    """Carry out a task in a worker, which opens its drivers with the first one, in so many seconds from its sending."""
    config.time_is_up.not_after(left)
    try:
        if key not in _workers:
            for old in list(_workers):
                _workers.pop(old).close()
            device = _device(" ".join(config.specs))
            _workers[key] = WorkerProcess(replace(config, device=device))
        _workers[key].time_is_up.not_after(left)  # a task that has waited here for its turn was sent earlier
        return _workers[key].answer(task)
    except (BadInput, HarnessTrouble) as e:
        return e
    except Exception as e:  # noqa: BLE001 - it ends the run, as an error
        return HarnessTrouble(
            "worker-failed", f"a worker fails: {described(e)}", "", "its log, and the same run without it"
        )
