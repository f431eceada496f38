"""The features of real modules that no generated module has: `python bench/census.py DIR [--max-examples N] [--write]`.

DIR has SPIR-V modules as others ship or compile them, a folder for each source. With --write the list goes into
docs/census.md, each line with the reason for which it is there. Most modules come from `bench/families.py`, ggml's
from `bench/real_software.py PATH --modules DIR/ggml --compile-only`.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from cts.faces.cli.coverage import of_folder, sampled
from cts.features.coverage.modules import census, of_cases

PAGE = Path(__file__).parents[1] / "docs" / "census.md"

#: Why generated modules lack a feature, by the first pattern that is found in it.
REASONS = (
    (r"Undef", "Cases have no undefined values."),
    (r"Phi|a phi|variable with several values|member or an element|to Store",
     "Another [form](forms.md) of the same value."),
    (r"in Uniform|in Private|push constant",
     "Run-time operands come from storage buffers."),
    (r"SubgroupLocalInvocationId|NumSubgroups|NumWorkgroups|SubgroupSize|GlobalInvocationId",
     "Operands do not depend on this built-in yet."),
    (r"CompositeExtract", "Arithmetic and comparisons use whole vectors."),
    (r"CompositeConstruct", "Constants are rarely made at their use."),
    (r"F?S?Rem|Mod", "Remainders are rare here."),
    (r"FConvert", "Rare without a change of use."),
    (r"ConstantNull: to Variable", "An initialiser: forms store to variables instead."),
    (r"layout specialized", "The layout is always a literal."),
    (r"in a condition|in a loop", "Not drawn in this kind of block yet."),
    (r".*", "Rare in the sample, or not chained so yet."),
)  # fmt: skip


def reason(feature: str) -> str:
    """Why no generated module has a feature."""
    return next(why for pattern, why in REASONS if re.search(pattern, feature))


def main() -> int:
    """Count, print, and write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--max-examples", type=int, default=2000)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    modules = of_folder(given.folder)
    rows = census(modules, of_cases(sampled(given.max_examples)))
    missing = [row for row in rows if not row.generated]
    often = [row for row in missing if row.modules > 1]
    sources = Counter(path.relative_to(given.folder).parts[0] for path, _ in modules)
    said = ", ".join(f"{name} {count}" for name, count in sorted(sources.items()))
    head = (
        f"{len(modules)} modules ({said}) have {len(rows)} features. In each area, {given.max_examples:,} generated "
        f"modules lack {len(often)} features of two or more modules, and {len(missing) - len(often)} features of one "
        "module."
    )
    print(head)
    lines = [f"| {row.feature} | {row.modules} | {row.times:,} | {reason(row.feature)} |" for row in often]
    if given.write:
        commit = subprocess.run(["git", "rev-parse", "--short=8", "HEAD"], capture_output=True, text=True, check=True)
        when = f"Commit {commit.stdout.strip()}, {datetime.now(UTC):%Y-%m-%d}, by `python bench/census.py`."
        table = "\n".join(["|feature|modules|times|why not|", "|---|---|---|---|", *lines])
        before = PAGE.read_text(encoding="utf-8").partition("## What is not generated")[0]
        PAGE.write_text(f"{before}## What is not generated\n\n{head} {when}\n\n{table}\n", encoding="utf-8")
    else:
        print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
