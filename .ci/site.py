"""What the site has beside the pages of docs: pages from elsewhere, the command line, lists, and links of facts.

mkdocs calls these functions: see `hooks` in mkdocs.yml.
"""

from __future__ import annotations

import os
import posixpath
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]

#: Pages that are elsewhere in the repository, and where the site has them.
ELSEWHERE = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "bench/README.md": "bench.md",
}

#: Folders whose pages are listed on a page of their own, with its heading.
LISTED = {"docs/findings": "Findings", "docs/decisions": "Decisions"}

LINK = re.compile(r"(!?\[[^\]\n]*\])\(([^)\s]+)\)")
FACT = re.compile(r"(?<![\w`\[#/-])((?:AM|CM|CV|DV|KM|NU|TA|VK)-\d+[a-z]?)(?![\w`\]-])")
ROW = re.compile(r"^\| ((?:AM|CM|CV|DV|KM|NU|TA|VK)-\d+[a-z]?) \|", re.MULTILINE)

#: Parts of a page that are left as they are: code in blocks and in lines, links, and headings.
KEPT = re.compile(r"^```.*?^```$|`[^`\n]*`|!?\[[^\]\n]*\]\([^)\s]+\)|^#[^\n]*$", re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Add the pages that docs does not have."""
    pages = {site: (ROOT / page).read_text(encoding="utf-8") for page, site in ELSEWHERE.items()}
    pages["cli.md"] = command_line()
    for folder, heading in LISTED.items():
        pages[f"{folder.removeprefix('docs/')}/index.md"] = listed(ROOT / folder, heading)
    for site, text in pages.items():
        files.append(File.generated(config, site, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links that lead where the site has the page, and facts that lead to their text."""
    site = page.file.src_uri
    of_site = {new: old for old, new in ELSEWHERE.items()}
    here = of_site.get(site, f"docs/{site}")
    markdown = LINK.sub(lambda m: linked(m, here, site), markdown)
    if site == "facts.md":
        return ROW.sub(lambda m: f'| <span id="{m[1].lower()}">{m[1]}</span> |', markdown)
    if site in ("cli.md", "changelog.md"):
        return markdown
    facts = posixpath.relpath("facts.md", posixpath.dirname(site) or ".")
    known = set(ROW.findall((ROOT / "docs" / "facts.md").read_text(encoding="utf-8")))
    return outside(KEPT, markdown, lambda text: FACT.sub(lambda m: cited(m[1], facts, known), text))


def cited(fact: str, facts: str, known: set[str]) -> str:
    """A fact as a link to its row."""
    return f"[{fact}]({facts}#{fact.lower()})" if fact in known else fact


def outside(kept: re.Pattern[str], text: str, change: Callable[[str], str]) -> str:
    """Change what lies outside some parts of a text."""
    parts, at = [], 0
    for match in kept.finditer(text):
        parts += [change(text[at : match.start()]), match[0]]
        at = match.end()
    return "".join([*parts, change(text[at:])])


def linked(match: re.Match[str], here: str, site: str) -> str:
    """A link of the repository as one of the site; its text alone where the site has no such page."""
    words, target = match[1], match[2]
    if re.match(r"[a-z]+:|#", target):
        return match[0]
    path, _, anchor = target.partition("#")
    there = posixpath.normpath(posixpath.join(posixpath.dirname(here), path))
    if there in ELSEWHERE:
        there = ELSEWHERE[there]
    elif there in LISTED:
        there = f"{there.removeprefix('docs/')}/index.md"
    elif there.startswith("docs/") and (ROOT / there).is_file():
        there = there.removeprefix("docs/")
    else:
        return words.removeprefix("!").strip("[]")
    relative = posixpath.relpath(there, posixpath.dirname(site) or ".")
    return f"{words}({relative}{'#' + anchor if anchor else ''})"


def listed(folder: Path, heading: str) -> str:
    """The pages of a folder, with their sections or, without any, their first paragraph."""
    lines = [f"# {heading}", ""]
    for path in sorted(folder.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        title = text.partition("\n")[0].removeprefix("# ")
        sections = re.findall(r"^## (\d+\. .*)$", text, re.MULTILINE)
        lines += [f"## [{title}]({path.name})", ""]
        if sections:
            lines += [*(f"- {section}" for section in sections), ""]
        else:
            first = re.search(r"\n\n((?![#|`-]).+?)\n\n", text, re.DOTALL)
            lines += [first[1] if first else "", ""]
    return "\n".join(lines)


def command_line() -> str:
    """What every verb says of itself."""
    lines = ["# Command line", "", "What `cts --help` and `cts VERB --help` print.", ""]
    verbs = re.findall(r"^  ([a-z]+) {2,}\S", helped().partition("Commands:")[2], re.MULTILINE)
    for verb in ("", *verbs):
        lines += [f"## cts {verb}".rstrip(), "", "```text", helped(*verb.split()).rstrip(), "```", ""]
    return "\n".join(lines)


def helped(*words: str) -> str:
    """What `--help` prints."""
    command = [sys.executable, "-m", "cts", *words, "--help"]
    environment = {**os.environ, "COLUMNS": "96", "TERM": "dumb"}
    return subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True).stdout  # noqa: S603
