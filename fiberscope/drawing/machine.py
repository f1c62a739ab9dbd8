"""An accelerator by name to its drawing."""

from __future__ import annotations

from collections.abc import Mapping

from fiberscope import accelerators
from fiberscope.accelerators.machine import EVENT
from fiberscope.drawing.graph import Graph, graph_of
from fiberscope.drawing.layout import arranged
from fiberscope.drawing.svg import svg
from fiberscope.errors import InputError
from fiberscope.problem import configure
from fiberscope.sim import SimulationError

__all__ = ["drawn", "families_of"]

ANY_MATRIX = (
    "uniform:rows=8,cols=8,nonzeros=8"  # a machine is built for a problem; its shape is the same for all
)


def drawn(name: str, settings: Mapping[str, object]) -> str:
    """The text of an SVG file of an accelerator, built with ``settings``.

    Raises:
        InputError, ConfigurationError: there is no such accelerator, or it cannot be built so.
    """
    graph = families_of(name, settings)
    called = accelerators.find(name).name
    return svg(graph, arranged(graph), f"{called}: its components and the channels between them")


def families_of(name: str, settings: Mapping[str, object]) -> Graph:
    """The families of components of an accelerator, and the channels between them.

    Raises:
        InputError, ConfigurationError: as of ``drawn``.
    """
    kind = accelerators.find(name)
    configured, maker = configure(kind, None, settings)
    problem = maker.load(ANY_MATRIX, None, exact=False, progress=lambda *_stage: None)
    try:
        machine = kind.models[EVENT](configured, *problem.given())
    except SimulationError as error:
        raise InputError(f"{name}: {error}") from error
    return graph_of(machine.kernel)  # type: ignore[attr-defined] # the model of this fidelity is a machine
