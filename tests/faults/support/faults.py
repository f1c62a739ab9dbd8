"""Faults as data: text of a file that takes the place of other text, and which tests are to find it."""

import ast
import hashlib
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[3]
LISTS = ROOT / "tests" / "faults"
TESTS = Path(__file__).with_name("finders.yaml")
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the first is in C; PyYAML may lack it


@dataclass(frozen=True)
class Fault:
    """In ``file`` the text ``old``, which is there once, becomes ``new``.

    Args:
        area: under which it is counted.
        file: from the root of the sources.
        old, new: the text and what takes its place.
        what: what is wrong then, in a few words.
        deviation: the entry of DEVIATIONS.md that says why no test can find it; 0 if tests must.
        tests: arguments of pytest for those that are to find it; empty for those of ``finders.yaml``.
    """

    area: str
    file: str
    old: str
    new: str
    what: str
    deviation: int = 0
    tests: str = ""

    @property
    def key(self) -> str:
        """What tells it from all others."""
        return hashlib.sha256(repr((self.file, self.old, self.new)).encode()).hexdigest()[:16]

    def source(self) -> str:
        """The file with the fault.

        Raises:
            ValueError: the text is not there once, or what comes out is no Python or YAML.
        """
        before = (ROOT / self.file).read_text(encoding="utf-8")
        if before.count(self.old) != 1:
            raise ValueError(f"{self.file} has {before.count(self.old)} times: {self.old}")
        after = before.replace(self.old, self.new)
        if after == before:
            raise ValueError(f"{self.file}: the fault changes nothing: {self.old}")
        self._parse(after)
        return after

    def _parse(self, text: str) -> None:
        try:
            if self.file.endswith(".py"):
                ast.parse(text)
            elif self.file.endswith(".yaml"):
                yaml.safe_load(text)
        except (SyntaxError, yaml.YAMLError) as error:
            raise ValueError(f"{self.file}: {self.what}: {error}") from error


def read() -> list[Fault]:
    """Return the faults of all lists, by area and file: old, new and what, perhaps a deviation.

    A mapping among the faults of a file names the ``tests`` for those below it.

    Raises:
        TypeError: a fault lacks a value, or has one too many.
    """
    lists = [yaml.load(path.read_text(encoding="utf-8"), _LOADER) for path in sorted(LISTS.glob("*.yaml"))]
    areas = [area for areas in lists for entry in areas for area in entry.items()]
    return [fault for area, files in areas for entry in files for fault in _faults(area, *entry.popitem())]


def _faults(area: str, file: str, rows: Sequence[Any]) -> Iterator[Fault]:
    tests = ""
    for row in rows:
        if isinstance(row, dict):
            tests = row["tests"]
        else:
            yield Fault(area, file, *row, tests=tests)


@cache
def _tests() -> dict[str, list[str]]:
    tests: dict[str, list[str]] = yaml.safe_load(TESTS.read_text(encoding="utf-8"))
    return tests


def finders(fault: Fault) -> tuple[str, ...]:
    """Return arguments of pytest for the tests that are to find a fault, those first that name its module.

    Raises:
        KeyError: no tests are known for its file.
    """
    if fault.tests:
        return tuple(shlex.split(fault.tests))
    file = fault.file
    fits = (place for place in _tests() if file.startswith(place) or file.endswith(place))
    places = _tests()[max(fits, key=lambda place: (place.endswith(".py"), len(place)), default=file)]
    found = dict.fromkeys(path for place in places for path in _expanded(place))
    module = file.removesuffix(".py").replace("/", ".")
    return tuple(sorted(found, key=lambda path: not _names(path, module)))


def _expanded(place: str) -> list[str]:
    """The files of tests in a folder, or that a pattern fits."""
    pattern = place if place.endswith(".py") else f"{place}/**/test_*.py"
    return sorted(
        path.relative_to(ROOT).as_posix() for path in ROOT.glob(pattern) if path.name.startswith("test_")
    )


@cache
def _names(path: str, module: str) -> bool:
    return f"{module} import" in (ROOT / path).read_text(encoding="utf-8")
