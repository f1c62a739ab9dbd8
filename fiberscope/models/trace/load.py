"""Loader of a ``Specification`` from a YAML file or from an accelerator's own specification."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import yaml

from fiberscope import accelerators
from fiberscope.accelerators.configuration import Configuration, layers, leaf_keys, validate
from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.accelerators.machine import Accelerator
from fiberscope.accelerators.references import resolve_references
from fiberscope.accelerators.yaml_document import Document
from fiberscope.accelerators.yaml_layer import Entry, construct, yaml_errors
from fiberscope.accelerators.yaml_schema import validate_document
from fiberscope.models.trace.binding import BindingReader, read_format
from fiberscope.models.trace.cascade import Cascade, read_cascade
from fiberscope.models.trace.hardware import read_configuration
from fiberscope.models.trace.mapping import MappingReader
from fiberscope.models.trace.options import Options
from fiberscope.models.trace.program import BUILT_IN
from fiberscope.models.trace.schema import SpecificationSchema
from fiberscope.models.trace.source import Source, find, format_position, replace_coefficients
from fiberscope.models.trace.specification import Configuration as Architecture
from fiberscope.models.trace.specification import Einsum, Specification, Tensor
from fiberscope.workloads.errors import suggest
from fiberscope.workloads.expressions.expression import Alias, Statement

STAND_IN = 1  # value of a symbol without a value, in references and in coefficients of indices


def load(name: str, settings: Mapping[str, object] | None = None) -> Specification:
    """Load the specification of an accelerator, of one of its variants, or of a file.

    Args:
        name: ``gamma``, ``extensor-energy``, or the path of a YAML file.
        settings: symbols and parameters of the machine by key; a value may be an ``Entry``.

    Raises:
        ConfigurationError: the specification does not exist or is invalid; the message has file, line and
            column.
    """
    return draft(name, settings).complete()


def draft(name: str, settings: Mapping[str, object] | None = None) -> Draft:
    """Read a specification whose symbols may lack values; ``Draft.complete`` checks the values.

    Args:
        name, settings: the arguments of ``load``.

    Raises:
        ConfigurationError: as ``load``.
    """
    source = find(name)
    entries = {key: Entry.wrap(value) for key, value in (settings or {}).items()}
    with yaml_errors(source.file):
        declared = source.read_section("symbols")
        implied = {} if declared else source.find_implied_symbols()
        # a key that is no symbol is a parameter of the machine; an unknown key is refused there
        machine_settings = {
            key: entry for key, entry in entries.items() if key not in {**declared, **implied}
        }
        machine, parameters = _configure_machine(source, machine_settings)
        values = dict(parameters)
        entries_by_symbol = {}
        for symbol, node in implied.items():
            entries_by_symbol[symbol] = entries.get(symbol) or Entry(None, format_position(source.file, node))
        for symbol, node in declared.items():
            entries_by_symbol[symbol] = entries.get(symbol) or _read_symbol(node, source.file, values)
            has_value = entries_by_symbol[symbol].value is not None
            # references of the symbols that follow use this value: the order of the file matters
            values[symbol] = _number(symbol, entries_by_symbol[symbol]) if has_value else STAND_IN
        document = Document.from_nodes(
            source.node, source.file, lambda text, say: resolve_references(text, values, say)
        )
        schema = validate_document(SpecificationSchema, document, ignore_unknown=True)
        numbers = {
            name: STAND_IN if entry.value is None else _number(name, entry)
            for name, entry in entries_by_symbol.items()
        }
        expressions = [replace_coefficients(text, numbers) for text in schema.einsum.expressions]
        einsum = schema.einsum.model_copy(update={"expressions": expressions})
        cascade = read_cascade(einsum, tuple(entries_by_symbol), document)
    return Draft(source, document, schema, cascade, machine, parameters, entries_by_symbol, entries)


@dataclass(frozen=True)
class Draft:
    """A specification file after reading, before all symbols have values.

    Args:
        source: the file.
        document: the file with its places, for messages.
        schema: the content of the file.
        cascade: the section ``einsum``.
        machine: descriptor and configuration of the machine that the file names; None without a machine.
        parameters: parameters of the machine by dotted key, in base units.
        entries: the entry of each symbol; its value is None where the symbol has no value.
        settings: the settings of ``draft``.
    """

    source: Source
    document: Document
    schema: SpecificationSchema
    cascade: Cascade
    machine: tuple[Accelerator[Any], Configuration] | None
    parameters: Mapping[str, object]
    entries: Mapping[str, Entry]
    settings: Mapping[str, Entry]

    @property
    def missing(self) -> tuple[str, ...]:
        """Return the names of the symbols without a value."""
        return tuple(name for name, entry in self.entries.items() if entry.value is None)

    def with_symbols(self, symbols: Mapping[str, float]) -> Specification:
        """Read the specification again with values of symbols, also in references; settings take precedence.

        Args:
            symbols: values of symbols by name; all symbols without a value must be among them.

        Raises:
            ConfigurationError: as ``complete``.
        """
        return draft(self.source.name, {**symbols, **self.settings}).complete()

    def complete(self, symbols: Mapping[str, float] | None = None) -> Specification:
        """Return the specification, with values for symbols without one.

        References and coefficients of indices do not use these values: ``draft`` has read them with
        ``STAND_IN``. ``with_symbols`` reads them again.

        Args:
            symbols: values by name. A value of the file or of the settings takes precedence.

        Raises:
            ConfigurationError: a symbol has no value, or the specification is invalid.
        """
        values: dict[str, float] = {}
        for name, entry in self.entries.items():
            value = (symbols or {}).get(name) if entry.value is None else entry.value
            if value is None:
                message = f"symbol {name} has no value; give it one by --set {name}=2"
                raise ConfigurationError(f"{entry.origin}: {message}")
            values[name] = _number(name, replace(entry, value=value))
        with yaml_errors(self.source.file):
            return _assemble(self, values)


def _read_symbol(node: yaml.Node, file: str, values: Mapping[str, object]) -> Entry:
    """Return the entry of a symbol in the file."""
    location = format_position(file, node)
    value = construct(node)
    if value == "":  # an empty entry: each run chooses the value
        return Entry(None, location)
    if isinstance(value, str):
        value = resolve_references(
            value, values, lambda message: ConfigurationError(f"{location}: {message}")
        )
    return Entry(value, location)


def _number(name: str, entry: Entry) -> float:
    value = entry.value
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ConfigurationError(f"{entry.origin}: {name} is {value}; it should be a number")
    return value


def _configure_machine(
    source: Source, settings: Mapping[str, Entry]
) -> tuple[tuple[Accelerator[Any], Configuration] | None, dict[str, object]]:
    """Return the machine that the file names, and its parameters with the settings."""
    machine, machine_node = source.machine, source.scalar("machine")
    if machine is None or machine_node is None:
        _check_keys(source, settings, "symbol", ())
        return None, {}
    try:
        accelerator = accelerators.find(machine)
    except ConfigurationError as error:
        raise ConfigurationError(f"{format_position(source.file, machine_node)}: {error}") from error
    _check_keys(source, settings, "parameter", leaf_keys(accelerator.configuration))
    entries = layers(accelerator.shipped, name=accelerator.name, settings=settings)
    configuration: Configuration = validate(accelerator.configuration, entries, accelerator.name)
    return (accelerator, configuration), {
        key: reduce(getattr, key.split("."), configuration) for key in leaf_keys(accelerator.configuration)
    }


def _check_keys(source: Source, settings: Mapping[str, Entry], kind: str, keys: Iterable[str]) -> None:
    """Refuse unknown settings; the message suggests the nearest symbol, parameter or option."""
    parameters = tuple(keys)
    for key, entry in settings.items():
        # a section is a valid key, too; the dots keep ``cache`` from matching ``cache_stages``
        if not any(f"{parameter}.".startswith(f"{key}.") for parameter in parameters):
            advice = suggest(key, [*source.symbols, *parameters, *Options.model_fields])
            raise ConfigurationError(f"{entry.origin}: {source.name} has no {kind} {key}; {advice}")


def _assemble(draft: Draft, symbols: Mapping[str, float]) -> Specification:
    """Return the specification of a draft with values for all symbols, after all checks."""
    schema, document, cascade = draft.schema, draft.document, draft.cascade
    reader = MappingReader(schema.mapping, cascade, symbols, document)
    reader.check_names()
    tensors = _read_tensors(schema, cascade, reader, document)
    operations = [*BUILT_IN, *cascade.functions]
    configurations = {
        name: read_configuration(name, levels, document, operations)
        for name, levels in schema.architecture.items()
    }
    return Specification(
        draft.source.name,
        tensors,
        _read_einsums(schema, cascade, reader, tensors, configurations, document),
        symbols,
        cascade.functions,
        cascade.shapes,
        configurations,
        cascade.iteration,
        draft.parameters,
    )


def _read_tensors(
    schema: SpecificationSchema, cascade: Cascade, reader: MappingReader, document: Document
) -> dict[str, Tensor]:
    """Return the tensors of the cascade with their orders and formats."""
    for tensor in schema.format:
        if tensor not in cascade.declared:
            message = f"{tensor} is not declared; {suggest(tensor, cascade.declared)}"
            raise document.error(("format", tensor), message, key=True)
    return {
        name: Tensor(
            name,
            ranks,
            reader.rank_order(name),
            reader.uncompressed(name),
            cascade.empty[name],
            {
                format_name: read_format(name, format_name, mapping, document)
                for format_name, mapping in schema.format.get(name, {}).items()
            },
        )
        for name, ranks in cascade.declared.items()
    }


def _read_einsums(
    schema: SpecificationSchema,
    cascade: Cascade,
    reader: MappingReader,
    tensors: Mapping[str, Tensor],
    configurations: Mapping[str, Architecture],
    document: Document,
) -> tuple[Einsum, ...]:
    """Return the Einsums of the cascade with their mappings and bindings."""
    einsums = [
        _read_einsum(name, statement, cascade, reader)
        for name, (statement, _path) in cascade.statements.items()
    ]
    bound = [einsum.name for einsum in einsums if not isinstance(einsum.equation, Alias)]
    for name in schema.bindings:
        if name not in bound:
            message = f"there is no Einsum {name}; {suggest(name, bound)}"
            raise document.error(("bindings", name), message, key=True)
    return tuple(
        replace(
            einsum,
            bindings=BindingReader(einsum, tensors, configurations, document).read(
                schema.bindings[einsum.name]
            ),
        )
        if einsum.name in schema.bindings
        else einsum
        for einsum in einsums
    )


def _read_einsum(name: str, statement: Statement, cascade: Cascade, reader: MappingReader) -> Einsum:
    if isinstance(statement, Alias):
        return Einsum(name, statement)
    # the fields of ``EinsumMapping`` have the names of the fields of ``Einsum``
    mapping: Any = reader.read_einsum_mapping(name, statement)
    return Einsum(name, statement, operators=cascade.operators[name], **vars(mapping))
