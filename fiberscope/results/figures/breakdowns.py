"""Stacked bars of energy and traffic: a group for each workload, a bar for each machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from fiberscope.base.errors import InputError
from fiberscope.results.figures.grouped_bars import GROUP_SHARE, MISSING, Panels, label_groups, plan_panels
from fiberscope.results.figures.style import (
    INK,
    PATTERNS,
    SMALL,
    TEXT,
    add_legend,
    add_note,
    choose_pattern,
    convert_to_points,
    label_scale,
    measure_text_points,
    open_paper_figure,
    trim_axes,
)
from fiberscope.results.report.document import Report
from fiberscope.results.report.short_names import shorten_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANEL = 1.15  # inches, height of the bars of a row of groups
NAMED_BAR_POINTS = SMALL + 1.0  # points, width of a bar with a name below
PLAIN_BAR_POINTS = 3.0  # points
MAX_BAR_LETTERS = 14
OTHER = "other"
MEMORY_PART: Final = "memory"
MEMORY: Final = "memory.channel"  # family of the off-chip energy


@dataclass(frozen=True)
class StackedBars:
    """Amounts of stacked bars.

    Args:
        groups: the names of the groups.
        bars: the names of the bars of each group.
        parts: the amounts by part, for each pair of bar and group; a failed run has no amounts, or no entry.
        label: the label of the scale; its first word names the amounts in the message of an error.
        note: a line below the figure.
        reference: the amount of a reference line, such as 1 for ratios.
    """

    groups: Sequence[str]
    bars: Sequence[str]
    parts: Mapping[tuple[str, str], Mapping[str, float]]
    label: str
    note: str = ""
    reference: float | None = None

    @property
    def names(self) -> list[str]:
        """Return the names of all parts, from the bottom up; the drawing puts ``other`` on top of all."""
        return list(dict.fromkeys(name for parts in self.parts.values() for name in parts))


def list_energy_parts(report: Report) -> dict[str, float]:
    """Return the energy of a run in pJ by family, memory first; empty without energies.

    Families other than memory are left out if their energy is 0.
    """
    if report.energy is None:
        return {}
    energies = {name: sum(actions.values()) for name, actions in report.energy.by_component.items()}
    memory = {MEMORY_PART: energies.pop(MEMORY)} if MEMORY in energies else {}
    return memory | {name: energy for name, energy in energies.items() if energy}


def list_traffic_parts(report: Report) -> dict[str, float]:
    """Return the bytes read from and written to memory in a run, by tensor and direction, without zeros."""
    parts: dict[str, float] = {}
    for name, tensor in report.traffic.items():
        parts |= {f"{name} read": tensor.read_bytes, f"{name} written": tensor.write_bytes}
    return {name: moved for name, moved in parts.items() if moved}


def limit_parts(
    parts: Mapping[tuple[str, str], Mapping[str, float]], limit: int = len(PATTERNS)
) -> dict[tuple[str, str], dict[str, float]]:
    """Join the parts with the smallest shares as ``other``, so that at most ``limit`` parts remain.

    The rank of a part is its largest share of any bar. In the result, memory is first and ``other`` last.

    Args:
        parts: the amounts by part, for each pair of bar and group.
        limit: the number of parts with ``other``; as many as there are patterns by default.
    """
    shares: dict[str, float] = {}
    for amounts in parts.values():
        total = sum(amounts.values()) or 1.0
        for name, amount in amounts.items():
            shares[name] = max(shares.get(name, 0.0), amount / total)
    ranked = sorted(shares, key=lambda name: -shares[name])
    # one of ``limit`` parts is ``other``
    kept_names = set(ranked if len(ranked) <= limit else ranked[: limit - 1])
    order = sorted(filter(kept_names.__contains__, shares), key=lambda name: name != MEMORY_PART)
    limited = {}
    for key, amounts in parts.items():
        bar = {name: amounts[name] for name in order if name in amounts}
        joined_amount = sum(amount for name, amount in amounts.items() if name not in kept_names)
        limited[key] = bar | ({OTHER: joined_amount} if joined_amount else {})
    return limited


def draw_stacked_bars(stacked: StackedBars, width: float) -> Figure:
    """Draw stacked bars with the names of bars and groups below.

    Args:
        stacked: the names and the amounts.
        width: the width of the figure, in inches.

    Raises:
        InputError: matplotlib is missing, or no run has amounts.
    """
    names = [*(name for name in stacked.names if name != OTHER), *({OTHER} & {*stacked.names})]
    if not names:
        raise InputError(f"no run has a known {stacked.label.partition(' ')[0].lower()}; nothing to draw")
    has_names = len(stacked.bars) > 1
    with open_paper_figure(width, PANEL) as figure:
        min_bar_points = NAMED_BAR_POINTS if has_names else PLAIN_BAR_POINTS
        panels = plan_panels(stacked.groups, len(stacked.bars), width, min_bar_points)
        rows = list(figure.subplots(len(panels.rows), 1, sharey=True, squeeze=False)[:, 0])
        short = shorten_names(stacked.bars, MAX_BAR_LETTERS)
        name_points = measure_text_points(short, SMALL) + SMALL if has_names else 0.0
        for axes, numbers in zip(rows, panels.rows, strict=True):
            groups = [stacked.groups[number] for number in numbers]
            _draw_row(axes, stacked, groups, names)
            _name_bars(axes, short, groups, panels, name_points)
        label_scale(figure, rows, stacked.label, 1.1 * PANEL)
        lines = add_legend(figure, names) + add_note(figure, stacked.note)
        inches = len(rows) * (PANEL + panels.label_inches + name_points / convert_to_points(1))
        figure.set_figheight(round(inches + 1.35 * lines * TEXT / convert_to_points(1), 2))
    return figure


def _draw_row(axes: Axes, stacked: StackedBars, groups: Sequence[str], names: Sequence[str]) -> None:
    """Draw the bars of a row of groups, and a cross for a missing run."""
    positions = _compute_bar_positions(len(stacked.bars), len(groups))
    keys = [(bar, group) for group in groups for bar in stacked.bars]
    bottoms = [0.0] * len(keys)
    for number, name in enumerate(names):
        pattern = choose_pattern(number)
        amounts = [stacked.parts.get(key, {}).get(name, 0.0) for key in keys]
        style: Any = {"color": pattern.colour, "hatch": pattern.hatch, "edgecolor": INK, "linewidth": 0.4}
        axes.bar(
            positions, amounts, 0.9 * GROUP_SHARE / len(stacked.bars), bottom=bottoms, label=name, **style
        )
        bottoms = [bottom + amount for bottom, amount in zip(bottoms, amounts, strict=True)]
    for position, key in zip(positions, keys, strict=True):
        if not stacked.parts.get(key):
            axes.text(position, 0, MISSING, ha="center", va="bottom", fontsize=SMALL, color=INK)
    if stacked.reference is not None:
        axes.axhline(stacked.reference, color=INK, linewidth=0.6, linestyle="--")
    axes.yaxis.grid(visible=True, linewidth=0.3, color="#BBBBBB")
    axes.set_axisbelow(True)


def _compute_bar_positions(bars: int, groups: int) -> list[float]:
    """Return the positions of all bars of a row, in the order of groups."""
    step = GROUP_SHARE / bars
    return [group + (bar + 0.5) * step - GROUP_SHARE / 2 for group in range(groups) for bar in range(bars)]


def _name_bars(
    axes: Axes, bars: Sequence[str], groups: Sequence[str], panels: Panels, name_points: float
) -> None:
    """Label the groups of a row, and the bars if a group has several bars."""
    if not name_points:
        label_groups(axes, groups, panels)
        trim_axes(axes)
        return
    axes.set_xticks(_compute_bar_positions(len(bars), len(groups)), [*bars] * len(groups), rotation=90)
    axes.set_xlim(-0.5, panels.groups_per_row - 0.5)
    trim_axes(axes)
    axes.tick_params(axis="x", length=0, pad=1.5)
    # the names of the groups, on an axis of their own below the names of the bars
    group_axis = axes.secondary_xaxis(location=0)
    group_axis.set_xticks(range(len(groups)), groups, rotation=panels.rotation, fontsize=SMALL)
    for label in group_axis.get_xticklabels() if panels.rotation == 45 else ():
        label.set(ha="right", rotation_mode="anchor")
    group_axis.tick_params(axis="x", length=0, pad=name_points)
    group_axis.spines["bottom"].set_visible(False)
