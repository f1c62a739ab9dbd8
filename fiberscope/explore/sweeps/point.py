"""Point of a sweep: one run, as plain data that can be sent to other processes."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from fiberscope.accelerators.sampling import Sample
from fiberscope.accelerators.yaml_layer import Entry
from fiberscope.base.errors import InputError
from fiberscope.base.operand_arguments import split_operands
from fiberscope.run.request import RUNS, RunRequest, SimulationRequest
from fiberscope.workloads.errors import suggest

if TYPE_CHECKING:
    from fiberscope.accelerators.composition import PartFactory


@dataclass(frozen=True)
class Point:
    """One run.

    Args:
        command: ``sim``, ``model``, ``analyze``, ``convert`` or ``graph``.
        accelerator: the text of the machine: an accelerator, a specification, files of the analytical model,
            the formats of a conversion, or a graph.
        workload: the text of the operands: A, A and B, or ``NAME=TENSOR`` for each operand.
        settings: parameters by dotted key.
        config: a YAML file of parameters that ``settings`` override.
        exact: refuse surrogates.
        sample: fields of the ``Sample`` of a sampled run; None for a full run.
        locations: positions in a file, such as ``study.yaml:3:9``, by key of a study and by dotted key. They
            are for messages: points that differ in nothing else are equal.
        name: the machine's name in the study; empty if it is that of the accelerator.
        parts: the user's components, ``module:Class`` or ``file.py:Class``, by the name of the part.
        workload_name: the workload's name in tables; empty if it has none.
    """

    command: str
    accelerator: str
    workload: str
    settings: Mapping[str, object] = field(default_factory=dict)
    config: str | None = None
    exact: bool = False
    sample: Mapping[str, Any] | None = None
    locations: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    name: str = ""
    parts: Mapping[str, str] = field(default_factory=dict)
    workload_name: str = ""

    @property
    def machine(self) -> str:
        """Return the name of the machine in tables: its name in the study, or that of the accelerator."""
        return self.name or self.accelerator

    def document(self) -> dict[str, Any]:
        """Return all fields by name, as plain data for JSON; ``Point(**document)`` restores the point."""
        return asdict(self)

    def __str__(self) -> str:
        """Return machine, workload and settings, for messages; points that differ otherwise look the same."""
        text = ", ".join(f"{key}={value}" for key, value in self.settings.items())
        return " ".join(filter(None, (self.machine, self.workload, text)))


def parse_operands(workload: str) -> tuple[list[str], dict[str, str]]:
    """Parse the operands of a workload: operands in order, and operands by name.

    Args:
        workload: operands with blanks between them; quotes of a shell enclose a name with blanks.

    Raises:
        InputError: a quote is not closed, or the errors of ``split_operands``.
    """
    try:
        texts = shlex.split(workload)
    except ValueError as error:
        raise InputError(f"{workload}: {str(error).lower()}; quote names with blanks") from error
    return split_operands(texts)


def request_type(point: Point) -> Callable[..., RunRequest]:
    """Return the class or function that creates the request of a point.

    Raises:
        InputError: there is no command of that name.
    """
    if point.command not in RUNS:
        raise InputError(f"no command {point.command} ends in a report; {suggest(point.command, RUNS)}")
    return RUNS[point.command]


def check_sample(point: Point) -> None:
    """Check that a point with a sample can be sampled; a full run passes.

    Raises:
        InputError: the command is not ``sim``, there are user parts, or the machine has no sampler.
        ConfigurationError: there is no such machine.
    """
    if point.sample is None:
        return
    if point.command != "sim":
        raise InputError(f"only sim takes a sample; {point.command} always counts the whole run")
    if point.parts:
        raise InputError(f"a sampled run takes no parts, and {point.machine} has some; leave one out")
    from fiberscope.run.find_machine import find  # noqa: PLC0415  (needed for sampled runs only)
    from fiberscope.run.sampled import check_machine  # noqa: PLC0415

    check_machine(find(point.accelerator))


def load_parts(point: Point) -> dict[str, PartFactory]:
    """Import the user's components that replace parts of the machine; without parts, nothing is checked.

    Raises:
        InputError: the command supports no parts, the machine has no such part, or a part cannot be imported.
    """
    if not point.parts:
        return {}
    request = build_request(point)
    if not isinstance(request, SimulationRequest):
        raise InputError(f"{point.command} takes no parts; sim and convert do")
    from fiberscope.accelerators.user_parts import parse_parts  # noqa: PLC0415  (needed for user parts only)
    from fiberscope.run.arguments import check_part_names  # noqa: PLC0415

    # before the import, which executes the user's modules
    check_part_names(request.accelerator, point.parts)
    return parse_parts([f"{name}={source}" for name, source in point.parts.items()])


def build_options(point: Point) -> dict[str, Any]:
    """Return the options of ``RunRequest.run`` for a point: its sample and its parts, if it has any.

    Raises:
        InputError: the errors of ``load_parts``.
    """
    parts = load_parts(point)
    sample = {} if point.sample is None else {"sample": Sample(**point.sample)}
    return sample | ({"parts": parts} if parts else {})


def build_request(point: Point) -> RunRequest:
    """Return the request of a point; its settings carry their positions in a file.

    The machine and the values of settings are not checked before the request resolves them.

    Raises:
        InputError: the command or the operands are invalid.
    """
    factors, tensors = parse_operands(point.workload)
    # messages name the argument ``settings`` for a value without a position in a file
    origins = {key: point.locations.get(key) or "settings" for key in point.settings}
    entries = {key: Entry(value, origins[key]) for key, value in point.settings.items()}
    return request_type(point)(point.accelerator, factors, tensors, entries, point.config, point.exact)
