"""The commands that end in a report, so that they can be swept: how each settles its parameters and runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

from fiberscope import accelerators
from fiberscope.accelerators.configuration import leaf_keys
from fiberscope.accelerators.machine import Accelerator
from fiberscope.accelerators.yaml_layer import Entry
from fiberscope.api import simulate
from fiberscope.converted import PREFIX, formats_of
from fiberscope.converters.mint import MINT
from fiberscope.errors import InputError
from fiberscope.problem import SECTION, configure
from fiberscope.provenance.made import Roots, of_simulation
from fiberscope.report.document import Report
from fiberscope.sweeps.point import Point, operands
from fiberscope.workloads.errors import nearest
from fiberscope.workloads.formats import format_called

__all__ = ["COMMANDS", "Command", "command_of"]


class Command(NamedTuple):
    """What a sweep needs of a command.

    ``settle`` gives every parameter as it will be used, by dotted key, or refuses what cannot be; ``roots``
    is where the sources of what runs begin; ``run`` runs; ``workers`` names the family of components that
    does the work.
    """

    settle: Callable[[Point], dict[str, object]]
    roots: Callable[[Point], Roots]
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


def _simulation_roots(point: Point) -> Roots:
    kind, entries = _machine_and_settings(point)
    formats, others = formats_of(kind, entries)
    configured, _maker = configure(kind, point.config, others)
    return of_simulation(kind, point.accelerator, configured, formats)


def _simulate(point: Point) -> Report:
    kind, entries = _machine_and_settings(point)
    factors, named = operands(point.workload)
    a, b = (*factors, *named.values(), None)[:2]
    machine = point.accelerator if point.command == "sim" else kind
    return simulate(machine, a, b, settings=entries, config=point.config, exact=point.exact)


def _workers(point: Point) -> str:
    return _machine_and_settings(point)[0].workers


def _settle_model(point: Point) -> dict[str, object]:
    from fiberscope.models.trace.api import specified  # noqa: PLC0415  (its grammar takes time to load)

    specified(point.accelerator, _entries(point))
    return dict(point.settings)


def _model_roots(point: Point) -> Roots:
    from fiberscope.models.trace.api import roots_of  # noqa: PLC0415
    from fiberscope.models.trace.source import find  # noqa: PLC0415

    energies = point.settings.get("energies")
    return roots_of(find(point.accelerator), str(energies) if energies else None)


def _model(point: Point) -> Report:
    from fiberscope.models.trace.api import model  # noqa: PLC0415

    factors, named = operands(point.workload)
    return model(point.accelerator, *factors, tensors=named, settings=_entries(point), exact=point.exact)


def _settle_analysis(point: Point) -> dict[str, object]:
    from fiberscope.models.analytic.api import check  # noqa: PLC0415

    check(_inputs(point), _entries(point))
    return dict(point.settings)


def _analysis_roots(point: Point) -> Roots:
    from fiberscope.models.analytic.api import roots_of  # noqa: PLC0415

    return roots_of(_inputs(point))


def _analyze(point: Point) -> Report:
    from fiberscope.models.analytic.api import analyze  # noqa: PLC0415

    return analyze(*_inputs(point), settings=point.settings)


def _inputs(point: Point) -> list[str]:
    return [*operands(point.accelerator)[0], *operands(point.workload)[0]]


def _settle_graph(point: Point) -> dict[str, object]:
    from fiberscope.models.graphs.execution import configured  # noqa: PLC0415

    settled = _flat(configured(_entries(point), point.config))
    if not Path(point.accelerator).is_file():
        raise InputError(f"{point.accelerator}: there is no such file; name that of a graph, as in spmv.gv")
    return settled


def _graph_roots(point: Point) -> Roots:
    from fiberscope.models.graphs.execution import roots_of  # noqa: PLC0415

    return roots_of(point.accelerator)


def _run_graph(point: Point) -> Report:
    from fiberscope.models.graphs.execution import run  # noqa: PLC0415

    named = operands(point.workload)[1]
    return run(Path(point.accelerator), named, _entries(point), point.config, exact=point.exact)


def _nobody(_point: Point) -> str:
    return ""


COMMANDS: Mapping[str, Command] = {
    "sim": Command(_settle_simulation, _simulation_roots, _simulate, _workers),
    "model": Command(_settle_model, _model_roots, _model, _nobody),
    "analyze": Command(_settle_analysis, _analysis_roots, _analyze, _nobody),
    "convert": Command(_settle_simulation, _simulation_roots, _simulate, _workers),
    "graph": Command(_settle_graph, _graph_roots, _run_graph, _nobody),
}
