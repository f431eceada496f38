"""Pages in a headless Chromium: their document after scripts have run, and whether everything fits and can be read."""

from __future__ import annotations

import html
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

#: Names a Chromium; without it, the usual ones are looked for.
BROWSER = "CTS_TEST_BROWSER"


def chromium() -> str:
    named = os.environ.get(BROWSER)
    found = named or next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        pytest.skip(f"no Chromium: install one, or set {BROWSER} to its command")
    return found


Browse = Callable[..., str]

#: What the page that frames the page notes of it, when it has been laid out: what is too wide, what is written smaller
#: than 12 pixels, and what has less contrast than WCAG 2 asks of text at level AA.
PROBE = """<!doctype html><title>probe</title><body>
<iframe id="page" style="width:{width}px;height:900px;border:0" srcdoc="{page}"></iframe>
<script>
addEventListener("load", () => {{
  const inner = document.getElementById("page").contentDocument;
  const style = (e) => inner.defaultView.getComputedStyle(e);
  for (const details of inner.querySelectorAll("details")) details.open = true;
  const root = inner.documentElement;
  const scrolls = (e) => /auto|scroll/.test(style(e).overflowX);
  const scrolled = (e) => {{
    for (let at = e.parentElement; at; at = at.parentElement) if (scrolls(at)) return true;
    return Boolean(e.closest("svg *"));
  }};
  const wide = [...inner.querySelectorAll("body *")].filter((e) =>
    e.getBoundingClientRect().right > root.clientWidth + 1 && !scrolled(e)).map((e) => e.tagName + "." + e.className);
  const canvas = Object.assign(document.createElement("canvas"), {{width: 1, height: 1}})
    .getContext("2d", {{willReadFrequently: true}});
  const seen = {{}};
  const rgba = (colour) => {{
    if (!seen[colour]) {{
      canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
      seen[colour] = [...canvas.getImageData(0, 0, 1, 1).data];
    }}
    return seen[colour];
  }};
  const luminance = (colour) => rgba(colour).slice(0, 3).map((c) => c / 255)
    .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, n) => sum + c * [0.2126, 0.7152, 0.0722][n], 0);
  const ground = (e) => {{
    const box = e.previousElementSibling;
    if (e.tagName === "text") {{
      if (box && box.tagName === "rect") return style(box).fill;
      const cells = e.parentElement.querySelector(".g");
      return cells && e.matches(".v") ? style(cells).fill : ground(e.closest("svg"));
    }}
    for (let at = e; at; at = at.parentElement) {{
      const colour = style(at).backgroundColor;
      if (rgba(colour)[3] === 255) return colour;
    }}
    return "{ground}";
  }};
  const small = new Set(), faint = new Set();
  for (const e of inner.querySelectorAll("body *")) {{
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
    if (e.closest("script, title, [hidden]")) continue;
    const css = style(e), scale = e.ownerSVGElement ? e.getScreenCTM().a : 1;
    if (parseFloat(css.fontSize) * scale < 12) small.add(e.tagName + "." + (e.className.baseVal ?? e.className));
    const ink = e.ownerSVGElement ? css.fill : css.color;
    const [low, high] = [luminance(ink), luminance(ground(e))].sort((a, b) => a - b);
    if ((high + 0.05) / (low + 0.05) < 4.5) faint.add(`${{e.tagName}} ${{ink}} on ${{ground(e)}}`);
  }}
  document.body.textContent = JSON.stringify({{scroll: root.scrollWidth, client: root.clientWidth, wide,
    small: [...small], faint: [...faint], dark: inner.defaultView.matchMedia("(prefers-color-scheme: dark)").matches}});
}});
</script>"""

#: Chromium's setting of the colour scheme that a page is asked to prefer.
DARK = "--blink-settings=preferredColorScheme=0"


def browser_of(folder: Path) -> Browse:
    """What opens a page in a headless browser and gives its document then; whatever the console says fails the test.

    The page's file lies in `folder`.
    """
    browser = chromium()

    def open_(text: str, fragment: str = "", *options: str) -> str:
        file = folder / "page.html"
        file.write_text(text, encoding="utf-8")
        profile = folder / "profile"
        shutil.rmtree(profile, ignore_errors=True)
        ran = subprocess.run(
            [
                browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                "--disable-background-networking", "--disable-component-update", "--disable-sync",
                f"--user-data-dir={profile}", "--enable-logging=stderr", "--window-size=1400,1000",
                "--virtual-time-budget=5000", *options, "--dump-dom", f"{file.as_uri()}{fragment}",
            ],
            capture_output=True, text=True, timeout=120, check=True,
        )  # fmt: skip
        said = [line for line in ran.stderr.splitlines() if "CONSOLE" in line]
        assert said == [], said
        return ran.stdout

    return open_


def measured(browse: Browse, text: str, width: int, *options: str) -> dict[str, Any]:
    ground = "#000" if options else "#fff"
    document = browse(PROBE.format(width=width, page=html.escape(text), ground=ground), "", *options)
    body = re.search(r"<body>(\{.*\})", document, re.S)
    assert body is not None, document[:500]
    found: dict[str, Any] = msgspec.json.decode(html.unescape(body[1]))
    return found
