"""The HTML file: styles, the drawing library, our scripts and the data, one after another in one text.

The browser is told to load nothing (a content security policy), so that what works here works offline. Data
stands in the file as JSON in which no ``<`` is left, so that nothing in it can end its element; the scripts
put it on the page as text and never as markup.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from html import escape
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, Final

__all__ = ["page"]

# D3 first, since Plot draws with it.
LIBRARY: Final = (("d3.min.js", "d3.LICENSE"), ("plot.umd.min.js", "plot.LICENSE"))
STYLES: Final = ("colours.css", "layout.css", "parts.css", "run.css", "live.css")
# In the order in which they use one another.
SCRIPTS: Final = (
    "dom.js",
    "format.js",
    "view.js",
    "data.js",
    "filter.js",
    "scale.js",
    "export.js",
    "chart.js",
    "points.js",
    "bars.js",
    "costs.js",
    "parameter.js",
    "front.js",
    "cycles.js",
    "roof.js",
    "roofline.js",
    "sides.js",
    "detail.js",
    "table.js",
    "tabs.js",
    "study.js",
    "spans.js",
    "waits.js",
    "course.js",
    "reached.js",
    "run.js",
    "states.js",
    "live.js",
    "sweeping.js",
    "main.js",
)
POLICY: Final = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"
CONNECTS: Final = "; connect-src 'self'"  # of a page that is served, to its server


def page(data: Mapping[str, Any], title: str, *, connects: bool = False) -> str:
    """The whole HTML file.

    Args:
        data: what the scripts show; ``kind`` says which of them: ``study``, ``run``, ``live``,
            ``debugging`` or ``sweeping``. Plain JSON values.
        title: of the window.
        connects: whether the scripts may connect to the server that the page comes from.
    """
    return "\n".join(_lines(data, title, POLICY + CONNECTS if connects else POLICY)) + "\n"


def _lines(data: Mapping[str, Any], title: str, policy: str) -> Iterator[str]:
    yield "<!doctype html>"
    yield '<html lang="en">'
    yield f'<head><meta charset="utf-8"><title>{escape(title)}</title>'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="color-scheme" content="light dark">'
    for name in STYLES:
        yield f"<style>\n{_text('styles', name)}</style>"
    yield "</head>\n<body>"
    yield "<noscript>This page draws its charts with scripts, which are switched off here.</noscript>"
    yield f'<script type="application/json" id="data">{_safe_json(data)}</script>'
    for library, licence in LIBRARY:
        yield f"<script>\n/*\n{_text('vendor', licence)}*/\n{_text('vendor', library)}</script>"
    for name in SCRIPTS:
        yield f"<script>\n{_text('scripts', name)}</script>"
    yield "</body></html>"


def _text(folder: str, name: str) -> str:
    return _here().joinpath(folder, name).read_text(encoding="utf-8")


def _here() -> Traversable:
    return files("fiberscope.page")


def _safe_json(data: Mapping[str, Any]) -> str:
    """JSON that can end no element and open no comment: ``<`` only ever stands within its strings."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
