"""Plants changes in the product, and says which tier of tests finds each (tests/tiers.py).

    python bench/planted.py [--count N] [--seed N] [-j N] [--for SECONDS] [--out FILE] [--covering FILE] [--list]

A change is one operator, constant, condition or statement of a product file; a seed chooses them, in proportion to the
files' lines. Each is planted in a copy of the tree, and then tests run there, stage by stage, until one fails:

1. near: the fast tests of the changed folder;
2. fast: the fast tier;
3. 1 to 8: the eighths of the rotating tests.

With a file that bench/covering.py wrote, `near` are the quickest tests that execute the changed line, and `fast` all
of the fast tier that do; a line that no test executes by itself has the stages above.

The fast tier finds what `near` or `fast` finds. Every change goes through a stage before any goes through the next one:
a call that ends early has tried all survivors with some of the eighths, and what the others would have found is
estimated from these. Before the first change, the fast tier runs without one: tests that fail then are left out of
every run, and printed. `--out` has a line of JSON for each finished stage, so that the same command goes on where it
was stopped. `--for` ends a call after so many seconds; the next call begins unfinished stages anew. A stage that takes
more than `--limit` seconds is a `timeout`, which counts apart.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import queue
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from covering import Covering

ROOT = Path(__file__).resolve().parents[1]
PRODUCT = ("cts", "drivers", "generators", "reference")
#: Folders of the tree that no test needs, and that may be large: at the top, and anywhere.
TOP = ("build", "dist", "cts-run", "node_modules")
ANYWHERE = shutil.ignore_patterns(".git", ".tox", ".venv", "__pycache__", ".*_cache", "*.egg-info")
#: Tests of folders that are not named after the product's: the longest beginning of a file's path counts.
NEAR = {
    "drivers/vulkan": "tests/vulkan_driver",
    "cts/": "tests/core",
    "cts/case/model": "tests/model",
    "cts/faces": "tests/cli",
    "cts/faces/pytest": "tests/plugin",
    "cts/findings": "tests/explain",
    "cts/findings/export": "tests/export",
    "cts/findings/learning": "tests/learning",
    "cts/findings/reduction": "tests/minimize",
    "cts/judging/coverage": "tests/core/test_coverage.py",
    "cts/modules": "tests/dispatch",
    "cts/running": "tests/campaign",
    "cts/showing": "tests/report",
}
#: The stages by their names; the rotating tests are an eighth each.
STAGES = ("near", "fast", *(str(eighth) for eighth in range(1, 9)))
#: Seconds of a stage: the fast tier takes 600 seconds of a processor, and as much again is left for a slower one.
LIMIT = 1200

_SWAPPED: dict[type[ast.AST], str] = {
    ast.Eq: "!=", ast.NotEq: "==", ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.In: "not in",
    ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is", ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.FloorDiv: "*",
    ast.Mod: "//", ast.LShift: ">>", ast.RShift: "<<", ast.BitAnd: "|", ast.BitOr: "&", ast.And: "or", ast.Or: "and",
}  # fmt: skip


#: An author for machines that know none.
_AUTHOR = ("-c", "user.name=planted", "-c", "user.email=planted@localhost")

#: The lines of `--out`, by the keys of changes and the names of stages.
Answers = dict[str, dict[str, dict[str, Any]]]


@dataclass(frozen=True)
class Change:
    """One change: the bytes from `start` to `end` of a file become `text`."""

    path: str
    line: int
    kind: str
    start: int
    end: int
    before: str
    text: str


def changes_of(path: str, source: bytes) -> list[Change]:
    """Everything that can be changed in a file."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found: list[Change] = []

    def at(line: int, column: int) -> int:
        return starts[line - 1] + column

    def add(kind: str, line: int, start: int, end: int, text: str) -> None:
        found.append(Change(path, line, kind, start, end, source[start:end].decode(), text))

    def between(left: ast.expr, right: ast.expr, kind: str, operator: ast.AST) -> None:
        """Change the operator between two operands, if nothing else stands there."""
        if type(operator) not in _SWAPPED:
            return
        start, end = at(left.end_lineno or 0, left.end_col_offset or 0), at(right.lineno, right.col_offset)
        gap = source[start:end].decode()
        if gap.strip() and not set(gap) & set("()#\n\\"):
            add(kind, left.end_lineno or 0, start, end, f" {_SWAPPED[type(operator)]} ")

    for node in _walked(ast.parse(source)):
        match node:
            case ast.Compare(left=left, ops=ops, comparators=others):
                for a, operator, b in zip([left, *others], ops, others, strict=False):
                    between(a, b, "comparison", operator)
            case ast.BinOp(left=left, op=operator, right=right):
                between(left, right, "operator", operator)
            case ast.BoolOp(op=operator, values=[left, right, *_]):
                between(left, right, "operator", operator)
            case ast.Constant(value=bool() as value):
                start, end = at(node.lineno, node.col_offset), at(node.end_lineno or 0, node.end_col_offset or 0)
                add("constant", node.lineno, start, end, str(not value))
            case ast.Constant(value=int() as value):
                start, end = at(node.lineno, node.col_offset), at(node.end_lineno or 0, node.end_col_offset or 0)
                add("constant", node.lineno, start, end, str(value + 1))
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
                start, end = at(test.lineno, test.col_offset), at(test.end_lineno or 0, test.end_col_offset or 0)
                add("condition", test.lineno, start, end, f"(not ({source[start:end].decode()}))")
            case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Raise():
                start, end = at(node.lineno, node.col_offset), at(node.end_lineno or 0, node.end_col_offset or 0)
                add("statement", node.lineno, start, end, "pass")
    return [change for change in found if _parses(source, change)]


def _walked(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes of what runs: no annotations, and nothing for type checkers alone."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.arguments):
            yield from (n for default in (*node.defaults, *node.kw_defaults) if default for n in ast.walk(default))
            continue
        if isinstance(node, ast.AnnAssign):
            yield from ast.walk(node.value) if node.value else ()
            continue
        yield node
        yield from _walked(node)


def _parses(source: bytes, change: Change) -> bool:
    try:
        ast.parse(changed(source, change))
    except (SyntaxError, ValueError):
        return False
    return True


def changed(source: bytes, change: Change) -> bytes:
    """A file with its change."""
    return source[: change.start] + change.text.encode() + source[change.end :]


def chosen(root: Path, count: int, seed: int) -> list[Change]:
    """So many changes, in proportion to the lines of files; the first ones of a seed are the same for every count."""
    files = sorted(p for folder in PRODUCT for p in (root / folder).rglob("*.py") if "__pycache__" not in p.parts)
    lines = [p.read_bytes().count(b"\n") + 1 for p in files]
    source, found, known = random.Random(seed), list[Change](), dict[Path, list[Change]]()
    while len(found) < count:
        (path,) = source.choices(files, lines)
        if path not in known:
            known[path] = changes_of(path.relative_to(root).as_posix(), path.read_bytes())
        left = [change for change in known[path] if change not in found]
        if left:
            found.append(source.choice(left))
    return found


def near(path: str) -> str:
    """The tests of the folder of a file."""
    begins = [start for start in NEAR if path.startswith(start)]
    parts = path.split("/")
    exact = f"tests/{parts[1] if parts[0] in ('cts', 'drivers') else parts[0]}"
    tests = exact if (ROOT / exact).exists() else NEAR[max(begins, key=len)] if begins else "tests/core"
    return tests if (ROOT / tests).exists() else "tests/core"


def _left_out(folder: str, names: list[str]) -> set[str]:
    return ANYWHERE(folder, names) | (set(TOP) & set(names) if Path(folder) == ROOT else set())


class Copy:
    """A copy of the tree in which changes are planted, one after the other."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "tree"
        shutil.copytree(ROOT, self.root, ignore=_left_out, symlinks=True)
        # Some tests ask for the commit of what they run.
        for arguments in (["init"], ["add", "-A"], [*_AUTHOR, "commit", "-m", "copy"]):
            subprocess.run(["git", *arguments], cwd=self.root, check=True, capture_output=True)
        self._stamp = int(time.time())  # noqa: TID251 - a file has a time on the wall

    def write(self, path: str, text: bytes) -> None:
        """Write a file with a time of its own: compiled files are told apart by seconds."""
        self._stamp += 10
        (self.root / path).write_bytes(text)
        os.utime(self.root / path, (self._stamp, self._stamp))

    def run(self, arguments: Sequence[str], limit: float) -> tuple[int | None, float, str]:
        """The exit status of pytest, None at the limit; its seconds, and the end of its output."""
        home = self.root.parent
        environment = os.environ | {"NUMBA_CACHE_DIR": str(home / "numba"), "TMPDIR": str(home)}
        without = ("-p", "no:cacheprovider", "-p", "no:benchmark")
        command = [sys.executable, "-m", "pytest", "-q", "--no-header", *without, *arguments]
        began = time.monotonic()
        child = subprocess.Popen(
            command, cwd=self.root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            start_new_session=True,
        )  # fmt: skip
        try:
            output, _ = child.communicate(timeout=limit)
            status: int | None = child.returncode
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            output, status = child.communicate()[0], None
        return status, time.monotonic() - began, output


def judge(
    copy: Copy, change: Change, stage: str, without: Sequence[str], limit: float, covering: Covering
) -> dict[str, Any]:
    """What the tests of a stage say of a change: `found`, `passed` or `timeout`, with the test and the seconds."""
    tests = [*_tests(change, stage), *(f"--deselect={test}" for test in without)]
    if covering.knows(key(change)) and stage in ("near", "fast"):
        tests = [test for test in covering.tests(key(change), first=stage == "near") if test not in without]
        if not tests:
            return {"ends": "passed", "test": "", "seconds": 0.0}
    original = (copy.root / change.path).read_bytes()
    copy.write(change.path, changed(original, change))
    try:
        status, seconds, output = copy.run(["-x", *tests], limit)
    finally:
        copy.write(change.path, original)
    if status is None:
        return {"ends": "timeout", "test": "", "seconds": seconds}
    if status in (0, 5):  # 5: no test is there
        return {"ends": "passed", "test": "", "seconds": seconds}
    return {"ends": "found", "test": _failed(output), "seconds": seconds}


def _tests(change: Change, stage: str) -> list[str]:
    """The arguments of pytest that name the tests of a stage."""
    from tests.tiers import listed

    if stage == "near":
        return [near(change.path), "--fast"]
    return [] if stage == "fast" else [*sorted(listed()), "--fast", f"--eighth={stage}"]


def _failed(output: str) -> str:
    """The first failure that pytest names, or the end of its output: a change may keep it from beginning."""
    lines = [line for line in output.splitlines() if line.strip()]
    return next(iter(_failing(output)), (lines or ["no output"])[-1][:200])


def _failing(output: str) -> list[str]:
    """The tests that pytest's summary names."""
    lines = (line for line in output.splitlines() if line.startswith(("FAILED ", "ERROR ")))
    return [line.partition(" ")[2].partition(" - ")[0] for line in lines]


def unchanged(copy: Copy, processes: int, limit: float) -> list[str]:
    """The fast tests that fail without a change. Raises SystemExit if there is no answer."""
    status, seconds, output = copy.run(["-n", str(processes), "--dist", "worksteal"] if processes > 1 else [], limit)
    if status not in (0, 1):
        raise SystemExit(f"the fast tier does not run without a change (status {status}): {output[-2000:]}")
    failing = _failing(output)
    print(f"without a change: {seconds:.0f} s, {len(failing)} fail", *failing, sep="\n  ", flush=True)
    return failing


def main() -> None:
    """Plant, run, and print what finds what."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-j", type=int, default=1, help="changes at a time, each in a copy of the tree")
    parser.add_argument("--for", dest="duration", type=float, default=float("inf"), help="seconds of this call")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds of a stage")
    parser.add_argument("--out", type=Path, default=Path("planted.jsonl"))
    parser.add_argument("--covering", type=Path, help="what bench/covering.py wrote, of the same count and seed")
    parser.add_argument("--list", action="store_true", help="print the changes, and run nothing")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    changes = chosen(ROOT, options.count, options.seed)
    if options.list:
        print(*(f"{c.path}:{c.line} {c.kind}: {c.before!r} -> {c.text!r}" for c in changes), sep="\n")
        return
    run(changes, options)
    report(changes, done(options.out))


def run(changes: Sequence[Change], options: argparse.Namespace) -> None:
    """Run the stages that have no line yet: all changes through one stage, then the survivors through the next."""
    end = time.monotonic() + options.duration
    covering = Covering(options.covering)
    with tempfile.TemporaryDirectory(prefix="planted-", ignore_cleanup_errors=True) as folder:
        copies: queue.SimpleQueue[Copy] = queue.SimpleQueue()
        for number in range(options.j):
            copies.put(Copy(Path(folder) / str(number)))
        known = done(options.out)
        if "unchanged" in known:
            without = known["unchanged"][""]["failing"]
        else:
            copy = copies.get()
            without = unchanged(copy, options.j, min(options.limit, end - time.monotonic()))
            copies.put(copy)
            _write(options.out, {"key": "unchanged", "stage": "", "failing": without})

        def work(change: Change, stage: str) -> None:
            if time.monotonic() >= end:
                return
            copy = copies.get()
            limit = min(options.limit, end - time.monotonic())
            answer = judge(copy, change, stage, without, limit, covering)
            copies.put(copy)
            if answer["ends"] == "timeout" and time.monotonic() >= end:
                return  # the call has ended, not the stage
            _write(options.out, {"key": key(change), "stage": stage, **asdict(change), **answer})
            print(f"{change.path}:{change.line} {change.kind}: {stage} {answer['ends']} {answer['test']}", flush=True)

        for stage in STAGES:
            known = done(options.out)
            left = [c for c in changes if fate(known, c)[0] == "passed" and stage not in known.get(key(c), {})]
            with ThreadPoolExecutor(options.j) as pool:
                list(pool.map(work, left, [stage] * len(left)))


def fate(known: Answers, change: Change) -> tuple[str, int]:
    """How a change ends, with the number of stages it went through: `passed` where none has found it yet."""
    stages = known.get(key(change), {})
    for number, stage in enumerate(STAGES):
        if stage not in stages:
            return "passed", number
        if stages[stage]["ends"] != "passed":
            return ("timeout" if stages[stage]["ends"] == "timeout" else stage), number + 1
    return "passed", len(STAGES)


def key(change: Change) -> str:
    """The name of a change in files."""
    return hashlib.sha256(repr(change).encode()).hexdigest()[:16]


def _write(path: Path, line: dict[str, Any]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def done(path: Path) -> Answers:
    """The lines so far, by their keys and stages."""
    answers: Answers = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        answer = json.loads(line)
        answers.setdefault(answer["key"], {})[answer["stage"]] = answer
    return answers


def report(changes: Sequence[Change], known: Answers) -> None:
    """Print which tier finds how many changes, and those that the fast tier does not find."""
    fates = {change: fate(known, change) for change in changes}
    begun = {change: ends for change, ends in fates.items() if ends[1] >= 2 or ends[0] != "passed"}
    counts = Counter(ends for ends, _ in begun.values())
    fast = counts["near"] + counts["fast"]
    rotating = sum(counts[stage] for stage in STAGES[2:])
    # A survivor has gone through some of the eighths: what they find is found by so many of the eight.
    eighths = [stages - 2 for ends, stages in begun.values() if ends == "passed"]
    tried = sum(eighths) / (8 * len(eighths)) if eighths else 1.0
    whole = fast + (rotating / tried if tried else 0.0)
    print(f"{len(begun)} of {len(changes)} changes: {fast} found by the fast tier ({counts['near']} by near tests), "
          f"{rotating} by rotating tests alone, of which {tried:.0%} were tried, {counts['timeout']} timeouts, "
          f"{counts['passed']} by nothing; the fast tier finds {fast / whole if whole else 1:.1%} of what the whole "
          "finds")  # fmt: skip
    for change, (ends, stages) in begun.items():
        if ends not in ("near", "fast"):
            before, after = change.before.split("\n")[0], change.text.split("\n")[0]
            end = f"passed {stages} of {len(STAGES)} stages" if ends == "passed" else f"found at {ends}"
            print(f"  {end}: {change.path}:{change.line} {change.kind}: {before!r} -> {after!r}")


if __name__ == "__main__":
    main()
