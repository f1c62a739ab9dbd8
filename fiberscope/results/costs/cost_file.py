"""Reader of ``costs.yaml``: compiles the expressions of a file and caches the result.

Reading YAML and parsing expressions take as long as a small run. The compiled file is therefore cached under
the digest of the file, of the shipped tables and of ``FORMAT_MODULES``. Runs load the cached copy.
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
FORMAT_MODULES = (*_CODE, Path(references.__file__))  # define the content of a compiled file
ENERGIES = Path(__file__).parent / "energies.yaml"
AREAS = Path(__file__).parent / "areas.yaml"
# A parameter of a netlist: ``schema`` has checked the form of the whole text.
_ARGUMENT = re.compile(r"(\w+)=([^,()]+)")


@dataclass(frozen=True)
class PostfixExpression:
    """An expression in postfix order.

    Args:
        location: file, line and column of the expression, for error messages.
        tokens: numbers, names of parameters, and operators, each after its operands.
    """

    location: str
    tokens: Sequence[str]

    def evaluate(self, parameters: Mapping[str, object]) -> float:
        """Evaluate the expression.

        Args:
            parameters: values by name; names that the expression does not use may have any value.

        Returns:
            The exact result as an int if it is whole, else as a float.

        Raises:
            ConfigurationError: an unknown name, a name whose value is not a number, or a division by zero;
                the message has the location.
        """
        number = references.evaluate(self.tokens, parameters, self.make_error)
        return int(number) if number.denominator == 1 else float(number)

    def make_error(self, message: str) -> ConfigurationError:
        """Return an error with the location of the expression."""
        return ConfigurationError(f"{self.location}: {message}")


@dataclass(frozen=True, eq=False)  # compared by identity, since dicts have no hash
class CompiledCosts:
    """A compiled file of costs, which can be a key of a cache.

    Two objects are equal only if they are the same object. ``read_cost_file`` returns the same object for an
    unchanged file, as long as its own cache holds the object, and another object for a changed file.

    Args:
        sections: the content of the file, with all sections of ``schema.CostsFile``. Every expression is
            ``[location, token, ...]``, see ``PostfixExpression``. Every netlist is ``[location, block,
            {parameter: text or expression}]``.
        energies: the energies of the shipped table, in pJ by ``owner.action``: ``DRAM.read``,
            ``gamma.MainMemory.read``. An owner is a class, a name of components, or a component of one
            machine. The energy of a memory is that of one access, whose number of bits only the table has.
            On-chip figures are for 45 nm and 0.9 V.
        areas: the areas of the shipped table, in um2 by name, in 45 nm.
    """

    sections: Mapping[str, Any]
    energies: Mapping[str, float]
    areas: Mapping[str, float]


def read_cost_file(path: Path) -> CompiledCosts:
    """Return the compiled costs of a file, from a cache if the file has not changed.

    A change is noticed by the time of the file's last modification. A process does not notice a change of the
    shipped tables.

    Raises:
        ConfigurationError: the file cannot be read or is invalid; one line with the location.
    """
    try:
        return _load_cost_file(path, path.stat().st_mtime_ns)
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot read the costs: {error.strerror}") from error


@lru_cache(maxsize=64)
def _load_cost_file(path: Path, _modified: int) -> CompiledCosts:
    """Load a file from the cache folder, or compile the file and store the result there.

    A sweep needs the costs at every point, therefore the result stays in memory too. ``_modified`` is only a
    key of that cache: a modified file is loaded again.
    """
    # the path too, because the compiled expressions have locations
    inputs = [str(path).encode(), *(file.read_bytes() for file in (path, ENERGIES, AREAS, *FORMAT_MODULES))]
    cache_file = _build_cache_path(hashlib.sha256(b"\0".join(inputs)).hexdigest())
    # A copy that is missing, damaged, or of other fields is compiled again
    with suppress(OSError, ValueError, TypeError):
        checksum, _, text = cache_file.read_bytes().partition(b"\n")
        if checksum == _compute_checksum(text):
            return CompiledCosts(**json.loads(text))
    compiled = _compile(path)
    with suppress(OSError):  # without a cache, the next process compiles again
        _write_cache(cache_file, vars(compiled))
    return compiled


def _build_cache_path(digest: str) -> Path:
    """Return the path of the cached copy for inputs with this digest; it may not exist."""
    from fiberscope.workloads.cache import cache_folder  # noqa: PLC0415  (it takes time to load)

    return cache_folder() / "costs" / f"{digest}.json"


def _write_cache(path: Path, document: Mapping[str, object]) -> None:
    """Write a document below its checksum; a reader compiles a changed or damaged copy again."""
    from fiberscope.sim.partial_files import replace_when_complete  # noqa: PLC0415  (it takes time to load)

    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(document).encode()
    with replace_when_complete(path) as file:
        file.write(_compute_checksum(text) + b"\n" + text)


def _compute_checksum(text: bytes) -> bytes:
    """Return the SHA-256 checksum in hexadecimal digits."""
    return hashlib.sha256(text).hexdigest().encode()


def _compile(path: Path) -> CompiledCosts:
    """Read, check and compile a file.

    Raises:
        ConfigurationError: the file cannot be read or is invalid.
    """
    # A run with a cached copy needs none of these modules, which take time to load
    from fiberscope.accelerators.yaml_document import read_document  # noqa: PLC0415
    from fiberscope.accelerators.yaml_schema import validate_document  # noqa: PLC0415
    from fiberscope.results.costs.energies import load_default_table  # noqa: PLC0415
    from fiberscope.results.costs.schema import CostsFile  # noqa: PLC0415

    document = read_document(path)
    costs = validate_document(CostsFile, document).model_dump(exclude_none=True)
    # The shipped table, as the expressions of a file name its entries; a user's table is for the models only
    energies = {
        f"{owner}.{name}": action.picojoules
        for owner, actions in load_default_table().components.items()
        for name, action in actions.items()
    }
    return CompiledCosts(_Compiler(document).compile_file(costs), energies, _read_areas())


def _read_areas() -> dict[str, float]:
    """Return the areas of the shipped table, in um2 by name."""
    from fiberscope.accelerators.yaml_document import read_document  # noqa: PLC0415

    table: Any = read_document(AREAS).data["ART"]
    return {row["name"]: row["area"] for row in table["tables"]}


@dataclass(frozen=True)
class _Compiler:
    """A compiler of the sections of one file; ``document`` has the locations of its values."""

    document: Document

    def compile_file(self, costs: dict[str, Any]) -> dict[str, Any]:
        """Compile all sections of a file. Change ``costs`` in place, and return it.

        Args:
            costs: the checked content of the file, without sections that have no value.
        """
        for section in ("memory", "operations"):
            costs[section] = self.compile_expressions((section,), costs.get(section, {}))
        for section in ("parts", "besides"):
            costs[section] = {
                name: self.compile_part((section, name), part) for name, part in costs[section].items()
            }
        return costs

    def compile_part(self, path: tuple[str, ...], part: dict[str, Any]) -> dict[str, Any]:
        """Compile one part, except its ``source``, which is for readers of the file only."""
        srams = {
            name: self.compile_expressions((*path, "srams", name), text)
            for name, text in part["srams"].items()
        }
        return {
            "actions": self.compile_expressions((*path, "actions"), part["actions"]),
            "operations": part["operations"],
            "srams": srams,
            **{
                key: [self.compile_netlist((*path, key, index), call) for index, call in enumerate(part[key])]
                for key in ("rtl", "paths")
            },
            **self.compile_expressions(
                path, {name: part[name] for name in ("count", "area", "area_upper") if name in part}
            ),
        }

    def compile_expressions(self, path: tuple[str, ...], texts: Mapping[str, str]) -> dict[str, list[str]]:
        """Compile expressions by name; ``path`` is that of the section that contains them."""
        return {name: self.compile_expression((*path, name), text) for name, text in texts.items()}

    def compile_expression(self, path: tuple[str | int, ...], text: str) -> list[str]:
        """Compile an expression to its location and its tokens in postfix order."""
        return [
            self.document.location(path),
            *references.compile_expression(text, lambda message: self.document.error(path, message)),
        ]

    def compile_netlist(self, path: tuple[str | int, ...], netlist_text: str) -> list[Any]:
        """Compile a netlist, ``merger(radix=${radix}, stages=6)``, to location, block and parameters."""
        # Only a parameter with a reference is an expression; others, such as names, remain text
        arguments = {
            name: self.compile_expression(path, text) if "${" in text else text.strip()
            for name, text in _ARGUMENT.findall(netlist_text)
        }
        return [self.document.location(path), netlist_text.partition("(")[0], arguments]
