"""The README of an exported folder, with the same sections for each export."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from fiberscope.base.errors import InputError
from fiberscope.results.report.files import read_text, write_text

README = "README.md"
_ORIGIN = "Written by `fiberscope rtl export`, version "  # in a README that an export may replace


def check_readme(folder: Path) -> None:
    """Refuse a folder with a README that no export has written.

    Raises:
        InputError: the folder has one.
    """
    path = folder / README
    if path.exists() and _ORIGIN not in read_text(path):
        raise InputError(f"{path}: was not written by an export, and stays; choose another folder with -o")


def write_readme(folder: Path, title: str, summary: str, version: str, sections: Mapping[str, str]) -> Path:
    """Write the README of an exported folder.

    Args:
        folder: the folder, which exists.
        title: the name of what was exported.
        summary: what it is, in one sentence.
        version: the version of Fiberscope.
        sections: Markdown by heading, in the order of the file; empty sections are left out.

    Returns:
        The path of the file.

    Raises:
        InputError: as of ``check_readme``, or the folder cannot be written to.
    """
    check_readme(folder)
    path = folder / README
    paragraphs = [f"# {title}", summary, f"{_ORIGIN}{version}."]
    paragraphs += [f"## {heading}\n\n{text.strip()}" for heading, text in sections.items() if text.strip()]
    write_text(path, "\n\n".join(paragraphs) + "\n")
    return path


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table; an empty text if there is no row."""
    lines = [f"| {' | '.join(map(str, row))} |" for row in rows]
    return "\n".join([f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}", *lines]) if lines else ""


def code(text: str, language: str = "") -> str:
    """Return a Markdown block of code."""
    return f"```{language}\n{text.strip()}\n```"
