"""Capabilities like those of real devices."""

from __future__ import annotations

from collections.abc import Iterator

from cts.case.model import ComponentType, Scope, Use
from cts.device.capabilities import Capabilities, Feature, MatrixSupport, MulAddSupport

T = ComponentType


def matrices_of(products: tuple[MulAddSupport, ...]) -> Iterator[MatrixSupport]:
    """The matrices that rows of multiplications stand for: integers of either sign (VK-007, VK-021)."""
    for row in products:
        for component, use, rows, cols in (
            (row.a, Use.A, row.m, row.k),
            (row.b, Use.B, row.k, row.n),
            (row.result, Use.Accumulator, row.m, row.n),
        ):
            bits = 8 * component.size
            both = (component,) if component.is_float else (T(f"int{bits}"), T(f"uint{bits}"))
            yield from (MatrixSupport(c, use, row.scope, rows, cols, row.exact, row.subgroups) for c in both)


def device(products: tuple[MulAddSupport, ...], features: frozenset[Feature], subgroup_size: int) -> Capabilities:
    return Capabilities(
        subgroup_size=subgroup_size,
        features=features,
        matrices=tuple(dict.fromkeys(matrices_of(products))),
        mul_adds=products,
        max_dimension=1024,
        max_subgroups=8,
    )


def _integers(k: int, scope: Scope, m: int, n: int, subgroups: int | None = None) -> Iterator[MulAddSupport]:
    for a, c in ((T.int8, T.int32), (T.uint8, T.uint32)):
        yield MulAddSupport(a, a, c, c, scope, m=m, n=n, k=k, subgroups=subgroups)


#: Mesa's CPU driver: everything at one granularity, no tensor addressing, no Workgroup scope.
LAVAPIPE = device(
    (
        MulAddSupport(T.float16, T.float16, T.float32, T.float32, Scope.Subgroup, m=8, n=8, k=8),
        MulAddSupport(T.float16, T.float16, T.float16, T.float16, Scope.Subgroup, m=8, n=8, k=8),
        MulAddSupport(T.int8, T.int8, T.int32, T.int32, Scope.Subgroup, saturating=True, m=8, n=8, k=8),
        *_integers(8, Scope.Subgroup, 8, 8),
    ),
    frozenset(
        {
            Feature.REDUCTIONS,
            Feature.CONVERSIONS,
            Feature.PER_ELEMENT,
            Feature.BUFFER_DEVICE_ADDRESS,
            Feature.VARIABLE_POINTERS,
            Feature.REPLICATED_COMPOSITES,
            Feature.FLOAT_CONTROLS_2,
        }
    ),
    8,
)

#: A GPU with larger granules where workgroups share matrices, and rows for some workgroup sizes only.
NVIDIA = device(
    (
        *(
            MulAddSupport(a, a, c, c, scope, m=m, n=n, k=32 if a.size == 1 else 16, subgroups=subgroups)
            for scope, m, n, subgroups in (
                (Scope.Subgroup, 16, 8, None),
                (Scope.Workgroup, 32, 32, 4),
                (Scope.Workgroup, 64, 32, 8),
            )
            for a, c in (
                (T.float16, T.float32),
                (T.float16, T.float16),
                (T.bfloat16, T.float32),
                (T.float8_e4m3fn, T.float32),
                (T.float8_e5m2, T.float16),
                (T.int8, T.int32),
                (T.uint8, T.uint32),
            )
        ),
    ),
    frozenset(Feature) - {Feature.DECODE_VECTOR, Feature.LONG_VECTOR},
    32,
)

#: Fixed shapes only, as before flexible dimensions: one multiplication.
FIXED = device(
    (MulAddSupport(T.float16, T.float16, T.float32, T.float32, Scope.Subgroup, m=16, n=8, k=16, exact=True),),
    frozenset(),
    32,
)
