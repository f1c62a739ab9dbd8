"""Location of a specification's file, and selection of a variant."""

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
from fiberscope.workloads.errors import suggest
from fiberscope.workloads.expressions.expression import Equation, iterate_scalars
from fiberscope.workloads.expressions.grammar import UnreadableTextError, parse_statement

FILE = "spec.yaml"
# The name in uniform_shape(K1), nway_shape(WAYS) or uniform_occupancy(A.K1).
_SIZE_SYMBOL = re.compile(
    r"(?:uniform_shape|nway_shape|uniform_occupancy)\(\s*(?:\w+\s*\.\s*)?([A-Za-z_]\w*)\s*\)"
)

# The name g in an index such as [g * x + r]: a product of two names, with a closing bracket after it.
_COEFFICIENT = re.compile(r"[A-Za-z_]\w*(?=\s*\*\s*[A-Za-z_]\w*[^\[]*\])")


@dataclass(frozen=True)
class Source:
    """The text of a specification, as YAML nodes.

    Args:
        name: the name by which the specification was requested.
        file: the name of the file in messages.
        path: path of the file.
        node: its sections, with the variant's overlay.
    """

    name: str
    file: str
    path: Path
    node: yaml.MappingNode

    def read_section(self, name: str) -> Mapping[str, yaml.Node]:
        """Return the entries of a section by key; an absent section has none."""
        return _find_section(self.node, name)

    def entries(self, name: str) -> Sequence[tuple[yaml.Node, yaml.Node]]:
        """Return the entries of a section as nodes of key and value, whose positions messages quote."""
        return _list_pairs(self.node, name)

    @property
    def machine(self) -> str | None:
        """Return the machine that the file names, or None; a path is relative to the file."""
        node = self.scalar("machine")
        if node is None:
            return None
        return os.path.join(self.path.parent, node.value) if is_path(node.value) else str(node.value)

    @property
    def symbols(self) -> Mapping[str, yaml.Node]:
        """Return the declared symbols; without declarations, the implied symbols."""
        return self.read_section("symbols") or self.find_implied_symbols()

    def find_implied_symbols(self) -> Mapping[str, yaml.Node]:
        """Return sizes of partitions and scalars of expressions by name, each with its first node.

        A file without declared symbols leaves their values to each run, as TeAAL's public compiler does.
        """
        partitions, einsum = self.read_section("mapping").get("partitioning"), self.read_section("einsum")
        nodes: dict[str, yaml.Node] = {}
        for node in _find_scalars(partitions) if partitions else ():
            for name in _SIZE_SYMBOL.findall(str(node.value)):
                nodes.setdefault(name, node)
        tensors = {str(key.value) for key, _ranks in _list_entries(einsum.get("declaration"))}
        for node in _find_scalars(einsum["expressions"]) if "expressions" in einsum else ():
            for name in _find_symbols(str(node.value)):
                # a name without indices may also be a declared tensor
                if name not in tensors:
                    nodes.setdefault(name, node)
        return nodes

    def scalar(self, name: str) -> yaml.ScalarNode | None:
        """Return the node of a scalar at the top level of the file, or None."""
        return next(
            (
                value
                for key, value in self.node.value
                if key.value == name and isinstance(value, yaml.ScalarNode)
            ),
            None,
        )


def _find_scalars(node: yaml.Node) -> Iterator[yaml.ScalarNode]:
    """Yield the scalar values below a node, without keys."""
    if isinstance(node, yaml.ScalarNode):
        yield node
    elif isinstance(node, yaml.MappingNode):
        yield from (scalar for _key, value in node.value for scalar in _find_scalars(value))
    elif isinstance(node, yaml.SequenceNode):
        yield from (scalar for value in node.value for scalar in _find_scalars(value))


def _find_symbols(text: str) -> list[str]:
    """Return the names of scalars in indices, and in the right-hand side if it can be parsed."""
    coefficients = _COEFFICIENT.findall(text)
    try:
        # the grammar takes only numbers as coefficients; any number serves to find the other names
        statement = parse_statement(replace_coefficients(text, dict.fromkeys(coefficients, 1)))
    except UnreadableTextError:
        return coefficients
    expression = statement.expression if isinstance(statement, Equation) else None
    return [*coefficients, *(scalar.name for scalar in (iterate_scalars(expression) if expression else ()))]


def replace_coefficients(text: str, values: Mapping[str, object]) -> str:
    """Replace symbols in indices by their values, as in ``I[g * x + r]`` to ``I[2 * x + r]``.

    Args:
        text: an expression.
        values: values by symbol; other names stay.
    """
    return _COEFFICIENT.sub(lambda match: _format_number(values.get(match[0], match[0])), text)


def _format_number(value: object) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def split_symbols(name: str, arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split arguments of a command into operands, and settings of a specification's symbols (``a=2``).

    Args:
        name: the specification, as for ``find``.
        arguments: operands (``A=FILE``, ``FILE``) and settings, in any order.

    Raises:
        ConfigurationError: as ``find``; only if an argument has an equals sign.
    """
    symbols = find(name).symbols if any("=" in text for text in arguments) else {}
    settings = [text for text in arguments if "=" in text and text.partition("=")[0] in symbols]
    return [text for text in arguments if text not in settings], settings


def find(name: str) -> Source:
    """Return the specification of an accelerator (``gamma``), a variant (``extensor-energy``) or a file.

    Raises:
        ConfigurationError: the specification does not exist or cannot be read.
    """
    file, path, variant = _locate(name)
    return Source(name, file, path, _apply_variant(_compose(path, file), variant, file))


def find_shipped_file(name: str) -> Path | None:
    """Return the path of a specification that ships with an accelerator; None for a user's specification.

    Raises:
        ConfigurationError: the specification does not exist.
    """
    is_own = is_path(name) or name.endswith((".yaml", ".yml"))
    return None if is_own else _locate(name)[1]


def _locate(name: str) -> tuple[str, Path, str]:
    """Return the name of a specification in messages, the path of its file, and the variant or ``""``."""
    if name.endswith((".yaml", ".yml")):
        return name, Path(name), ""
    base, variant = _split_variant(name)
    path = _find_machine_specification(base)
    if path is None:
        advice = suggest(name, list_names())
        raise ConfigurationError(f"no specification, and no YAML file, is called {name}; {advice}")
    return str(path) if is_path(name) else f"{base}/{FILE}", path, variant


def _find_machine_specification(machine: str) -> Path | None:
    """Return the specification in a machine's folder, or None."""
    try:
        path = accelerators.folder(machine) / FILE
    except ConfigurationError:
        return None
    return path if path.is_file() else None


def _split_variant(name: str) -> tuple[str, str]:
    """Split a name into the machine's name or path, and the variant after a hyphen."""
    if is_path(name) and Path(name).exists():
        return name, ""
    # folders in a path may have hyphens, so the last hyphen counts; of a name the first hyphen counts
    base, hyphen, variant = name.rpartition("-") if is_path(name) else name.partition("-")
    return (base, variant) if hyphen else (name, "")


def list_names() -> list[str]:
    """Return the names of the accelerators' specifications and their variants."""
    specifications: list[str] = []
    for name in accelerators.names():
        path = _find_machine_specification(name)
        if path is not None:
            variants = _find_section(_compose(path, f"{name}/{FILE}"), "variants")
            specifications += [name, *(f"{name}-{variant}" for variant in variants)]
    return specifications


def _compose(path: Path, file: str) -> yaml.MappingNode:
    text = read_text(path, file)
    with yaml_errors(file):
        node = compose(text)
    if not isinstance(node, yaml.MappingNode):
        raise ConfigurationError(f"{file}:1:1: expected sections, such as 'einsum:'")
    respell(node)
    return node


def _find_section(node: yaml.MappingNode, name: str) -> dict[str, yaml.Node]:
    return {str(key.value): value for key, value in _list_pairs(node, name)}


def _list_pairs(node: yaml.MappingNode, name: str) -> list[tuple[yaml.Node, yaml.Node]]:
    return _list_entries(next((value for key, value in node.value if key.value == name), None))


def _list_entries(node: yaml.Node | None) -> list[tuple[yaml.Node, yaml.Node]]:
    return node.value if isinstance(node, yaml.MappingNode) else []


def format_position(file: str, node: yaml.Node) -> str:
    """Return the position of a value as ``FILE:LINE:COLUMN``, from 1."""
    return f"{file}:{node.start_mark.line + 1}:{node.start_mark.column + 1}"


def _apply_variant(node: yaml.MappingNode, variant: str, file: str) -> yaml.MappingNode:
    """Return the sections of a file with the overlay of one variant, or of none.

    Raises:
        ConfigurationError: the file lacks the variant, or the variant has no sections.
    """
    variants = _find_section(node, "variants")
    entries = [(key, value) for key, value in node.value if key.value != "variants"]
    base = yaml.MappingNode(node.tag, entries, node.start_mark, node.end_mark)
    if not variant:
        return base
    if variant not in variants:
        advice = suggest(variant, variants) if variants else "it has none"
        raise ConfigurationError(f"{file}: there is no variant {variant}; {advice}")
    variant_node = variants[variant]
    if not isinstance(variant_node, yaml.MappingNode):
        line = variant_node.start_mark.line + 1
        raise ConfigurationError(f"{file}:{line}: variant {variant} should have sections, as the file has")
    return overlay(base, variant_node)
