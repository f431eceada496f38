"""Finding cases: in the packaged corpus by dotted name, and in other files by path."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from cts.base.errors import BadInput, did_you_mean
from cts.base.input_files import is_file, is_folder, utf8_text
from cts.base.located import locate
from cts.case.model import Case, loads_case
from cts.case.model.yaml import FILE
from cts.case.oracle.expectation import Oracle, ViolationKind
from cts.running import archive
from cts.running.names import named_files, root
from cts.running.shard import WHOLE, Shard

#: The area of files outside the corpus.
FILES = "files"


@dataclass(frozen=True)
class Entry:
    """A case file that is not read yet. Corpus entries are named after their place.

    `drivers` are the specs of the drivers that it is for; empty means all.
    """

    name: str
    path: Path
    in_corpus: bool
    drivers: tuple[str, ...] = ()

    def is_for(self, spec: str) -> bool:
        """Whether it is to run on a driver."""
        return not self.drivers or spec in self.drivers

    @property
    def area(self) -> str:
        """The first part of a dotted name; FILES for a file outside the corpus."""
        return self.name.partition(".")[0] if self.in_corpus else FILES


def entries() -> list[Entry]:
    """Every case file of the packaged corpus, by name in ascending order."""
    return sorted(
        (Entry(name, path, True) for name, path in named_files(root())), key=lambda e: (e.name, e.path.suffix)
    )


def select(targets: Sequence[str]) -> tuple[list[Entry], list[BadInput]]:
    """The entries of paths, corpus names and dotted prefixes, in the order given, each once; and the unknown targets.

    Without targets, the whole corpus.
    """
    corpus = entries()
    selected: dict[Path, Entry] = {}
    errors: list[BadInput] = []
    for target in targets:
        try:
            matches = _of_target(target, corpus)
        except BadInput as e:
            errors.append(e)
            continue
        for entry in matches:
            selected.setdefault(entry.path.resolve(), entry)
    chosen = list(selected.values()) if targets else corpus
    return chosen, [*errors, *_duplicates(chosen)]


def of_path(path: Path) -> Entry:
    """The entry of a case file. A file of the corpus has its dotted name.

    Raises BadInput for a name that cannot be written down.
    """
    try:
        str(path).encode()
    except UnicodeEncodeError as e:
        raise BadInput("file-name", "the name of the file is not UTF-8", str(path), "another name") from e
    base, full = root().resolve(), path.resolve()
    if full.is_relative_to(base):
        return Entry(".".join(full.relative_to(base).with_suffix("").parts), path, True)
    here = Path.cwd()
    return Entry(str(full.relative_to(here) if full.is_relative_to(here) else path), path, False)


def has_words(text: str, words: Iterable[str]) -> bool:
    """Whether every word is part of the text, in any case.

    >>> has_words("tensor_addressing.clip.inside", ["Clip"])
    True
    """
    return all(word.lower() in text.lower() for word in words)


def read(entry: Entry, oracle: Oracle) -> Case:
    """The case of an entry. Raises BadInput for a file that is no case and for a case that breaks a rule."""
    return defined(load(entry.path), oracle)


def defined(loaded: Loaded, oracle: Oracle) -> Case:
    """A case that breaks no rule. Raises BadInput for another one, with the rule: an undefined one's before others."""
    violations = sorted(oracle.violations(loaded.case), key=lambda v: v.kind is not ViolationKind.UNDEFINED)
    if violations:
        first = violations[0]
        code, says = _REFUSED[first.kind]
        more = f" (and {len(violations) - 1} more)" if len(violations) > 1 else ""
        readings = f"; readings: {' Or: '.join(first.readings)}" if first.readings else ""
        where = locate(loaded.where, loaded.text, first.path)
        raise BadInput(code, f"{says.format(first.rule)}: {first.what}{more}{readings}", where, first.remedy)
    return loaded.case


#: The codes and words for cases that break a rule.
_REFUSED = {
    ViolationKind.UNDEFINED: ("undefined-behaviour", "the case breaks rule {}"),
    ViolationKind.UNCLEAR: ("unclear", "what the case does is unclear by {}, so that it cannot be judged"),
    ViolationKind.LIMIT: ("not-judged", "what the case does is defined, but the oracle cannot judge {}"),
}


class Loaded(NamedTuple):
    """A case as it was read; `where` is the place of its text, for errors."""

    case: Case
    text: str
    where: str


def load(path: Path) -> Loaded:
    """The case of a file, or of a bundle in a zip file. Raises BadInput for anything else."""
    if path.suffix == archive.SUFFIX:
        text, where = archive.case_text(path), f"{path}/{archive.CASE}"
        return Loaded(loads_case(text, where), text, where)
    text = utf8_text(path, FILE)
    return Loaded(loads_case(text, str(path)), text, str(path))


def _of_target(target: str, corpus: list[Entry]) -> list[Entry]:
    path = Path(target)
    named = [e for e in corpus if e.name == target or e.name.startswith(f"{target}.")]
    if named:
        return named  # even if a file or folder has the name: ./NAME means that
    if is_folder(path):
        paths = sorted(p for pattern in ("*.yaml", "*.yml") for p in path.rglob(pattern) if _may_be_case(p))
        if not paths:
            raise BadInput("no-cases", "the folder holds no case files", target, "a folder with .yaml files")
        return [of_path(p) for p in paths]
    if is_file(path):
        return [of_path(path)]
    if "/" in target or path.suffix in (".yaml", ".yml", archive.SUFFIX):
        raise BadInput("case-unreadable", "no such file", target, "the path of a case file")
    if target.startswith("generated."):
        remedy = f"cts run --area {target.split('.')[1]} generates cases; what it finds is a file in the run's folder"
        raise BadInput("unknown-case", "generated cases are not kept by name", target, remedy)
    remedy = did_you_mean(target, _beginnings(corpus, target.count(".")), "a path, or a name that `cts list` prints")
    raise BadInput("unknown-case", "neither a file nor a case of the corpus", target, remedy)


def _beginnings(entries: Iterable[Entry], dots: int) -> list[str]:
    """The first parts of names, up to so many dots; shorter names as they are."""
    return list(dict.fromkeys(".".join(e.name.split(".")[: dots + 1]) for e in entries))


def _may_be_case(path: Path) -> bool:
    """False for a bundle's other YAML files."""
    inside = any(archive.is_bundle(parent) for parent in path.parents[:2])
    return path.name == archive.CASE or not inside


def _duplicates(chosen: list[Entry]) -> list[BadInput]:
    by_name: dict[str, Entry] = {}
    errors: list[BadInput] = []
    for entry in list(chosen):
        first = by_name.setdefault(entry.name, entry)
        if first is not entry:
            chosen.remove(entry)
            errors.append(
                BadInput(
                    "duplicate-case",
                    f"two files define the case {entry.name}",
                    str(entry.path),
                    f"rename it: {first.path} has the name",
                )
            )
    return errors


def find_one(target: str) -> Entry:
    """The single entry of a path or a full name. Raises BadInput for none or several."""
    matches, errors = select([target])
    if errors:
        raise errors[0]
    if len(matches) > 1:
        names = ", ".join(e.name for e in matches[:3])
        raise BadInput("several-cases", f"{len(matches)} cases: {names}, ...", target, "the full name of one case")
    return matches[0]


def of_shard(entries: Sequence[Entry], shard: Shard) -> list[Entry]:
    """The entries whose cases are in a shard; a file that is no case is in each, so that it is rejected."""
    return [e for e in entries if in_shard(e.path, shard)]


def in_shard(path: Path, shard: Shard) -> bool:
    """Whether the case of a file is in a shard, or the file is no case."""
    if shard == WHOLE:
        return True  # and no file need be read
    try:
        return shard.has(load(path).case)
    except BadInput:
        return True
