"""Opaque matrices and conversions: what the driver asks of a worker, and the worker of a Vulkan of Python functions."""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest

from cts.device.job import Address, LayoutConversion, MatrixRegion, Memory, ModuleJob, OpaqueMemory
from cts.drivers.vulkan import batches, support
from cts.drivers.vulkan.worker import protocol
from cts.drivers.vulkan.worker.launch import Shader
from cts.drivers.vulkan.worker.protocol import Description, Failed, VectorRow
from tests.vulkan_driver.devices import LAVAPIPE, NOTHING
from tests.vulkan_driver.fake_device import BASE, COMPUTE, CONVERT, HOST, TRANSFER, FakeDevice, elements
from tests.vulkan_driver.worker_modules import loaded

FLOAT16, FLOAT32, SINT8, E4M3, E5M2 = 0, 1, 3, 1000491002, 1000491003
ROW_MAJOR, COLUMN_MAJOR, INFERENCING, TRAINING = range(4)
ROWS, COLS, OFFSET = 3, 5, 128
MATRIX = np.arange(ROWS * COLS, dtype=np.float16).reshape(ROWS, COLS)


def negate(memory: memoryview, push: bytes) -> None:
    """The kernel: -x for each element of the opaque matrix whose address is the push constant."""
    (address,) = struct.unpack("<Q", push)
    found = elements(memory[address - BASE :], FLOAT16, INFERENCING, ROWS, COLS)
    np.negative(found, out=found)


@pytest.fixture(params=["staged", "host"])
def fake(request: pytest.FixtureRequest) -> FakeDevice:
    return FakeDevice(staged=request.param == "staged", kernel=negate)


@pytest.fixture
def worker(fake: FakeDevice) -> Iterator[SimpleNamespace]:
    """The worker's modules that speak to this device."""
    with loaded(fake.package()) as modules:
        yield modules


def source(start: int = 0) -> protocol.Memory:
    """MATRIX row by row, 16 bytes apart."""
    data = np.zeros((ROWS, 8), np.float16)
    data[:, :COLS] = MATRIX + start
    return protocol.Memory(data.tobytes(), 0, data.nbytes)


def run(*, before_on_host: bool = False, after_on_host: bool = False, **changes: Any) -> protocol.Run:
    """MATRIX of float16 into opaque memory, negated there, and out of it again as float32, column by column."""
    opaque = protocol.Place(2, FLOAT16, INFERENCING, OFFSET)
    there = protocol.Conversion(protocol.Place(0, FLOAT16, ROW_MAJOR, 0, 16), opaque, ROWS, COLS, host=before_on_host)
    back = protocol.Conversion(
        opaque, protocol.Place(1, FLOAT32, COLUMN_MAJOR, 64, 16), ROWS, COLS, after=True, host=after_on_host
    )
    target = protocol.Memory(bytes(256 + 64 + 80), 256, 64 + 80)
    address = (protocol.Address(0, 2, OFFSET),)
    plain = protocol.Run(
        id=1,
        module=b"",
        workgroups=(1, 1, 1),
        sets=tuple(protocol.ParameterSet((source(start), target), bytes(8), address) for start in (0, 100)),
        opaque=(protocol.Opaque(FLOAT16, INFERENCING, ROWS, COLS, OFFSET),),
        conversions=(there, back),
    )
    return msgspec.structs.replace(plain, **changes)


def pipeline(device: Any) -> SimpleNamespace:
    """What runs use of a pipeline."""
    bind = lambda commands: sys.modules["vulkan"].lib.vkCmdBindPipeline(commands)  # noqa: E731
    computing = {"launch": None, "point": 1, "shader": Shader(0x20, COMPUTE)}
    return SimpleNamespace(device=device, set_layouts=[], layout=6, bind=bind, **computing)


def execute(fake: FakeDevice, worker: SimpleNamespace, wanted: protocol.Run) -> Any:
    return worker.execute.execute(pipeline(fake.logical(worker)), wanted)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("before", [False, True])
def test_matrices_go_through_opaque_memory(
    fake: FakeDevice, worker: SimpleNamespace, before: bool, after: bool
) -> None:
    """For each parameter set, with conversions by commands and on the host."""
    found = execute(fake, worker, run(before_on_host=before, after_on_host=after))
    assert len(found) == 2
    for (unchanged, data), start in zip(found, (0, 100), strict=True):
        assert unchanged is None
        assert (elements(memoryview(data)[320:], FLOAT32, COLUMN_MAJOR, ROWS, COLS, 16) == -(MATRIX + start)).all()
        assert not any(data[:320])
    kinds = [command[0] for submission in fake.log for command in submission]
    assert len(fake.log) == 1
    assert kinds.count("convert") == 2 - before - after
    # A size each of the opaque matrix and of the column-major one, asked once.
    assert fake.asked == [(FLOAT16, INFERENCING, ROWS, COLS, 0), (FLOAT32, COLUMN_MAJOR, ROWS, COLS, 16)]


def test_commands_and_what_orders_them(fake: FakeDevice, worker: SimpleNamespace) -> None:
    """VK-056: conversions are a stage of their own, with the accesses of transfers; both sets share a command."""
    execute(fake, worker, run())
    (log,) = fake.log
    any_, move = 0x18000, 0x1800
    barriers = [command[1:] for command in log if command[0] == "barrier"]
    staged = fake.host is not fake.memory
    assert barriers == [
        *([(TRANSFER, any_, CONVERT, move)] if staged else []),
        (CONVERT, move, COMPUTE, any_),
        (COMPUTE, any_, CONVERT, move),
        (CONVERT, move, TRANSFER if staged else HOST, any_),
        *([(TRANSFER, 0x10000, HOST, any_)] if staged else []),
    ]
    order = [command[0] for command in log if command[0] != "barrier"]
    middle = ["convert", "bind", "push", "dispatch", "push", "dispatch", "convert"]
    assert order == (["copy", *middle, "copy"] if staged else middle)
    converted = [c for c in log if c[0] == "convert"]
    assert [len(c) - 1 for c in converted] == [2, 2]
    there = converted[0][1]
    assert (there.srcSize, there.size, there.rows, there.cols) == (48, 64 + 30, ROWS, COLS)
    assert (there.srcType, there.dstType, there.srcLayout, there.dstLayout) == (0, 0, ROW_MAJOR, INFERENCING)


def test_a_conversion_on_the_host_parts_the_submission(fake: FakeDevice, worker: SimpleNamespace) -> None:
    """Command, host, command, in order: each sees what the one before has written."""
    plain = run()
    opaque = (*plain.opaque, protocol.Opaque(FLOAT16, TRAINING, ROWS, COLS), plain.opaque[0])
    places = [protocol.Place(n, FLOAT16, layout, at) for n, layout, at in ((2, 2, OFFSET), (3, 3, 0), (4, 2, OFFSET))]
    there, back = plain.conversions
    steps = (
        there,
        protocol.Conversion(places[0], places[1], ROWS, COLS, host=True),
        protocol.Conversion(places[1], places[2], ROWS, COLS),
        msgspec.structs.replace(back, source=places[2]),
    )
    sets = tuple(msgspec.structs.replace(s, push_addresses=(protocol.Address(0, 4, OFFSET),)) for s in plain.sets)
    found = execute(fake, worker, run(opaque=opaque, conversions=steps, sets=sets))
    assert [[c[0] for c in log if c[0] in ("convert", "dispatch")] for log in fake.log] == [
        ["convert"],
        ["convert", "dispatch", "dispatch", "convert"],
    ]
    for (_, data), start in zip(found, (0, 100), strict=True):
        assert (elements(memoryview(data)[320:], FLOAT32, COLUMN_MAJOR, ROWS, COLS, 16) == -(MATRIX + start)).all()


@pytest.mark.parametrize("zero", [False, True])
def test_opaque_memory_begins_as_zeros_or_as_finite_garbage(
    fake: FakeDevice, worker: SimpleNamespace, zero: bool
) -> None:
    plain = run()
    opaque = (msgspec.structs.replace(plain.opaque[0], zero=zero),)
    (_, data), _ = execute(fake, worker, run(opaque=opaque, conversions=plain.conversions[1:]))
    after = elements(memoryview(data or bytes(400))[320:], FLOAT32, COLUMN_MAJOR, ROWS, COLS, 16)
    assert np.isfinite(after).all()
    assert (after == 0).all() == zero


def test_a_run_without_conversions_needs_no_commands_for_them(fake: FakeDevice, worker: SimpleNamespace) -> None:
    fake.commands.clear()
    fake.kernel = lambda memory, push: None
    device = fake.logical(SimpleNamespace(convert=SimpleNamespace(Converter=lambda _: None), queues=worker.queues))
    sets = (protocol.ParameterSet((source(),)),)
    assert worker.execute.execute(pipeline(device), run(sets=sets, opaque=(), conversions=())) == ((None,),)
    assert all(CONVERT not in command for command in fake.log[0])


@pytest.mark.parametrize("command", ["vkConvertCooperativeVectorMatrixNV", "vkCmdConvertCooperativeVectorMatrixNV"])
def test_a_device_without_the_commands_is_unsupported(fake: FakeDevice, worker: SimpleNamespace, command: str) -> None:
    del fake.commands[command]
    with pytest.raises(worker.convert.Unsupported, match=f"no {command}, though its feature"):
        execute(fake, worker, run())


def test_what_a_device_refuses(fake: FakeDevice, worker: SimpleNamespace) -> None:
    fake.result = -13
    with pytest.raises(worker.convert.Refused, match="VkResult -13 when asked for the size"):
        execute(fake, worker, run())
    fake.result = -1
    with pytest.raises(MemoryError):
        execute(fake, worker, run())


def test_a_matrix_must_fit_where_it_is_converted(fake: FakeDevice, worker: SimpleNamespace) -> None:
    """VK-053b: a destination that is too small would silently be left as it is."""
    there, back = run().conversions
    small = msgspec.structs.replace(back, destination=protocol.Place(1, FLOAT32, COLUMN_MAJOR, 128, 16))
    with pytest.raises(worker.convert.TooSmall, match=r"80 bytes in memory that has 16 for it \(VK-053b\)"):
        execute(fake, worker, run(conversions=(there, small)))
    outside = msgspec.structs.replace(there, source=protocol.Place(0, FLOAT16, ROW_MAJOR, 64, 16))
    with pytest.raises(worker.convert.TooSmall, match="has 0 for it"):
        execute(fake, worker, run(conversions=(outside, back)))


@pytest.mark.parametrize(
    ("error", "status"), [("Unsupported", "unsupported"), ("Refused", "rejected"), ("TooSmall", "error")]
)
def test_the_engine_says_why_a_conversion_failed(
    fake: FakeDevice, worker: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, error: str, status: str
) -> None:
    def fail(*_: Any) -> None:
        raise getattr(worker.convert, error)("the reason")

    monkeypatch.setattr(worker.engine, "execute", fail)
    engine = worker.engine.Engine.__new__(worker.engine.Engine)
    engine._instance = SimpleNamespace(take_remarks=tuple, take_messages=tuple, messages=())
    future: Future[None] = Future()
    future.set_result(None)
    *_, reply = engine._run(run(), future, False)
    assert reply == Failed(status, "the reason", 1)  # type: ignore[arg-type]


# The driver's side

W = OpaqueMemory(FLOAT16, INFERENCING, 16, 8, 64)
SOURCE = MatrixRegion("src", FLOAT16, ROW_MAJOR, 0, 32)
THERE = LayoutConversion(SOURCE, MatrixRegion("w", FLOAT16, INFERENCING, 64, 0), 16, 8)
BACK = LayoutConversion(
    MatrixRegion("w", FLOAT16, INFERENCING, 64, 0), MatrixRegion("src", FLOAT32, ROW_MAJOR, 64, 64), 16, 8, True, True
)

COMMANDS = {"bufferDeviceAddress", "synchronization2"}


def job(*conversions: LayoutConversion, **changes: Any) -> ModuleJob:
    memory = Memory(np.zeros(2048, np.uint8), 0, 2048)
    plain = ModuleJob(np.zeros(5, np.uint32), (1, 1, 1), {"src": memory}, {(0, 0): "w"}, opaque={"w": W})
    return replace(plain, conversions=conversions, **changes)


def device(**features: bool) -> Description:
    rows = (VectorRow(0, 0, 0, 0, 0, False), VectorRow(0, E4M3, E4M3, 0, 0, False), VectorRow(3, 3, 3, 5, 5, False))
    return msgspec.structs.replace(
        LAVAPIPE, vectors=rows, features=LAVAPIPE.features | {"cooperativeVector": True} | features
    )


def test_features_are_enabled_when_they_are_used() -> None:
    def enabled(*conversions: LayoutConversion, **changes: Any) -> frozenset[str]:
        found = support.examine(device(), NOTHING, job(*conversions, **changes))
        assert found.missing == ()
        return found.features & (COMMANDS | {"cooperativeVector"})

    assert enabled(opaque={}, bindings={}) == frozenset()
    assert enabled() == enabled(BACK) == {"cooperativeVector"}
    assert enabled(THERE) == {"cooperativeVector", *COMMANDS}


def test_a_device_without_cooperative_vectors() -> None:
    found = support.examine(LAVAPIPE, NOTHING, job(THERE)).missing
    assert "feature cooperativeVector" in found
    without = support.examine(device(synchronization2=False), NOTHING, job(THERE, BACK)).missing
    assert without == ("feature synchronization2",)


@pytest.mark.parametrize(
    ("conversion", "words"),
    [
        (THERE, ""),
        (replace(THERE, destination=MatrixRegion("w", E4M3, TRAINING, 64, 0)), ""),
        (
            replace(
                THERE, source=MatrixRegion("src", E4M3, ROW_MAJOR, 0, 32), destination=MatrixRegion("w", E4M3, 2, 0, 0)
            ),
            "",
        ),
        (replace(THERE, source=MatrixRegion("src", FLOAT32, ROW_MAJOR, 0, 32)), ""),
        (replace(THERE, source=MatrixRegion("src", SINT8, ROW_MAJOR, 0, 32)), "conversion of int8 to float16 (VK-054)"),
        (
            replace(THERE, destination=MatrixRegion("w", E4M3, COLUMN_MAJOR, 0, 32)),
            "to float8_e4m3fn in no optimal layout",
        ),
        (replace(THERE, destination=MatrixRegion("w", E5M2, TRAINING, 64, 0)), "a matrix of float8_e5m2 (VK-054)"),
        (replace(THERE, source=replace(SOURCE, offset=32)), "at byte 32 of 'src': only at multiples of 64 (VK-053)"),
        (replace(THERE, source=replace(SOURCE, offset=32), host=True), ""),
    ],
)
def test_conversions_that_a_device_can_do(conversion: LayoutConversion, words: str) -> None:
    found = support.examine(device(), NOTHING, job(conversion)).missing
    assert (found == ()) == (words == ""), found
    assert words in "".join(found)


def test_opaque_memory_that_a_device_can_have() -> None:
    wrong = {"w": replace(W, component=E5M2), "v": replace(W, layout=ROW_MAJOR)}
    assert support.examine(device(), NOTHING, job(opaque=wrong)).missing == (
        "opaque matrix 'w' of float8_e5m2 (VK-054)",
        "opaque matrix 'v' in layout 0, which is not optimal (CV-002)",
    )


def request(*jobs: ModuleJob) -> protocol.Run:
    items = [batches.Item(i, None, j, support.examine(device(), NOTHING, j)) for i, j in enumerate(jobs)]
    assert items[0].support is not None
    return batches.request(7, items, items[0].support, 3.0, frozenset())


def test_opaque_memory_is_numbered_after_the_buffers() -> None:
    sent = request(job(THERE, BACK, push_constants=bytes(8), push_addresses=(Address(0, "w", 64),)))
    assert sent.opaque == (protocol.Opaque(FLOAT16, INFERENCING, 16, 8, 64, False),)
    assert [b.buffer for b in sent.bindings] == [1]
    assert sent.sets[0].push_addresses == (protocol.Address(0, 1, 64),)
    there, back = sent.conversions
    assert (there.source, there.destination) == (
        protocol.Place(0, FLOAT16, ROW_MAJOR, 0, 32),
        protocol.Place(1, FLOAT16, INFERENCING, 64, 0),
    )
    assert (there.after, there.host, back.after, back.host) == (False, False, True, True)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(sent), type=protocol.Run) == sent


def test_jobs_share_a_submission_only_with_the_same_conversions() -> None:
    def shares(a: ModuleJob, b: ModuleJob) -> bool:
        first, second = (batches.Item(1, None, j, support.examine(device(), NOTHING, j)) for j in (a, b))
        return batches.shares([first], second)

    assert shares(job(THERE, BACK), job(THERE, BACK))
    assert not shares(job(THERE, BACK), job(THERE))
    assert not shares(job(THERE), job(THERE, opaque={"w": replace(W, zero=True)}))
    large = {"w": replace(W, rows=4096, cols=4096)}
    assert not shares(job(THERE, opaque=large), job(THERE, opaque=large))
