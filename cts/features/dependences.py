"""Attributes of instructions that access memory: the accesses whose bytes they read or overwrite, by the oracle."""

from __future__ import annotations

from cts.case.oracle.dependence import Hazard
from cts.features.attributes import several
from cts.features.layouts import WHERE
from cts.features.sites import Site, Values


def _earlier(site: Site, *hazards: Hazard) -> Values:
    view, place = site.view, site.of.place
    found = (d.first.place for d in view.dependences if d.second.place == place and d.hazard in hazards)
    return tuple(view.instructions[n] for n in dict.fromkeys(found))


def _written_by(site: Site) -> Values:
    return _earlier(site, Hazard.READ_AFTER_WRITE, Hazard.WRITE_AFTER_WRITE)


def _read_by(site: Site) -> Values:
    return _earlier(site, Hazard.WRITE_AFTER_READ)


_PLACES = f"offset stride {WHERE}"

DEPENDENCES = {
    "written_by": several(
        "Instruction", "the writes whose bytes it reads, or overwrites unread", _written_by, (), _PLACES
    ),
    "read_by": several("Instruction", "the reads whose bytes it overwrites", _read_by, (), _PLACES),
}
