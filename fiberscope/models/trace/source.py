"""Finds the file of a specification, and chooses a variant of it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from fiberscope import accelerators
from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.accelerators.user_machines import is_path
from fiberscope.accelerators.yaml_document import overlay
from fiberscope.accelerators.yaml_layer import compose, read_text, yaml_errors
from fiberscope.models.trace.old_spellings import respell
from fiberscope.workloads.errors import nearest
from fiberscope.workloads.expressions.expression import Equation, scalars
from fiberscope.workloads.expressions.grammar import UnreadableTextError, parse_statement

__all__ = ["Source", "find", "names", "place_of", "split_symbols", "with_coefficients"]

FILE = "spec.yaml"
# The name in uniform_shape(K1), nway_shape(WAYS) or uniform_occupancy(A.K1).
_SIZE = re.compile(r"(?:uniform_shape|nway_shape|uniform_occupancy)\(\s*(?:\w+\s*\.\s*)?([A-Za-z_]\w*)\s*\)")

# The name g in an index such as [g * x + r].
_COEFFICIENT = re.compile(r"[A-Za-z_]\w*(?=\s*\*\s*[A-Za-z_]\w*[^\[]*\])")


@dataclass(frozen=True)
class Source:
    """The text of a specification, as nodes.

    Args:
        name: the name of the specification, as it was asked for.
        file: what messages call the file.
        path: where it is.
        node: its sections, the chosen variant laid over them.
    """

    name: str
    file: str
    path: Path
    node: yaml.MappingNode

    def section(self, name: str) -> Mapping[str, yaml.Node]:
        """The entries of a section by key; none where it is not there."""
        return _section(self.node, name)

    def entries(self, name: str) -> Sequence[tuple[yaml.Node, yaml.Node]]:
        """The same as keys and values that know their places."""
        return _pairs(self.node, name)

    @property
    def machine(self) -> str | None:
        """The machine that the file refers to; the path of one is relative to the file."""
        named = self.text("machine")
        if named is None:
            return None
        return os.path.join(self.path.parent, named.value) if is_path(named.value) else str(named.value)

    @property
    def symbols(self) -> Mapping[str, yaml.Node]:
        """The symbols that the file declares; of a file that declares none those that it implies."""
        return self.section("symbols") or self.implied_symbols()

    def implied_symbols(self) -> Mapping[str, yaml.Node]:
        """Sizes of partitions and scalars of expressions by name, each with the node where it stands first.

        A file that declares no symbols leaves their values to each run, as with the public tool.
        """
        partitions, einsum = self.section("mapping").get("partitioning"), self.section("einsum")
        nodes: dict[str, yaml.Node] = {}
        for node in _scalars(partitions) if partitions else ():
            for name in _SIZE.findall(str(node.value)):
                nodes.setdefault(name, node)
        tensors = {str(key.value) for key, _ranks in _entries(einsum.get("declaration"))}
        for node in _scalars(einsum["expressions"]) if "expressions" in einsum else ():
            for name in _symbols_in(str(node.value)):
                if name not in tensors:
                    nodes.setdefault(name, node)
        return nodes

    def text(self, name: str) -> yaml.ScalarNode | None:
        """A single value of the file."""
        return next(
            (
                value
                for key, value in self.node.value
                if key.value == name and isinstance(value, yaml.ScalarNode)
            ),
            None,
        )


def _scalars(node: yaml.Node) -> Iterator[yaml.ScalarNode]:
    """Yield the scalar values below a node, without keys."""
    if isinstance(node, yaml.ScalarNode):
        yield node
    elif isinstance(node, yaml.MappingNode):
        yield from (scalar for _key, value in node.value for scalar in _scalars(value))
    elif isinstance(node, yaml.SequenceNode):
        yield from (scalar for value in node.value for scalar in _scalars(value))


def _symbols_in(text: str) -> list[str]:
    """The names of scalars in indices and, where it can be read, on the right side of an expression."""
    coefficients = _COEFFICIENT.findall(text)
    try:
        statement = parse_statement(with_coefficients(text, dict.fromkeys(coefficients, 1)))
    except UnreadableTextError:
        return coefficients
    expression = statement.expression if isinstance(statement, Equation) else None
    return [*coefficients, *(scalar.name for scalar in (scalars(expression) if expression else ()))]


def with_coefficients(text: str, values: Mapping[str, object]) -> str:
    """An expression with numbers for the symbols in its indices: ``I[g * x + r]`` as ``I[2 * x + r]``."""
    return _COEFFICIENT.sub(lambda match: _whole(values.get(match[0], match[0])), text)


def _whole(value: object) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def split_symbols(name: str, words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split words of a command line into operands, and settings of a specification's symbols (``a=2``).

    Raises:
        ConfigurationError: as ``find``.
    """
    symbols = find(name).symbols if any("=" in word for word in words) else {}
    settings = [word for word in words if "=" in word and word.partition("=")[0] in symbols]
    return [word for word in words if word not in settings], settings


def find(name: str) -> Source:
    """The specification of an accelerator (``gamma``), of a variant (``extensor-energy``), or in a YAML file.

    Raises:
        ConfigurationError: there is none, or it cannot be read.
    """
    file, path, variant = _place(name)
    return Source(name, file, path, _chosen(_composed(path, file), variant, file))


def _place(name: str) -> tuple[str, Path, str]:
    """Return the name of a specification in messages, its file, and the chosen variant."""
    if name.endswith((".yaml", ".yml")):
        return name, Path(name), ""
    base, variant = _split(name)
    path = _machine_specification(base)
    if path is None:
        advice = nearest(name, names())
        raise ConfigurationError(f"no specification, and no YAML file, is called {name}; {advice}")
    return str(path) if is_path(name) else f"{base}/{FILE}", path, variant


def _machine_specification(machine: str) -> Path | None:
    """The specification in a machine's folder; None where there is no such machine, or it has none."""
    try:
        path = accelerators.folder(machine) / FILE
    except ConfigurationError:
        return None
    return path if path.is_file() else None


def _split(name: str) -> tuple[str, str]:
    """A machine's name or place, and a variant behind a hyphen."""
    if is_path(name) and Path(name).exists():
        return name, ""
    base, hyphen, variant = name.rpartition("-") if is_path(name) else name.partition("-")
    return (base, variant) if hyphen else (name, "")


def names() -> list[str]:
    """The specifications that accelerators come with, and their variants."""
    names_: list[str] = []
    for name in accelerators.names():
        path = _machine_specification(name)
        if path is not None:
            variants = _section(_composed(path, f"{name}/{FILE}"), "variants")
            names_ += [name, *(f"{name}-{variant}" for variant in variants)]
    return names_


def _composed(path: Path, file: str) -> yaml.MappingNode:
    text = read_text(path, file)
    with yaml_errors(file):
        node = compose(text)
    if not isinstance(node, yaml.MappingNode):
        raise ConfigurationError(f"{file}:1:1: expected sections, such as 'einsum:'")
    respell(node)
    return node


def _section(node: yaml.MappingNode, name: str) -> dict[str, yaml.Node]:
    return {str(key.value): value for key, value in _pairs(node, name)}


def _pairs(node: yaml.MappingNode, name: str) -> list[tuple[yaml.Node, yaml.Node]]:
    return _entries(next((value for key, value in node.value if key.value == name), None))


def _entries(node: yaml.Node | None) -> list[tuple[yaml.Node, yaml.Node]]:
    return node.value if isinstance(node, yaml.MappingNode) else []


def place_of(file: str, node: yaml.Node) -> str:
    """Return the place of a value: file, line and column."""
    return f"{file}:{node.start_mark.line + 1}:{node.start_mark.column + 1}"


def _chosen(node: yaml.MappingNode, variant: str, file: str) -> yaml.MappingNode:
    """The file with one of its variants laid over, or none."""
    variants = _section(node, "variants")
    kept = [(key, value) for key, value in node.value if key.value != "variants"]
    base = yaml.MappingNode(node.tag, kept, node.start_mark, node.end_mark)
    if not variant:
        return base
    if variant not in variants:
        advice = nearest(variant, variants) if variants else "it has none"
        raise ConfigurationError(f"{file}: there is no variant {variant}; {advice}")
    over = variants[variant]
    if not isinstance(over, yaml.MappingNode):
        line = over.start_mark.line + 1
        raise ConfigurationError(f"{file}:{line}: variant {variant} should have sections, as the file has")
    return overlay(base, over)
