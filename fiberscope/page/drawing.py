"""Drawing of a machine, converter or graph with a bar of cycles by state in each box."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.accelerators.machine import Accelerator
from fiberscope.base.errors import InputError
from fiberscope.converters.mint import MINT
from fiberscope.results.drawing.graph import Graph, build_graph, name_boxes
from fiberscope.results.drawing.layout import HEIGHT, WIDTH, Layout, arrange
from fiberscope.results.drawing.machine import list_families
from fiberscope.results.drawing.svg import svg
from fiberscope.results.report.document import Report
from fiberscope.results.report.numbers import flatten_parameters
from fiberscope.results.report.parts import Component
from fiberscope.run.find_machine import find, is_shipped
from fiberscope.sim import Kernel
from fiberscope.sim.names import family_name

if TYPE_CHECKING:
    pass

# Attributes of a component's cycles, in the order of the bar from left to right.
STATES: Final = ("busy", "input_stall", "output_stall", "idle")
SCRATCHPAD: Final = "graph.scratchpad"  # name of a graph's memory and of its port, which have no box
BAR_HEIGHT: Final = 7  # height of a bar, in pixels
StateShares = Mapping[str, tuple[float, ...]]


def draw_report(report: Report, run_sources: bool = False) -> tuple[str, str]:
    """Return the SVG file of a report's machine, and the reason for a missing drawing; one of both is empty.

    Args:
        report: the report of the run.
        run_sources: run the Python file that the report names, to draw a user's machine.
    """
    if not report.components:
        kind = "sampled run" if report.cycles_interval else f"run of the {report.fidelity} model"
        return "", f"A {kind} has no components."
    try:
        is_graph = _find_problem_kind(report) == "graph"
        graph, boxes = _read_blocks(report) if is_graph else _find_families(report, run_sources)
    except (InputError, ConfigurationError) as error:
        return "", f"It cannot be built here to be drawn: {error}"
    layout = arrange(graph)
    title = f"{report.accelerator}: its components and where their cycles went"
    return svg(graph, layout, title, list(_draw_bars(layout, _share_states(boxes, report.components)))), ""


def draw_kernel(kernel: Kernel) -> tuple[str, dict[str, str]]:
    """Return the SVG file of a built machine with bars of idle cycles only, and the box of each family."""
    graph = build_graph(kernel)
    names = name_boxes(family_name(component.name) for component in kernel.components)
    layout = arrange(graph)
    bars = _draw_bars(layout, dict.fromkeys(graph.boxes, (0.0, 0.0, 0.0, 1.0)))
    return svg(graph, layout, "The machine: its components and their states", list(bars)), names


def settings(report: Report) -> dict[str, Any]:
    """Return the non-null settings of the run by dotted key."""
    return {key: value for key, value in flatten_parameters(report.config).items() if value is not None}


def _find_problem_kind(report: Report) -> str:
    return report.problem.kind if report.problem else ""


def _find_families(report: Report, run_sources: bool) -> tuple[Graph, dict[str, str]]:
    """Return the families of a machine, and the box of each component.

    Raises:
        InputError: a user's machine is not to be executed.
        ConfigurationError: the machine is not available.
    """
    entries = settings(report)
    if report.problem is not None and _find_problem_kind(report) == "conversion":
        kind = MINT
        entries |= {f"problem.{key}": value for key, value in report.problem.parameters.items()}
    else:
        kind = _find_accelerator(report, run_sources)
    graph, boxes = list_families(kind, entries), name_boxes(map(family_name, report.components))
    box_of_component = {name: boxes[family_name(name)] for name in report.components}
    return graph, {name: box for name, box in box_of_component.items() if box in graph.boxes}


def _find_accelerator(report: Report, run_sources: bool) -> Accelerator[Any]:
    """Return the descriptor of a report's machine; user code is executed on request only.

    Raises:
        InputError: it is a user's machine, and its code is not to be executed.
        ConfigurationError: the machine is not available.
    """
    path = report.source and report.source.path
    if run_sources:
        return find(path or report.accelerator)
    if path or not is_shipped(report.accelerator):
        raise InputError(
            f"{path or report.accelerator} is no machine that ships; "
            "--run-sources runs the code that the report names, to draw it"
        )
    return find(report.accelerator)


def _read_blocks(report: Report) -> tuple[Graph, dict[str, str]]:
    """Return the blocks of a graph and the box of each component.

    Raises:
        InputError: the graph's file is missing, or has changed.
    """
    from fiberscope.models.graphs.draw import build_drawing  # noqa: PLC0415  (needed for graphs only)
    from fiberscope.models.graphs.gv_reader import graph_from_text, read_gv  # noqa: PLC0415
    from fiberscope.models.graphs.machine import block_names  # noqa: PLC0415
    from fiberscope.models.graphs.settings import TileParameters  # noqa: PLC0415
    from fiberscope.models.graphs.tiles import find_memory_names  # noqa: PLC0415

    if report.source is None:
        raise InputError("the report does not name its graph")
    request = report.source.asked
    graph = read_gv(Path(request.machine)) if request.graph is None else graph_from_text(request.graph)
    entries = report.config.get("tiles")
    drawing = build_drawing(
        graph, find_memory_names(graph, TileParameters.model_validate(entries) if entries else None)
    )
    names = block_names(graph.nodes.values())
    # ``build_drawing`` puts the boxes of the nodes first, in order; boxes of memories follow
    boxes = {f"graph.{names[node]}": box for node, box in zip(graph.nodes, drawing.boxes, strict=False)}
    boxes |= {f"graph.{box}": box for box in drawing.boxes if f"graph.{box}" in report.components}
    prefixes = (*(f"{name}." for name in boxes), SCRATCHPAD)  # units beside a block, and the scratchpad
    missing = sorted(
        name for name in report.components if name not in boxes and not name.startswith(prefixes)
    )
    if missing:
        raise InputError(f"{request.machine} has no block {', '.join(missing)} any more")
    return drawing, boxes


def _share_states(boxes: Mapping[str, str], components: Mapping[str, Component]) -> StateShares:
    """Return the fractions of the cycles of each box by state, in the order of ``STATES``.

    The cycles of all components of a box are added up. A box without any of ``components`` has no entry.
    """
    cycles_by_box: defaultdict[str, list[int]] = defaultdict(lambda: [0] * len(STATES))
    for name, box in boxes.items():
        if name in components:
            cycles = [getattr(components[name], state) for state in STATES]
            cycles_by_box[box] = [
                total + count for total, count in zip(cycles_by_box[box], cycles, strict=True)
            ]
    return {
        box: tuple(count / (sum(cycles) or 1) for count in cycles) for box, cycles in cycles_by_box.items()
    }


def _draw_bars(layout: Layout, shares: StateShares) -> Iterator[str]:
    """Yield a bar of states at the bottom of each box."""
    for name, state_shares in shares.items():
        x, y = layout.boxes[name]
        # 4 pixels from each side of the box and 3 from its bottom
        x_bar, y_bar = x - WIDTH / 2 + 4, y + HEIGHT / 2 - BAR_HEIGHT - 3
        shares_by_state = dict(zip(STATES, state_shares, strict=True))
        text = ", ".join(f"{state.replace('_', ' ')} {share:.0%}" for state, share in shares_by_state.items())
        yield f'<g data-box="{escape(name)}"><title>{escape(name)}: {text}</title>'
        for state, share in shares_by_state.items():
            width = share * (WIDTH - 8)
            size = f'width="{width:g}" height="{BAR_HEIGHT}"'
            yield f'<rect class="{state}" x="{x_bar:g}" y="{y_bar:g}" {size}/>'
            x_bar += width
        yield "</g>"
