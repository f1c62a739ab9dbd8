"""Benes networks as RTL: the twin of ``fiberscope.hw.networks.benes.BenesNetwork`` in both forms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyrtl

from fiberscope.hw.lanes.rows import MAXIMUM_WIDTH
from fiberscope.hw.networks.benes import (
    DOUBLE,
    FORMS,
    MINIMAL,
    BenesNetwork,
    count_columns,
    count_setting_bits,
    count_setting_rows,
    diagonal_distance,
    wire_stages,
)
from fiberscope.hw.rtl.kit.adapter import Adapter
from fiberscope.hw.rtl.kit.channel import PENDING
from fiberscope.hw.rtl.kit.interface import tokens_of
from fiberscope.hw.rtl.kit.parameters import Parameters, choice, number, one_of, payload_widths
from fiberscope.hw.rtl.kit.rows import Rows
from fiberscope.hw.rtl.kit.twin import DataRegister, Signal, Streams, alias, packed, unpacked
from fiberscope.hw.rtl.kit.unit import Lanes, PortContents, rows, tokens, unit
from fiberscope.sim.channel import Channel

LANES = (2, 4, 8, 16, 32, 64, 128)  # accepted and tested sizes; the component also has 256 lanes


@dataclass(frozen=True)
class BenesParameters(Parameters):
    """Parameters of a network; widths in bits.

    Args:
        form: ``"minimal"`` or ``"double"``.
        lanes: a power of two, 2 to 128.
        stages: number of registers before or between columns, 0 to the number of columns of multiplexers.
        vector_bits: bits of the number of vectors of a task, 1 to 62.
        coordinate_bits: bits of a coordinate, 1 to 62.
        reference_bits: bits of a reference, 0 to 64; 0 omits references, which are then 0.
        value_bits: bits of a value: 0, 32 or 64; 0 omits values.
    """

    form: str = choice(DOUBLE, FORMS)
    lanes: int = one_of(16, *LANES)
    stages: int = number(
        0, 0, count_columns(DOUBLE, LANES[-1]), lambda own: (0, count_columns(own.form, own.lanes))
    )
    vector_bits: int = number(32, 1, MAXIMUM_WIDTH)
    coordinate_bits: int = number(16, 1, MAXIMUM_WIDTH)
    reference_bits: int = number(0, 0, 64)
    value_bits: int = one_of(0, 0, 32, 64)


def port_contents(parameters: BenesParameters) -> PortContents:
    """Return the ports: vectors are rows with a mask; a task takes one token on each lane of ``settings``."""
    form, lanes = parameters.form, parameters.lanes
    element = {"coordinate": parameters.coordinate_bits}
    element |= payload_widths(parameters.reference_bits, parameters.value_bits)
    return {
        "tasks": {"coordinate": parameters.vector_bits},
        "settings": Lanes({"coordinate": count_setting_bits(form, lanes)}, count_setting_rows(form, lanes)),
        "inputs": Lanes(element, lanes, mask=True),
        "outputs": Lanes(element, lanes, mask=True),
    }


def design(parameters: BenesParameters, streams: Streams) -> None:
    """Create a register for the settings of a task, and the columns of multiplexers.

    Each column uses the lowest remaining bits of each row of settings. Registers before columns also hold the
    settings for the columns after them, so that vectors of up to ``stages`` + 1 tasks can be in the network.
    """
    left: Signal = pyrtl.Register(parameters.vector_bits, "left")  # vectors of the task that have not entered
    rows = Rows(streams, "inputs", "outputs", parameters.stages + 1, alias("within_task", left != 0))
    settings = _settings(parameters, streams, rows, left)
    words = [packed(lane) for lane in rows.entering]
    # SIGMA's nodes have two outputs: wire 2 i is the horizontal and 2 i + 1 the diagonal output of row i.
    column = _switches if parameters.form == MINIMAL else _nodes
    wires = words if parameters.form == MINIMAL else [wire for word in words for wire in (word, word)]
    count = count_columns(parameters.form, parameters.lanes)
    # Registers stand before these columns, at even distances; ``leave`` has one more after the last column.
    cuts = [(cut + 1) * count // (parameters.stages + 1) for cut in range(parameters.stages)]
    for place in range(count):
        if place in cuts:
            wires = [rows.register(f"column{place:02}_{i:03}", wire) for i, wire in enumerate(wires)]
            settings = [rows.register(f"bits{place:02}_{i:03}", bits) for i, bits in enumerate(settings)]
        wires, settings = column(wires, settings, place, count)
    rows.leave([unpacked(word, rows.entering[0]) for word in wires])


def _settings(parameters: BenesParameters, streams: Streams, rows: Rows, left: Signal) -> list[Signal]:
    """Create the logic that takes tasks with their settings; return the registers of the settings.

    New settings are taken with their task, in or after the cycle in which the last vector of the previous
    task enters, while the pipeline does not stall. ``left`` is the number of vectors of the task that have
    not entered; its next value is driven here.
    """
    tasks, settings = streams.inputs["tasks"], streams.inputs["settings"]
    # During a stall no task is taken, as in the component.
    ends = alias("task_ends", rows.move & ((left == 0) | ((left == 1) & rows.taken)))
    loads = alias("loads", ends & tasks.valid & settings.valid)
    tasks.accept(ends & settings.valid)
    settings.accept(ends & tasks.valid)
    # No borrow is cut off: a vector is taken only within a task, while ``left`` is not 0
    fewer = (left - rows.taken)[: len(left)]
    left.next <<= pyrtl.select(loads, tasks.fields["coordinate"], fewer)
    held = []
    for row, lane in enumerate(settings.lanes):
        bits: Signal = DataRegister(len(lane["coordinate"]), f"settings_{row:03}")
        bits.next <<= pyrtl.select(loads, lane["coordinate"], bits)
        held.append(bits)
    return held


Column = tuple[list[Signal], list[Signal]]  # wires after a column, and settings for the columns after it


def _switches(wires: Sequence[Signal], settings: Sequence[Signal], place: int, count: int) -> Column:
    """Return a stage of switches of the minimal network; a switch crosses if its lowest setting bit is 1."""
    lanes = len(wires)
    # ``wire_stages`` begins with the wires before stage 1: stage 0 has the inputs in order
    places = wire_stages(lanes)[place - 1] if place else range(lanes)
    moved = [wires[before] for before in places]
    crossed = [pyrtl.select(settings[i // 2][0], moved[i ^ 1], moved[i]) for i in range(lanes)]
    return crossed, _rest(settings, 1, place == count - 1)


def _nodes(wires: Sequence[Signal], settings: Sequence[Signal], place: int, count: int) -> Column:
    """Return a column of nodes of SIGMA's network.

    Each node has a horizontal and a diagonal output, adjacent in ``wires``; in the last column, only one.
    """
    lanes, last = len(settings), place == count - 1  # in this form, each lane has a row of settings
    away = diagonal_distance(place + 1, lanes)  # column 0 of the network has no multiplexers
    behind = [
        pyrtl.select(settings[row][output], wires[2 * (row ^ away) + 1], wires[2 * row])
        for row in range(lanes)
        for output in range(1 if last else 2)
    ]
    return behind, _rest(settings, 2, last)


def _rest(settings: Sequence[Signal], used: int, last: bool) -> list[Signal]:
    """Return the settings without the lowest ``used`` bits; none after the last column."""
    return [] if last else [bits[used:] for bits in settings]


class BenesAdapter(Adapter):
    """The adapter for a ``BenesNetwork``, which tracks the number of vectors that the tasks announce."""

    OBSERVED = ("tasks",)

    _vectors = 0  # of all tasks so far

    def observe(self, moved: Mapping[str, Any]) -> None:
        """Add the number of vectors of a task; see ``Adapter``."""
        (task,) = tokens_of(moved["tasks"])
        self._vectors += task.coordinate

    def awaited(self) -> Channel | None:
        """Return the channel that lacks a token: inputs within a task, else settings or tasks.

        None while vectors are in the network, and between tasks without a token at any input.
        """
        tasks, settings, inputs = (self.end(label) for label in ("tasks", "settings", "inputs"))
        if self.under_way():
            return None
        if inputs.rows < self._vectors:
            return inputs.waits_at()
        if tasks.is_begun():
            return settings.waits_at()
        return tasks.waits_at() if settings.is_begun() or inputs.is_begun() else None


BLOCK = unit(
    "benes",
    BenesNetwork,
    BenesParameters,
    port_contents,
    design,
    arguments=("form", "lanes", "stages"),
    as_made={"coordinate_bits": 62, "vector_bits": 62, "reference_bits": 64, "value_bits": 64},
    status=(PENDING,),
    base=BenesAdapter,
    counters={"vectors": rows("inputs"), "settings": tokens("tasks")},
    events=("vectors",),
    through=("inputs", "outputs"),
)
