"""Edits of a module's lines, as rules have them: replace a part of a line, remove a line, insert lines."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from cts.base.errors import BadInput
from cts.spirv.assembly import tokens_of

_CONSTANT = re.compile(r"%(u?int\d*)_(n?)(\d+)$")


class Edit(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One edit, with the text that finds its line: whole words of it, in this order, that no other line has.

    `replace` by `by`, within the line; `remove` the line; `insert` lines `before` or `after` it.
    """

    replace: str | None = None
    by: str | None = None
    remove: str | None = None
    insert: str | None = None
    before: str | None = None
    after: str | None = None


def edited(lines: Sequence[str], edits: Sequence[Edit], where: str) -> list[str]:
    """The lines after all edits in order. Raises BadInput with `where`, the number of the edit and what is wrong.

    Constants that an edit uses and no line defines, such as %uint_6 and %int_n1, are defined before that.
    """
    done = list(lines)
    for number, edit in enumerate(edits):
        _apply(done, edit, f"{where}[{number}]")
    return _with_constants(done)


def _apply(lines: list[str], edit: Edit, where: str) -> None:
    fields = {field for field in edit.__struct_fields__ if getattr(edit, field) is not None}
    if fields == {"replace", "by"}:
        assert edit.replace is not None and edit.by is not None
        at, start = _find(lines, edit.replace, where)
        tokens = tokens_of(lines[at])
        tokens[start : start + len(tokens_of(edit.replace))] = tokens_of(edit.by)
        lines[at] = " ".join(tokens)
    elif fields == {"remove"}:
        assert edit.remove is not None
        del lines[_find(lines, edit.remove, where)[0]]
    elif fields in ({"insert", "before"}, {"insert", "after"}):
        assert edit.insert is not None
        at = _find(lines, edit.before or edit.after or "", where)[0] + (edit.after is not None)
        lines[at:at] = [line.strip() for line in edit.insert.splitlines() if line.strip()]
    else:
        what = f"{', '.join(sorted(fields)) or 'nothing'}: no edit has just these fields"
        raise BadInput("rule-edit", what, where, "replace with by; remove; insert with before or after")


def _find(lines: Sequence[str], text: str, where: str) -> tuple[int, int]:
    """The line that has these words, and at which of its own they begin."""
    wanted = tokens_of(text)
    places = []
    for at, line in enumerate(lines):
        tokens = tokens_of(line)
        starts = [n for n in range(len(tokens)) if wanted and tokens[n : n + len(wanted)] == wanted]
        places += [(at, start) for start in starts[:1]]
    if len(places) != 1:
        what = f"{len(places)} lines of the module have {text!r}" if places else f"no line of the module has {text!r}"
        raise BadInput(
            "rule-edit", what, where, "words of exactly one line; `cts validation RULE --out DIR` writes all lines"
        )
    return places[0]


def _with_constants(lines: list[str]) -> list[str]:
    """The lines, with integer constants that are used but not defined before their first use, or the first function."""
    defined = {line.split(" = ")[0] for line in lines if " = " in line}
    out: list[str] = []
    #: Types are declared from here on; modes and decorations before may name ids that follow.
    declaring = False
    for line in lines:
        declaring = declaring or (" = " in line and "OpExtInstImport" not in line)
        used = tokens_of(line.partition(" = ")[2] or line) if declaring else []
        for token in used:
            constant = _CONSTANT.match(token)
            if constant and token not in defined and f"%{constant[1]}" in defined:
                defined.add(token)
                value = f"{'-' if constant[2] else ''}{constant[3]}"
                first = next((n for n, text in enumerate(out) if " = OpFunction " in text), len(out))
                out.insert(first, f"{token} = OpConstant %{constant[1]} {value}")
        out.append(line)
    return out
