"""Loads deliver when they are waited for, and code that does not wait is found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from cts.drivers.amd.memory import AddressSpace
from cts.drivers.amd.wave import Wave
from cts.drivers.machine.problems import Wrong
from cts.drivers.vulkan.worker.protocol import Memory
from tests.amd.tables import words
from tests.amd.waves import address, run

BUFFER = words(range(100, 164))
BASE = address(AddressSpace([Memory(BUFFER, 0, len(BUFFER))]))
S = {2: BASE & 0xFFFFFFFF, 3: BASE >> 32, 4: BASE & 0xFFFFFFFF, 5: BASE >> 32, 6: len(BUFFER), 7: 0}
V: Mapping[int, Any] = {0: 0, 1: 0, 2: 0, 3: 0, 8: BASE & 0xFFFFFFFF, 9: BASE >> 32, 10: 0}

BUFFER_LOAD = "buffer_load_b32 v0, off, s[4:7], null"
GLOBAL_LOAD = "global_load_b32 v0, v[8:9], off"
LDS_LOAD = "ds_load_b32 v0, v10"
SCALAR_LOAD = "s_load_b32 s16, s[2:3], 0x0"

#: A load, the register that it writes, what reads it, what writes it, and waits that deliver it.
LOADS = [
    (BUFFER_LOAD, "v0", "v_mov_b32 v1, v0", "v_mov_b32 v0, 5", ["s_wait_loadcnt 0x0", "s_wait_idle"]),
    (GLOBAL_LOAD, "v0", "v_mov_b32 v1, v0", "v_mov_b32 v0, 5", ["s_wait_loadcnt 0x0", "s_wait_loadcnt_dscnt 0x3f"]),
    (
        "global_load_tr_b64 v[0:1], v[8:9], off",
        "v1",
        "v_mov_b32 v3, v1",
        "v_mov_b32 v1, 5",
        ["s_wait_loadcnt 0x0", "s_wait_loadcnt_dscnt 0x0"],
    ),
    (
        LDS_LOAD,
        "v0",
        "v_mov_b32 v1, v0",
        "v_mov_b32 v0, 5",
        ["s_wait_dscnt 0x0", "s_wait_loadcnt_dscnt 0x3f00", "s_wait_storecnt_dscnt 0x3f00", "s_wait_idle"],
    ),
    (
        "ds_load_2addr_b32 v[0:1], v10 offset1:1",
        "v1",
        "v_add_nc_u32 v3, v2, v1",
        "v_mov_b32 v1, 5",
        ["s_wait_dscnt 0x0"],
    ),
    (SCALAR_LOAD, "s16", "s_mov_b32 s17, s16", "s_mov_b32 s16, 5", ["s_wait_kmcnt 0x0", "s_wait_idle"]),
    (
        "s_buffer_load_b64 s[16:17], s[4:7], 0x0",
        "s17",
        "v_mov_b32 v1, s17",
        "s_mov_b32 s17, 5",
        ["s_wait_kmcnt 0x0"],
    ),
    (
        "s_load_b64 vcc, s[2:3], 0x0",
        "vcc_lo",
        "v_cndmask_b32 v1, 0, 1, vcc_lo",
        "s_mov_b32 vcc_lo, 5",
        ["s_wait_kmcnt 0x0"],
    ),
]

#: Waits for other counters, or for too few loads.
WRONG_WAITS = {
    BUFFER_LOAD: ["s_wait_loadcnt 0x1", "s_wait_dscnt 0x0", "s_wait_kmcnt 0x0", "s_wait_storecnt_dscnt 0x0"],
    LDS_LOAD: ["s_wait_dscnt 0x1", "s_wait_loadcnt 0x0", "s_wait_kmcnt 0x0", "s_wait_loadcnt_dscnt 0x1"],
    SCALAR_LOAD: ["s_wait_kmcnt 0x1", "s_wait_loadcnt_dscnt 0x0", "s_wait_storecnt_dscnt 0x0"],
}


def execute(*code: str, **options: Any) -> Wave:
    return run(code, S, V, buffers=[BUFFER], lds=words(range(200, 264)), **options)


@pytest.mark.parametrize(("load", "register", "use", "write", "waits"), LOADS)
def test_a_register_is_used_after_its_load_is_waited_for(
    load: str, register: str, use: str, write: str, waits: list[str]
) -> None:
    for wait in waits:
        execute(load, wait, use)
        execute(load, wait, write)
    with pytest.raises(Wrong) as raised:
        execute("s_nop 0", load, use)
    assert str(raised.value) == (
        f"the code reads {register}, which line 2, {load} may not have delivered, at line 3, {use}"
    )
    with pytest.raises(Wrong) as raised:
        execute(load, "s_nop 0", write)
    assert str(raised.value) == (
        f"the code writes {register}, which line 1, {load} may not have delivered, at line 3, {write}"
    )


@pytest.mark.parametrize(("load", "wait"), [(load, wait) for load, waits in WRONG_WAITS.items() for wait in waits])
def test_other_waits_do_not_deliver(load: str, wait: str) -> None:
    use = "s_mov_b32 s17, s16" if load == SCALAR_LOAD else "v_mov_b32 v1, v0"
    with pytest.raises(Wrong, match="may not have delivered"):
        execute(load, wait, use)


FOUR = [f"buffer_load_b32 v{n}, off, s[4:7], null offset:{4 * n}" for n in range(4)]
FOUR_OF_LDS = [f"ds_load_b32 v{n}, v10 offset:{4 * n}" for n in range(4)]


@pytest.mark.parametrize("left", range(5))
def test_a_wait_delivers_all_but_the_last(left: int) -> None:
    for loads, wait in ((FOUR, f"s_wait_loadcnt {left:#x}"), (FOUR_OF_LDS, f"s_wait_dscnt {left:#x}")):
        for n in range(4):
            code = [*loads, wait, f"v_mov_b32 v5, v{n}"]
            if n < 4 - left:
                assert execute(*code).v[5, 0] == (100 if loads is FOUR else 200) + n
            else:
                with pytest.raises(Wrong, match=f"the code reads v{n}, which line {n + 1}, "):
                    execute(*code)


def test_a_wait_of_two_counters_has_a_number_for_each() -> None:
    loads = [*FOUR[:2], *(f"ds_load_b32 v{n}, v10 offset:{4 * n}" for n in (2, 3))]
    for wait, delivered in (("s_wait_loadcnt_dscnt 0x1", {0, 1, 2}), ("s_wait_loadcnt_dscnt 0x100", {0, 2, 3})):
        for n in range(4):
            code = [*loads, wait, f"v_mov_b32 v5, v{n}"]
            if n in delivered:
                execute(*code)
            else:
                with pytest.raises(Wrong, match=f"reads v{n}, "):
                    execute(*code)


def test_scalar_loads_are_delivered_all_or_none() -> None:
    """They return in any order, so that a wait for some of them says nothing about one."""
    loads = ["s_load_b32 s16, s[2:3], 0x0", "s_load_b32 s17, s[2:3], 0x4"]
    for wait in ("s_wait_kmcnt 0x1", "s_wait_kmcnt 0x2"):
        for register in ("s16", "s17"):
            with pytest.raises(Wrong, match=f"the code reads {register}, which"):
                execute(*loads, wait, f"s_mov_b32 s18, {register}")
    w = execute(*loads, "s_wait_kmcnt 0x0", "s_add_co_u32 s18, s16, s17")
    assert w.s[18] == 201


def test_stores_to_lds_count() -> None:
    load, store = "ds_load_b32 v0, v10", "ds_store_b32 v10, v2 offset:128"
    for stores in range(3):
        execute(load, *[store] * stores, f"s_wait_dscnt {stores:#x}", "v_mov_b32 v1, v0")
        with pytest.raises(Wrong, match="reads v0"):
            execute(load, *[store] * stores, f"s_wait_dscnt {stores + 1:#x}", "v_mov_b32 v1, v0")


def test_stores_to_buffers_do_not_count_as_loads() -> None:
    store = "buffer_store_b32 v2, off, s[4:7], null offset:128"
    with pytest.raises(Wrong, match="reads v0"):
        execute(BUFFER_LOAD, store, "s_wait_loadcnt 0x1", "v_mov_b32 v1, v0")
    execute(BUFFER_LOAD, store, "s_wait_loadcnt 0x0", "v_mov_b32 v1, v0")


@pytest.mark.parametrize(
    "loads",
    [
        ["buffer_load_d16_b16 v0, off, s[4:7], null", "buffer_load_d16_hi_b16 v0, off, s[4:7], null offset:4"],
        ["global_load_d16_hi_b16 v0, v[8:9], off offset:4", "global_load_d16_b16 v0, v[8:9], off"],
    ],
)
def test_both_halves_of_a_register_may_be_loaded_in_a_row(loads: list[str]) -> None:
    w = execute(*loads, "s_wait_loadcnt 0x0", "v_mov_b32 v1, v0")
    assert w.v[1, 0] == 101 << 16 | 100
    with pytest.raises(Wrong, match="the code reads v0"):
        execute(*loads, "s_wait_loadcnt 0x1", "v_mov_b32 v1, v0")


def test_both_halves_of_a_register_may_be_loaded_of_lds_in_a_row() -> None:
    loads = ["ds_load_u16_d16 v0, v10", "ds_load_u16_d16_hi v0, v10 offset:4"]
    assert execute(*loads, "s_wait_dscnt 0x0", "v_mov_b32 v1, v0").v[1, 0] == 201 << 16 | 200


def test_loads_of_two_kinds_to_one_register_have_no_order() -> None:
    with pytest.raises(Wrong, match="the code writes v0, which line 1, buffer_load_b32"):
        execute(BUFFER_LOAD, LDS_LOAD)


def test_a_load_may_have_its_address_in_its_own_register() -> None:
    w = execute("ds_load_b32 v10, v10", "s_wait_dscnt 0x0", "v_mov_b32 v1, v10")
    assert w.v[1, 0] == 200
    with pytest.raises(Wrong, match="the code reads v10"):
        execute("ds_load_b32 v10, v10", "ds_load_b32 v0, v10")


def test_a_load_takes_the_lanes_that_are_active_when_it_begins() -> None:
    w = execute(BUFFER_LOAD, "s_mov_b32 exec_lo, 0xf0", "s_wait_loadcnt 0x0", exec=3)
    assert w.v[0].tolist() == [100, 100, *[0] * 30]


def test_values_are_those_of_when_a_load_begins() -> None:
    """Stores are done at once, and loads read then; what registers get, they get with the wait."""
    w = execute("ds_load_b32 v0, v10", "ds_store_b32 v10, v2", "ds_load_b32 v1, v10", "s_wait_dscnt 0x0")
    assert w.v[0, 0] == 200
    assert w.v[1, 0] == 0
