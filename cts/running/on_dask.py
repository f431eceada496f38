"""The workers of a run on many machines, by Dask distributed (the extra `dask`)."""

from __future__ import annotations

import os
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cts.base.deadline import NO_DEADLINE
from cts.base.errors import BadInput, HarnessTrouble, described
from cts.base.heartbeat import heartbeat
from cts.device.driver import Job, Outcome
from cts.judging.events import problem
from cts.judging.judge import OpenDriver
from cts.running.opening import open_driver
from cts.running.processes import DEVICE, NAMED, OVERRUN, TRIES, ProcessConfig, WorkerProcess
from cts.running.suite import differing, identity
from cts.running.tasks import Answer, Task, described_task, not_done

if TYPE_CHECKING:
    from distributed import Client, Future

    from cts.running.plan import Plan

#: What workers declare: `dask worker ... --resources "cts=1"`, as many as they are to do at a time.
RESOURCE = "cts"

#: Seconds that a scheduler has to answer.
PATIENCE = 30.0

#: Seconds between two looks at the clock.
TICK = 0.5

#: Tasks that each process has: one that it works on, and the next.
QUEUED = 2

#: The environment variable that names the device of a worker, for `{device}` in a driver's spec.
VARIABLE = "CTS_DEVICE"


class Cluster:
    """The workers of a Dask scheduler that declare the resource `cts`. A context manager.

    Raises BadInput if Dask is missing, HarnessTrouble if no scheduler answers or a worker has another suite.
    """

    def __init__(self, address: str, config: ProcessConfig) -> None:
        # A moment of this machine's clock says nothing on others: this process alone keeps the time.
        self._time_is_up, self._config = config.time_is_up, replace(config, time_is_up=NO_DEADLINE)
        self._key = uuid.uuid4().hex
        self._client = connected(address)
        self._tries: dict[int, int] = {}

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    @property
    def size(self) -> int:
        return _size(self._client)

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
            room = QUEUED * max(1, self.size)
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
                else:
                    flying[self._submit(task, 1)] = task, 1
            if not flying and not ready:
                assert exhausted, "what no answer can decide is no reason to wait"
                return
            if self._time_is_up.left < -OVERRUN:
                ready += [(task, not_done(task, self._time_is_up())) for task, _ in flying.values()]
                self._client.cancel(list(flying))
                flying.clear()
            ready += self._answered(flying)

    def _submit(self, task: Task, tries: int) -> Future[Any]:
        key = f"{described_task(task)} {tries} {uuid.uuid4().hex}"
        return self._client.submit(_answer, self._key, self._config, task, key=key, resources={RESOURCE: 1}, pure=False)

    def _answered(self, flying: dict[Future[Any], tuple[Task, int]]) -> Iterator[tuple[Task, Answer]]:
        """Tasks with answers, after a moment at most; tasks whose worker has died are given out again."""
        from distributed import wait

        if not flying:
            return
        begun = [described_task(task) for task, _ in list(flying.values())[:NAMED]]
        heartbeat.doing = f"waiting for {'; '.join(begun)}"
        try:
            done = wait(list(flying), TICK, "FIRST_COMPLETED").done
        except TimeoutError:
            return
        for future in done:
            task, tries = flying.pop(future)
            if future.status != "finished":
                if tries < TRIES:  # Dask gives up a task whose workers die again and again
                    flying[self._submit(task, tries + 1)] = task, tries + 1
                    continue
                why = f"{future.status} {TRIES} times: {future.exception()}"
                lost = not_done(task, why)
                lost.events.append(
                    problem(HarnessTrouble("worker-died", why, described_task(task), "a look at its log"))
                )
                yield task, lost
                continue
            answer = future.result()
            if isinstance(answer, BadInput | HarnessTrouble):
                raise answer
            yield task, answer


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


def opened(address: str, spec: str, plan: Plan) -> OpenDriver:
    """A worker's description of a driver, as an open driver that runs nothing. Raises BadInput or HarnessTrouble."""
    client = connected(address)
    try:
        described: Any = client.submit(_described, spec, resources={RESOURCE: 1}, pure=False).result()
    finally:
        client.close()
    if isinstance(described, BadInput | HarnessTrouble):
        raise described
    names = (spec, described.identity) if described.identity else (spec,)
    stage = described.capabilities.stage
    assert isinstance(described, OpenDriver)
    return replace(
        described,
        quarantine=plan.quarantine.for_driver(*names, stage=stage),
        baseline=plan.baseline.for_driver(*names, stage=stage),
    )


def connected(address: str) -> Client:
    """A client of a scheduler whose workers have the same suite. Raises BadInput or HarnessTrouble."""
    client = _client(address)
    try:
        _check(client, address)
    except BaseException:
        client.close()
        raise
    return client


def _size(client: Client) -> int:
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    return int(sum(worker.get("resources", {}).get(RESOURCE, 0) for worker in workers))


def _check(client: Client, address: str) -> None:
    """Compare the suites of all workers before anything runs."""
    if not _size(client):
        remedy = f'dask worker {address} --nthreads 1 --resources "{RESOURCE}=1"'
        raise HarnessTrouble("no-workers", f"no worker declares the resource {RESOURCE}", address, remedy)
    ours = identity()
    for worker, theirs in sorted(client.run(_identity).items()):
        what = differing(ours, theirs) if isinstance(theirs, dict) else theirs
        if what:
            raise HarnessTrouble("other-suite", f"the suite is another one there: {what}", worker, "the same suite")


def _client(address: str) -> Client:
    try:
        from distributed import Client
    except ImportError:
        what = "the package distributed is not installed"
        raise BadInput("no-dask", what, f"--scheduler {address}", "the extra: coopmat-cts[dask]") from None
    try:
        return Client(address, timeout=PATIENCE)
    except (OSError, ValueError) as e:
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


def _answer(key: str, config: ProcessConfig, task: Task) -> Answer | BadInput | HarnessTrouble:
    """Carry out a task in a worker, which opens its drivers with the first one."""
    try:
        if key not in _workers:
            for old in list(_workers):
                _workers.pop(old).close()
            device = _device(" ".join(config.specs))
            _workers[key] = WorkerProcess(replace(config, device=device))
        return _workers[key].answer(task)
    except (BadInput, HarnessTrouble) as e:
        return e
    except Exception as e:  # noqa: BLE001 - it ends the run, as an error
        return HarnessTrouble(
            "worker-failed", f"a worker fails: {described(e)}", "", "its log, and the same run without it"
        )
