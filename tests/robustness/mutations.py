"""Damage to good files: of their bytes, of their lines, of the data that they hold, and of what they are."""

from __future__ import annotations

import copy
import io
import json
import os
import random
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml  # noqa: TID251

#: What no file expects: control characters, a command of GitHub's, text that is not UTF-8, halves of characters.
NASTY_BYTES = (
    b"\x1b[31m", b"\x00", b"\n::error::owned\n", b"\xff", b"\xc2\x9b31m", b"\\ud800", b"\\u0000", b"\\u001b[2J",
    b"\xef\xbb\xbf", b"9" * 400, b"9" * 5000, b"1e999", b"-1", b"[" * 2000, b"{" * 500, b"\r", b"\x7f", b"!!x ",
    b"\xed\xa0\x80", b"\xe2\x80\xae", b"'", b'"', b"#", b": ", b"- ", b"\t", b"&a ", b"*a", b"? ", b"null", b"\n",
)  # fmt: skip

NASTY_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2**31, 2**32, 2**63, 2**64, -(2**63), 10**30, 10**400, 0.5, -0.0, 1e300, [], {}, "",
    [[]], [None], {"a": {}}, {"": None}, "x", "\x1b[31m", "\0", "::error::owned", "a\nb", "\u009b31m", "\x7f", "..",
    "../../x", "x" * 300, "\U0001f600", "\u202e", "nan", "inf", "1e999", "%s{}", "[a]", "*", "a.b", "-", "--json", 3, 7,
    16, 255, 4096, 65535, "0", "1", [0], [1, 2, 3], [-1], ["x"], "/",
)  # fmt: skip

_TOKEN = re.compile(rb"-?\d[\w.]*|[A-Za-z_]\w*")

Mutation = Callable[[random.Random, bytes], bytes]


def flipped(draw: random.Random, data: bytes) -> bytes:
    """A few bits are other ones."""
    out = bytearray(data)
    for _ in range(draw.choice((1, 1, 2, 8))):
        if out:
            out[draw.randrange(len(out))] ^= 1 << draw.randrange(8)
    return bytes(out)


def cut(draw: random.Random, data: bytes) -> bytes:
    """The end is missing, or a part in the middle."""
    at = draw.randrange(len(data) + 1)
    return data[:at] + (data[at + draw.randrange(1, 64) :] if draw.random() < 0.5 else b"")


def doubled(draw: random.Random, data: bytes) -> bytes:
    """A line is there twice, missing, or in the place of another."""
    lines = data.splitlines(keepends=True)
    if not lines:
        return data
    at, other = draw.randrange(len(lines)), draw.randrange(len(lines))
    match draw.randrange(3):
        case 0:
            lines.insert(other, lines[at])
        case 1:
            del lines[at]
        case _:
            lines[at], lines[other] = lines[other], lines[at]
    return b"".join(lines)


def nasty(draw: random.Random, data: bytes) -> bytes:
    """Something nasty stands somewhere."""
    at = draw.randrange(len(data) + 1)
    return data[:at] + draw.choice(NASTY_BYTES) + data[at + draw.choice((0, 0, 1, 4)) :]


def swapped(draw: random.Random, data: bytes) -> bytes:
    """A word or number is another one of the file, or a nasty one."""
    tokens = [*_TOKEN.finditer(data)]
    if not tokens:
        return data
    token, other = draw.choice(tokens), draw.choice(tokens)[0]
    value = draw.choice((other, other, draw.choice(NASTY_BYTES), json.dumps(draw.choice(NASTY_VALUES)).encode()))
    return data[: token.start()] + value + data[token.end() :]


def nothing(draw: random.Random, data: bytes) -> bytes:
    """Another file: empty, a page of random bytes, a blank."""
    return draw.choice((b"", b"\n", b" ", b"\0" * 64, draw.randbytes(256), b"{}", b"[]", b"null", b"0", b'""'))


def _replaced(draw: random.Random, document: Any) -> Any:
    """Plain data with one value, key or element that is another one."""
    document = copy.deepcopy(document)
    places: list[tuple[Any, Any]] = []

    def collect(node: Any) -> None:
        for key in node if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ():
            places.append((node, key))
            collect(node[key])

    collect(document)
    if not places:
        return draw.choice(NASTY_VALUES)
    node, key = draw.choice(places)
    other_node, other_key = draw.choice(places)
    other = copy.deepcopy(other_node[other_key])
    match draw.randrange(6):
        case 0:
            del node[key]
        case 1 if isinstance(node, dict):
            node[draw.choice(("x", "\x1b", "", str(other_key)))] = node.pop(key)
        case 2 if isinstance(node, list):
            node.insert(key, other)
        case 3:
            node[key] = other
        case _:
            node[key] = draw.choice(NASTY_VALUES)
    return document


def of_yaml(draw: random.Random, data: bytes) -> bytes:
    """Well-formed YAML, which is JSON, of other values."""
    try:
        document = yaml.load(data, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        return json.dumps(_replaced(draw, document), ensure_ascii=draw.random() < 0.5).encode()
    except (yaml.YAMLError, ValueError, TypeError):  # damaged before
        return nasty(draw, data)


def of_json_lines(draw: random.Random, data: bytes) -> bytes:
    """Well-formed lines of JSON, one with other values; or one document."""
    lines = data.split(b"\n") if data[:2] != b"{\n" else [data]
    at = draw.randrange(len(lines))
    try:
        lines[at] = json.dumps(_replaced(draw, json.loads(lines[at])), ensure_ascii=draw.random() < 0.5).encode()
    except (ValueError, RecursionError):  # the end, or damaged before
        return swapped(draw, data)
    return b"\n".join(lines)


def of_words(draw: random.Random, data: bytes) -> bytes:
    """Words of 32 bits that are others of the file, or large."""
    words = [data[at : at + 4] for at in range(0, len(data), 4)]
    if words:
        large = (2**32 - 1, 2**31, 0, 1, 0x10000)
        for _ in range(draw.choice((1, 1, 2, 4))):
            other = draw.choice((draw.choice(words), draw.choice(large).to_bytes(4, "little")))
            words[draw.randrange(len(words))] = other
    return b"".join(words)


def in_zip(draw: random.Random, data: bytes) -> bytes:
    """A member of the archive is damaged, and the archive whole."""
    out = io.BytesIO()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive, zipfile.ZipFile(out, "w") as written:
            for name in archive.namelist():
                member = archive.read(name)
                undated = zipfile.ZipInfo(name)  # a name alone would be dated now, and no seed gives that again
                written.writestr(undated, of_yaml(draw, member) if name == "case.yaml" else member)
    except Exception:  # noqa: BLE001 - damaged before, in any way
        return flipped(draw, data)
    return out.getvalue()


ANY: tuple[Mutation, ...] = (flipped, cut, doubled, nasty, nasty, swapped, swapped, nothing)

#: By what a file holds, what may be done to it; damage that leaves it well-formed comes furthest.
OF_KIND: dict[str, tuple[Mutation, ...]] = {
    "yaml": (*ANY, *[of_yaml] * 10),
    "json": (*ANY, *[of_json_lines] * 10),
    "zip": (flipped, flipped, cut, nasty, nothing, *[in_zip] * 4),
    "words": (flipped, cut, nasty, nothing, *[of_words] * 6),
    "text": ANY,
    "numpy": (flipped, flipped, cut, nasty, swapped, nothing),
}


def mutated(draw: random.Random, data: bytes, kind: str) -> bytes:
    """Damaged once, seldom more often."""
    for _ in range(draw.choice((1, 1, 1, 1, 2, 3))):
        data = draw.choice(OF_KIND[kind])(draw, data)
    return data


def put(draw: random.Random, path: Path, data: bytes, kind: str) -> bytes | str:
    """Write a hostile file; seldom what is no file at all. Returns what it is."""
    if draw.random() > 0.02:
        hostile = mutated(draw, data, kind)
        path.write_bytes(hostile)
        return hostile
    what = draw.choice(("folder", "pipe", "loop", "device", "nothing", "endless"))
    match what:
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "loop":
            path.symlink_to(path)
        case "device":
            path.symlink_to("/dev/null")
        case "endless":
            path.symlink_to("/dev/zero")
    return f"in its place: {what}"
