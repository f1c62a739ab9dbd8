"""Reads a ``costs.yaml`` into expressions that are cheap to work out, and keeps them in the cache.

To read YAML and to parse expressions takes as long as a small run does. So what comes of it is kept by the
digest of all that it is made of, and a run reads that.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fiberscope.accelerators import references
from fiberscope.accelerators.errors import ConfigurationError

if TYPE_CHECKING:
    from fiberscope.accelerators.yaml_document import Document

__all__ = ["CostFile", "PostfixExpression", "read_cost_file"]

SOURCES = (Path(__file__), Path(__file__).with_name("schema.py"))  # which give what is kept its form
ENERGIES = Path(__file__).parent / "energies.yaml"
AREAS = Path(__file__).parent / "areas.yaml"
_ARGUMENT = re.compile(r"(\w+)=([^,()]+)")


@dataclass(frozen=True)
class PostfixExpression:
    """An expression in postfix order, and where the file has it."""

    place: str
    words: Sequence[str]

    def evaluate(self, parameters: Mapping[str, object]) -> float:
        """Evaluate the entry.

        Raises:
            ConfigurationError: a name that is not known, or a division by zero; with its place.
        """
        number = references.evaluate(self.words, parameters, self.complaint)
        return int(number) if number.denominator == 1 else float(number)

    def complaint(self, message: str) -> ConfigurationError:
        """Describe what is wrong with the entry."""
        return ConfigurationError(f"{self.place}: {message}")


@dataclass(frozen=True)
class CostFile:
    """A file of costs, compiled.

    Args:
        document: as the file has it, every expression ``[place, word, ...]``, every netlist
            ``[place, block, {parameter: text or expression}]``.
        energies: the energies of the table that ships, in pJ by ``class.action``, in 45 nm.
        areas: the areas of the table that ships, in um2 by name, in 45 nm.
    """

    document: Mapping[str, Any]
    energies: Mapping[str, float]
    areas: Mapping[str, float]


def read_cost_file(path: Path) -> CostFile:
    """The costs of a file.

    Raises:
        ConfigurationError: it cannot be read, or is wrong; one line with its place.
    """
    try:
        return _book(path, path.stat().st_mtime_ns)
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot read the costs: {error.strerror}") from error


@lru_cache(maxsize=64)
def _book(path: Path, _written: int) -> CostFile:
    """A sweep asks for it at every point."""
    made_of = [str(path).encode(), *(file.read_bytes() for file in (path, ENERGIES, AREAS, *SOURCES))]
    kept = _kept(hashlib.sha256(b"\0".join(made_of)).hexdigest())
    with suppress(OSError, ValueError, TypeError):
        checksum, _, text = kept.read_bytes().partition(b"\n")
        if checksum == _checksum(text):
            return CostFile(**json.loads(text))
    book = _compiled(path)
    with suppress(OSError):
        _keep(kept, vars(book))
    return book


def _kept(digest: str) -> Path:
    from fiberscope.workloads.cache import cache_folder  # noqa: PLC0415  (it takes time to load)

    return cache_folder() / "costs" / f"{digest}.json"


def _keep(kept: Path, document: Mapping[str, object]) -> None:
    """Write a document below its checksum: a file that was changed or damaged is made anew."""
    from fiberscope.sim.partial_files import replacing  # noqa: PLC0415  (it takes time to load)

    kept.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(document).encode()
    with replacing(kept) as file:
        file.write(_checksum(text) + b"\n" + text)


def _checksum(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest().encode()


def _compiled(path: Path) -> CostFile:
    from fiberscope.accelerators.yaml_document import read_document  # noqa: PLC0415
    from fiberscope.accelerators.yaml_schema import validate_document  # noqa: PLC0415
    from fiberscope.results.costs.energies import default_table  # noqa: PLC0415
    from fiberscope.results.costs.schema import CostsFile  # noqa: PLC0415

    document = read_document(path)
    said = validate_document(CostsFile, document).model_dump(exclude_none=True)
    energies = {
        f"{owner}.{name}": action.picojoules
        for owner, actions in default_table().components.items()
        for name, action in actions.items()
    }
    return CostFile(_Compiler(document).file(said), energies, _areas())


def _areas() -> dict[str, float]:
    from fiberscope.accelerators.yaml_document import read_document  # noqa: PLC0415

    table: Any = read_document(AREAS).data["ART"]
    return {row["name"]: row["area"] for row in table["tables"]}


@dataclass(frozen=True)
class _Compiler:
    document: Document

    def file(self, said: dict[str, Any]) -> dict[str, Any]:
        """The whole of it, numbers as they are."""
        for section in ("memory", "operations"):
            said[section] = self.expressions((section,), said.get(section, {}))
        for section in ("parts", "besides"):
            said[section] = {name: self.part((section, name), part) for name, part in said[section].items()}
        return said

    def part(self, path: tuple[str, ...], said: dict[str, Any]) -> dict[str, Any]:
        """One part, without its source, which is for readers."""
        srams = {name: self.expressions((*path, "srams", name), text) for name, text in said["srams"].items()}
        return {
            "actions": self.expressions((*path, "actions"), said["actions"]),
            "operations": said["operations"],
            "srams": srams,
            **{
                key: [self.netlist((*path, key, place), call) for place, call in enumerate(said[key])]
                for key in ("rtl", "paths")
            },
            **self.expressions(
                path, {name: said[name] for name in ("count", "area", "area_upper") if name in said}
            ),
        }

    def expressions(self, path: tuple[str, ...], said: Mapping[str, str]) -> dict[str, list[str]]:
        """Compile expressions, each with its place."""
        return {name: self.expression((*path, name), text) for name, text in said.items()}

    def expression(self, path: tuple[str | int, ...], text: str) -> list[str]:
        """Compile an expression: its place and its words."""
        return [
            self.document.place(path),
            *references.compile_expression(text, lambda message: self.document.error(path, message)),
        ]

    def netlist(self, path: tuple[str | int, ...], call: str) -> list[Any]:
        """Compile a netlist: its place, the block, and the parameters as expressions or text."""
        arguments = {
            name: self.expression(path, text) if "${" in text else text.strip()
            for name, text in _ARGUMENT.findall(call)
        }
        return [self.document.place(path), call.partition("(")[0], arguments]
