"""Makes a ``Specification`` of a YAML file, or of the one that an accelerator comes with."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import yaml

import accelerators
from accelerators.configuration import Configuration, layers, leaf_keys, validated
from accelerators.errors import ConfigurationError
from accelerators.yaml_layer import Entry, construct, refusing
from fiberscope.teaal.binding import BindingReader, read_format
from fiberscope.teaal.cascade import Cascade, read_cascade
from fiberscope.teaal.document import Document
from fiberscope.teaal.expression import Alias, Statement
from fiberscope.teaal.functions import BUILT_IN
from fiberscope.teaal.hardware import read_configuration
from fiberscope.teaal.mapping import MappingReader
from fiberscope.teaal.references import resolved
from fiberscope.teaal.schema import SpecificationSchema, checked
from fiberscope.teaal.source import Source, find
from fiberscope.teaal.specification import Configuration as Architecture
from fiberscope.teaal.specification import Einsum, Specification, Tensor
from workloads.errors import nearest

__all__ = ["load"]


def load(
    name: str,
    settings: Mapping[str, object] | None = None,
    symbols: Mapping[str, float] | None = None,
) -> Specification:
    """The specification of an accelerator, of one of its variants, or in a file.

    Args:
        name: ``gamma``, ``extensor-energy``, or the path of a YAML file.
        settings: symbols and parameters of the machine by key; a value may be an ``Entry``.
        symbols: values for symbols to which neither file nor settings give one.

    Raises:
        ConfigurationError: no such specification, or one that cannot be; one line with file, line and column.
    """
    source = find(name)
    with refusing(source.file):
        known = _Known.of(source, settings or {}, symbols or {})
        document = Document.of(source.node, source.file, known.resolve)
        return _assembled(source, document, known)


@dataclass(frozen=True)
class _Known:
    """Numbers that a specification can refer to: its symbols, and the parameters of the machine it names."""

    symbols: Mapping[str, float]
    parameters: Mapping[str, object]

    @classmethod
    def of(cls, source: Source, settings: Mapping[str, object], symbols: Mapping[str, float]) -> _Known:
        """Settings over what the file has; each is of a symbol or of a parameter.

        Raises:
            ConfigurationError: a setting of neither, a value that is no number, or a symbol without one.
        """
        declared = source.section("symbols")
        entries = {
            key: value if isinstance(value, Entry) else Entry(value, "settings")
            for key, value in settings.items()
        }
        parameters = _parameters(
            source, {key: entry for key, entry in entries.items() if key not in declared}
        )
        values: dict[str, float] = {}
        for name, node in declared.items():
            given = entries.get(name) or _written(node, source.file, {**parameters, **values})
            values[name] = _number(name, given, symbols)
        return cls(values, parameters)

    def resolve(self, text: str, complaint: Callable[[str], Exception]) -> object:
        """The value of a text with references."""
        return resolved(text, {**self.parameters, **self.symbols}, complaint)


def _written(node: yaml.Node, file: str, known: Mapping[str, object]) -> Entry:
    """What the file gives a symbol."""
    place = f"{file}:{node.start_mark.line + 1}:{node.start_mark.column + 1}"
    value = construct(node)
    if value == "":  # YAML's nothing: every run gives the symbol its value
        return Entry(None, place)
    if isinstance(value, str):
        value = resolved(value, known, lambda message: ConfigurationError(f"{place}: {message}"))
    return Entry(value, place)


def _number(name: str, given: Entry, defaults: Mapping[str, float]) -> float:
    value = defaults.get(name) if given.value is None else given.value
    if value is None:
        raise ConfigurationError(
            f"{given.origin}: symbol {name} has no value; give it by --set {name}=64, say"
        )
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ConfigurationError(f"{given.origin}: {name} is {value}; it should be a number")
    return value


def _parameters(source: Source, settings: Mapping[str, Entry]) -> dict[str, object]:
    """The parameters of the machine that the file names, by dotted key, in base units."""
    named = source.text("machine")
    if named is None:
        for key, entry in settings.items():
            known = source.section("symbols")
            advice = nearest(key, known) if known else "it has none"
            raise ConfigurationError(f"{entry.origin}: {source.name} has no symbol {key}; {advice}")
        return {}
    if named.value not in accelerators.names():
        place = f"{source.file}:{named.start_mark.line + 1}:{named.start_mark.column + 1}"
        advice = nearest(str(named.value), accelerators.names())
        raise ConfigurationError(f"{place}: there is no machine {named.value}; {advice}")
    kind = accelerators.find(str(named.value))
    entries = layers(kind.shipped, name=kind.name, settings=settings)
    configured: Configuration = validated(kind.configuration, entries, kind.name)
    return {key: _leaf(configured, key) for key in leaf_keys(kind.configuration)}


def _leaf(configured: Configuration, key: str) -> object:
    return reduce(getattr, key.split("."), configured)


def _assembled(source: Source, document: Document, known: _Known) -> Specification:
    schema = checked(SpecificationSchema, document)
    cascade = read_cascade(schema.einsum, known.symbols, document)
    reader = MappingReader(schema.mapping, cascade, known.symbols, document)
    reader.check_names()
    tensors = _tensors(schema, cascade, reader, document)
    operations = [*BUILT_IN, *cascade.functions]
    configurations = {
        name: read_configuration(name, levels, document, operations)
        for name, levels in schema.architecture.items()
    }
    return Specification(
        source.name,
        tensors,
        _einsums(schema, cascade, reader, tensors, configurations, document),
        known.symbols,
        cascade.functions,
        cascade.shapes,
        configurations,
        cascade.iteration,
        known.parameters,
    )


def _tensors(
    schema: SpecificationSchema, cascade: Cascade, reader: MappingReader, document: Document
) -> dict[str, Tensor]:
    for tensor in schema.format:
        if tensor not in cascade.declared:
            message = f"{tensor} is not declared; {nearest(tensor, cascade.declared)}"
            raise document.error(("format", tensor), message, key=True)
    return {
        name: Tensor(
            name,
            ranks,
            reader.rank_order(name),
            reader.uncompressed(name),
            cascade.empty[name],
            {
                which: read_format(name, which, given, document)
                for which, given in schema.format.get(name, {}).items()
            },
        )
        for name, ranks in cascade.declared.items()
    }


def _einsums(
    schema: SpecificationSchema,
    cascade: Cascade,
    reader: MappingReader,
    tensors: Mapping[str, Tensor],
    configurations: Mapping[str, Architecture],
    document: Document,
) -> tuple[Einsum, ...]:
    einsums = [_einsum(name, one, cascade, reader) for name, (one, _path) in cascade.statements.items()]
    bound = [one.name for one in einsums if not isinstance(one.equation, Alias)]
    for name in schema.bindings:
        if name not in bound:
            message = f"there is no Einsum {name}; {nearest(name, bound)}"
            raise document.error(("bindings", name), message, key=True)
    return tuple(
        replace(
            one,
            bindings=BindingReader(one, tensors, configurations, document).read(schema.bindings[one.name]),
        )
        if one.name in schema.bindings
        else one
        for one in einsums
    )


def _einsum(name: str, statement: Statement, cascade: Cascade, reader: MappingReader) -> Einsum:
    if isinstance(statement, Alias):
        return Einsum(name, statement)
    mapping: Any = reader.of(name, statement)
    return Einsum(name, statement, operators=cascade.operators[name], **vars(mapping))
