"""Spellings of the language's first versions, which public files still use, and their current forms."""

from __future__ import annotations

import re

import yaml

_KEYS = {"einsum": {"expression": "expressions"}, "mapping": {"partitions": "partitioning"}}
_DIRECTIVE = re.compile(r"\b(uniform|nway)(Shape|Occupancy)(?=\()")


def respell(root: yaml.MappingNode) -> None:
    """Rename keys and directives of a file in place; write loop orders in a list as a section."""
    for section, node in _find_sections(root):
        for key, value in _find_sections(node):
            key.value = _KEYS.get(str(section.value), {}).get(key.value, key.value)
            if key.value == "partitioning":
                _respell_directives(value)
        if section.value == "mapping" and isinstance(node, yaml.MappingNode):
            node.value = [
                (key, _as_section(value) if key.value == "loop-order" else value) for key, value in node.value
            ]


def _find_sections(node: yaml.Node) -> list[tuple[yaml.Node, yaml.Node]]:
    return node.value if isinstance(node, yaml.MappingNode) else []


def _respell_directives(node: yaml.Node) -> None:
    """Rename directives, as ``uniformShape(6)`` to ``uniform_shape(6)``."""
    if isinstance(node, yaml.ScalarNode):
        node.value = _DIRECTIVE.sub(lambda match: f"{match[1]}_{match[2].lower()}", str(node.value))
    for _key, value in _find_sections(node):
        _respell_directives(value)
    for value in node.value if isinstance(node, yaml.SequenceNode) else ():
        _respell_directives(value)


def _as_section(node: yaml.Node) -> yaml.Node:
    """Convert a list of loop orders to a section, as ``- Z: M, N`` to ``Z: [M, N]``."""
    entries = node.value if isinstance(node, yaml.SequenceNode) else ()
    if not entries or not all(isinstance(entry, yaml.MappingNode) for entry in entries):
        return node
    pairs = [(key, _as_list(value)) for entry in entries for key, value in entry.value]
    return yaml.MappingNode("tag:yaml.org,2002:map", pairs, node.start_mark, node.end_mark)


def _as_list(node: yaml.Node) -> yaml.Node:
    if not isinstance(node, yaml.ScalarNode):
        return node
    names = [name.strip() for name in str(node.value).split(",")]
    items = [yaml.ScalarNode(node.tag, name, node.start_mark, node.end_mark) for name in names]
    return yaml.SequenceNode("tag:yaml.org,2002:seq", items, node.start_mark, node.end_mark)
