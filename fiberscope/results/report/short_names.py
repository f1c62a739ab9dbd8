"""Distinct short names of workloads, for axes and tables."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePath

from fiberscope.workloads.suffixes import SUFFIXES

MAX_LETTERS = 24  # default maximum length of a name
_GENERATED = re.compile(r"([\w-]+):(\w+=[^,\s]*(?:,\w+=[^,\s]*)*)")  # uniform:rows=20,cols=20


def shorten_names(names: Sequence[str], letters: int = MAX_LETTERS) -> list[str]:
    """Return distinct names of workloads with at most ``letters`` characters, one for each text, in order.

    A generated matrix keeps its kind and the arguments that differ within the kind; the only matrix of a kind
    keeps the kind alone. A file loses its folder and suffix. The middle of a longer name is cut. Names that
    would be equal all get numbers, from `` #1`` on; equal texts thus get different names.

    Args:
        names: the texts of the workloads.
        letters: the maximum length, which must have space for a number.
    """
    short = [_shorten(text, letters) for text in _find_distinct_parts(names)]
    count, distinct = Counter(short), dict.fromkeys([""])  # an empty name counts as taken
    for text in short:
        number, name = 1, "" if count[text] > 1 else text
        while name in distinct:
            mark = f" #{number}"
            number, name = number + 1, f"{text[: letters - len(mark)]}{mark}"
        distinct[name] = None
    return [*distinct][1:]


def _find_distinct_parts(names: Sequence[str]) -> list[str]:
    generated = [_GENERATED.fullmatch(name) for name in names]
    arguments: dict[str, list[set[str]]] = {}
    for match in filter(None, generated):
        arguments.setdefault(match[1], []).append(set(match[2].split(",")))
    common = {kind: set.intersection(*argument_sets) for kind, argument_sets in arguments.items()}
    return [
        _shorten_files(name) if match is None else _shorten_generator(match, common[match[1]])
        for name, match in zip(names, generated, strict=True)
    ]


def _shorten_generator(match: re.Match[str], common: set[str]) -> str:
    arguments = [argument for argument in match[2].split(",") if argument not in common]
    return f"{match[1]} {','.join(arguments)}".rstrip()


def _shorten_files(name: str) -> str:
    """Return operands without their folders and suffixes."""
    try:
        operands = shlex.split(name)
    except ValueError:  # an apostrophe in a file name
        operands = [name]
    return " ".join(map(_strip_suffixes, operands)) or name


def _strip_suffixes(word: str) -> str:
    file = PurePath(word).name or word
    suffix = next((suffix for suffix in SUFFIXES if file.lower().endswith(suffix)), "")
    return file[: len(file) - len(suffix)] or file


def _shorten(text: str, letters: int) -> str:
    if len(text) <= letters:
        return text
    head = (letters - 2) // 2  # two characters are the dots
    return f"{text[:head]}..{text[head + 2 - letters :]}"
