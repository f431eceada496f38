"""The processes of a campaign on this machine."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from itertools import islice
from typing import Protocol

from cts.campaign.chunks import Answer, Lost, Task
from cts.campaign.settings import Settings
from cts.campaign.worker import answer
from cts.driver import IN_PROCESSES
from cts.errors import BadInput, HarnessTrouble

#: How often a task is begun whose process dies.
TRIES = 3


class Executor(Protocol):
    """Where tasks are done. `size` processes do them, and `flying` tasks are on their way, `begun` ones being done."""

    @property
    def size(self) -> int: ...

    @property
    def flying(self) -> int: ...

    @property
    def begun(self) -> Iterable[Task]: ...

    def submit(self, task: Task) -> None:
        """Take a task."""
        ...

    def answers(self, seconds: float) -> Iterator[tuple[Task, Answer]]:
        """What has been done, after so long at most. Raises BadInput or HarnessTrouble where no worker can be."""
        ...

    def close(self) -> None:
        """End what is on its way."""
        ...


@dataclass(eq=False)
class _Slot:
    """A process, what it does, and the device that it has."""

    device: str | None
    pool: ProcessPoolExecutor
    flying: dict[Future[Answer | BadInput | HarnessTrouble], Task] = field(default_factory=dict)


class Processes:
    """So many processes; where there are `devices`, they have them in turn."""

    def __init__(self, settings: Settings, count: int, devices: Sequence[str] = ()) -> None:
        self._settings = settings
        self._count = count
        self._slots = [self._slot(devices[n % len(devices)] if devices else None) for n in range(count)]
        self._tries: dict[str, int] = {}
        self._waiting: list[tuple[Task, Answer]] = []

    @property
    def size(self) -> int:
        return len(self._slots)

    @property
    def flying(self) -> int:
        return sum(len(slot.flying) for slot in self._slots) + len(self._waiting)

    @property
    def begun(self) -> Iterable[Task]:
        """The first task of each process: it does one after the other."""
        return [task for slot in self._slots for task in islice(slot.flying.values(), 1)]

    def submit(self, task: Task) -> None:
        """Give a task to the process that has the least to do."""
        slot = min(self._slots, key=lambda slot: len(slot.flying))
        try:
            future = slot.pool.submit(answer, self._settings, task, slot.device)
        except BrokenProcessPool:
            self._renew(slot)
            future = slot.pool.submit(answer, self._settings, task, slot.device)
        slot.flying[future] = task

    def answers(self, seconds: float) -> Iterator[tuple[Task, Answer]]:
        ready, self._waiting = self._waiting, []
        yield from ready
        futures = [future for slot in self._slots for future in slot.flying]
        done, _ = wait(futures, 0 if ready else seconds, FIRST_COMPLETED)
        for slot in self._slots:
            for future in [future for future in slot.flying if future in done]:
                task = slot.flying.pop(future, None)
                if task is None:  # its process has died, and it is with another one
                    continue
                try:
                    found = future.result()
                except BrokenProcessPool:
                    self._buried(slot, task)
                    continue
                if isinstance(found, BadInput | HarnessTrouble):
                    raise found
                yield task, found

    def close(self) -> None:
        for slot in self._slots:
            for process in list((slot.pool._processes or {}).values()):
                if slot.flying:
                    process.terminate()  # what it does is not wanted any more
            slot.pool.shutdown(wait=True, cancel_futures=True)

    def _buried(self, slot: _Slot, first: Task) -> None:
        """A process has died: the task that it was at may be the reason, those behind it are not."""
        others = list(slot.flying.values())
        slot.flying.clear()
        self._renew(slot)
        tries = self._tries[first.name] = self._tries.get(first.name, 0) + 1
        if tries >= TRIES:
            self._waiting.append((first, Lost(first, f"its process has died {tries} times")))
        else:
            others = [first, *others]
        for task in others:
            self.submit(task)

    def _renew(self, slot: _Slot) -> None:
        slot.pool.shutdown(wait=False, cancel_futures=True)
        slot.pool = self._pool()

    def _slot(self, device: str | None) -> _Slot:
        return _Slot(device, self._pool())

    def _pool(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(1, context, initializer=_begin, initargs=(self._count,))


def _begin(count: int) -> None:
    """What a process begins with. Ctrl-C does not concern it; it ends with the campaign, even one that is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.setdefault(IN_PROCESSES, str(count))
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None, "this is a process of a pool"
    parent.join()
    os._exit(1)  # the queue of tasks stays open: nothing else says that none will come
