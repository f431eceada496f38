"""A transform that raises: its case is an error that names it, and no other case is changed."""

from __future__ import annotations

from contextlib import closing

from cts.device.driver import ModuleDriver
from cts.device.job import ModuleJob
from cts.judging.batch import judge_all
from cts.judging.judge import OpenDriver
from cts.judging.verdict import Verdict
from cts.plugins import registry
from cts.plugins.transform import Origin, Transformed
from cts.running import corpus

CASES = [corpus.load(entry.path).case for entry in corpus.select(["tensor_addressing.clip"])[0][:6]]


class Choosy:
    """Raises at the module of one case, and leaves the others as they are."""

    text = "choosy:yes"

    def __init__(self, bad: str) -> None:
        self.bad = bad

    def job(self, job: ModuleJob, origin: Origin | None = None) -> ModuleJob:
        assert origin is not None
        if origin.case.name == self.bad:
            raise IndexError("no such word")
        return job


def test_the_case_that_a_transform_raises_at_is_named() -> None:
    with closing(registry.driver("interpreter")) as driver:
        assert isinstance(driver, ModuleDriver)
        transformed = Transformed(driver, [Choosy(CASES[3].name)])
        opened = OpenDriver(transformed.name, transformed, transformed.capabilities())
        judged = judge_all(CASES, [opened], registry.oracle().expect)
    assert [one.attempts[0].verdict is Verdict.ERROR for one in judged] == [i == 3 for i in range(6)]
    first, second = judged[3].attempts[0].detail.splitlines()
    assert first == "the transform choosy:yes raises IndexError: no such word"
    assert "test_raising.py" in second and second.endswith(", in job")
