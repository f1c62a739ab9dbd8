"""Statistics of the operands of SAGE: from a text, from the registry of matrices, or from a tensor."""

from __future__ import annotations

import re

from fiberscope.converters.sage.statistics import Statistics
from fiberscope.workloads import cache, file_of, load_tensor, open_tensor, registry
from fiberscope.workloads.errors import WorkloadError, suggest

EXPECTED = "expected:"
_KEYS = ("shape", "density", "nonzeros")
_FORM = f"write {EXPECTED}shape=9000x9000,density=0.04, or nonzeros=3279690 for the density"


def operand(source: object, name: str) -> Statistics:
    """Return the statistics of an operand: a text that names it, or an array in memory.

    A text is one of these:

    - ``expected:shape=9000x9000,density=0.04`` (or ``nonzeros=...``): uniformly distributed nonzeros;
    - a name of the registry without a file on this host: shape and nonzeros of the registry, taken to be
      uniformly distributed. Nothing is downloaded;
    - a file, a generator, or a name with a file: the tensor is loaded, and its nonzeros are counted.

    Args:
        source: the text, or an array of numpy, scipy or the library sparse.
        name: name of an array in memory, for messages.

    Raises:
        WorkloadError: if the operand is unknown or cannot be read, or the statistics are invalid.
    """
    if not isinstance(source, str):
        opened = open_tensor(source, name)
        return Statistics.from_tensor(opened.name, opened.tensor)
    text = source
    if text.lower().startswith(EXPECTED):
        return _parse_expected(text)
    if registry.is_registered(text) and not _is_there(registry.lookup(text)):
        entry = registry.lookup(text)
        return Statistics(entry.name, entry.shape, entry.nonzeros)
    loaded = load_tensor(text)
    return Statistics.from_tensor(loaded.name, loaded.tensor)


def _is_there(entry: registry.Entry) -> bool:
    """Return whether the tensor of an entry is on this host: in a folder, shipped, or in the cache."""
    names = (entry.name, *entry.aliases)
    return bool(
        any(file_of(name) for name in names if entry.is_matrix)
        or any(cache.find(name) for name in names)
        or cache.find_shipped_file(entry)
        or cache.find_cached(entry)
    )


def _parse_expected(text: str) -> Statistics:
    """Parse ``expected:shape=...,density=...``; raise ``WorkloadError`` for an invalid text."""
    pairs = dict(_pair(part, text) for part in text[len(EXPECTED) :].split(",") if part)
    if "shape" not in pairs or ("density" in pairs) == ("nonzeros" in pairs):
        raise WorkloadError("needs a shape, and either density or nonzeros", location=text, fix=_FORM)
    if not re.fullmatch(r"[1-9][0-9]{0,17}(x[1-9][0-9]{0,17})*", pairs["shape"]):
        raise WorkloadError(f"the shape {pairs['shape']}", location=text, fix=_FORM)
    shape = tuple(int(size) for size in pairs["shape"].split("x"))
    places = Statistics(text, shape, 0).places  # 0 nonzeros are valid in any shape
    if "nonzeros" in pairs:
        return Statistics(text, shape, _number(pairs["nonzeros"], text))
    density = _number(pairs["density"], text)
    # Also refuses nan, with which every comparison is false
    if not 0 <= density <= 1:
        raise WorkloadError(f"a density of {density:g}", location=text, fix="it is between 0 and 1")
    return Statistics(text, shape, density * places)


def _pair(part: str, text: str) -> tuple[str, str]:
    key, equals, value = (word.strip() for word in part.partition("="))
    if key not in _KEYS or not equals:
        raise WorkloadError(f"no key {key!r}", location=text, fix=suggest(key, _KEYS))
    return key, value


def _number(word: str, text: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise WorkloadError(f"{word!r} is no number", location=text, fix=_FORM) from None
