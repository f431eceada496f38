"""The workers of a campaign on many machines, by Dask distributed (the extra `dask`)."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from cts.campaign.chunks import Answer, Lost, Task
from cts.campaign.local import TRIES
from cts.campaign.settings import Settings, differing, identity
from cts.campaign.worker import answer
from cts.errors import BadInput, HarnessTrouble

if TYPE_CHECKING:
    from distributed import Client, Future

#: What workers declare: `dask worker ... --resources "cts=1"`, as many as they are to do at a time.
RESOURCE = "cts"

#: Seconds that a scheduler has to answer.
PATIENCE = 10.0


class Cluster:
    """The workers of a Dask scheduler that declare the resource `cts`.

    Raises BadInput where there is no Dask, HarnessTrouble where no scheduler answers or a worker has another suite.
    """

    def __init__(self, settings: Settings, address: str) -> None:
        self._settings = settings
        self._client = _client(address)
        self._campaign = uuid.uuid4().hex
        self._flying: dict[Future[Any], Task] = {}
        self._tries: dict[str, int] = {}
        self._lost: list[tuple[Task, Answer]] = []
        try:
            self._check(address)
        except BaseException:
            self._client.close()
            raise

    def _check(self, address: str) -> None:
        """Compare the suites of all workers before anything runs."""
        if not self.size:
            remedy = f'dask worker {address} --nthreads 1 --resources "{RESOURCE}=1"'
            raise HarnessTrouble("no-workers", f"no worker declares the resource {RESOURCE}", address, remedy)
        ours = identity()
        for worker, theirs in sorted(self._client.run(_identity).items()):
            what = differing(ours, theirs) if isinstance(theirs, dict) else theirs
            if what:
                raise HarnessTrouble("other-suite", f"the suite is another one there: {what}", worker, "the same suite")

    @property
    def size(self) -> int:
        workers = self._client.scheduler_info(n_workers=-1)["workers"].values()
        return int(sum(worker.get("resources", {}).get(RESOURCE, 0) for worker in workers))

    @property
    def flying(self) -> int:
        return len(self._flying) + len(self._lost)

    @property
    def begun(self) -> Iterable[Task]:
        """The tasks that were given away first, as many as are done at a time: only the scheduler knows better."""
        return islice(self._flying.values(), self.size)

    def submit(self, task: Task) -> None:
        """Give a task to any worker; one whose worker dies goes to another."""
        number = self._tries[task.name] = self._tries.get(task.name, 0) + 1
        key = f"{task.name} {number} {self._campaign}"
        future = self._client.submit(
            answer, self._settings, task, key=key, resources={RESOURCE: 1}, pure=False, priority=-len(self._tries)
        )
        self._flying[future] = task

    def answers(self, seconds: float) -> Iterator[tuple[Task, Answer]]:
        from distributed import wait

        ready, self._lost = self._lost, []
        yield from ready
        try:
            done = wait(list(self._flying), 0.01 if ready else seconds, "FIRST_COMPLETED").done if self._flying else ()
        except TimeoutError:
            return
        for future in done:
            task = self._flying.pop(future)
            if future.status != "finished":
                self._again(task, future)
                continue
            found: Any = future.result()
            if isinstance(found, BadInput | HarnessTrouble):
                raise found
            yield task, found

    def close(self) -> None:
        self._client.cancel(list(self._flying))
        self._client.close()

    def _again(self, task: Task, future: Future[Any]) -> None:
        """A task without an answer: Dask gives one up whose workers die again and again."""
        if self._tries[task.name] < TRIES:
            self.submit(task)
        else:
            self._lost.append((task, Lost(task, f"{future.status}: {future.exception()}")))


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
    """The identity of a worker's suite, in the worker; what is wrong where it has none."""
    try:
        return identity()
    except Exception as e:  # noqa: BLE001 - whatever it is, it is said
        return f"{type(e).__name__}: {e}"
