"""What the site has beside the pages of docs: pages from elsewhere, the command line, lists, and links of facts.

mkdocs calls these functions: see `hooks` in mkdocs.yml.
"""

from __future__ import annotations

import os
import posixpath
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

from cts.base.errors import BadInput
from cts.base.plain_json import pretty
from cts.base.shipped import shipped
from cts.case.model import Case
from cts.faces.cli.app import VERBS
from cts.findings import pictures
from cts.findings.explain import explain
from cts.plugins import registry
from cts.running import corpus
from cts.running.opening import open_driver
from cts.running.store.comparison import compare, document, read
from cts.showing import explorer
from cts.showing.report.html.compared import badge, badge_names, page_of_comparison

ROOT = Path(__file__).resolve().parents[1]

#: Pages that are elsewhere in the repository, and where the site has them.
ELSEWHERE = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "bench/README.md": "bench.md",
}

#: Folders whose pages are listed on a page of their own.
LISTED = ("docs/findings", "docs/decisions")

#: Where the site has the layout explorer, and the results of drivers.
EXPLORER = "layout-explorer.html"
RESULTS = "results.html"

LINK = re.compile(r"(!?\[[^\]\n]*\])\(([^)\s]+)\)")
IMAGE = re.compile(r'<img src="([^"]+)" height="\d+" alt="([^"]+)">')
FACT = re.compile(r"(?<![\w`\[#/-])((?:AM|CM|CV|DQ|DV|KM|MX|NU|TA|VK)-\d+[a-z]?)(?![\w`\]-])")
CASE = re.compile(r"(?<![\[\w])`([a-z_]+\.[a-z_0-9]+\.[a-z_0-9]+)`(?!\])")
MUTANT = re.compile(r"`(emulator:mutant=[a-z-]+)`")
ROW = re.compile(r"^\| ((?:AM|CM|CV|DQ|DV|KM|MX|NU|TA|VK)-\d+[a-z]?) \|", re.MULTILINE)

#: Parts of a page that are left as they are: code in blocks and in lines, links, and headings.
KEPT = re.compile(r"^```.*?^```$|`[^`\n]*`|!?\[[^\]\n]*\]\([^)\s]+\)|^#[^\n]*$", re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Add the pages that docs does not have."""
    pages = {site: (ROOT / page).read_text(encoding="utf-8") for page, site in ELSEWHERE.items()}
    pages["cli.md"] = command_line()
    pages[EXPLORER] = explorer.page(registry.oracle())
    pages |= results()
    pages["decisions/index.md"] = listed(ROOT / "docs" / "decisions", "Decisions")
    pages |= gallery(ROOT / "docs" / "findings")
    pages |= corpus_pages()
    for site, text in pages.items():
        files.append(File.generated(config, site, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links that lead where the site has the page, and facts that lead to their text."""
    site = page.file.src_uri
    of_site = {new: old for old, new in ELSEWHERE.items()}
    here = of_site.get(site, f"docs/{site}")
    if (ROOT / here).is_file():
        markdown = IMAGE.sub(r"![\2](\1)", markdown)
        markdown = LINK.sub(lambda m: linked(m, here, site), markdown)
    if site == "facts.md":
        return ROW.sub(lambda m: f'| <span id="{m[1].lower()}">{m[1]}</span> |', markdown)
    if site in ("cli.md", "changelog.md"):
        return markdown
    explorer_ = posixpath.relpath(EXPLORER, posixpath.dirname(site) or ".")
    markdown = markdown.replace(f"`{EXPLORER}`", f"[{EXPLORER}]({explorer_})")
    markdown = CASE.sub(lambda m: case_link(m[1], site), markdown)
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
    """The pages of a folder, each with its first paragraph."""
    lines = [f"# {heading}", ""]
    for path in sorted(folder.glob("*.md")):
        title, text = titled(path)
        first = re.search(r"\n\n((?![#|`-]).+?)\n\n", text, re.DOTALL)
        lines += [f"## [{title}]({path.name})", "", first[1] if first else "", ""]
    return "\n".join(lines)


def titled(path: Path) -> tuple[str, str]:
    """The heading and the text of a page."""
    text = path.read_text(encoding="utf-8")
    return text.partition("\n")[0].removeprefix("# "), text


@cache
def cases() -> dict[str, Case]:
    """The corpus by name."""
    oracle = registry.oracle()
    return {entry.name: corpus.read(entry, oracle) for entry in corpus.entries()}


def case_link(name: str, site: str) -> str:
    """The name of a case as a link to where the site lists it; the name alone where there is no such case."""
    if name not in cases():
        return f"`{name}`"
    page = posixpath.relpath(f"cases/{name.partition('.')[0]}.md", posixpath.dirname(site) or ".")
    return f"[`{name}`]({page}#{name})"


def results() -> dict[str, str]:
    """The page of all shipped results, their data, and their badges."""
    compared = compare(column for path in shipped("results", ".json").values() for column in read(path))
    badges = zip(badge_names(compared.columns), map(badge, compared.columns), strict=True)
    return {
        RESULTS: page_of_comparison(compared, "Results of drivers"),
        "results.json": pretty(document(compared.columns)).decode(),
        **{f"badges/{name}": text for name, text in badges},
    }


def gallery(folder: Path) -> dict[str, str]:
    """The list of all findings, with pictures of their cases, which are files of their own."""
    told = (
        "What this suite has found in drivers, compilers and tools. Each picture shows what one of its cases asks for; "
        "where a mutant of the emulator has the same mistake, what goes wrong is framed."
    )
    lines, files = ["# Findings", "", told, ""], {}
    for path in sorted(folder.glob("*.md")):
        title, text = titled(path)
        lines += [f"## [{title}]({path.name})", ""]
        sections = re.split(r"^## (?=\d+\. )", text, flags=re.MULTILINE)[1:]
        if not sections:
            first = re.search(r"\n\n((?![#|`-]).+?)\n\n", text, re.DOTALL)
            lines += [first[1] if first else "", ""]
        for number, section in enumerate(sections or [text], 1):
            if sections:
                lines += [f"### {section.partition(chr(10))[0]}", ""]
            found = next(((name, svg) for name in CASE.findall(section) if (svg := picture(name, section))), None)
            if found is not None:
                file = f"pictures/{path.stem}-{number}.svg"
                files[f"findings/{file}"] = found[1]
                lines += [f"![The case {found[0]}]({file})", "", f"`{found[0]}`", ""]
    return {"findings/index.md": "\n".join(lines), **files}


def picture(name: str, section: str) -> str | None:
    """A picture of a case: of what a mutant does that the section names, if it fails there, or of the case alone."""
    limits, oracle = pictures.Limits(rows=16, cols=16, steps=4, all_titles=False), registry.oracle()
    if name not in cases():
        return None
    case = cases()[name]
    for mutant in MUTANT.findall(section):
        explanation = explain(case, open_driver(mutant), oracle)
        if explanation.elements and (drawn := pictures.of_explanation(case, explanation, oracle, limits)):
            return drawn
    try:
        return pictures.of_case(case, oracle, limits=limits)
    except BadInput:
        return None


def corpus_pages() -> dict[str, str]:
    """The corpus, a page for each area: what each case tests, its facts, and the explorer on it."""
    areas: dict[str, list[Case]] = {}
    for name, case in cases().items():
        areas.setdefault(name.partition(".")[0], []).append(case)
    told = f"The {len(cases())} cases of the corpus: `cts list` lists them, `cts show NAME` shows one."
    index = ["# Cases", "", told, ""]
    pages = {}
    for area, of_area in sorted(areas.items()):
        index.append(f"- [{area}]({area}.md): {len(of_area)}")
        lines = [f"# Cases of {area}", "", "| case | what it tests | facts |", "| --- | --- | --- |"]
        pages[f"cases/{area}.md"] = "\n".join([*lines, *map(row_of, of_area)]) + "\n"
    return {"cases/index.md": "\n".join(index) + "\n", **pages}


def row_of(case: Case) -> str:
    """A case in the table of its area."""
    words = f"{case.description} {' '.join(explored(case))}".replace("|", "\\|").replace("\n", " ")
    short = case.name.partition(".")[2]
    return f'| <span id="{case.name}">{short}</span> | {words} | {", ".join(case.covers)} |'


def explored(case: Case) -> Iterator[str]:
    """A link to the explorer on the first tensor load or store of a case, where it has one that can be drawn."""
    try:
        yield f"[Explore](../{EXPLORER}#{explorer.link_of(case, registry.oracle())})"
    except BadInput:
        return


def command_line() -> str:
    """The help of every verb."""
    lines = ["# Command line", "", "What `cts --help` and `cts VERB --help` print.", ""]
    for verb in ("", *VERBS):
        lines += [f"## cts {verb}".rstrip(), "", "```text", helped(*verb.split()).rstrip(), "```", ""]
    return "\n".join(lines)


def helped(*words: str) -> str:
    """What `--help` prints."""
    command = [sys.executable, "-m", "cts", *words, "--help"]
    environment = {**os.environ, "COLUMNS": "96", "TERM": "dumb"}
    return subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True).stdout  # noqa: S603
