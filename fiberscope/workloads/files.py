"""Resolution of a text to a file: a path, a name on the data path, or the input of a view or generator."""

from __future__ import annotations

import os
from pathlib import Path

from fiberscope.workloads import cache, registry, spec
from fiberscope.workloads.array_file import parse_named_array
from fiberscope.workloads.suffixes import SUFFIXES
from fiberscope.workloads.text import STANDARD_INPUT


def file_of(name: str | os.PathLike[str]) -> Path | None:
    """Return the file that ``load`` would read: a path, a file on the data path, or a profile; else None."""
    text = os.fspath(name)
    if spec.view_keyword(text):
        return file_of(spec.split_view(text)[1])
    if spec.is_spec(text) and not Path(text).exists():
        return spec.profile_file(text)
    if (place := parse_named_array(text)) is not None:
        return Path(place[0])
    if is_path(text):
        return Path(text)
    return cache.on_data_path(registry.lookup(text)) if registry.is_registered(text) else cache.find(text)


def is_path(text: str) -> bool:
    """Return whether a text is meant as a path: it has a slash or a known suffix, or is a file."""
    separators = filter(None, (os.sep, os.altsep))
    return (
        text == STANDARD_INPUT
        or any(separator in text for separator in separators)
        or text.lower().endswith(SUFFIXES)
        or Path(text).is_file()
    )
