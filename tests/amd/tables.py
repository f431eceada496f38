"""Rows of the tables of instruction tests: code, registers before it, and what it changes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from cts.drivers.amd.wave import POISON, Wave
from tests.amd.waves import run

#: A register's value, or one for each lane; the bytes of memory.
Value: TypeAlias = "int | Sequence[int] | bytes"
State: TypeAlias = Mapping[str, Value]

_REGISTER = re.compile(r"([sv])(?:(\d+)|\[(\d+):(\d+)\])")
_NAMED = {"vcc": 106, "m0": 125, "exec": 126}


class Case(NamedTuple):
    """Code, the state before it, and what it changes; all else must stay as it was.

    Names of states are registers, as "s1", "s[2:3]" or "v0", and "scc", "vcc", "exec", "lds", "buffer0". `options` are
    those of `run`; `floats` is the type that vector registers are taken for where any NaN will do for another.
    """

    code: str
    before: State
    after: State
    options: Mapping[str, Any] = {}
    floats: str = ""


def name(case: Case) -> str:
    """What a test is called."""
    return case.code.replace("\n", "; ")[:80]


def check(case: Case) -> None:
    """Run a case and compare the whole wave."""
    lanes = case.options.get("lanes", 32)
    w = run(case.code, *_registers(case.before), **_others(case.before, case.options))
    expected = _State(lanes)
    expected.put({"exec": (1 << lanes) - 1, "vcc": 0})
    expected.put(case.before)
    expected.put(case.after)
    changed = {f"s{n}": (hex(w.s[n]), hex(e)) for n, e in enumerate(expected.s) if w.s[n] != e}
    assert not changed, "(found, expected)"
    assert w.scc == expected.scc, "scc"
    found, wanted = _canonical(w.v[:-1], case.floats), _canonical(expected.v, case.floats)
    for n, (row, right) in enumerate(zip(found, wanted, strict=True)):
        assert [hex(x) for x in row] == [hex(x) for x in right], f"v{n}"
    for name, contents in expected.memory.items():
        assert _memory(w, name, len(contents)) == contents, name


def mnemonics(case: Case) -> set[str]:
    """The instructions of its code, without suffixes of encodings."""
    lines = (line.strip() for line in case.code.splitlines())
    names = {line.split()[0] for line in lines if line and not line.endswith(":")}
    return {re.sub(r"(_e32|_e64)?(_dpp)?$", "", name) for name in names}


def active(exec_: int, new: Value, old: Value, lanes: int = 32) -> list[int]:
    """A register of which active lanes have a new value and others their old one."""
    news, olds = (list(x) if isinstance(x, Sequence) else [x] * lanes for x in (new, old))
    return [news[n] if exec_ >> n & 1 else olds[n] for n in range(lanes)]


def filled(values: Sequence[int], lanes: int = 32) -> list[int]:
    """Values for the first lanes, and the last of them for the rest."""
    return [*values, *[values[-1]] * (lanes - len(values))]


class _State:
    """The registers of a wave as a case has them."""

    def __init__(self, lanes: int) -> None:
        self.s = [POISON] * 128
        self.s[124] = 0
        self.v = np.full((64, lanes), POISON, np.uint32)
        self.scc = 0
        self.memory: dict[str, bytes] = {}

    def put(self, state: State) -> None:
        scalars, vectors = _registers(state)
        for n, value in scalars.items():
            self.s[n] = value & 0xFFFFFFFF
        for n, values in vectors.items():
            self.v[n] = np.asarray(values, np.int64).astype(np.uint32)
        self.memory |= {name: value for name, value in state.items() if isinstance(value, bytes)}
        scc = state.get("scc", self.scc)
        assert isinstance(scc, int)
        self.scc = scc


def _registers(state: State) -> tuple[dict[int, int], dict[int, int | Sequence[int]]]:
    """The scalar and the vector registers of a state by their numbers."""
    scalars: dict[int, int] = {}
    vectors: dict[int, int | Sequence[int]] = {}
    for name, value in state.items():
        assert not isinstance(value, str)
        if isinstance(value, bytes) or name == "scc":
            continue
        if name in _NAMED:
            first, count, kind = _NAMED[name], 1 + (name != "m0"), "s"
        else:
            found = _REGISTER.fullmatch(name)
            assert found, name
            first = int(found[2] or found[3])
            count, kind = int(found[4] or first) - first + 1, found[1]
        for word in range(count):
            if kind == "s":
                assert isinstance(value, int)
                scalars[first + word] = value >> 32 * word & 0xFFFFFFFF
            else:
                vectors[first + word] = _word(value, word)
    return scalars, vectors


def _word(value: int | Sequence[int], word: int) -> int | list[int]:
    if isinstance(value, int):
        return value >> 32 * word & 0xFFFFFFFF
    return [x >> 32 * word & 0xFFFFFFFF for x in value]


def _others(before: State, options: Mapping[str, Any]) -> dict[str, Any]:
    """What `run` gets besides registers."""
    others = dict(options)
    others |= {key: before[key] for key in ("scc", "vcc", "exec", "lds") if key in before}
    buffers = [before[f"buffer{n}"] for n in range(4) if f"buffer{n}" in before]
    return {**others, "buffers": buffers} if buffers else others


def _canonical(registers: npt.NDArray[np.uint32], floats: str) -> list[list[int]]:
    """Registers with one pattern for all NaNs."""
    patterns = registers.copy()
    if floats == "f32":
        patterns[np.isnan(registers.view(np.float32))] = 0x7FC00000
    elif floats == "f16":
        halves = patterns.view(np.uint16)
        halves[np.isnan(halves.view(np.float16))] = 0x7E00
    rows: list[list[int]] = patterns.tolist()
    return rows


def _memory(w: Wave, name: str, size: int) -> bytes:
    if name == "lds":
        return w.group.lds.data.tobytes()
    start = w.group.memory.starts[int(name.removeprefix("buffer"))]
    return w.group.memory.data[start : start + size].tobytes()


def words(values: Sequence[int]) -> bytes:
    """Words of 32 bits as bytes."""
    return b"".join((value & 0xFFFFFFFF).to_bytes(4, "little") for value in values)
