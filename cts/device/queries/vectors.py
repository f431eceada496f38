"""Statements about cooperative vectors and long vectors."""

from __future__ import annotations

from collections.abc import Iterator

from cts.device.queries.answers import Answers
from cts.device.queries.names import typed
from cts.device.queries.sizes import COMPUTE_STAGE, at_least, bits, in_compute
from cts.device.queries.statement import Broken, of_extension, statement

PROPERTIES = "VkPhysicalDeviceCooperativeVectorPropertiesNV"
COMMAND = "CooperativeVectorPropertiesNV"
_MEMBERS = ("inputType", "inputInterpretation", "matrixInterpretation", "biasInterpretation", "resultType")

_F16, _F32, _S8, _S32, _U32 = 0, 1, 3, 5, 9
_S8_PACKED, _U8_PACKED, _E4M3, _E5M2 = 1000491000, 1000491001, 1000491002, 1000491003

#: The rows of the table of required combinations.
COMBINATIONS = (
    (_F16, _F16, _F16, _F16, _F16),
    (_U32, _S8_PACKED, _S8, _S32, _S32),
    (_S8, _S8, _S8, _S32, _S32),
    (_F32, _S8, _S8, _S32, _S32),
    (_F16, _E4M3, _E4M3, _F16, _F16),
    (_F16, _E5M2, _E5M2, _F16, _F16),
)


def _rows(answers: Answers) -> Iterator[tuple[str, dict[str, int]]]:
    for listing in answers.listings(COMMAND):
        for place, row in enumerate(listing.rows):
            yield f"{listing.about}, element {place}", row


@statement("DQ-075", *of_extension("VK_NV_cooperative_vector"))
def required_combinations_are_listed(answers: Answers) -> Iterator[Broken]:
    listed = {tuple(row[name] for name in _MEMBERS) for _, row in _rows(answers)}
    for wanted in COMBINATIONS:
        if wanted not in listed:
            types = ", ".join(map(typed, _MEMBERS, wanted))
            yield Broken(f"vkGetPhysicalDevice{COMMAND}", f"none of {len(listed)} elements", f"an element with {types}")


@statement("DQ-076", *of_extension("VK_NV_cooperative_vector"))
def packed_components_are_for_inputs_alone(answers: Answers) -> Iterator[Broken]:
    for where, row in _rows(answers):
        for name in _MEMBERS:
            if name != "inputInterpretation" and row[name] in (_S8_PACKED, _U8_PACKED):
                yield Broken(where, typed(name, row[name]), "no packed type but as inputInterpretation")


@statement("DQ-077", *of_extension("VK_NV_cooperative_vector"))
def packed_inputs_are_words(answers: Answers) -> Iterator[Broken]:
    for where, row in _rows(answers):
        if row["inputInterpretation"] in (_S8_PACKED, _U8_PACKED) and row["inputType"] != _U32:
            members = ("inputType", "inputInterpretation")
            yield Broken(where, " with ".join(typed(m, row[m]) for m in members), typed("inputType", _U32))


@statement("DQ-078", *of_extension("VK_NV_cooperative_vector"))
def vectors_have_128_components(answers: Answers) -> Iterator[Broken]:
    yield from at_least(answers, PROPERTIES, "maxCooperativeVectorComponents", 128)


@statement(
    "DQ-079",
    "VK_NV_cooperative_vector and a compute queue",
    lambda a: a.has("VK_NV_cooperative_vector") and in_compute()[1](a),
)
def vectors_are_for_compute_shaders(answers: Answers) -> Iterator[Broken]:
    yield from bits(
        answers, PROPERTIES, "cooperativeVectorSupportedStages", COMPUTE_STAGE, "VK_SHADER_STAGE_COMPUTE_BIT"
    )


@statement("DQ-080", *of_extension("VK_EXT_shader_long_vector"))
def long_vectors_have_1024_components(answers: Answers) -> Iterator[Broken]:
    yield from at_least(answers, "VkPhysicalDeviceShaderLongVectorPropertiesEXT", "maxVectorComponents", 1024)
