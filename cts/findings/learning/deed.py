"""One thing that an instruction may do wrong, as an argument of `wrong(...)`."""

from __future__ import annotations

from dataclasses import dataclass

from cts.case.oracle.deviation import Step


@dataclass(frozen=True)
class Deed:
    """How one part of an instruction is wrong: `steps`, or another `word` of a field that is no number."""

    part: str
    steps: tuple[Step, ...] = ()
    word: str = ""

    @property
    def text(self) -> str:
        """The argument of `wrong(...)`."""
        return f"{self.part}={self.how}"

    @property
    def how(self) -> str:
        """What stands behind the part."""
        if self.word:
            word = {"none": "None"}.get(self.word, self.word)
            # What begins small is a transform, unless it is in quotes.
            plain = all(part.isidentifier() and part[0].isupper() for part in word.split("|"))
            return word if plain else repr(word)
        texts = [_text(step) for step in self.steps]
        return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def _text(step: Step) -> str:
    return step.name + (f"({', '.join(map(str, step.arguments))})" if step.arguments else "")
