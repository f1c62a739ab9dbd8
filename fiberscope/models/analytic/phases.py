"""Reader of a machine's run as a sequence of loop nests, from a file with the values of that run.

The file has the sections of any input for each phase. References such as ``${pe.count}`` name the machine's
parameters, the problem's sizes and the file's own symbols.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from fiberscope.accelerators.references import resolve_references
from fiberscope.accelerators.yaml_document import Document
from fiberscope.accelerators.yaml_layer import compose, read_text, yaml_errors
from fiberscope.accelerators.yaml_schema import validate_document
from fiberscope.models.analytic.inputs import Case, build_case
from fiberscope.models.analytic.options import Options
from fiberscope.models.analytic.schema import DirectiveSchema, NodeSchema, ProblemSchema, Section
from fiberscope.models.analytic.source import Inputs, Location
from fiberscope.workloads.errors import suggest


class _Phase(Section):
    """The nest of a phase."""

    problem: ProblemSchema
    architecture: NodeSchema
    mapping: list[DirectiveSchema]
    otherwise: list[DirectiveSchema] | None = (
        None  # the mapping of a problem that is too large for ``mapping``
    )


class _File(Section):
    """A machine's ``analytic.yaml``."""

    of: dict[str, object] = Field(default={})  # parameters of runs that the nests describe
    not_of: dict[str, object] = Field(default={})  # parameters of runs that they do not describe
    without: list[str]  # parts of the machine that no nest describes
    symbols: dict[str, float] = Field(default={})
    phases: dict[str, _Phase] = Field(default={})


@dataclass(frozen=True)
class Phases:
    """Phases of a run, from a file.

    Args:
        cases: by phase, cases with alternative mappings, of which the first valid one counts; empty if the
            file does not describe the run.
        without: parts of the machine that no nest describes, or the reasons for missing nests.
    """

    cases: Mapping[str, Sequence[Case]]
    without: tuple[str, ...]


def read_phases(path: Path, name: str, parameters: Mapping[str, object]) -> Phases:
    """Read the loop nests of a run.

    Args:
        path: path of the file.
        name: name of the file, for messages.
        parameters: parameters of the machine in base units, and sizes of the problem, by name.

    Raises:
        ConfigurationError, InputError: the file cannot be read, or is invalid; the message is one line with
            the location.
    """
    with yaml_errors(name):
        node = compose(read_text(path, name))
        # The sections that decide whether the file describes the run come before references are resolved.
        raw_document = Document.from_nodes(node, name, lambda text, _complain: text)
        mismatches = tuple(_find_mismatches(raw_document, parameters))
        if mismatches:
            return Phases({}, mismatches)
        values = {**parameters, **_evaluate_symbols(raw_document, parameters)}
        document = Document.from_nodes(
            node, name, lambda text, complain: resolve_references(text, values, complain)
        )
    file = validate_document(_File, document)
    cases = {phase: tuple(_build_cases(document, path, phase, nests)) for phase, nests in file.phases.items()}
    return Phases(cases, tuple(file.without))


def _find_mismatches(raw_document: Document, parameters: Mapping[str, object]) -> Iterator[str]:
    """Yield the properties of a run that the nests do not describe."""
    for key, value in _read_section(raw_document, "of", parameters):
        if parameters[key] != value:
            yield f"its nests are of {key}={value}, not of {parameters[key]}"
    for key, value in _read_section(raw_document, "not_of", parameters):
        if parameters[key] == value:
            yield f"it has no nest of {key}={value}"


def _evaluate_symbols(raw_document: Document, parameters: Mapping[str, object]) -> dict[str, int]:
    """Return the symbols of the file, each from earlier symbols: integers, rounded up, at least 1.

    A symbol has priority over a parameter with the same name.
    """
    symbols: dict[str, int] = {}
    for name, value_text in _read_section(raw_document, "symbols"):

        def complaint(message: str, key: str = name) -> Exception:
            return raw_document.error(("symbols", key), message)

        value = (
            resolve_references(value_text, {**parameters, **symbols}, complaint)
            if isinstance(value_text, str)
            else value_text
        )
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise complaint(f"{name} is {value}; it should be a number, or a reference such as ${{M / 2}}")
        symbols[name] = max(math.ceil(value), 1)
    return symbols


def _read_section(
    raw_document: Document, name: str, parameters: Mapping[str, object] | None = None
) -> Iterator[tuple[str, object]]:
    """Yield the entries of a section, nothing without the section; refuse keys that name no parameter.

    Args:
        raw_document: the file, without resolved references.
        name: name of the section.
        parameters: parameters by name; None to accept any key.
    """
    section = raw_document.data.get(name)
    for key, value in section.items() if isinstance(section, Mapping) else ():
        if parameters is not None and key not in parameters:
            raise raw_document.error((name, key), f"there is no {key}; {suggest(key, parameters)}", key=True)
        yield key, value


def _build_cases(document: Document, path: Path, phase: str, nests: _Phase) -> Iterator[Case]:
    for key in ("mapping", "otherwise"):
        if getattr(nests, key) is not None:
            sections = {"problem": "problem", "architecture": "architecture", "mapping": key}
            yield build_case(phase, _select_inputs(document, path, phase, nests, sections), Options())


def _select_inputs(
    document: Document, path: Path, phase: str, nests: _Phase, sections: Mapping[str, str]
) -> Inputs:
    """Return the sections of a phase, under the names that sections have in a file of their own."""
    inputs = Inputs([document.name], path.parent)
    for section, key in sections.items():
        inputs.sections[section] = getattr(nests, key)
        inputs.locations[section] = Location(document, ("phases", phase, key))
    return inputs
