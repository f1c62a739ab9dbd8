"""Reader of input files: sections with the locations of their values, in the spelling of any version."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

import yaml

from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.accelerators.yaml_document import Document
from fiberscope.accelerators.yaml_layer import compose, read_text, yaml_errors
from fiberscope.accelerators.yaml_schema import validate_document
from fiberscope.models.analytic.schema import (
    TAG,
    AttributesSchema,
    FileSchema,
    NodeSchema,
    parse_yaml11_number,
)
from fiberscope.workloads.errors import suggest

TAGS: Final = ("!Container", "!Component", "!Hierarchical", "!Parallel", "!Pipelined", "!Nothing")
CONSTRAINTS: Final = (
    "constraints",
    "architecture_constraints",
    "mapspace_constraints",
    "extra_mapping_constraints",
)
SECTIONS: Final = ("architecture", "problem", "mapping", "ERT", "sparse_optimizations", *CONSTRAINTS)
_OLD = re.compile(r"[a-z]+(-[a-zA-Z]+)+")  # keys of version 0.3, as ``data-spaces``
_STANDARD = "tag:yaml.org,2002:"
_ALIKE = 0.85  # similarity above which a name is probably a misspelt attribute


@dataclass(frozen=True)
class Location:
    """Location of a section in its file, for messages about its contents."""

    document: Document
    path: tuple[str | int, ...]

    def __truediv__(self, key: str | int) -> Location:
        """Return the location of a value inside this value."""
        return Location(self.document, (*self.path, key))

    def error(self, message: str, *, key: bool = False) -> ConfigurationError:
        """Return an error about the value at this location, or about its key."""
        return self.document.error(self.path, message, key=key)

    def index_of(self, name: str, names: Sequence[str], kind: str) -> int:
        """Return the index of a name that the section refers to.

        Args:
            names: the existing names.
            kind: kind of the named objects, for the message.

        Raises:
            ConfigurationError: the name does not exist.
        """
        if name not in names:
            raise self.error(f"there is no {kind} {name}; {suggest(name, names)}")
        return names.index(name)


@dataclass
class Inputs:
    """The sections of input files.

    Args:
        names: names of the files, for messages.
        folder: folder of the first file, the base of relative names of data files.
        sections: the sections by name, checked against their schemas.
        locations: the location of each section, by name.
        notes: notes for the user.
    """

    names: list[str]
    folder: Path
    sections: dict[str, Any] = field(default_factory=dict)
    locations: dict[str, Location] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def need(self, section: str) -> tuple[Any, Location]:
        """Return a required section and its location.

        Raises:
            ConfigurationError: no file has the section.
        """
        if section not in self.sections:
            raise ConfigurationError(f"{', '.join(self.names)}: there is no section {section}; add one")
        return self.sections[section], self.locations[section]


def read_files(paths: Sequence[Path]) -> Inputs:
    """Read the sections of one or more files; each section may be in one file only.

    An empty list counts as no section. The names of data files are relative to the folder of the first file.

    Raises:
        ConfigurationError: a file cannot be read, has an unknown key, or has a section of another file; the
            message is one line with the location.
    """
    inputs = Inputs([str(path) for path in paths], paths[0].parent)
    for path in paths:
        document = _document(path, inputs)
        file = validate_document(FileSchema, document)
        inputs.notes += _find_unused_attributes(file.architecture, document.name)
        for section in SECTIONS:
            value = getattr(file, section)
            if value is None or value == []:
                continue
            if section in inputs.sections:
                other = inputs.locations[section].document.name
                raise document.error((section,), f"{section} is in {other} too; leave one out", key=True)
            inputs.sections[section] = value
            inputs.locations[section] = Location(document, (section,))
    return inputs


def _document(path: Path, inputs: Inputs) -> Document:
    """Read a file, convert its spelling, and note the conversions in ``inputs``."""
    name = str(path)
    text = read_text(path, name)
    with yaml_errors(name):
        node = compose(text)
        # the nodes change in place, so the locations of the document remain those of the file
        hyphened, octals = _Spellings(name).read(node)
        # references (``${...}``) stay texts
        document = Document.from_nodes(node, name, lambda value, _complain: value)
    if hyphened:
        inputs.notes.append(f"{name}: spelt as version 0.3 has it ({', '.join(hyphened[:3])}); read as 0.4")
    if octals:
        pairs = ", ".join(f"{text} is {parse_yaml11_number(text)}" for text in octals)
        inputs.notes.append(f"{name}: numbers with a leading 0 are octal, as YAML 1.1 has them: {pairs}")
    return document


def _find_unused_attributes(node: NodeSchema | None, name: str) -> Iterator[str]:
    """Yield notes on attributes that the model does not know: they may be the energy estimator's."""
    names = sorted({key for child in _find_nodes(node) for key in child.attributes.model_extra or ()})
    keys = [field.alias or key for key, field in AttributesSchema.model_fields.items()]
    for key in names:
        matches = get_close_matches(key, keys, n=1, cutoff=_ALIKE)
        if matches:
            yield f"{name}: the model does not know the attribute {key}; did you mean {matches[0]}?"
    if names:
        yield f"{name}: attributes that the model does not use: {', '.join(names)}"


def _find_nodes(node: NodeSchema | None) -> Iterator[NodeSchema]:
    """Yield a node and all nodes below it."""
    if node is not None:
        yield node
        for child in (*node.nodes, *node.local, *node.subtree):
            yield from _find_nodes(child)


class _Spellings:
    """Conversion of a file to the spelling of version 0.4 and YAML 1.2, in place.

    Hyphens in keys become underscores, but not hyphens in values. Tags of mappings become entries. Numbers
    with a leading 0 become texts, which the schema reads as in YAML 1.1.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.hyphened: set[str] = set()
        self.octals: set[str] = set()

    def read(self, node: yaml.Node | None) -> tuple[list[str], list[str]]:
        """Convert a tree; return the keys with hyphens, and the numbers with a leading 0."""
        if node is not None:
            self._respell_node(node)
        return sorted(self.hyphened), sorted(self.octals)

    def _respell_node(self, node: yaml.Node) -> None:
        """Convert a node and all nodes below it; refuse unknown tags."""
        if isinstance(node, yaml.MappingNode):
            self._respell_mapping(node)
            return
        _check_tag(node, self.name)
        if isinstance(node, yaml.SequenceNode):
            for entry in node.value:
                self._respell_node(entry)
        elif isinstance(node, yaml.ScalarNode) and re.fullmatch(r"[-+]?0[\d_]+", str(node.value)):
            node.tag = f"{_STANDARD}str"  # YAML 1.2 would read a decimal number
            if parse_yaml11_number(str(node.value)) != node.value:
                self.octals.add(str(node.value))

    def _respell_mapping(self, node: yaml.MappingNode) -> None:
        _keep_tag(node, self.name)
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and _OLD.fullmatch(str(key.value)):
                self.hyphened.add(str(key.value))
                key.value = str(key.value).replace("-", "_")
            self._respell_node(value)


def _check_tag(node: yaml.Node, name: str) -> None:
    """Refuse a tag that is neither of YAML nor of the architecture's nodes."""
    tag = str(node.tag)
    if tag.startswith(_STANDARD):
        return
    if tag not in TAGS:
        raise ConfigurationError(
            f"{name}:{node.start_mark.line + 1}: unknown tag {tag}; {suggest(tag, TAGS)}"
        )


def _keep_tag(node: yaml.MappingNode, name: str) -> None:
    """Store the tag of a mapping as an additional entry."""
    _check_tag(node, name)
    tag = str(node.tag)
    if not tag.startswith(_STANDARD):
        marks = (node.start_mark, node.start_mark)
        key = yaml.ScalarNode(f"{_STANDARD}str", TAG, *marks)
        # the tag's place in the file, for messages about the entry
        node.value.insert(0, (key, yaml.ScalarNode(f"{_STANDARD}str", tag, *marks)))
        node.tag = f"{_STANDARD}map"
