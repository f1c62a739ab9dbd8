"""A point of a sweep: one run, as plain data that goes to any process of any computer."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from fiberscope.accelerators.sampling import Sample
from fiberscope.accelerators.yaml_layer import Entry
from fiberscope.base.errors import InputError
from fiberscope.base.operand_arguments import operands_of
from fiberscope.run.request import RUNS, RunRequest, SimulationRequest
from fiberscope.workloads.errors import nearest

if TYPE_CHECKING:
    from fiberscope.accelerators.composition import PartFactory

__all__ = [
    "Point",
    "build_request",
    "check_sample",
    "load_parts",
    "options_of",
    "parse_operands",
    "request_type",
]


@dataclass(frozen=True)
class Point:
    """One run.

    Args:
        command: that it is of: ``sim``, ``model``, ``analyze``, ``convert`` or ``graph``.
        accelerator: what runs, in words: an accelerator, a specification, files of the analytical model, the
            formats of a conversion, a graph.
        workload: on what, in words: A, A and B, or ``NAME=TENSOR`` for each.
        settings: parameters by dotted key.
        config: a YAML file of parameters below them.
        exact: refuse surrogates.
        sample: fields of the ``Sample`` of a run whose cycles are estimated; None for a whole run.
        places: where a file says what, as ``study.yaml:3:9``: by key of a study, and by dotted key.
        name: the machine's own name; empty if it only has that of its accelerator.
        parts: components of the user, ``module:Class`` or ``file.py:Class``, by the name of the part.
        workload_name: the workload's own name, which tables show; empty if it has none.
    """

    command: str
    accelerator: str
    workload: str
    settings: Mapping[str, object] = field(default_factory=dict)
    config: str | None = None
    exact: bool = False
    sample: Mapping[str, Any] | None = None
    places: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    name: str = ""
    parts: Mapping[str, str] = field(default_factory=dict)
    workload_name: str = ""

    @property
    def machine(self) -> str:
        """The name of the machine in tables: its own, or that of its accelerator."""
        return self.name or self.accelerator

    def document(self) -> dict[str, Any]:
        """The point as JSON has it."""
        return asdict(self)

    def __str__(self) -> str:
        """Return the text that identifies the point."""
        text = ", ".join(f"{key}={value}" for key, value in self.settings.items())
        return " ".join(filter(None, (self.machine, self.workload, text)))


def parse_operands(workload: str) -> tuple[list[str], dict[str, str]]:
    """The operands of a workload: those without a name in their order, and the others by name.

    Raises:
        InputError: a quote that is not closed; or as of ``operands_of``.
    """
    try:
        words = shlex.split(workload)
    except ValueError as error:
        raise InputError(f"{workload}: {str(error).lower()}; quote names with blanks") from error
    return operands_of(words)


def request_type(point: Point) -> Callable[..., RunRequest]:
    """Return the function that runs a point.

    Raises:
        InputError: there is no command of that name.
    """
    if point.command not in RUNS:
        raise InputError(f"no command {point.command} ends in a report; {nearest(point.command, RUNS)}")
    return RUNS[point.command]


def check_sample(point: Point) -> None:
    """Refuse to sample what cannot be sampled.

    Raises:
        InputError: another command than ``sim``, parts of the user, or a machine without a sampler.
    """
    if point.sample is None:
        return
    if point.command != "sim":
        raise InputError(f"sampled runs are of sim; {point.command} counts all of a run as it is")
    if point.parts:
        raise InputError(f"a sampled run takes no parts, and {point.machine} has some; leave one out")
    from fiberscope.run.find_machine import find  # noqa: PLC0415  (few runs are sampled)
    from fiberscope.run.sampled import check_machine  # noqa: PLC0415

    check_machine(find(point.accelerator))


def load_parts(point: Point) -> dict[str, PartFactory]:
    """Return the components of the user that replace parts of the machine.

    Raises:
        InputError: the command takes no parts, the machine has no such part, or a part cannot be imported.
    """
    if not point.parts:
        return {}
    request = build_request(point)
    if not isinstance(request, SimulationRequest):
        raise InputError(f"{point.command} takes no parts; sim and convert do")
    from fiberscope.accelerators.user_parts import parse_parts  # noqa: PLC0415  (few runs have parts)
    from fiberscope.run.arguments import check_part_names  # noqa: PLC0415

    check_part_names(request.accelerator, point.parts)
    return parse_parts([f"{name}={place}" for name, place in point.parts.items()])


def options_of(point: Point) -> dict[str, Any]:
    """Return the options with which the run of a point is run."""
    parts = load_parts(point)
    sample = {} if point.sample is None else {"sample": Sample(**point.sample)}
    return sample | ({"parts": parts} if parts else {})


def build_request(point: Point) -> RunRequest:
    """The run of a point; its settings say where a file gives them.

    Raises:
        InputError: it is none.
    """
    factors, tensors = parse_operands(point.workload)
    origins = {key: point.places.get(key) or "settings" for key in point.settings}
    entries = {key: Entry(value, origins[key]) for key, value in point.settings.items()}
    return request_type(point)(point.accelerator, factors, tensors, entries, point.config, point.exact)
