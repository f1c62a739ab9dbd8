"""``fiberscope help``: pages and sections of the documentation in the terminal."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from fiberscope.base.errors import InputError
from fiberscope.commands.output import print_stacked
from fiberscope.workloads.errors import nearest

CHECKOUT = Path(__file__).parents[2]
INSTALLED = Path(sys.prefix, "share", "doc", "fiberscope")
# A row of the index page
PAGE_ROW = re.compile(r"^\| \[(?P<title>[^\]]+)\]\((?P<name>\w+)\.md\) \| (?P<question>.+) \|$", re.MULTILINE)
HEADING = re.compile(r"^(?P<level>#+) (?P<words>.+)$")
INVISIBLE = re.compile(r"<!--.*?-->|!\[[^\]]*\]\([^)]*\)", re.DOTALL)  # comments and pictures
FENCE = "```"

_Topic = Annotated[
    list[str] | None, typer.Argument(help="A page, or words of a heading; without a topic, lists the pages.")
]


def help_(topic: _Topic = None) -> None:
    """Show a page of the documentation, or one of its sections.

    \b
    Examples:
      fiberscope help
      fiberscope help workloads
      fiberscope help repeat a run
    """
    words = " ".join(topic or ()).lower().split()
    folder = CHECKOUT / "docs" if (CHECKOUT / "mkdocs.yml").is_file() else INSTALLED
    if not words:
        _list(folder)
    elif (page := folder / f"{'_'.join(words).replace('-', '_')}.md").is_file():
        _show(page.read_text(encoding="utf-8"))
    else:
        _look_up(folder, words)


def _list(folder: Path) -> None:
    """Print the pages, as listed by the index page."""
    from fiberscope.results.report.table import ruled_table

    table = ruled_table("fiberscope help", "answers")
    for page in PAGE_ROW.finditer((folder / "index.md").read_text(encoding="utf-8")):
        table.add_row(page["name"], page["question"])
    print_stacked(table)


@dataclass(frozen=True)
class _Section:
    """A heading of a page with its text, down to the next heading of the same or a higher level."""

    page: str
    heading: str
    text: str


def _look_up(folder: Path, words: Sequence[str]) -> None:
    """Show the section whose heading has the words, preferably exactly; list several matches."""
    query = " ".join(words)
    matches = [
        section
        for section in _sections(folder)
        if all(word in section.heading.lower().split() for word in words)
    ]
    exact = [section for section in matches if section.heading.lower() == query]
    if not matches:
        pages = [page.stem for page in folder.glob("*.md")]
        raise InputError(f"no page is called {query!r}, and no heading has it; {nearest(query, pages)}")
    if len(exact or matches) == 1:
        _show((exact or matches)[0].text)
    else:
        _choose(exact or matches)


def _choose(sections: Sequence[_Section]) -> None:
    from fiberscope.results.report.table import ruled_table

    table = ruled_table("fiberscope help", "has a part on")
    for section in sections:
        table.add_row(section.page, section.heading)
    print_stacked(table)


def _sections(folder: Path) -> Iterator[_Section]:
    for page in sorted(folder.glob("*.md")):
        lines = page.read_text(encoding="utf-8").splitlines()
        headings = list(_headings(lines))
        for start, level, title in headings:
            end = next((line for line, depth, _ in headings if line > start and depth <= level), len(lines))
            yield _Section(page.stem, title, "\n".join(lines[start:end]))


def _headings(lines: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Yield line, level and words of each heading below the title, outside of fenced blocks."""
    is_fenced = False
    for start, line in enumerate(lines):
        is_fenced ^= line.startswith(FENCE)
        heading = None if is_fenced else HEADING.match(line)
        if heading and len(heading["level"]) > 1:
            yield start, len(heading["level"]), heading["words"]


def _show(text: str) -> None:
    """Print a page: rendered and paged in a terminal, otherwise as Markdown."""
    from rich.console import Console
    from rich.markdown import Markdown

    console, text = Console(), INVISIBLE.sub("", text)
    if not console.is_terminal:
        print(text)
        return
    os.environ.setdefault("LESS", "-FRX")  # keeps colours; no pager for short texts
    with console.pager(styles=True):
        console.print(Markdown(text))
