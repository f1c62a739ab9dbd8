"""HTML page of results as an object that notebooks display."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from fiberscope.results.report.files import write_text

HEIGHT = 700  # pixels in a notebook


@dataclass(frozen=True)
class HtmlPage:
    """A self-contained HTML page; a notebook shows the page in a frame.

    Args:
        title: the title of the page.
        html: the text of the file.
    """

    title: str
    html: str = field(repr=False)

    def write(self, path: str | Path) -> None:
        """Write the page into a file, atomically, or to standard output if the path is ``-``.

        Raises:
            InputError: the file cannot be written.
        """
        write_text(Path(path), self.html)

    def _repr_html_(self) -> str:
        """Return a frame with the page."""
        frame = 'style="width:100%;border:0" sandbox="allow-scripts allow-downloads"'
        return f'<iframe {frame} height="{HEIGHT}" srcdoc="{escape(self.html)}"></iframe>'
