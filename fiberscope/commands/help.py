"""``fiberscope help``: pages and sections of the documentation in the terminal."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from fiberscope.base.errors import InputError
from fiberscope.commands.output import print_stacked
from fiberscope.workloads.errors import suggest

# Folder of the sources; of an installed package, the folder of all packages, which has no ``mkdocs.yml``.
CHECKOUT = Path(__file__).parents[2]
INSTALLED = Path(sys.prefix, "share", "doc", "fiberscope")  # pages of an installed package
# A row of the index page, with the question that the page answers; pages outside of ``docs`` do not match.
PAGE_ROW = re.compile(r"^\| \[(?P<title>[^\]]+)\]\((?P<name>\w+)\.md\) \| (?P<question>.+) \|$", re.MULTILINE)
HEADING = re.compile(r"^(?P<level>#+) (?P<title>.+)$")
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
        pages = PAGE_ROW.finditer((folder / "index.md").read_text(encoding="utf-8"))
        _print_table("answers", ((page["name"], page["question"]) for page in pages))
    elif (page := folder / f"{'_'.join(words).replace('-', '_')}.md").is_file():
        _show(page.read_text(encoding="utf-8"))
    else:
        _look_up(folder, words)


def _print_table(heading: str, rows: Iterable[tuple[str, str]]) -> None:
    """Print names of pages, each with a text under the heading."""
    from fiberscope.results.report.table import ruled_table

    table = ruled_table("fiberscope help", heading)
    for row in rows:
        table.add_row(*row)
    print_stacked(table)


@dataclass(frozen=True)
class _Section:
    """A heading of a page with its text, down to the next heading of the same or a higher level."""

    page: str
    heading: str
    text: str


def _look_up(folder: Path, words: Sequence[str]) -> None:
    """Show the section whose heading has all words; list the sections if several match.

    If a heading equals the words in their order, headings that only contain them are ignored. Words are
    compared in lower case and any order; punctuation and backticks belong to the words of a heading.

    Raises:
        InputError: no heading has the words.
    """
    query = " ".join(words)
    matches = [
        section
        for section in _sections(folder)
        if all(word in section.heading.lower().split() for word in words)
    ]
    best = [section for section in matches if section.heading.lower() == query] or matches
    if not matches:
        pages = [page.stem for page in folder.glob("*.md")]
        raise InputError(f"no page is called {query!r}, and no heading has it; {suggest(query, pages)}")
    if len(best) == 1:
        _show(best[0].text)
    else:
        _print_table("has a part on", ((section.page, section.heading) for section in best))


def _sections(folder: Path) -> Iterator[_Section]:
    """Yield the sections of all pages; each includes its subsections, which are also yielded."""
    for page in sorted(folder.glob("*.md")):
        lines = page.read_text(encoding="utf-8").splitlines()
        headings = list(_headings(lines))
        for start, level, title in headings:
            later = (line for line, other_level, _ in headings if line > start and other_level <= level)
            end = next(later, len(lines))
            yield _Section(page.stem, title, "\n".join(lines[start:end]))


def _headings(lines: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Yield line index, level and title of each heading below the page's title, outside of fenced blocks.

    Only fences at the beginning of a line count.
    """
    # A comment of a shell command in a fenced block begins with # too, and is no heading
    is_fenced = False
    for start, line in enumerate(lines):
        is_fenced ^= line.startswith(FENCE)
        heading = None if is_fenced else HEADING.match(line)
        if heading and len(heading["level"]) > 1:
            yield start, len(heading["level"]), heading["title"]


def _show(text: str) -> None:
    """Print a page or section, without pictures: rendered and paged in a terminal, otherwise as Markdown."""
    from rich.console import Console
    from rich.markdown import Markdown

    console, text = Console(), INVISIBLE.sub("", text)
    if not console.is_terminal:
        print(text)
        return
    os.environ.setdefault("LESS", "-FRX")  # quit if one screen is enough, keep colours and the text
    with console.pager(styles=True):
        console.print(Markdown(text))
