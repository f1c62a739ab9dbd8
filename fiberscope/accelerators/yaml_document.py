"""Documents: YAML files as plain data, with the line and column of each value for error messages.

A *path* names a value by the keys and list positions that lead to it from the top of the file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import TypeAlias

import yaml

from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.accelerators.yaml_layer import compose, construct, read_text, yaml_errors

Path: TypeAlias = tuple[str | int, ...]  # keys, and positions in lists counted from 0


@dataclass(frozen=True)
class Document:
    """Contents of a YAML file, with the places of its values.

    Args:
        name: name of the file in error messages.
        data: the content: mappings, lists, texts and numbers.
        keys: line and column of each key, both counted from 1; for an entry of a list, of the entry.
        values: line and column of each value, and whether the value is on one line. Only then, a character
            within the value has a column.
    """

    name: str
    data: Mapping[str, object]
    keys: Mapping[Path, tuple[int, int]]
    values: Mapping[Path, tuple[int, int, bool]]

    def error(self, path: Path, message: str, *, key: bool = False, offset: int = 0) -> ConfigurationError:
        """Return an error about a value or its key.

        Args:
            path: path of the value. If the file does not have it, the error names the closest section that
                would contain the value, or else the file alone.
            message: what is wrong and what would be right.
            key: whether the error is about the key of the value.
            offset: position in the text of the value, in characters from its start.
        """
        return ConfigurationError(f"{self.location(path, key=key, offset=offset)}: {message}")

    def location(self, path: Path, *, key: bool = False, offset: int = 0) -> str:
        """Return file, line and column of a value or its key as a text; arguments as of ``error``.

        The text is the name of the file alone if the file has no section of the path.
        """
        while path and path not in self.keys:
            path = path[:-1]
        if not path:
            return self.name
        line, column = self.keys[path]
        if not key:
            line, column, exact = self.values[path]
            column += offset if exact else 0
        return f"{self.name}:{line}:{column}"

    @classmethod
    def from_nodes(
        cls, node: yaml.Node | None, name: str, resolve: Callable[[str, Callable[[str], Exception]], object]
    ) -> Document:
        """Build a document from the nodes of a YAML file.

        Args:
            node: node of the whole file; None for an empty file.
            name: name of the file in error messages.
            resolve: function that returns the value of a text with references (``${...}``). Its second
                argument is a function that makes an error from a message.

        Raises:
            ConfigurationError: if the file is not a mapping, or has a key twice.
            Exception: an error that ``resolve`` raises.
        """
        keys: dict[Path, tuple[int, int]] = {}
        values: dict[Path, tuple[int, int, bool]] = {}
        reader = _Reader(name, resolve, keys, values)
        if not isinstance(node, yaml.MappingNode):
            raise ConfigurationError(f"{name}:1:1: expected sections, as in 'name:', found none")
        return cls(name, reader.mapping(node, ()), keys, values)


def read_document(path: FilePath) -> Document:
    """Read a file as a document; references (``${...}``) remain texts.

    Raises:
        ConfigurationError: if the file cannot be read, is not YAML, is not a mapping, or has a key twice.
    """
    text = read_text(path, str(path))
    with yaml_errors(str(path)):
        return Document.from_nodes(compose(text), str(path), lambda text, _complain: text)


@dataclass(frozen=True)
class _Reader:
    """A reader of nodes, which adds the positions of all keys and values to ``keys`` and ``values``."""

    name: str
    resolve: Callable[[str, Callable[[str], Exception]], object]
    keys: dict[Path, tuple[int, int]]
    values: dict[Path, tuple[int, int, bool]]

    def mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, object]:
        """Return a mapping as plain data, and record the positions of its keys.

        Raises:
            ConfigurationError: if the mapping has a key twice.
        """
        entries: dict[str, object] = {}
        for key_node, value_node in node.value:
            # A list or a mapping as a key has no text that could name it in a path
            key = str(key_node.value) if isinstance(key_node, yaml.ScalarNode) else "[...]"
            line, column = _position(key_node)
            if key in entries:
                raise ConfigurationError(f"{self.name}:{line}:{column}: {key} is given twice")
            self.keys[(*path, key)] = (line, column)
            entries[key] = self._value(value_node, (*path, key))
        return entries

    def _value(self, node: yaml.Node, path: Path) -> object:
        """Return the value of a node as plain data, with its references resolved, and record its position."""
        line, column = _position(node)
        # A position within a quoted text is counted from the character after the quotation mark
        quoted = isinstance(node, yaml.ScalarNode) and node.style in ("'", '"')
        exact = node.start_mark.line == node.end_mark.line
        self.values[path] = (line, column + quoted, exact)
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return self._sequence(node, path)
        value = construct(node)
        if isinstance(value, str) and "${" in value:
            return self.resolve(value, lambda m: ConfigurationError(f"{self.name}:{line}:{column}: {m}"))
        return value

    def _sequence(self, node: yaml.SequenceNode, path: Path) -> Sequence[object]:
        entries = []
        for position, entry in enumerate(node.value):
            self.keys[(*path, position)] = _position(entry)
            entries.append(self._value(entry, (*path, position)))
        return entries


def _position(node: yaml.Node) -> tuple[int, int]:
    return node.start_mark.line + 1, node.start_mark.column + 1


def overlay(base: yaml.MappingNode, override: yaml.MappingNode) -> yaml.MappingNode:
    """Return two mappings merged, with precedence for ``override``; neither argument is changed.

    Sections are merged key by key. A key with the value ``~`` or ``null`` in ``override`` is removed. A key
    without a value replaces the value by an empty one. If all entries of a list in ``override`` have names
    (the keys ``name`` or ``component``), the lists are merged by name. Other lists are replaced.

    Args:
        base: the mapping that ``override`` changes.
        override: the changes; keys that ``base`` does not have come last.
    """
    changes = {str(key.value): (key, value) for key, value in override.value}
    merged = []
    for key, value in base.value:
        change = changes.pop(str(key.value), None)
        if change is None:
            merged.append((key, value))
        elif not _is_null(change[1]):
            # The key of the change, so that an error about it has the position of the change
            merged.append((change[0], _merge_nodes(value, change[1])))
    merged += [change for change in changes.values() if not _is_null(change[1])]
    return yaml.MappingNode(base.tag, merged, base.start_mark, base.end_mark)


def _merge_nodes(base: yaml.Node, override: yaml.Node) -> yaml.Node:
    if isinstance(base, yaml.MappingNode) and isinstance(override, yaml.MappingNode):
        return overlay(base, override)
    if isinstance(base, yaml.SequenceNode) and isinstance(override, yaml.SequenceNode):
        return _merge_lists(base, override)
    return override


def _merge_lists(base: yaml.SequenceNode, override: yaml.SequenceNode) -> yaml.SequenceNode:
    """Merge lists by the names of their entries, new entries last; without names, return ``override``."""
    named = [(_entry_name(entry), entry) for entry in override.value]
    if not named or not all(name for name, _entry in named):
        return override
    changes = dict(named)  # ``pop`` below leaves the entries that ``base`` does not have
    merged = [
        _merge_nodes(entry, changes.pop(_entry_name(entry))) if _entry_name(entry) in changes else entry
        for entry in base.value
    ]
    return yaml.SequenceNode(
        override.tag, [*merged, *changes.values()], override.start_mark, override.end_mark
    )


def _entry_name(entry: yaml.Node) -> str:
    """Return the name of an entry of a list, from its key ``name`` or ``component``; empty if it has none."""
    pairs = entry.value if isinstance(entry, yaml.MappingNode) else []
    return next((str(value.value) for key, value in pairs if key.value in ("name", "component")), "")


def _is_null(node: yaml.Node) -> bool:
    """Return whether a value removes a key: ``~`` or ``null``, but not an empty value."""
    return isinstance(node, yaml.ScalarNode) and str(node.tag).endswith(":null") and bool(node.value)
