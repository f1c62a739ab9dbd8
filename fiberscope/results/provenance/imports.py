"""Imports of a source file, parsed from its text: nothing is run, and a hundred files take milliseconds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["Import", "ParsedNames", "parse_names"]

_COMMENT = re.compile(r"#[^\n]*")
_FOR_TYPES = re.compile(
    r"^(?P<indent>[ \t]*)if (?:typing\.)?TYPE_CHECKING:[ \t]*\n(?:(?P=indent)[ \t]+\S[^\n]*\n|[ \t]*\n)*",
    re.M,
)
_IN_BRACKETS = re.compile(r"import[ \t]*\(((?:#[^\n]*|[^)#])*)\)")
_IMPORT = re.compile(  # in a line
    r"(?:^|[;:])[ \t]*(?:"
    r"from[ \t]+(?P<module>[.\w]+)[ \t]+c?import[ \t]+(?P<names>[^;]*)"
    r"|c?import[ \t]+(?P<modules>\w[^;]*))"
    r"|import_module\([ \t]*[\"'](?P<literal>[.\w]+)[\"']"
)
_ENDING = r"\.(?:csv|json|lark|npy|npz|txt|yaml|yml)"
_ENDS = re.compile(rf"{_ENDING}[\"']")  # found in a tenth of the time: it begins with one character
_DATA = re.compile(rf"[\"']([\w-]+{_ENDING})[\"']")
_CYTHON = "cython.cimports."


class Import(NamedTuple):
    """A module, dots before it where it is named from the file's own place, and what is taken of it."""

    module: str
    names: tuple[str, ...] = ()


class ParsedNames(NamedTuple):
    """Names in a file.

    Args:
        imports: wherever they stand, in functions too.
        for_types: those for type checkers alone. A package whose names are imported at first use tells there
            what they are of.
        data: names of files that it may read.
    """

    imports: tuple[Import, ...] = ()
    for_types: tuple[Import, ...] = ()
    data: tuple[str, ...] = ()


def parse_names(text: str) -> ParsedNames:
    """Return the names in the text of a Python file, or of a file of C types."""
    data = _DATA.findall(text) if _ENDS.search(text) else ()
    if "\\\n" in text:
        text = text.replace("\\\n", " ")
    for_types = ""
    if "TYPE_CHECKING" in text:
        for_types = "".join(match[0] for match in _FOR_TYPES.finditer(text))
        text = _FOR_TYPES.sub("", text)
    return ParsedNames(tuple(_imports(text)), tuple(_imports(for_types)), tuple(data))


def _imports(text: str) -> Iterator[Import]:
    for line in _IN_BRACKETS.sub(_in_a_line, text).splitlines():
        if "import" in line:
            for match in _IMPORT.finditer(line.partition("#")[0]):
                yield from _taken(match)


def _in_a_line(match: re.Match[str]) -> str:
    return "import " + " ".join(_COMMENT.sub("", match[1]).split())


def _taken(match: re.Match[str]) -> Iterator[Import]:
    if match["module"]:
        names = (part.split() for part in match["names"].split(","))
        yield Import(match["module"].removeprefix(_CYTHON), tuple(words[0] for words in names if words))
    for part in (match["modules"] or match["literal"] or "").split(","):
        if part.strip():
            yield Import(part.split()[0].removeprefix(_CYTHON))
