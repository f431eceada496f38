"""Certificates of devices for readers: a table, a page, and a C header that an application can ship."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from cts.case.model import ComponentType, Interpretation, Scope
from cts.running.accumulation import Accumulation
from cts.running.certificate import STATES, Certificate, Row
from cts.showing.export.c_tables import comment, string
from cts.showing.report.html import rendered

#: The allowed states of a row in the header.
ALLOWED = ("right", "slow")

_SCOPES = {Scope.Workgroup.value: 2, Scope.Subgroup.value: 3}


def lines(certificate: Certificate) -> Iterator[str]:
    """A line for each row that is not right and that was tried, by kind; then the counts."""
    for row in certificate.rows:
        if row.state in ("wrong", "crashes", "slow"):
            by = f" ({row.shown_by})" if row.shown_by else ""
            compiling = f", {row.compiling:.1f} s of them compiling" if row.compiling else ""
            yield f"{row.state:<9} {row.name}: {row.finding or f'{row.seconds:.1f} s{compiling}'}{by}"
    yield f"{certificate.device}: {counted(certificate)}, in {certificate.seconds:.0f} s"
    if late := [row for row in certificate.rows if row.left]:
        yield f"no time was left for the largest cases of {len(late):,} rows: more have it with --max-time S"


def counted(certificate: Certificate) -> str:
    """How many rows have each state."""
    counts = Counter(row.state for row in certificate.rows)
    return ", ".join(f"{counts[state]:,} {state}" for state in STATES if counts[state]) or "no rows"


def accumulation_text(measured: Accumulation | None) -> str:
    """What was measured of a multiplication, in one line."""
    if measured is None:
        return ""
    parts = []
    if measured.bits is not None:
        parts.append(f"{measured.bits} bits{' or more' if measured.bits_at_least else ''}")
    parts += [measured.order, measured.rounding and f"rounded {measured.rounding}"]
    parts += [measured.subnormal_inputs and f"subnormal factors {measured.subnormal_inputs}"]
    parts += [measured.subnormal_results and f"subnormal results {measured.subnormal_results}"]
    if measured.worst_ulp is not None:
        parts.append(f"worst of {measured.elements} elements {measured.worst_ulp:.3g} ulp")
    return "; ".join(filter(None, parts))


def page(certificate: Certificate) -> str:
    """The page of a certificate."""
    shown = [(row, accumulation_text(row.accumulation)) for row in certificate.rows]
    kinds = dict.fromkeys(row.kind for row in certificate.rows)
    groups = {kind: [pair for pair in shown if pair[0].kind == kind] for kind in kinds}
    return rendered("certificate.html.jinja", {"c": certificate, "groups": groups, "counted": counted(certificate)})


def header(certificates: Sequence[Certificate]) -> str:
    """A C header with the multiplications of each certificate, and a function that says whether one is allowed."""
    rows = []
    for certificate in certificates:
        for row in certificate.rows:
            if row.kind == "multiplication":
                rows.append(f"    {{{string(certificate.device)}, {_matrices(row)}, {int(row.state in ALLOWED)}}},")
            elif row.kind == "vector multiplication":
                rows.append(f"    {{{string(certificate.device)}, {_vectors(row)}, {int(row.state in ALLOWED)}}},")
    about = comment(
        "Which rows of cooperative matrices and vectors were right on which device and driver version.\n"
        + "\n".join(f"{c.device}: {counted(c)}; by cts {c.suite}" for c in certificates)
    )
    return _HEADER.replace("ABOUT", about).replace("ROWS", "\n".join(rows) or "    {0}")


def _matrices(row: Row) -> str:
    types = [ComponentType(row.key[name]).descriptor.number for name in ("a", "b", "c", "result")]
    sizes = ", ".join(row.key["sizes"].split("x"))
    flags = f"{int(row.key['multiples'])}, {_SCOPES[row.key['scope']]}, {int(row.key['saturating'])}"
    return f"0, {{{', '.join(map(str, types))}, 0}}, {{{sizes}}}, {flags}"


def _vectors(row: Row) -> str:
    result = ComponentType(row.key["result"]).descriptor.number
    source = ComponentType(row.key["input"]).descriptor.number
    readings = [Interpretation(row.key[f"{name}_interpretation"]).number for name in ("input", "matrix", "bias")]
    types = ", ".join(map(str, [source, *readings, result]))
    return f"1, {{{types}}}, {{0, 0, 0}}, 0, 0, {int(row.key['transpose'])}"


_HEADER = """\
/*
ABOUT
 *
 * Types are VkComponentTypeKHR, scopes VkScopeKHR. `device` is VkPhysicalDeviceProperties::deviceName, a comma, and of
 * VkPhysicalDeviceDriverProperties driverName and driverInfo, as `cts certify` prints it. Define nothing; include it.
 */
#ifndef CTS_CERTIFICATE_H
#define CTS_CERTIFICATE_H

#include <stdint.h>
#include <string.h>

/* kind 0: A, B, C, result and M, N, K of matrices; if `multiples`, sizes may be multiples of these (flexible
 * dimensions). kind 1: input type, the interpretations of input, matrix and bias, and result of vectors; `flag` is
 * `transpose`. Of matrices `flag` is saturatingAccumulation. */
struct cts_row {
    const char *device;
    int kind;
    uint32_t types[5];
    uint32_t sizes[3];
    int multiples;
    int scope;
    int flag;
    int allowed;
};

static const struct cts_row cts_rows[] = {
ROWS
};

/* 1: the row's cases were right. 0: they were not, or were not tried. -1: nothing is known of it on this device. */
static inline int cts_matrix_allowed(const char *device, const uint32_t types[4], const uint32_t sizes[3], int scope,
                                     int saturating)
{
    for (size_t i = 0; i < sizeof cts_rows / sizeof *cts_rows; i++) {
        const struct cts_row *row = &cts_rows[i];
        int fits = row->device && !row->kind && !strcmp(row->device, device) && row->scope == scope;
        fits = fits && row->flag == saturating && !memcmp(row->types, types, 4 * sizeof *types);
        for (int d = 0; fits && d < 3; d++)
            fits = row->multiples ? sizes[d] % row->sizes[d] == 0 : sizes[d] == row->sizes[d];
        if (fits)
            return row->allowed;
    }
    return -1;
}

static inline int cts_vector_allowed(const char *device, const uint32_t types[5], int transpose)
{
    for (size_t i = 0; i < sizeof cts_rows / sizeof *cts_rows; i++) {
        const struct cts_row *row = &cts_rows[i];
        if (row->device && row->kind == 1 && !strcmp(row->device, device) && row->flag >= transpose &&
            !memcmp(row->types, types, 5 * sizeof *types))
            return row->allowed;
    }
    return -1;
}

#endif
"""
