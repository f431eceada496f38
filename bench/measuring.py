"""How benches say what they measured: one line of JSON, the last that they print, which bench/promises.py reads.

Each figure has its limit, if the project promises one. A bench ends with `return concluded(...)`, whose value is its
exit status: 1 if a promise is not kept.
"""

from __future__ import annotations

import math

import msgspec


class Figure(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One number of a bench, and the least or most that the project promises, if any."""

    name: str
    value: float
    unit: str = ""
    at_least: float | None = None
    at_most: float | None = None

    @property
    def kept(self) -> bool:
        """Whether the promise is kept; nothing is promised of a figure without limits."""
        return (self.at_least is None or self.value >= self.at_least) and (
            self.at_most is None or self.value <= self.at_most
        )

    @property
    def measured(self) -> str:
        return _with_unit(self.value, self.unit)

    @property
    def promised(self) -> str:
        limits = (("at least", self.at_least), ("at most", self.at_most))
        return " and ".join(f"{words} {_with_unit(limit, self.unit)}" for words, limit in limits if limit is not None)


class _Conclusion(msgspec.Struct, frozen=True):
    figures: tuple[Figure, ...]


def concluded(*figures: Figure) -> int:
    """Print the figures as JSON; the exit status is 1 if a promise is not kept."""
    print(msgspec.json.encode(_Conclusion(figures)).decode())
    return int(not all(figure.kept for figure in figures))


def conclusion(output: str) -> tuple[Figure, ...]:
    """The figures in what a bench printed. Raises ValueError if its last line has none."""
    last = output.rstrip().rpartition("\n")[2]
    try:
        return msgspec.json.decode(last, type=_Conclusion).figures
    except msgspec.MsgspecError as e:
        raise ValueError(f"the last line has no figures: {last[:200]}") from e


def _with_unit(value: float, unit: str) -> str:
    """A number with about three digits, and its unit.

    >>> [_with_unit(x, "s") for x in (0.02613, 2.4961, 61372.9, 20, 0)]
    ['0.0261 s', '2.5 s', '61,400 s', '20 s', '0 s']
    """
    digits = 0 if value == 0 else 2 - math.floor(math.log10(abs(value)))
    rounded = value if value == int(value) else round(value, digits)
    text = f"{rounded:,.{max(0, digits)}f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} {unit}".rstrip()
