"""Fast parser of the imports and data files that a source file names; no code is executed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_COMMENT = re.compile(r"#[^\n]*")
# A block under ``if TYPE_CHECKING:``, with all lines that are blank or indented more.
_FOR_TYPES = re.compile(
    r"^(?P<indent>[ \t]*)if (?:typing\.)?TYPE_CHECKING:[ \t]*\n(?:(?P=indent)[ \t]+\S[^\n]*\n|[ \t]*\n)*",
    re.M,
)
_PARENTHESIZED = re.compile(r"import[ \t]*\(((?:#[^\n]*|[^)#])*)\)")
_CALL = re.compile(r"import_module\((?:\s|#[^\n]*\n)+")  # the literal may follow on another line
_IMPORT = re.compile(  # matches within one line
    r"(?:^|[;:])[ \t]*(?:"
    r"from[ \t]+(?P<module>[.\w]+)[ \t]+c?import[ \t]+(?P<names>[^;]*)"
    r"|c?import[ \t]+(?P<modules>\w[^;]*))"
    r"|import_module\([ \t]*[\"'](?P<literal>[.\w]+)[\"']"
)
_ENDING = r"\.(?:csv|json|lark|npy|npz|txt|yaml|yml)"
_ENDS = re.compile(rf"{_ENDING}[\"']")  # a fast test before the slower _DATA
_DATA = re.compile(rf"[\"']([\w-]+{_ENDING})[\"']")
_CYTHON = "cython.cimports."


class Import(NamedTuple):
    """An imported module, with leading dots if the import is relative, and the imported names."""

    module: str
    names: tuple[str, ...] = ()


class ParsedNames(NamedTuple):
    """Names in a file.

    The text is searched, not parsed: a line of a docstring that looks like an import counts as one. The names
    are thus a superset, which only adds sources to a digest.

    Args:
        imports: all imports except those for type checkers, including those in functions and calls of
            ``import_module`` with a literal.
        for_types: imports for type checkers only; packages with lazy imports list the origins of their names
            there.
        data: names of data files in string literals.
    """

    imports: tuple[Import, ...] = ()
    for_types: tuple[Import, ...] = ()
    data: tuple[str, ...] = ()


def parse_names(text: str) -> ParsedNames:
    """Return the imports and data files that the text of a Python file, or of a file of C types, names."""
    data = _DATA.findall(text) if _ENDS.search(text) else ()
    if "\\\n" in text:  # a continued line, as imports are searched line by line
        text = text.replace("\\\n", " ")
    for_types = ""
    if "TYPE_CHECKING" in text:
        for_types = "".join(match[0] for match in _FOR_TYPES.finditer(text))
        text = _FOR_TYPES.sub("", text)
    return ParsedNames(tuple(_parse_imports(text)), tuple(_parse_imports(for_types)), tuple(data))


def _parse_imports(text: str) -> Iterator[Import]:
    """Yield the imports of a text, in which an import in parentheses may have several lines."""
    text = _CALL.sub("import_module(", _PARENTHESIZED.sub(_join_lines, text))
    for line in text.splitlines():
        if "import" in line:  # a fast test before the slower pattern
            code = line.partition("#")[0]
            # With an open quote, the sign is in a string, and an import may follow it.
            in_string = code.count('"') % 2 or code.count("'") % 2
            for match in _IMPORT.finditer(line if in_string else code):
                yield from _parse_import(match)


def _join_lines(match: re.Match[str]) -> str:
    return "import " + " ".join(_COMMENT.sub("", match[1]).split())


def _parse_import(match: re.Match[str]) -> Iterator[Import]:
    if match["module"]:
        names = (part.split() for part in match["names"].split(","))
        yield Import(match["module"].removeprefix(_CYTHON), tuple(tokens[0] for tokens in names if tokens))
    # the first token: ``as`` and a name may follow
    for part in (match["modules"] or match["literal"] or "").split(","):
        if part.strip():
            yield Import(part.split()[0].removeprefix(_CYTHON))
