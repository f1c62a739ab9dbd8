"""Files of inputs as sections, each value with its place, whatever version's spelling they use."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.accelerators.yaml_document import Document
from fiberscope.accelerators.yaml_layer import compose, read_text, refusing
from fiberscope.accelerators.yaml_schema import checked
from fiberscope.models.analytic.schema import TAG, FileSchema
from fiberscope.workloads.errors import nearest

__all__ = ["CONSTRAINTS", "Inputs", "Place", "read_files"]

TAGS: Final = ("!Container", "!Component", "!Hierarchical", "!Parallel", "!Pipelined", "!Nothing")
CONSTRAINTS: Final = ("architecture_constraints", "mapspace_constraints")
SECTIONS: Final = ("architecture", "problem", "mapping", "ERT", "sparse_optimizations", *CONSTRAINTS)
_OLD = re.compile(r"[a-z]+(-[a-zA-Z]+)+")
_STANDARD = "tag:yaml.org,2002:"


@dataclass(frozen=True)
class Place:
    """Where a section is from, for complaints about what is in it."""

    document: Document
    path: tuple[str | int, ...]

    def __truediv__(self, part: str | int) -> Place:
        """A value within."""
        return Place(self.document, (*self.path, part))

    def error(self, message: str, *, key: bool = False) -> ConfigurationError:
        """A complaint about the value here, or about its key."""
        return self.document.error(self.path, message, key=key)


@dataclass
class Inputs:
    """The sections that files have, where each is from, and what is to be told about them."""

    names: list[str]
    folder: Path
    sections: dict[str, Any] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def need(self, section: str) -> tuple[Any, Place]:
        """A section that has to be there.

        Raises:
            ConfigurationError: no file has it.
        """
        if section not in self.sections:
            raise ConfigurationError(f"{', '.join(self.names)}: there is no section {section}; add one")
        return self.sections[section], self.places[section]


def read_files(paths: Sequence[Path]) -> Inputs:
    """The sections of files; each may be in one of them.

    Raises:
        ConfigurationError: a file cannot be read, or has what is not known; one line that says where.
    """
    inputs = Inputs([str(path) for path in paths], paths[0].parent)
    for path in paths:
        document = _document(path, inputs)
        given = checked(FileSchema, document)
        for section in SECTIONS:
            value = getattr(given, section)
            if value is None:
                continue
            if section in inputs.sections:
                other = inputs.places[section].document.name
                raise document.error((section,), f"{section} is in {other} too; leave one out", key=True)
            inputs.sections[section] = value
            inputs.places[section] = Place(document, (section,))
    return inputs


def _document(path: Path, inputs: Inputs) -> Document:
    name = str(path)
    text = read_text(path, name)
    with refusing(name):
        node = compose(text)
        old = sorted(set(_respelt(node, name)))
        document = Document.of(node, name, lambda value, _complain: value)
    if old:
        inputs.notes.append(f"{name}: spelt as version 0.3 has it ({', '.join(old[:3])}); read as 0.4")
    return document


def _respelt(node: yaml.Node | None, name: str) -> Iterator[str]:
    """Make underscores of hyphens in keys, and keys of tags; yields the spellings that were changed."""
    if isinstance(node, yaml.MappingNode):
        _keep_tag(node, name)
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and _OLD.fullmatch(str(key.value)):
                yield str(key.value)
                key.value = str(key.value).replace("-", "_")
            yield from _respelt(value, name)
    elif isinstance(node, yaml.SequenceNode):
        _check_tag(node, name)
        for entry in node.value:
            yield from _respelt(entry, name)
    elif node is not None:
        _check_tag(node, name)


def _check_tag(node: yaml.Node, name: str) -> None:
    tag = str(node.tag)
    if tag.startswith(_STANDARD):
        return
    if tag not in TAGS:
        raise ConfigurationError(
            f"{name}:{node.start_mark.line + 1}: unknown tag {tag}; {nearest(tag, TAGS)}"
        )


def _keep_tag(node: yaml.MappingNode, name: str) -> None:
    """A mapping keeps its tag as one more entry."""
    _check_tag(node, name)
    tag = str(node.tag)
    if not tag.startswith(_STANDARD):
        here = (node.start_mark, node.start_mark)
        key = yaml.ScalarNode(f"{_STANDARD}str", TAG, *here)
        node.value.insert(0, (key, yaml.ScalarNode(f"{_STANDARD}str", tag, *here)))
        node.tag = f"{_STANDARD}map"
