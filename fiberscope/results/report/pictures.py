"""Figures of a report: use of cycles, traffic, activity over time, iterations, occupancy of channels."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fiberscope.base.errors import InputError
from fiberscope.base.extras import missing
from fiberscope.results.report.estimates import format_interval
from fiberscope.results.report.families import group_families
from fiberscope.results.report.files import check_writable, write_bytes
from fiberscope.results.report.parts import Iteration, Occupancy, Record, Teaal, Timeline
from fiberscope.results.report.surrogates import format_footnote

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg", ".pdf")
# Removes the metadata that would make equal drawings differ in their bytes, by file suffix.
METADATA: Any = {".png": {"Software": None}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
WIDTH = 11  # inches
DOTS_PER_INCH = 110
OCCUPANCY_BINS = 20
MIB, GIB = 2**20, 2**30  # units of the summary
TITLE_OVER_TIME = "Over time (requests count on acceptance, so an interval may exceed the peak)"
# Colours for any colour vision (Okabe and Ito).
STATES = (
    ("busy", "busy", "#009E73"),
    ("input_stall", "waiting for input", "#E69F00"),
    ("output_stall", "waiting for output", "#CC79A7"),
    ("idle", "idle", "#DDDDDD"),
)
LEGEND: Any = {
    "loc": "upper left",
    "bbox_to_anchor": (0, -0.1),
    "ncols": 2,
    "fontsize": "small",
    "frameon": False,
}
READ, WRITTEN, LIMIT_COLOUR, WORK = "#0072B2", "#D55E00", "#555555", "#009E73"


def save(report: Record, path: Path) -> None:
    """Draw a report into a PNG, SVG or PDF file. Equal reports give equal bytes.

    Args:
        report: the report.
        path: the file to write; its ending selects the format.

    Raises:
        InputError: the file cannot be written, has another ending, or matplotlib is missing.
    """
    save_figure(lambda: figure(report), path)


def save_figure(drawing: Callable[[], Figure], path: Path) -> None:
    """Write a matplotlib figure into a PNG, SVG or PDF file, deterministically.

    Args:
        drawing: draws the figure; it is called after ``path`` is checked.
        path: the file to write; its suffix, in lower case, selects the format.

    Raises:
        InputError: the file cannot be written, has another ending, or matplotlib is missing.
    """
    check_picture(path)
    canvas = drawing()
    from matplotlib import rc_context  # noqa: PLC0415  (heavy, and an extra)

    picture = io.BytesIO()
    with rc_context({"pdf.fonttype": 42}):  # TrueType, as conferences require
        canvas.savefig(picture, format=path.suffix[1:], dpi="figure", metadata=METADATA[path.suffix])
    content = picture.getvalue()
    write_bytes(path, _number_shapes(content) if path.suffix == ".svg" else content)


def check_picture(path: Path) -> None:
    """Check before a long run that a picture can be written, and record it as an expected output.

    Nothing is written, and matplotlib is not needed (see ``files.check_writable``).

    Raises:
        InputError: the file cannot be written, or its ending is not one of ``FORMATS``.
    """
    if path.suffix not in FORMATS:
        raise InputError(f"{path}: pictures are {', '.join(FORMATS[:-1])} or {FORMATS[-1]} files")
    check_writable(path)


def blank(title: str, height: float) -> Figure:
    """Return an empty figure with a title, ``height`` inches high.

    Raises:
        InputError: matplotlib is missing.
    """
    canvas = create_figure(WIDTH, height, DOTS_PER_INCH)
    canvas.suptitle(title, wrap=True)
    return canvas


def create_figure(width: float, height: float, dots: float) -> Figure:
    """Return an empty figure of a size in inches; ``dots`` is the number of dots per inch of a PNG file.

    Raises:
        InputError: matplotlib is missing.
    """
    try:
        from fiberscope.results.report.inline_figure import InlineFigure  # noqa: PLC0415  (heavy, and an extra)
    except ImportError as error:
        raise InputError(missing("matplotlib")) from error
    return InlineFigure(figsize=(width, height), dpi=dots, layout="constrained")


def _number_shapes(svg: bytes) -> bytes:
    """Replace matplotlib's random names of shapes by numbers in the order of occurrence.

    A random name has letters for its kind, and ten digits of a hash. References are replaced too.
    """
    for number, name in enumerate(dict.fromkeys(re.findall(rb' id="([a-z]+[0-9a-f]{10})"', svg))):
        svg = svg.replace(name, b"shape%d" % number)
    return svg


def figure(report: Record) -> Figure:
    """Draw a report as one matplotlib figure, without the plots that lack data.

    Raises:
        InputError: matplotlib is missing.
    """
    kinds = len(group_families(report.components)) or len(report.levels)
    heights = [1.5 + 0.24 * (kinds or 2 * bool(report.teaal) + len(report.traffic))]
    heights += [1.5 + 0.3 * len(report.levels)] if report.levels else []
    timeline = report.timeline if report.cycles else None  # without cycles there is no rate
    heights += [3.2] if timeline else []
    heights += [3.2] if report.iterations else []
    heights += [1.2 + 0.2 * len(report.occupancies)] if report.occupancies else []
    cycles = f"{report.cycles:,}{format_interval(report)} cycles"
    title = f"{report.accelerator} on {report.workload.heading}: {cycles}"
    title = "\n".join(filter(None, [title, format_footnote(report.workload.surrogates)]))
    canvas = blank(title, sum(heights) + 0.5)
    grid = canvas.add_gridspec(len(heights), 2, height_ratios=heights, width_ratios=(3, 2))
    # Rows of the grid have one user each: only analytical reports have levels, and these have no activity.
    if report.components:
        _draw_states(canvas.add_subplot(grid[0, 0]), report)
    elif report.cycles_interval:
        _draw_estimate(canvas.add_subplot(grid[0, 0]), report)
    elif report.teaal:
        _draw_times(canvas.add_subplot(grid[0, 0]), report.teaal)
    if report.levels:
        _draw_level_cycles(canvas.add_subplot(grid[0, 0]), report)
        _draw_level_energies(canvas.add_subplot(grid[1, :]), report)
    if report.traffic:
        _draw_traffic(canvas.add_subplot(grid[0, 1]), report)
    if timeline:
        _draw_timeline(grid[1, :], report, timeline)
    if report.iterations:
        _draw_iterations(grid[1 + bool(timeline), :], report.iterations)
    if report.occupancies:
        _draw_occupancies(canvas, canvas.add_subplot(grid[-1, :]), report.occupancies)
    return canvas


def _draw_states(axes: Axes, report: Record) -> None:
    """Draw a bar for each family, with stacked states."""
    kinds = list(group_families(report.components).values())
    starts = [0.0] * len(kinds)
    for state, label, colour in STATES:
        shares = [100 * kind.share(getattr(kind, state)) for kind in kinds]
        axes.barh([kind.label for kind in kinds], shares, left=starts, color=colour, label=label)
        starts = [start + share for start, share in zip(starts, shares, strict=True)]
    _style_bars(axes, "Where cycles went", "% of the cycles")
    axes.set_xlim(0, 100)
    axes.legend(**LEGEND)


def _draw_estimate(axes: Axes, report: Record) -> None:
    """Draw the cycles of a sampled run with an error bar, and the simulated cycles."""
    assert report.cycles_interval is not None
    simulated = report.sampling.cycles_simulated if report.sampling else 0
    low, high = report.cycles_interval
    errors = [[report.cycles - low], [high - report.cycles]]
    axes.barh(["estimate"], [report.cycles], xerr=errors, color=WORK, capsize=4)
    axes.barh(["simulated"], [simulated], color=WORK)
    _style_bars(axes, "Cycles and their 95 % interval", "cycles")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.locator_params(axis="x", nbins=5)


def _draw_times(axes: Axes, teaal: Teaal) -> None:
    """Draw a bar for each component, with the times of its Einsums one after the other.

    The bar of a component has no gaps: it says how long the component works, not when.
    """
    ends: dict[str, float] = {}
    rows: list[str] = []
    for einsum, components in teaal.by_einsum.items():
        for component, metrics in components.items():
            start, length = ends.get(component, 0.0), 1e9 * metrics["time"]
            axes.barh([component], [length], left=[start], edgecolor="white", color=WORK)
            rows += [] if component in rows else [component]
            axes.text(
                start + length / 2,
                rows.index(component),
                einsum,
                ha="center",
                va="center",
                fontsize="x-small",
            )
            ends[component] = start + length
    _style_bars(axes, "What each component takes", "ns")


def _draw_level_cycles(axes: Axes, report: Record) -> None:
    """Draw the cycles that each level and compute need without other limits."""
    cycles = {name: level.cycles for name, level in report.levels.items()}
    if report.analytical:
        cycles["compute"] = report.analytical.compute.cycles
    axes.barh(list(cycles), list(cycles.values()), color=WORK)
    _style_bars(axes, "Cycles that each level needs", "cycles")


def _draw_level_energies(axes: Axes, report: Record) -> None:
    """Draw a bar for each level and compute, with tensors and leakage stacked."""
    names = [*report.levels, "compute"]
    tensors = dict.fromkeys(name for level in report.levels.values() for name in level.tensors)
    parts: dict[str, dict[str, float]] = {name: {} for name in (*tensors, "leakage", "computes")}
    for name, level in report.levels.items():
        for tensor, level_tensor in level.tensors.items():
            parts[tensor][name] = level_tensor.energy_pj
        parts["leakage"][name] = level.leak_pj
    if report.analytical:
        parts["computes"]["compute"] = report.analytical.compute.energy_pj
    starts = [0.0] * len(names)
    for part, energies in parts.items():
        widths = [energies.get(name, 0.0) / 1e6 for name in names]
        if any(widths):
            axes.barh(names, widths, left=starts, label=part)
            starts = [start + width for start, width in zip(starts, widths, strict=True)]
    _style_bars(axes, "Energy by level and tensor", "uJ")
    axes.legend(**LEGEND)


def _draw_traffic(axes: Axes, report: Record) -> None:
    """Draw a bar for each tensor, and their sum with the algorithmic minimum."""
    names = [*report.traffic, "in all"]
    read = [part.read_bytes / MIB for part in report.traffic.values()]
    written = [part.write_bytes / MIB for part in report.traffic.values()]
    read, written = [*read, sum(read)], [*written, sum(written)]
    axes.barh(names, read, color=READ, label="read")
    axes.barh(names, written, left=read, color=WRITTEN, label="written")
    if report.complete and report.traffic_minimum_bytes:  # the minimum is of a whole run
        minimum = report.traffic_minimum_bytes / MIB
        axes.axvline(minimum, color=LIMIT_COLOUR, linestyle="--", label="algorithmic minimum")
    _style_bars(axes, "Traffic with the memory", "MiB")
    axes.legend(**LEGEND)


def _style_bars(axes: Axes, title: str, unit: str) -> None:
    axes.set_title(title, loc="left")
    axes.invert_yaxis()
    axes.set_xlabel(unit, loc="right", fontsize="small")
    axes.tick_params(labelsize="small")
    axes.spines[["top", "right"]].set_visible(False)


def _draw_timeline(grid_cell: Any, report: Record, timeline: Timeline) -> None:  # noqa: ANN401
    """Draw bandwidth above and operations below, over the cycles of the first clock."""
    upper, lower = grid_cell.subgridspec(2, 1).subplots(sharex=True)
    operation, counts = timeline.work
    # the last interval ends with the run, and may be shorter than the others
    edges = [timeline.interval * number for number in range(len(counts))] + [report.cycles]
    lengths = [end - start for start, end in pairwise(edges)]
    rate = report.cycles / report.seconds / GIB if report.seconds else 0.0  # GiB/s for one byte per cycle
    read = [count * rate / length for count, length in zip(timeline.read_bytes, lengths, strict=True)]
    written = [count * rate / length for count, length in zip(timeline.write_bytes, lengths, strict=True)]
    totals = [first + second for first, second in zip(read, written, strict=True)]
    upper.stairs(read, edges, fill=True, color=READ, label="read")
    upper.stairs(totals, edges, baseline=read, fill=True, color=WRITTEN, label="written")
    if report.memory:
        peak = report.memory.peak_bytes_per_second / GIB
        upper.axhline(peak, color=LIMIT_COLOUR, linestyle="--", label="peak")
    upper.set_title(TITLE_OVER_TIME, loc="left")
    upper.set_ylabel("GiB/s", fontsize="small")
    upper.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize="small", frameon=False)
    rates = [count / length for count, length in zip(counts, lengths, strict=True)]
    lower.stairs(rates, edges, fill=True, color=WORK)
    lower.set_ylabel(f"{operation}\na cycle", fontsize="small")
    lower.set_xlabel("cycle", loc="right", fontsize="small")
    for axes in (upper, lower):
        axes.set_xlim(0, max(report.cycles, 1))
        axes.set_ylim(bottom=0)
        axes.tick_params(labelsize="small")
        axes.spines[["top", "right"]].set_visible(False)
    lower.xaxis.set_major_formatter("{x:,.0f}")


def _draw_iterations(grid_cell: Any, iterations: Sequence[Iteration]) -> None:  # noqa: ANN401
    """Draw active vertices above, and cycles of edges and vertices below, by iteration."""
    upper, lower = grid_cell.subgridspec(2, 1).subplots(sharex=True)
    edges = [number + 0.5 for number in range(len(iterations) + 1)]
    upper.stairs([iteration.frontier for iteration in iterations], edges, fill=True, color=WORK)
    upper.set_yscale("log")
    upper.set_title("By iteration", loc="left")
    upper.set_ylabel("active\nvertices", fontsize="small")
    processing = [iteration.applied - iteration.began for iteration in iterations]
    lengths = [iteration.ended - iteration.began for iteration in iterations]
    lower.stairs(processing, edges, fill=True, color=READ, label="with edges")
    lower.stairs(lengths, edges, baseline=processing, fill=True, color=WRITTEN, label="with vertices")
    lower.set_ylabel("cycles", fontsize="small")
    lower.set_xlabel("iteration", loc="right", fontsize="small")
    lower.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize="small", frameon=False)
    for axes in (upper, lower):
        axes.set_xlim(edges[0], edges[-1])
        axes.tick_params(labelsize="small")
        axes.spines[["top", "right"]].set_visible(False)


def _draw_occupancies(canvas: Figure, axes: Axes, occupancies: dict[str, Occupancy]) -> None:
    """Draw a row for each family of channels: the distribution of occupancy."""
    from matplotlib.colors import PowerNorm  # noqa: PLC0415

    rows = [_compute_occupancy_shares(occupancy) for occupancy in occupancies.values()]
    scale = PowerNorm(0.5, 0, 100)  # makes small shares visible
    image = axes.imshow(rows, aspect="auto", cmap="magma_r", norm=scale, extent=(0, 1, len(rows), 0))
    axes.set_yticks([row + 0.5 for row in range(len(rows))], _format_occupancy_labels(occupancies))
    axes.set_xticks([0, 0.5, 1], ["empty", "half full", "full"])
    axes.set_title("Occupancy of channels", loc="left")
    axes.tick_params(labelsize="small")
    bar = canvas.colorbar(image, ax=axes, shrink=0.6)
    bar.set_label("% of the cycles", fontsize="small")
    bar.ax.tick_params(labelsize="small")


def _format_occupancy_labels(occupancies: dict[str, Occupancy]) -> list[str]:
    return [
        f"{name} x{occupancy.channels}, of {occupancy.capacity}" for name, occupancy in occupancies.items()
    ]


def _compute_occupancy_shares(occupancy: Occupancy) -> list[float]:
    """Return the percentage of cycles by occupancy: empty, then equal steps up to full."""
    shares = [0.0] * (OCCUPANCY_BINS + 1)
    total = sum(occupancy.cycles.values()) or 1
    for tokens, cycles in occupancy.cycles.items():
        fill_bin = -(-tokens * OCCUPANCY_BINS // occupancy.capacity)  # rounded up: bin 0 is only for empty
        shares[fill_bin] += 100 * cycles / total
    return shares
