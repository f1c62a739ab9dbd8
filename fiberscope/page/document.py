"""HTML document of a page: styles, drawing library, scripts and data in one file.

A content security policy forbids all loads, so that the page works offline. Only a served page may connect,
to its own server. Data is JSON without ``<``, so that no value can end its element. The scripts insert data
as text, never as markup.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from html import escape
from importlib.resources import files
from typing import Any, Final

# D3 first, because Plot depends on D3.
LIBRARY: Final = (("d3.min.js", "d3.LICENSE"), ("plot.umd.min.js", "plot.LICENSE"))
STYLES: Final = ("colours.css", "layout.css", "parts.css", "run.css", "live.css")
# In order of dependency.
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
CONNECTS: Final = "; connect-src 'self'"  # a served page may connect to its server


def page(data: Mapping[str, Any], title: str, *, connects: bool = False) -> str:
    """Return the HTML file.

    Args:
        data: plain JSON values for the scripts; ``kind`` selects the view: ``study``, ``run``, ``live``,
            ``debugging`` or ``sweeping``.
        title: the title of the window.
        connects: whether the scripts may connect to the page's server.

    Raises:
        ValueError: a number of the data is not finite.
        TypeError: a value of the data is no JSON value.
    """
    return "\n".join(_iterate_lines(data, title, POLICY + CONNECTS if connects else POLICY)) + "\n"


def _iterate_lines(data: Mapping[str, Any], title: str, policy: str) -> Iterator[str]:
    """Yield the lines of the document: head with styles, data, libraries, and scripts."""
    yield "<!doctype html>"
    yield '<html lang="en">'
    yield f'<head><meta charset="utf-8"><title>{escape(title)}</title>'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="color-scheme" content="light dark">'
    for name in STYLES:
        yield f"<style>\n{_read_text('styles', name)}</style>"
    yield "</head>\n<body>"
    yield "<noscript>This page draws its charts with scripts, which are switched off here.</noscript>"
    yield f'<script type="application/json" id="data">{_encode_json(data)}</script>'
    for library, licence in LIBRARY:
        yield f"<script>\n/*\n{_read_text('vendor', licence)}*/\n{_read_text('vendor', library)}</script>"
    for name in SCRIPTS:
        yield f"<script>\n{_read_text('scripts', name)}</script>"
    yield "</body></html>"


def _read_text(folder: str, name: str) -> str:
    return files("fiberscope.page").joinpath(folder, name).read_text(encoding="utf-8")


def _encode_json(data: Mapping[str, Any]) -> str:
    """Return JSON that cannot end an element or open a comment; ``<`` occurs in its strings only."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
