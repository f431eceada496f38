"""What a case needs is derived from the case; what a driver lacks is named."""

import dataclasses

from cts.case.model import ComponentType, Scope, Use, loads_case
from cts.device.capabilities import Feature, MatrixSupport, everything, required_features

CASE = """\
schema: 1
name: x
dispatch: {workgroups: [1, 1, 1], subgroups: 2, subgroup_size: 32}
buffers:
  src: {type: uint8, shape: [64], data: {iota: {}}, storage: PhysicalStorageBuffer}
  dst: {type: uint8, shape: [64], data: {fill: 0}}
program:
  - {op: TensorLayout, id: t, dim: 1}
  - {op: TensorLayoutSetBlockSize, id: t0, of: t, block_size: [2]}
  - {op: TensorLayoutSetDimension, id: t1, of: t0, dims: [64]}
  - {op: MatrixConstant, id: z, type: {component: uint8, scope: Workgroup, rows: 4, cols: 12, use: A}, value: 0}
  - {op: MatrixLoadTensor, id: m, object: z, buffer: src, layout: t1}
  - {op: MatrixStore, matrix: m, buffer: dst, stride: 12}
"""


def test_required_features_follow_from_the_program() -> None:
    case = loads_case(CASE)
    assert required_features(case) == {
        Feature.TENSOR_ADDRESSING,
        Feature.BLOCK_LOADS,
        Feature.WORKGROUP_SCOPE,
        Feature.BUFFER_DEVICE_ADDRESS,
    }
    plain = loads_case(
        CASE.replace("Workgroup", "Subgroup")
        .replace("storage: PhysicalStorageBuffer", "storage: StorageBuffer")
        .replace("  - {op: TensorLayoutSetBlockSize, id: t0, of: t, block_size: [2]}\n", "")
        .replace("of: t0", "of: t")
    )
    assert required_features(plain) == {Feature.TENSOR_ADDRESSING}


def test_everything_runs_it_and_less_names_what_is_missing() -> None:
    case = loads_case(CASE)
    full = everything()
    assert full.missing(case) == []
    assert full.missing(loads_case(CASE.replace("subgroup_size: 32", "subgroup_size: 64"))) == [
        "subgroup size 64 (has 32)"
    ]
    no_blocks = dataclasses.replace(full, features=full.features - {Feature.BLOCK_LOADS})
    assert no_blocks.missing(case) == ["feature cooperativeMatrixBlockLoads"]
    small = dataclasses.replace(full, max_dimension=8, max_subgroups=1)
    assert small.missing(case) == [
        "2 subgroups per workgroup (at most 1)",
        "matrix 4x12 uint8 A at Workgroup scope (dimensions at most 8, VK-023)",
    ]


WIDE = """
schema: 1
name: wide
dispatch: {subgroups: 16}
buffers:
  all: {type: uint8, shape: [1, 16400], data: {fill: 1}, storage: Workgroup}
program:
  - op: MatrixLoad
    id: m
    type: {component: uint8, scope: Workgroup, rows: 4, cols: 16, use: A}
    buffer: all
    stride: 16
  - {op: MatrixStore, matrix: m, buffer: all, stride: 16, offset: 16}
"""


def test_workgroup_scope_has_limits_of_its_own() -> None:
    case, full = loads_case(WIDE), everything()
    assert full.missing(case) == [
        "Workgroup scope with 16 subgroups per workgroup (at most 8, VK-025)",
        "16400 bytes of workgroup memory (at most 16384 beside 16384 reserved for Workgroup scope, VK-025)",
    ]
    assert full.missing(loads_case(WIDE.replace("scope: Workgroup", "scope: Subgroup"))) == []
    assert full.missing(loads_case(WIDE.replace("subgroups: 16", "subgroups: 8").replace("16400", "16384"))) == []
    assert full.missing(loads_case(WIDE.replace("scope: Workgroup", "scope: Subgroup").replace("16400", "32784"))) == [
        "32784 bytes of workgroup memory (at most 32768, VK-025)"
    ]
    assert (full.subgroups_of(Scope.Subgroup), full.subgroups_of(Scope.Workgroup)) == (16, 8)
    few = dataclasses.replace(full, max_subgroups=4)
    assert (few.subgroups_of(Scope.Subgroup), few.subgroups_of(Scope.Workgroup)) == (4, 4)


def test_matrix_rows_admit_multiples_exact_sizes_and_workgroup_sizes() -> None:
    case = loads_case(CASE)

    def admitted(row: MatrixSupport) -> bool:
        return not dataclasses.replace(everything(), matrices=(row,)).missing(case)

    base = MatrixSupport(ComponentType.uint8, Use.A, Scope.Workgroup, rows=4, cols=4)
    assert admitted(base)
    assert admitted(dataclasses.replace(base, subgroups=2))
    assert not admitted(dataclasses.replace(base, subgroups=4))
    assert not admitted(dataclasses.replace(base, exact=True))
    assert admitted(dataclasses.replace(base, cols=12, exact=True))
    assert not admitted(dataclasses.replace(base, cols=8))
    assert not admitted(dataclasses.replace(base, use=Use.B))
    assert not admitted(dataclasses.replace(base, component=ComponentType.int8))
    assert not admitted(dataclasses.replace(base, scope=Scope.Subgroup))
