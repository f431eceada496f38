"""A case as one C program that needs nothing but a C compiler and, to run, a Vulkan loader: repro.c."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cts.case.model import GUARD_BYTES, Case, ComponentType
from cts.case.oracle.expectation import Expectation, Identical, Intervals
from cts.device.job import LayoutConversion, MatrixRegion, ModuleJob
from cts.judging.compare import EQUAL, UNROUNDED
from cts.plugins import registry
from cts.plugins.needs import Feature, Needs
from cts.showing.export.c_tables import codes, comment, data, identifier, string, table, words
from cts.showing.export.cannot import CannotExpress
from cts.showing.export.exported import Exported, ExportedBuffer, of_case
from cts.showing.export.templates import render

_NAMES = {component.descriptor.number: component.value for component in ComponentType}

#: The properties of Vulkan 1.2 that execution modes ask for, in the order of VkPhysicalDeviceVulkan12Properties.
_FLOAT_MODES = [
    f"shader{mode}Float{width}"
    for mode in (
        "SignedZeroInfNanPreserve",
        "DenormPreserve",
        "DenormFlushToZero",
        "RoundingModeRTE",
        "RoundingModeRTZ",
    )
    for width in (16, 32, 64)
]


def c(case: Case, expectation: Expectation, subgroup_size: int, about: str = "") -> str:
    """The program of a case, whose module is lowered for subgroups of this size; `about` goes into its first comment.

    Raises HarnessTrouble if the case cannot be lowered.
    """
    return program(of_case(case, expectation, subgroup_size), about)


def program(exported: Exported, about: str = "") -> str:
    """The program of any dispatch. Raises CannotExpress for descriptors outside set 0, and in arrays."""
    if exported.job.array_bindings or any(set_ for set_, _ in exported.job.bindings):
        raise CannotExpress("the C program binds single descriptors of set 0", exported.name)
    return render("repro.c", **_Program(exported, exported.job, registry.needs()(exported.job)).values(about))


@dataclass(frozen=True)
class _Program:
    exported: Exported
    job: ModuleJob
    needs: Needs

    def values(self, about: str) -> dict[str, Any]:
        """Everything that the template asks for."""
        job, needs = self.job, self.needs
        on_device = [conversion for conversion in job.conversions if not conversion.host]
        return {
            "title": comment(self.exported.name).removeprefix(" * "),
            "about": comment("\n".join(filter(None, (self._description(), about)))),
            "case": comment(self.exported.source),
            "guard_bytes": GUARD_BYTES,
            "max_rank": max((len(b.shape) for b in self.exported.buffers.values()), default=1),
            "types": [_type(t) for t in ComponentType],
            "type_names": ", ".join(t.name.upper() for t in ComponentType),
            "data": "\n\n".join(self._data()),
            "unrounded": UNROUNDED,
            "equal": EQUAL,
            "matrices": needs.matrices,
            "mul_adds": needs.mul_adds,
            "cooperative_vectors": bool(needs.vectors or job.opaque or job.conversions),
            "vectors": needs.vectors,
            "vector_muls": needs.vector_muls,
            "accumulations": [_NAMES[code] for code in needs.accumulations],
            "conversion_codes": needs.conversions,
            "longest_vector": needs.longest_vector,
            "float_modes": [{"name": mode, "index": _FLOAT_MODES.index(mode)} for mode in needs.float_modes],
            "workgroup_scope": needs.workgroup_scope,
            "addressable": any(f.name == "bufferDeviceAddress" for f in needs.features),
            "descriptors": needs.descriptors,
            "robust": job.robust,
            "late": self._late,
            "constants": job.spec_constants,
            "push_bytes": len(job.push_constants),
            "push_addresses": job.push_addresses,
            "opaque": job.opaque,
            "conversions": job.conversions,
            "converts": bool(job.opaque or job.conversions),
            "host_converts": len(on_device) < len(job.conversions),
            "commands_convert": bool(on_device),
            "steps": list(self._steps()),
        }

    @property
    def _late(self) -> bool:
        """Whether the contents of any buffer begin late."""
        return any(buffer.begins_at for buffer in self.exported.buffers.values())

    def _description(self) -> str:
        return "\n".join(filter(None, (self.exported.description, self.exported.hidden)))

    def _data(self) -> Iterator[str]:
        job, needs = self.job, self.needs
        yield words("module_words", "uint32_t", job.words)
        yield "\n".join(
            [
                f"static const char ENTRY[] = {string(job.entry)};",
                f"static const uint32_t workgroups[3] = {{{', '.join(map(str, job.workgroups))}}};",
                f"static const uint32_t local_size[3] = {{{', '.join(map(str, needs.local_size))}}};",
                f"static const uint32_t module_subgroup_size = {job.subgroup_size or 0}; /* 0: any */",
                f"static const uint32_t shared_bytes = {needs.shared_bytes}, push_bytes = {len(job.push_constants)};",
                f"static const uint32_t subgroup_operations = 0x{needs.operations:x};",
            ]
        )
        yield from self._features()
        yield from self._listed()
        yield from self._buffers()
        yield from self._delivery()
        if job.opaque or job.conversions:
            yield from self._conversions()

    def _features(self) -> Iterator[str]:
        rows = []
        for s in self.needs.structures:
            extensions = ", ".join([*map(string, s.extensions), "NULL"])
            rows.append(f"{string(s.name)}, {s.s_type}, {{{extensions}}}")
        yield table("structures", "struct structure", rows)
        yield table("features", "struct feature", map(_feature, self.needs.features))
        lines = [f"static const struct feature required_size = {{{_feature(self.needs.required_size)}}};"]
        if self.needs.flexible is not None:
            lines.append(f"static const struct feature flexible_dimensions = {{{_feature(self.needs.flexible)}}};")
        yield "\n".join(lines)

    def _listed(self) -> Iterator[str]:
        """What must be among the matrices and vectors that the device lists."""
        needs = self.needs
        if needs.matrices:
            rows = [
                f"{string(m.text)}, '{m.use[0] if m.use != 'Accumulator' else 'C'}', {m.scope}, "
                f"{{{m.rows}, {m.cols}}}, {codes(m.codes)}"
                for m in needs.matrices
            ]
            yield table("matrix_needs", "struct matrix_need", rows)
        if needs.mul_adds:
            rows = [
                f"{string(p.text)}, {p.scope}, {{{', '.join(map(str, p.sizes))}}}, {_bool(p.saturating)}, "
                f"{{{', '.join(map(codes, p.codes))}}}"
                for p in needs.mul_adds
            ]
            yield table("mul_add_needs", "struct mul_add_need", rows)
        if needs.vectors:
            rows = [f"{string(v.text)}, {v.components}, {codes(v.codes)}" for v in needs.vectors]
            yield table("vector_needs", "struct vector_need", rows)
        if needs.vector_muls:
            rows = [
                f"{string(p.text)}, {p.input}, {p.input_interpretation}, {p.matrix}, {p.bias or 0}, "
                f"{_bool(p.bias is None)}, {p.result}, {_bool(p.transpose)}"
                for p in needs.vector_muls
            ]
            yield table("vector_mul_needs", "struct vector_mul_need", rows)
        if needs.conversions:
            yield words("converted", "uint32_t", np.array(needs.conversions, np.uint32))

    def _buffers(self) -> Iterator[str]:
        """The case's own buffers, then that of run-time values; what each holds before and after."""
        rows = []
        for i, (name, memory) in enumerate(self.job.buffers.items()):
            prefix = f"b{i}_{identifier(name)}"
            buffer = self.exported.buffers.get(name)
            if buffer is not None:
                declarations, row = _buffer(prefix, name, buffer)
            else:
                contents = memory.data[GUARD_BYTES : len(memory.data) - GUARD_BYTES].view(np.uint32)
                declarations, row = _parameters(prefix, name, contents)
            yield from declarations
            rows.append(f"{row}, {buffer.begins_at if buffer else 0}" if self._late else row)
        yield table("buffers", "struct buffer", rows)
        memories = len(self.job.buffers) + len(self.job.opaque)
        yield f"enum {{ CASE_BUFFERS = {len(self.exported.buffers)}, MEMORY_COUNT = {memories} }};"

    def _delivery(self) -> Iterator[str]:
        """Bindings, push constants, specialization constants."""
        job, numbers = self.job, self._numbers()
        if self.needs.descriptors:
            rows = [
                f"{d.binding}, {6 if d.uniform else 7}, {numbers[job.bindings[d.set, d.binding]]}"
                for d in self.needs.descriptors
            ]
            yield table("bindings", "struct binding", rows)
        if job.push_constants:
            yield words("push_constants", "unsigned char", np.frombuffer(job.push_constants, np.uint8))
        if job.push_addresses:
            rows = [f"{a.at}, {numbers[a.of]}, {a.offset}" for a in job.push_addresses]
            yield table("push_addresses", "struct push_address", rows)
        if job.spec_constants:
            joined = b"".join(job.spec_constants.values())
            yield words("constant_data", "unsigned char", np.frombuffer(joined, np.uint8))
            rows, start = [], 0
            for spec_id, value in job.spec_constants.items():
                rows.append(f"{spec_id}, {start}, {len(value)}")
                start += len(value)
            yield table("constants", "struct constant", rows)

    def _conversions(self) -> Iterator[str]:
        if self.job.opaque:
            # Memory ends where the last of the matrices in it does.
            last = [(o, *o.beside)[-1] for o in self.job.opaque.values()]
            rows = [f"{{{o.component}, {o.layout}, {o.rows}, {o.cols}, 0}}, {o.offset}, {_bool(o.zero)}" for o in last]
            yield table("opaque", "struct opaque", rows)
        if self.job.conversions:
            rows = [f"{self._place(k.source, k)}, {self._place(k.destination, k)}" for k in self.job.conversions]
            yield table("conversions", "struct conversion", rows)

    def _place(self, place: MatrixRegion, k: LayoutConversion) -> str:
        matrix = f"{{{place.component}, {place.layout}, {k.rows}, {k.cols}, {place.stride}}}"
        return f"{{{self._numbers()[place.of]}, {place.offset}, {matrix}}}"

    def _numbers(self) -> dict[str, int]:
        return {name: i for i, name in enumerate([*self.job.buffers, *self.job.opaque])}

    def _steps(self) -> Iterator[str]:
        """What is done in order: conversions on the host part submissions."""
        conversions = list(enumerate(self.job.conversions))
        sequence: list[tuple[bool, str]] = []
        for after in (False, True):
            if after:
                dispatch = (False, f"dispatch({'set' if self.needs.descriptors else ''})")
                sequence += [dispatch] * self.job.times
            for i, k in conversions:
                if k.after == after:
                    how = "convert_on_host" if k.host else "record_conversion"
                    sequence.append((k.host, f"{how}(&conversions[{i}])"))
        recording = False
        for host, call in sequence:
            if host == recording:
                yield "submit()" if recording else "begin()"
                recording = not recording
            yield call
        if recording:
            yield "submit()"


def _type(t: ComponentType) -> str:
    exponent, mantissa, infinities = (
        (t.format.exponent_bits, t.format.fraction_bits, t.format.infinities) if t.is_float else (0, 0, False)
    )
    return f"{string(t.value)}, {t.size}, {_bool(t.is_signed)}, {exponent}, {mantissa}, {_bool(infinities)}"


def _feature(f: Feature) -> str:
    return f"{string(f.name)}, {f.structure}, {f.member}"


def _bool(value: bool) -> str:
    return "true" if value else "false"


def _reference(t: ComponentType) -> str:
    return f"&types[{t.name.upper()}]"


def _buffer(prefix: str, name: str, buffer: ExportedBuffer) -> tuple[list[str], str]:
    """The declarations behind a judged buffer, and its row."""
    allowed = buffer.allowed
    initial, expected = buffer.initial, allowed.exact.view(buffer.type.bits_dtype)
    row_length = buffer.shape[-1] * buffer.components
    declaration, reference = data(f"{prefix}_initial", initial, row_length)
    declarations, after = [declaration], "{0, NULL, NULL}"
    if not np.array_equal(initial, expected):
        declaration, after = data(f"{prefix}_expected", expected, row_length)
        declarations.append(declaration)
    intervals = identical = "NULL"
    if allowed.intervals:
        rows = []
        for k, group in enumerate(allowed.intervals):
            declarations.append(table(f"{prefix}_interval_{k}", "struct interval", _interval_rows(group)))
            rows.append(f"{_reference(group.component)}, {len(group.offsets)}, {prefix}_interval_{k}")
        intervals = f"{prefix}_intervals"
        declarations.append(table(intervals, "struct intervals", rows))
    if allowed.identical:
        rows = []
        for k, same in enumerate(allowed.identical):
            declarations.append(table(f"{prefix}_member_{k}", "struct member", _member_rows(same)))
            rows.append(f"{_reference(same.component)}, {len(same.offsets)}, {prefix}_member_{k}")
        identical = f"{prefix}_identical"
        declarations.append(table(identical, "struct identical", rows))
    extents = ", ".join(map(str, buffer.shape))
    declarations.append(f"static const size_t {prefix}_shape[] = {{{extents}}};")
    row = (
        f"{string(name)}, {_reference(buffer.type)}, {buffer.size}, {len(buffer.shape)}, {buffer.components}, "
        f"{prefix}_shape, {reference}, {after}, {len(allowed.intervals)}, {intervals}, {len(allowed.identical)}, "
        f"{identical}"
    )
    return declarations, row


def _parameters(prefix: str, name: str, contents: npt.NDArray[np.uint32]) -> tuple[list[str], str]:
    """The buffer of run-time values, which must stay unchanged."""
    declaration, reference = data(f"{prefix}_initial", contents)
    shape = f"static const size_t {prefix}_shape[] = {{{len(contents)}}};"
    row = f"{string(name)}, {_reference(ComponentType.uint32)}, {contents.nbytes}, 1, 1, {prefix}_shape, {reference}"
    return [declaration, shape], f"{row}, {{0, NULL, NULL}}, 0, NULL, 0, NULL"


def _interval_rows(group: Intervals) -> Iterator[str]:
    step = np.zeros(len(group.offsets)) if group.step is None else group.step
    for i in np.argsort(group.offsets, kind="stable"):
        what = f"0x{int(group.lo[i]):x}, 0x{int(group.hi[i]):x}, {int(group.flags[i])}"
        yield f"{int(group.offsets[i])}, {what}, {float(step[i]).hex() if step[i] else 0}"


def _member_rows(same: Identical) -> Iterator[str]:
    _, first, group = np.unique(same.group, return_index=True, return_inverse=True)
    wanted = same.offsets[first][group.reshape(-1)]
    for i in np.argsort(same.offsets, kind="stable"):
        yield f"{int(same.offsets[i])}, {int(wanted[i])}"
