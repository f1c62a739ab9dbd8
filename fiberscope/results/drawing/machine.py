"""Drawing of an accelerator's components and channels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fiberscope.accelerators.machine import EVENT, Accelerator
from fiberscope.accelerators.problem_settings import configure
from fiberscope.base.errors import InputError
from fiberscope.results.drawing.graph import Graph, build_graph
from fiberscope.results.drawing.layout import arrange
from fiberscope.results.drawing.svg import svg
from fiberscope.sim import SimulationError

ANY_MATRIX = (
    "uniform:rows=8,cols=8,nonzeros=8"  # a machine is built for a problem; its shape is the same for all
)


def draw_machine(accelerator: Accelerator[Any], settings: Mapping[str, object]) -> str:
    """Return an SVG file of an accelerator built with ``settings``.

    Raises:
        InputError, ConfigurationError: the machine cannot be built.
    """
    graph = list_families(accelerator, settings)
    return svg(graph, arrange(graph), f"{accelerator.name}: its components and the channels between them")


def list_families(accelerator: Accelerator[Any], settings: Mapping[str, object]) -> Graph:
    """Return the families of components of an accelerator, and the channels between them.

    Raises:
        InputError, ConfigurationError: the machine cannot be built.
    """
    configured, maker = configure(accelerator, None, settings)
    any_matrix = None if maker.kind.samples else ANY_MATRIX
    problem = maker.load(any_matrix, None, False, lambda *_stage: None, maker.kind.samples)
    try:
        machine = accelerator.models[EVENT](configured, *problem.machine_inputs())
    except SimulationError as error:
        raise InputError(f"{accelerator.name}: {error}") from error
    return build_graph(machine.kernel)  # type: ignore[attr-defined] # the model of this fidelity is a machine
