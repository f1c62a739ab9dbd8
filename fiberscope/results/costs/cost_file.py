"""Reader of ``costs.yaml``: compiles the expressions of a file and caches the result.

Reading YAML and parsing expressions take as long as a small run. The compiled file is therefore cached under
the digest of all inputs, and runs load the cached copy.
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

_CODE = (Path(__file__), *(Path(__file__).with_name(name) for name in ("schema.py", "energies.py")))
SOURCES = (*_CODE, Path(references.__file__))  # define the content of a compiled file
ENERGIES = Path(__file__).parent / "energies.yaml"
AREAS = Path(__file__).parent / "areas.yaml"
_ARGUMENT = re.compile(r"(\w+)=([^,()]+)")


@dataclass(frozen=True)
class PostfixExpression:
    """An expression in postfix order.

    Args:
        location: file, line and column of the expression.
        tokens: operands and operators.
    """

    location: str
    tokens: Sequence[str]

    def evaluate(self, parameters: Mapping[str, object]) -> float:
        """Evaluate the expression.

        Raises:
            ConfigurationError: an unknown name or a division by zero; the message has the position.
        """
        number = references.evaluate(self.tokens, parameters, self.error)
        return int(number) if number.denominator == 1 else float(number)

    def error(self, message: str) -> ConfigurationError:
        """Return an error with the position of the expression."""
        return ConfigurationError(f"{self.location}: {message}")


@dataclass(frozen=True, eq=False)
class CostFile:
    """A compiled file of costs; each load of a file is a different key of a cache.

    Args:
        document: the content of the file. Every expression is ``[place, word, ...]``, every netlist ``[place,
            block, {parameter: text or expression}]``.
        energies: the energies of the shipped table, in pJ by ``class.action``, in 45 nm.
        areas: the areas of the shipped table, in um2 by name, in 45 nm.
    """

    document: Mapping[str, Any]
    energies: Mapping[str, float]
    areas: Mapping[str, float]


def read_cost_file(path: Path) -> CostFile:
    """Return the compiled costs of a file.

    Raises:
        ConfigurationError: the file cannot be read or is invalid; one line with the position.
    """
    try:
        return _load_cost_file(path, path.stat().st_mtime_ns)
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot read the costs: {error.strerror}") from error


@lru_cache(maxsize=64)
def _load_cost_file(path: Path, _modified: int) -> CostFile:
    """Load a file from the cache, or compile the file; a sweep calls this function at every point."""
    inputs = [str(path).encode(), *(file.read_bytes() for file in (path, ENERGIES, AREAS, *SOURCES))]
    cache_file = _cache_path(hashlib.sha256(b"\0".join(inputs)).hexdigest())
    with suppress(OSError, ValueError, TypeError):
        checksum, _, text = cache_file.read_bytes().partition(b"\n")
        if checksum == _checksum(text):
            return CostFile(**json.loads(text))
    compiled = _compile(path)
    with suppress(OSError):
        _write_cache(cache_file, vars(compiled))
    return compiled


def _cache_path(digest: str) -> Path:
    from fiberscope.workloads.cache import cache_folder  # noqa: PLC0415  (it takes time to load)

    return cache_folder() / "costs" / f"{digest}.json"


def _write_cache(path: Path, document: Mapping[str, object]) -> None:
    """Write a document below its checksum; a reader compiles a changed or damaged copy again."""
    from fiberscope.sim.partial_files import replacing  # noqa: PLC0415  (it takes time to load)

    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(document).encode()
    with replacing(path) as file:
        file.write(_checksum(text) + b"\n" + text)


def _checksum(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest().encode()


def _compile(path: Path) -> CostFile:
    from fiberscope.accelerators.yaml_document import read_document  # noqa: PLC0415
    from fiberscope.accelerators.yaml_schema import validate_document  # noqa: PLC0415
    from fiberscope.results.costs.energies import default_table  # noqa: PLC0415
    from fiberscope.results.costs.schema import CostsFile  # noqa: PLC0415

    document = read_document(path)
    costs = validate_document(CostsFile, document).model_dump(exclude_none=True)
    energies = {
        f"{owner}.{name}": action.picojoules
        for owner, actions in default_table().components.items()
        for name, action in actions.items()
    }
    return CostFile(_Compiler(document).file(costs), energies, _areas())


def _areas() -> dict[str, float]:
    from fiberscope.accelerators.yaml_document import read_document  # noqa: PLC0415

    table: Any = read_document(AREAS).data["ART"]
    return {row["name"]: row["area"] for row in table["tables"]}


@dataclass(frozen=True)
class _Compiler:
    document: Document

    def file(self, costs: dict[str, Any]) -> dict[str, Any]:
        """Compile all sections of a file."""
        for section in ("memory", "operations"):
            costs[section] = self.expressions((section,), costs.get(section, {}))
        for section in ("parts", "besides"):
            costs[section] = {name: self.part((section, name), part) for name, part in costs[section].items()}
        return costs

    def part(self, path: tuple[str, ...], part: dict[str, Any]) -> dict[str, Any]:
        """Compile one part without its source."""
        srams = {name: self.expressions((*path, "srams", name), text) for name, text in part["srams"].items()}
        return {
            "actions": self.expressions((*path, "actions"), part["actions"]),
            "operations": part["operations"],
            "srams": srams,
            **{
                key: [self.netlist((*path, key, place), call) for place, call in enumerate(part[key])]
                for key in ("rtl", "paths")
            },
            **self.expressions(
                path, {name: part[name] for name in ("count", "area", "area_upper") if name in part}
            ),
        }

    def expressions(self, path: tuple[str, ...], texts: Mapping[str, str]) -> dict[str, list[str]]:
        """Compile expressions by name."""
        return {name: self.expression((*path, name), text) for name, text in texts.items()}

    def expression(self, path: tuple[str | int, ...], text: str) -> list[str]:
        """Compile an expression to its position and its words in postfix order."""
        return [
            self.document.location(path),
            *references.compile_expression(text, lambda message: self.document.error(path, message)),
        ]

    def netlist(self, path: tuple[str | int, ...], call: str) -> list[Any]:
        """Compile a netlist to its position, its block and its parameters as expressions or text."""
        arguments = {
            name: self.expression(path, text) if "${" in text else text.strip()
            for name, text in _ARGUMENT.findall(call)
        }
        return [self.document.location(path), call.partition("(")[0], arguments]
