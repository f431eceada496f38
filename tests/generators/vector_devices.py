"""Capabilities of devices with cooperative vectors, for tests of generators."""

from __future__ import annotations

from dataclasses import replace

from cts.case.model import ComponentType, Interpretation
from cts.device.capabilities import Capabilities, Feature, VectorMulSupport, everything

_T, _I = ComponentType, Interpretation

#: DQ-075, and nothing more.
REQUIRED = tuple(
    VectorMulSupport(given, reading, matrix, bias, result)
    for given, reading, matrix, bias, result in (
        (_T.float16, _I.float16, _I.float16, _I.float16, _T.float16),
        (_T.uint32, _I.int8_packed, _I.int8, _I.int32, _T.int32),
        (_T.int8, _I.int8, _I.int8, _I.int32, _T.int32),
        (_T.float32, _I.int8, _I.int8, _I.int32, _T.int32),
        (_T.float16, _I.float8_e4m3fn, _I.float8_e4m3fn, _I.float16, _T.float16),
        (_T.float16, _I.float8_e5m2, _I.float8_e5m2, _I.float16, _T.float16),
    )
)

#: What a device with the extension has at least: no training, no transposition, 128 components.
LEAST: Capabilities = replace(
    everything(),
    features=frozenset({Feature.COOPERATIVE_VECTOR, Feature.BUFFER_DEVICE_ADDRESS}),
    vector_components=frozenset({_T.float16, _T.float32, _T.int8, _T.int32, _T.uint32}),
    vector_muls=REQUIRED,
    max_vector_length=128,
    max_invocations=128,
)

#: Training in float16 alone, tiny workgroups and little workgroup memory.
TRAINING: Capabilities = replace(
    LEAST,
    features=LEAST.features | {Feature.COOPERATIVE_VECTOR_TRAINING, Feature.TRAINING_FLOAT16},
    max_invocations=6,
    max_workgroup_bytes=1024,
)

DEVICES = {"everything": everything(), "least": LEAST, "training": TRAINING}
