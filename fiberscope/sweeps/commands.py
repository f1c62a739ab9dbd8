"""The commands that end in a report, so that they can be swept: how each settles its parameters and runs."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

import accelerators
from accelerators.configuration import leaf_keys
from accelerators.machine import Accelerator
from accelerators.yaml_layer import Entry
from converters.mint import MINT
from fiberscope.api import simulate
from fiberscope.converted import PREFIX, formats_of
from fiberscope.errors import InputError
from fiberscope.problem import SECTION, configure
from fiberscope.report.document import Report
from fiberscope.sweeps.point import Point, operands
from workloads.errors import nearest
from workloads.formats import format_called

__all__ = ["COMMANDS", "Command", "command_of"]


class Command(NamedTuple):
    """What a sweep needs of a command.

    ``settle`` gives every parameter as it will be used, by dotted key, or refuses what cannot be;
    ``run`` runs; ``workers`` names the family of components that does the work.
    """

    settle: Callable[[Point], dict[str, object]]
    run: Callable[[Point], Report]
    workers: Callable[[Point], str]


def command_of(point: Point) -> Command:
    """The command of a point.

    Raises:
        InputError: there is none of that name.
    """
    if point.command not in COMMANDS:
        raise InputError(f"no command {point.command} ends in a report; {nearest(point.command, COMMANDS)}")
    return COMMANDS[point.command]


def _entries(point: Point) -> dict[str, Entry]:
    return {key: Entry(value, point.places.get(key) or "settings") for key, value in point.settings.items()}


def _flat(configured: Any) -> dict[str, object]:  # noqa: ANN401  (a configuration of any machine)
    """Parameters by dotted key, quantities in base units."""
    return {key: reduce(getattr, key.split("."), configured) for key in leaf_keys(type(configured))}


def _machine_and_settings(point: Point) -> tuple[Accelerator[Any], dict[str, Entry]]:
    """The machine of a simulation or a conversion."""
    if point.command == "sim":
        return accelerators.find(point.accelerator), _entries(point)
    words = point.accelerator.split()
    if len(words) != 2:
        raise InputError(f"{point.accelerator}: a conversion has two formats, as in 'csr csc'")
    for word in words:
        format_called(word.lower())
    formats = {f"{SECTION}source": words[0].lower(), f"{SECTION}target": words[1].lower()}
    return MINT, _entries(point) | {key: Entry(value, "settings") for key, value in formats.items()}


def _settle_simulation(point: Point) -> dict[str, object]:
    if not any(operands(point.workload)):
        raise InputError(f"{point.accelerator} needs a workload to run on, as in wiki-Vote")
    kind, entries = _machine_and_settings(point)
    _formats, others = formats_of(kind, entries)
    configured, _maker = configure(kind, point.config, others)
    beside = {key: entry.value for key, entry in entries.items() if key.startswith((SECTION, PREFIX))}
    return _flat(configured) | beside


def _simulate(point: Point) -> Report:
    kind, entries = _machine_and_settings(point)
    factors, named = operands(point.workload)
    a, b = (*factors, *named.values(), None)[:2]
    return simulate(kind, a, b, settings=entries, config=point.config, exact=point.exact)


def _workers(point: Point) -> str:
    return _machine_and_settings(point)[0].workers


def _settle_model(point: Point) -> dict[str, object]:
    from fiberscope.teaal.api import specified  # noqa: PLC0415  (its grammar takes time to load)

    specified(point.accelerator, _entries(point))
    return dict(point.settings)


def _model(point: Point) -> Report:
    from fiberscope.teaal.api import model  # noqa: PLC0415

    factors, named = operands(point.workload)
    return model(point.accelerator, *factors, tensors=named, settings=_entries(point), exact=point.exact)


def _settle_analysis(point: Point) -> dict[str, object]:
    from fiberscope.analytic.api import check  # noqa: PLC0415

    check(_inputs(point), _entries(point))
    return dict(point.settings)


def _analyze(point: Point) -> Report:
    from fiberscope.analytic.api import analyze  # noqa: PLC0415

    return analyze(*_inputs(point), settings=point.settings)


def _inputs(point: Point) -> list[str]:
    return [*shlex.split(point.accelerator), *operands(point.workload)[0]]


def _settle_graph(point: Point) -> dict[str, object]:
    from fiberscope.graph.execution import configured  # noqa: PLC0415

    settled = _flat(configured(_entries(point), point.config))
    if not Path(point.accelerator).is_file():
        raise InputError(f"{point.accelerator}: there is no such file; name that of a graph, as in spmv.gv")
    return settled


def _run_graph(point: Point) -> Report:
    from fiberscope.graph.execution import run  # noqa: PLC0415

    named = operands(point.workload)[1]
    return run(Path(point.accelerator), named, _entries(point), point.config, exact=point.exact)


def _nobody(_point: Point) -> str:
    return ""


COMMANDS: Mapping[str, Command] = {
    "sim": Command(_settle_simulation, _simulate, _workers),
    "model": Command(_settle_model, _model, _nobody),
    "analyze": Command(_settle_analysis, _analyze, _nobody),
    "convert": Command(_settle_simulation, _simulate, _workers),
    "graph": Command(_settle_graph, _run_graph, _nobody),
}
