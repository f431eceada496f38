"""Compiled code from its texts to the memory after it: no compiler takes part."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cts.device.driver import Status
from cts.drivers.amd.driver import Executor
from cts.drivers.amd.interface import Interface, Loaded, Pushed, arguments, filled, interface
from cts.drivers.amd.module import used_words
from cts.drivers.amd.options import Options
from cts.drivers.amd.pushed import loaded_words
from cts.drivers.machine.problems import Unsupported
from cts.drivers.vulkan.session import Loss
from cts.drivers.vulkan.worker.protocol import Binding, Done, Memory, ParameterSet, Run, Submitting

NIR = """shader: MESA_SHADER_COMPUTE
workgroup_size: {size}, 1, 1
max_subgroup_size: 32
min_subgroup_size: 32
shared_size: 256
decl_function main () (entrypoint)
    con 32     %0 = @load_scalar_arg_amd (base=0, arg_upper_bound_u32_amd=0)
    con 64     %2 = pack_64_2x32_split %0, %1 (0xffff8000)
"""
ACO = "BB0\n\t s1: %1:s[0],  {more}v1: %2:v[0] = p_startpgm\n"

#: s[4:7] becomes the descriptor of the buffer, v1 the number of the invocation, and v2 its byte.
BEGIN = """s_movk_i32 s1, 0x8000
s_load_b128 s[4:7], s[0:1], 0x0
v_and_b32_e32 v1, 0x3ff, v0
v_lshlrev_b32_e32 v2, 2, v1
s_wait_kmcnt 0x0
"""


def texts(code: str, size: int = 32, more: str = "") -> dict[str, str]:
    """What a driver hands out of a pipeline of this code."""
    return {
        "NIR Shader(s)": NIR.format(size=size),
        "ACO IR": ACO.format(more=more),
        "Assembly": f"BB0:\n{code}\ns_endpgm",
    }


def execute(
    code: str,
    *,
    size: int = 32,
    workgroups: tuple[int, int, int] = (1, 1, 1),
    window: int = 512,
    more: str = "",
    submitting: Submitting | None = None,
    options: Options | None = None,
) -> Done | Loss:
    """The result of code on a buffer of 512 bytes of zeros, of which the code sees `window`."""
    run = Run(
        7,
        b"",
        workgroups,
        (ParameterSet((Memory(bytes(512), 0, window),)),),
        (Binding(0, 0, 0),),
        submitting=submitting or Submitting(),
    )
    return Executor(options or Options()).execute(
        run, Done(7, (), listing=texts(code, size, more)), lambda run: pytest.fail("compiled again")
    )


def words(result: Done | Loss) -> np.ndarray:
    assert isinstance(result, Done), result
    (after,) = result.sets[0]
    return np.frombuffer(after or bytes(512), "<u4")


def test_every_invocation_stores_its_number() -> None:
    after = words(execute(BEGIN + "buffer_store_b32 v1, v2, s[4:7], null offen", size=40))
    assert after[:40].tolist() == list(range(40))
    assert not after[40:].any()


def test_workgroups_and_their_waves_have_numbers() -> None:
    code = """s_lshl_b32 s8, ttmp9, 6
s_bfe_u32 s9, ttmp8, 0x50019
s_lshl_b32 s9, s9, 5
s_add_co_u32 s8, s8, s9
v_mov_b32_e32 v3, s8
v_mbcnt_lo_u32_b32 v4, -1, s8
v_lshlrev_b32_e32 v5, 2, v4
buffer_store_b32 v3, v5, s[4:7], null offen"""
    after = words(execute(BEGIN + code, size=64, workgroups=(2, 1, 1)))
    assert after.tolist() == [n // 32 * 32 for n in range(128)]


def test_parts_of_a_dispatch_begin_where_they_say() -> None:
    code = BEGIN + "v_mov_b32_e32 v3, ttmp9\nv_lshlrev_b32_e32 v5, 2, v3\nbuffer_store_b32 v3, v5, s[4:7], null offen"
    parts = (((3, 0, 0), (2, 1, 1)), ((7, 0, 0), (1, 1, 1)))
    after = words(execute(code, submitting=Submitting(parts=parts)))
    assert np.flatnonzero(after).tolist() == [3, 4, 7]


EXCHANGE = (
    BEGIN
    + """v_lshlrev_b32_e32 v3, 2, v1
ds_store_b32 v3, v1
s_wait_dscnt 0x0
{barrier}
v_xor_b32_e32 v4, 0x80, v3
ds_load_b32 v5, v4
s_wait_dscnt 0x0
buffer_store_b32 v5, v2, s[4:7], null offen"""
)


def test_waves_exchange_through_lds() -> None:
    after = words(execute(EXCHANGE.format(barrier="s_barrier_signal -1\ns_barrier_wait 0xffff"), size=64))
    assert after[:64].tolist() == [n ^ 32 for n in range(64)]


def test_without_a_barrier_a_wave_reads_what_another_one_has_not_written() -> None:
    after = words(execute(EXCHANGE.format(barrier=""), size=64))
    assert after[:64].tolist() != [n ^ 32 for n in range(64)]


def test_a_barrier_that_a_wave_passes_without_a_signal_is_found() -> None:
    code = """s_bfe_u32 s9, ttmp8, 0x50019
s_cmp_eq_u32 s9, 0
s_cbranch_scc1 BB1
s_barrier_signal -1
BB1:
s_barrier_wait 0xffff"""
    result = execute(code, size=64)
    assert isinstance(result, Loss) and result.status is Status.CRASH
    assert "barrier" in result.what


def test_accesses_outside_a_descriptor_do_nothing() -> None:
    code = (
        BEGIN
        + """v_mov_b32_e32 v3, 5
buffer_store_b32 v3, v2, s[4:7], null offen
buffer_load_b32 v4, v2, s[4:7], null offen
s_wait_loadcnt 0x0
v_add_nc_u32_e32 v4, 1, v4
s_movk_i32 s6, 0x200
buffer_store_b32 v4, v2, s[4:7], null offen offset:256"""
    )
    after = words(execute(code, window=64))
    assert after[:32].tolist() == [5] * 16 + [0] * 16
    assert after[64:96].tolist() == [6] * 16 + [1] * 16
    result = execute(code, window=64, options=Options(check=frozenset({"beyond"})))
    assert isinstance(result, Loss) and result.status is Status.CRASH
    assert result.what == "an access outside its descriptor, at line 8, buffer_store_b32 v3, v2, s[4:7], null offen"


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("buffer_store_b32 v9, v2, s[4:7], null offen", "v9 at line 7"),
        ("v_mov_b32_e32 v3, s20\nbuffer_store_b32 v3, v2, s[4:7], null offen", "s20 at line 7"),
        ("ds_load_b32 v3, v2\ns_wait_dscnt 0x0\nbuffer_store_b32 v3, v2, s[4:7], null offen", "LDS"),
    ],
)
def test_what_depends_on_nothing_written_is_found(code: str, found: str) -> None:
    result = execute(BEGIN + code, options=Options(check=frozenset({"uninitialised"})))
    assert isinstance(result, Loss) and result.status is Status.CRASH
    assert found in result.what
    assert isinstance(execute(BEGIN + code), Done)


def test_a_part_of_a_register_that_nothing_reads_need_not_be_written() -> None:
    code = "v_and_b32_e32 v3, 0, v9\nbuffer_store_b32 v3, v2, s[4:7], null offen"
    assert isinstance(execute(BEGIN + code, options=Options(check=frozenset({"uninitialised"}))), Done)


@pytest.mark.parametrize(
    ("code", "status", "words"),
    [
        ("v_frobnicate_b32 v1, v2", Status.UNSUPPORTED, "the instruction v_frobnicate_b32, at line 2"),
        ("BB7:\ns_branch BB7", Status.TIMEOUT, "more instructions than max_steps allows"),
        ("s_branch BB9", Status.UNSUPPORTED, "a branch to BB9, which is no label"),
        ("s_mov_b64 s[2:3], 0\nv_mov_b32_e32 v1, 0\nglobal_load_b32 v1, v1, s[2:3]", Status.CRASH, "address 0x0"),
        ("ds_load_b32 v1, v0 offset:4096", Status.CRASH, "of the workgroup's 256 bytes of LDS"),
        (
            BEGIN + "buffer_load_b32 v3, v2, s[4:7], null offen\nv_mov_b32_e32 v4, v3",
            Status.CRASH,
            "may not have delivered",
        ),
    ],
)
def test_what_ends_a_run_is_named(code: str, status: Status, words: str) -> None:
    result = execute(code, options=Options(max_steps=10_000))
    assert isinstance(result, Loss)
    assert result.status is status
    assert words in result.what


def test_a_store_between_buffers_is_found() -> None:
    code = BEGIN + "v_mov_b32_e32 v3, 1\ns_movk_i32 s6, 0x4000\nbuffer_store_b32 v3, v2, s[4:7], null offen offset:1024"
    result = execute(code)
    assert isinstance(result, Loss) and "a store outside every buffer" in result.what


def test_a_pipeline_without_a_listing_is_not_run() -> None:
    run = Run(7, b"", (1, 1, 1), (ParameterSet(()),))
    result = Executor(Options()).execute(run, Done(7, ()), lambda run: pytest.fail("compiled again"))
    assert isinstance(result, Loss) and result.status is Status.UNSUPPORTED


def pushed(*words: int) -> Pushed:
    """Words of push constants, as many as are used, and where all of them are."""
    return Pushed(dict(enumerate(words)), 0xFFFF8000_00100080)


def test_words_that_registers_do_not_hold_are_loaded() -> None:
    loaded = tuple(Loaded(n, "other") for n in range(4))
    shader = Interface((64, 1, 1), 64, 0, 4, (0, 1), loaded, fetched=frozenset({2, 3}))
    assert arguments(shader, [0xFFFF8000_00100040], pushed(11, 12, 13, 14), (5, 6, 7)) == [0x100040, 0x100080, 11, 12]
    with pytest.raises(Unsupported, match="2 registers for words of push constants, of 3"):
        arguments(replace(shader, fetched=frozenset({2})), [0xFFFF8000_00100040], pushed(11, 12, 13, 14), (5, 6, 7))


def test_the_first_eight_words_are_in_registers() -> None:
    """Of twelve words the load of words 6 to 9 is one from memory, so that no code uses the registers of 6 and 7."""
    loaded = tuple(Loaded(n, "other") for n in range(8))
    shader = Interface((64, 1, 1), 64, 0, 10, (0, 1), loaded, fetched=frozenset({6, 7, 8, 9, 10, 11}))
    given = arguments(shader, [0xFFFF8000_00100040], pushed(*range(20, 32)), (5, 6, 7))
    assert given == [0x100040, 0x100080, *range(20, 28)]
    with pytest.raises(Unsupported, match="6 registers for words of push constants, of 7"):
        arguments(
            replace(shader, fetched=frozenset(range(7, 12))), [0xFFFF8000_00100040], pushed(*range(20, 32)), (5, 6, 7)
        )


def test_words_that_are_loaded_are_found() -> None:
    nir = (
        NIR.format(size=32)
        + """
    con 32     %14 = @load_scalar_arg_amd (base=1, arg_upper_bound_u32_amd=0)
    con 64     %15 = pack_64_2x32_split %14, %6 (0xffff8000)
    con 32x2   %16 = @load_global_amd (%15, %8 (0x8)) (base=48, access=readonly)
    con 16     %17 = @load_global_amd (%15, %8 (0x2)) (base=0, access=readonly)
    div 32     %25 = @load_global_amd (%15, %24) (base=0, access=readonly)
    con 32     %26 = @load_global_amd (%2, %8 (0x0)) (base=4, access=readonly)
"""
    )
    found = interface(nir, ACO.format(more="s1: %3:s[1],  "))
    assert found.pointers == (0, 1)
    assert found.fetched == {0, 14, 15} and found.fetches_computed


def test_arguments_are_in_order() -> None:
    shader = Interface((64, 1, 1), 64, 0, 7, (0,))
    assert arguments(shader, [0xFFFF8000_00100040], pushed(11, 12), (5, 6, 7)) == [0x100040, 11, 12, 5, 6, 7, "wave"]
    assert arguments(shader, [0xFFFF8000_00100040], pushed(11, 12, 13, 14, 15), (5, 6, 7)) == [
        0x100040,
        11,
        12,
        13,
        14,
        15,
        "wave",
    ]
    with pytest.raises(Unsupported, match="7 registers of arguments"):
        arguments(shader, [0xFFFF8000_00100040], pushed(11, 12, 13, 14), (5, 6, 7))


def test_the_last_argument_has_the_number_of_waves() -> None:
    shader = Interface((64, 1, 1), 32, 0, 2, (0,))
    given = arguments(shader, [0xFFFF8000_00100040], pushed(), (5, 6, 7))
    assert filled(given, (2, 3, 4), 1, 2)[1] & 63 == 2
    given = arguments(replace(shader, arguments=5), [0xFFFF8000_00100040], pushed(), (5, 6, 7))
    assert filled(given, (2, 3, 4), 1, 3)[1:4] == [5, 6, 7] and filled(given, (2, 3, 4), 1, 3)[4] & 63 == 3


def test_an_unused_set_may_have_a_register() -> None:
    shader = Interface((64, 1, 1), 64, 0, 3, (), (Loaded(1, "other"),))
    assert arguments(shader, [0xFFFF8000_00100040], pushed(11, 12), (1, 1, 1)) == [0x100040, 11, 12]


def test_numbers_of_workgroups_are_arguments_on_rdna_3() -> None:
    loaded = (Loaded(1, "other"), Loaded(2, "short"), Loaded(3, "wave"))
    shader = Interface((64, 2, 1), 64, 0, 4, (0,), (Loaded(0, "other"), *loaded))
    given = arguments(shader, [0xFFFF8000_00100040], pushed(), (5, 6, 7), ("z",))
    assert given == [0x100040, "x", "z", "wave"]
    assert filled(given, (2, 3, 4), 5, 8) == [0x100040, 2, 4, 8 | 5 << 6 | 5 << 20]
    counted = replace(shader, loaded=(Loaded(0, "other"), Loaded(1, "other"), Loaded(3, "other")))
    given = arguments(counted, [0xFFFF8000_00100040], pushed(), (5, 6, 7), ("y", "z", "wave"))
    assert given == [0x100040, "x", 0, "wave"] and filled(given, (2, 3, 4), 0, 7)[3] & 63 == 7
    with pytest.raises(Unsupported, match="more numbers of a workgroup"):
        arguments(counted, [0xFFFF8000_00100040], pushed(), (5, 6, 7), ("y", "z"))
    with pytest.raises(Unsupported, match="whether it counts waves"):
        arguments(replace(counted, arguments=6), [0xFFFF8000_00100040], pushed(), (5, 6, 7), ("y", "z", "wave"))
    with_three = replace(
        shader, arguments=7, loaded=(Loaded(1, "three"), *(a._replace(number=a.number + 1) for a in loaded))
    )
    given = arguments(replace(with_three, pointers=(0,)), [0xFFFF8000_00100040], pushed(), (5, 6, 7), ("y",))
    assert given == [0x100040, 5, 6, 7, "x", "y", "wave"]
    with pytest.raises(Unsupported, match=r"from 26\.2 on"):
        arguments(replace(shader, marked=False), [0xFFFF8000_00100040], pushed(), (5, 6, 7), ("z",))
    two = replace(shader, loaded=(*loaded[:2], Loaded(3, "short")))
    with pytest.raises(Unsupported, match="not known which they are"):
        arguments(two, [0xFFFF8000_00100040], pushed(), (5, 6, 7), ("z",))


def test_the_interface_is_that_of_the_texts() -> None:
    nir, used = NIR.format(size=48), (Loaded(0, "other"),)
    assert interface(nir, ACO.format(more="s1: %3:s[1],  ")) == Interface(
        (48, 1, 1), 32, 256, 2, (0,), used, marked=False
    )
    older = "BB0\n\t s2: (kill)%0:s[0-1],  s1: %1:s[2],  v1: (kill)%2:v[0] = p_startpgm\n"
    assert interface(nir.replace("base=0", "base=1"), older) == Interface(
        (48, 1, 1), 32, 256, 1, (0,), used, 2, marked=False
    )
    with pytest.raises(Unsupported, match="does not say how it is called"):
        interface("", "")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("workgroup_size: 32", "workgroup_size: 99999999"),
        ("workgroup_size: 32", "workgroup_size: 0"),
        ("subgroup_size: 32", "subgroup_size: 99999999"),
        ("shared_size: 256", "shared_size: 99999999999"),
        ("v_mov_b32_e32 v3, 0", "v_mov_b32_e32 v99999999, 0"),
    ],
)
def test_texts_of_no_gpu(old: str, new: str) -> None:
    """A worker that lies gets an error, and neither all memory nor endless time."""
    told = {name: text.replace(old, new) for name, text in texts(f"{BEGIN}v_mov_b32_e32 v3, 0").items()}
    buffer = Memory(bytes(512), 0, 512)
    run = Run(7, b"", (1, 1, 1), (ParameterSet((buffer,)),), (Binding(0, 0, 0),))
    lied = Executor(Options()).execute(run, Done(7, (), listing=told), lambda run: Done(7, ()))
    assert isinstance(lied, Loss) and lied.status is Status.ERROR and "no GPU has" in lied.what


def test_members_of_a_structure_in_the_block_move_alone() -> None:
    module = assemble_push_constants()
    before = np.frombuffer(module, "<u4")

    def make(run: Run) -> Done:
        words = np.frombuffer(run.module, "<u4")
        (place,) = np.flatnonzero(words != before)
        member = words[place - 2]
        assert words[place] == before[place] + 4096
        # The code uses the second member of the block, and the second one of the structure in it.
        return Done(7, (), listing={"Assembly": "changed" if member == 1 else "code"})

    run = Run(7, module, (1, 1, 1), (ParameterSet((), push_constants=bytes(16)),))
    assert used_words(run, "code", make) == ([1, 3],)


def words_of(code: list[list[int]], specialization: dict[int, int] | None = None) -> tuple[set[int], set[int]]:
    found = loaded_words(assemble(code), specialization or {})
    assert found is not None
    return set(found.at_constants), set(found.at_indices)


def test_words_of_a_block_that_are_loaded() -> None:
    """A matrix by columns of 8 bytes, an array of two words, a half and a structure: counted by hand."""
    types = [
        [71, 20, 6, 4], [72, 3, 0, 35, 4], [72, 3, 0, 7, 8], [72, 3, 0, 5], [72, 3, 1, 35, 20], [72, 3, 2, 35, 30],
        [72, 3, 3, 35, 32], [72, 2, 0, 35, 0], [72, 2, 1, 35, 8],
        [21, 10, 32, 0], [22, 11, 32], [22, 12, 16], [43, 10, 30, 0], [43, 10, 31, 1], [43, 10, 32, 2], [43, 10, 33, 3],
        [50, 10, 34, 1], [23, 13, 11, 2], [24, 14, 13, 2], [28, 20, 10, 32], [30, 2, 10, 11], [30, 3, 14, 20, 12, 2],
        [32, 4, 9, 3], [59, 4, 5, 9],
    ]  # fmt: skip
    a_column, a_row = [[65, 4, 40, 5, 30, 31], [61, 13, 41, 40]], [[65, 4, 42, 5, 30, 31, 31], [61, 11, 43, 42]]
    element, computed = [[66, 4, 44, 5, 31, 31], [61, 10, 45, 44]], [[65, 4, 46, 5, 31, 99], [61, 10, 47, 46]]
    half, whole = [[65, 4, 48, 5, 32], [61, 12, 49, 48]], [[65, 4, 50, 5, 33], [61, 2, 51, 50]]
    of_structure = [[65, 4, 50, 5, 33], [65, 4, 52, 50, 31], [61, 11, 53, 52]]
    for code, at_constants, at_indices in (
        (a_column, {3, 4}, set()),
        (a_row, {4}, set()),
        (element, {6}, set()),
        (computed, set(), {5, 6}),
        ([*element, *computed], {6}, {5}),
        (half, {7}, set()),
        (whole, {8, 10}, set()),
        (of_structure, {10}, set()),
        ([], set(), set()),
    ):
        assert words_of(types + code) == (at_constants, at_indices), code
    specialised = [[71, 34, 1, 9], *types, [65, 4, 40, 5, 31, 34], [61, 10, 41, 40]]
    assert words_of(specialised, {9: 0}) == ({5}, set())
    assert words_of(specialised) == ({6}, set())  # its default is 1
    computed_before = [*types, [52, 10, 35, 128, 34, 34], [65, 4, 40, 5, 31, 35], [61, 10, 41, 40]]
    assert loaded_words(assemble(computed_before), {}) is None
    assert loaded_words(assemble([*types, [57, 10, 40, 77, 5]]), {}) is None  # a function's argument
    assert loaded_words(assemble([*types, [65, 4, 40, 5, 31, 31, 30], [61, 10, 41, 40]]), {}) is None  # no composite


def assemble_push_constants() -> bytes:
    """A block of two words, and of a structure of two words behind them, which is loaded as a whole."""
    return assemble([
        [72, 3, 0, 35, 0], [72, 3, 1, 35, 4], [72, 3, 2, 35, 8], [72, 2, 0, 35, 0], [72, 2, 1, 35, 4],
        [21, 1, 32, 0], [30, 2, 1, 1], [30, 3, 1, 1, 2], [32, 4, 9, 3], [59, 4, 5, 9],
        [61, 3, 6, 5],
    ])  # fmt: skip


def assemble(code: list[list[int]]) -> bytes:
    """A module of these instructions, each an opcode and operands."""
    words = [0x07230203, 0x00010500, 0, 100, 0, *(w for i in code for w in (len(i) << 16 | i[0], *i[1:]))]
    return np.array(words, "<u4").tobytes()
