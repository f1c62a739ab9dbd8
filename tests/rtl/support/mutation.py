"""Runs the twins with a fault planted in one of their files: text that takes the place of other text.

    python tests/rtl/support/mutation.py NAME

runs what the default tests run of the blocks concerned with one fault in place; exit code 0 and the
difference if it is found, 1 if it survives. ``tests/rtl/test_mutants.py`` does so for all of them.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType

import pytest

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Mutant:
    """A fault: in a file of ``hw`` this text, which is there once, becomes that.

    ``blocks`` are those whose pairs find it, compositions of ``joined.py`` or files of tests among them.
    """

    name: str
    file: str
    text: str
    fault: str
    blocks: tuple[str, ...]

    @property
    def path(self) -> Path:
        """The file."""
        return ROOT / "hw" / self.file

    @property
    def module(self) -> str:
        """The file's import name."""
        return ".".join(("fiberscope", "hw", *Path(self.file).with_suffix("").parts))

    def source(self) -> str:
        """The file with the fault.

        Raises:
            ValueError: if the text is not there exactly once.
        """
        before = self.path.read_text(encoding="utf-8")
        if before.count(self.text) != 1:
            raise ValueError(f"{self.name}: {self.file} has {before.count(self.text)} times: {self.text}")
        return before.replace(self.text, self.fault)


def faults_of(file: str, blocks: str, *faults: tuple[str, str, str]) -> list[Mutant]:
    """Faults of a file by name, text and fault, each to be found in the pairs of these blocks."""
    return [Mutant(name, file, text, fault, tuple(blocks.split())) for name, text, fault in faults]


class _Planted(SourceFileLoader):
    """Loads the file of a mutant with its fault."""

    def __init__(self, mutant: Mutant) -> None:
        super().__init__(mutant.module, str(mutant.path))
        self._mutant = mutant

    def get_code(self, fullname: str) -> CodeType:
        return compile(self._mutant.source(), self.path, "exec")


class _Finder(MetaPathFinder):
    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(self, fullname: str, *_: object) -> ModuleSpec | None:
        if fullname != self._mutant.module:
            return None
        return importlib.util.spec_from_file_location(fullname, loader=_Planted(self._mutant))


def _pairs(blocks: tuple[str, ...]) -> Iterator[object]:
    """What the default tests run of these blocks, and the ends; and of compositions."""
    from extremes import extremes
    from joined import JOINED
    from scenarios import scenarios_by_default

    for name in set(blocks) & JOINED.keys():
        yield from map(JOINED[name], range(4))
    blocks = tuple(block for block in blocks if block not in JOINED)
    for block in blocks:
        yield from (scenario.pair(seed) for scenario, seed in scenarios_by_default(block))
    for block in blocks:
        yield from (extreme.pair() for extreme in extremes(block))


def difference(mutant: Mutant) -> str | None:
    """What finds the fault; None if it survives. Only once in a process, and before its file is imported."""
    from fiberscope import sim  # noqa: F401  (puts its own finder first, which would find the file without the fault)

    sys.meta_path.insert(0, _Finder(mutant))
    import pairs
    from pairs import check_pair

    pairs.write_vcd = lambda *_: nullcontext()  # no waveform of what is known to be wrong

    for file in (block for block in mutant.blocks if block.endswith(".py")):
        if pytest.main(["-q", "-x", "-p", "no:cacheprovider", str(ROOT / "tests" / "rtl" / file)]):
            return f"{file} fails"
    for pair in _pairs(tuple(block for block in mutant.blocks if not block.endswith(".py"))):
        try:
            check_pair(pair)
        except AssertionError as found:
            return str(found)
    return None


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "support")]
    from mutants import MUTANTS

    planted = MUTANTS[sys.argv[1]]
    if planted.path.with_suffix(".pxd").is_file():  # as source, and so all that is compiled with it
        os.environ["FIBERSCOPE_UNCOMPILED"] = "1"
    found = difference(planted)
    print(found or f"{sys.argv[1]} survives")
    sys.exit(found is None)
