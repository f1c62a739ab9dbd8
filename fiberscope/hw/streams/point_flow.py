# cython: infer_types=True
# C compiler: -O2
"""The steady flow of elements through the blocks behind a merger: all updates of an element in one step.

As long as no block waits for a slot and all channels are empty, the cycles of the updates that an element
causes follow from the cycle in which it leaves the merger. The blocks then need not tick, and the channels
between them stay empty. Everything else, such as stops, is left to the logical processes of the blocks.
"""

from __future__ import annotations

from collections.abc import Sequence

from fiberscope.hw.streams.alu import Alu
from fiberscope.hw.streams.arrays import ArrayLoad
from fiberscope.hw.streams.growing_memory import Growing
from fiberscope.hw.streams.merge_lists import POINTS
from fiberscope.hw.streams.merged_points import MergedPoints
from fiberscope.hw.streams.process import LogicalProcess
from fiberscope.hw.streams.quirks import NO_QUIRKS
from fiberscope.hw.streams.run_sum import RunSum
from fiberscope.hw.streams.tokens import DATA, STOP
from fiberscope.sim import inline
from fiberscope.sim.channel import Channel

__all__ = ["PointFlow"]


class PointFlow:  # C: final
    """Passes elements through ``MergedPoints``, ``ArrayLoad``, ``Alu`` and ``RunSum``, without their ticks.

    The reference that travels with an element is loaded, and its value and that of the element are operands
    of the ``Alu``. If the blocks behind the merger are others, no element is accepted.

    Args:
        processes: the logical processes of the blocks behind a merger, writers before readers.
        merged: the channel between the merger and the first of these blocks.
    """

    points: MergedPoints
    load: ArrayLoad
    product: Alu
    sums: RunSum
    of_points: LogicalProcess
    of_load: LogicalProcess
    of_product: LogicalProcess
    of_sums: LogicalProcess
    references: Growing  # of the elements' lists
    merged: Channel
    groups: Channel
    coordinates: Channel  # from ``points`` to ``sums``
    values: Channel  # from ``points`` to ``product``
    loaded_references: Channel  # from ``points`` to ``load``
    loads: Channel  # from ``load`` to ``product``
    products: Channel  # from ``product`` to ``sums``

    def __init__(self, processes: Sequence[LogicalProcess], merged: Channel) -> None:
        self.processes, self.merged = list(processes), merged
        self.is_drained = False  # whether the channels between the blocks are known to be empty
        self.loads_first = False  # whether a loaded value is the first operand
        self.passed = 0  # elements that have passed since the last call of ``settle``
        self.is_possible = self._find_blocks()
        self.leading = 4 if self.is_possible else 1  # number of processes that ``run`` runs

    def _find_blocks(self) -> bool:
        """Find the blocks and channels; return whether they are connected as this class expects."""
        points = self.processes[0].block
        consumers = [stream.consumers for stream in points.streams]
        if type(points) is not MergedPoints or consumers != [1, 0, 1, 1] or len(self.processes) < 4:
            return False
        load, product, sums = (process.block for process in self.processes[1:4])
        if type(load) is not ArrayLoad or type(product) is not Alu or type(sums) is not RunSum:
            return False
        self.points, self.load, self.product, self.sums = points, load, product, sums
        self.of_points, self.of_load, self.of_product, self.of_sums = self.processes[:4]
        self.groups, self.references = points.groups, points.table.carried[0]
        self.coordinates, self.products = sums.in_crd, sums.in_val
        self.loaded_references, self.loads_first = load.in_ref, product.b is points.out_val.first
        self.loads, self.values = (product.a, product.b) if self.loads_first else (product.b, product.a)
        streams = (points.streams[0], points.streams[2], points.streams[3], load.out_val, product.out_val)
        ends = (self.coordinates, self.values, self.loaded_references, self.loads, self.products)
        return (
            all(
                stream.channels == [end] and end.latency == 1
                for stream, end in zip(streams, ends, strict=True)
            )
            and self.merged.latency == 1
            and points.quirks == load.quirks == product.quirks == NO_QUIRKS
        )

    def run(self, until: int) -> bool:
        """Run the leading logical processes up to a cycle; return whether any of them ran."""
        has_run = False
        for index in range(self.leading):
            process: LogicalProcess = self.processes[index]
            has_run = process.run(until) or has_run
        return has_run

    def send_stop(self, cycle: int) -> None:
        """Send the stop of a fiber, which leaves the merger in this cycle."""
        self.is_drained = False
        self.merged.push_at(cycle, STOP, 0, 0, 0.0)

    def send(self, cycle: int, coordinate: int, source: int, value: float, horizon: int) -> None:
        """Send an element, and make the updates that it causes if all of them are certain.

        Args:
            cycle: cycle in which the element leaves the merger.
            coordinate, source, value: coordinate of the element, number of its list, and value.
            horizon: cycle before which all updates must be.
        """
        area = self.groups.coordinate() if self.is_drained or self._is_empty() else POINTS
        if not self.is_drained or not self._has_space(area, cycle + 1, horizon):
            self.is_drained = False
            self.merged.push_at(cycle, DATA, coordinate, source, value)
            return
        at = self.of_points.pass_update(self.groups, self.groups._seen_from, self.merged, cycle + 1)
        _pass_by(self.merged, at)
        if area == POINTS:
            self._combine(at, coordinate, self.points.first + source, value)
        else:
            self.points.stored += 1
            self.points.table.store(area, coordinate, source, value)

    def _is_empty(self) -> bool:
        """Return whether all channels between the blocks are empty, and all blocks have seen a token."""
        self.is_drained = (
            self.is_possible
            and self.groups.occupancy > 0
            and self.merged.occupancy == self.coordinates.occupancy == self.values.occupancy == 0
            and self.loaded_references.occupancy == self.loads.occupancy == self.products.occupancy == 0
            and min(self.points.first_input, self.load.first_input) >= 0
            and min(self.product.first_input, self.sums.first_input) >= 0
        )
        return self.is_drained

    def _has_space(self, area: int, visible: int, horizon: int) -> bool:
        """Return whether the blocks update before the horizon, and find free slots whenever they look.

        Args:
            area: area for which the element is, or ``POINTS``.
            visible: cycle from which the element is visible.
        """
        first, visible = self.of_points.last_cycle + 1, max(visible, self.groups._seen_from)
        load, product = self.of_load.last_cycle + 1, self.of_product.last_cycle + 1
        last = max(visible + 3, first + 3, load + 2, product + 1, self.of_sums.last_cycle + 1)
        if last >= horizon or not (
            _is_free(self.coordinates, first)
            and _is_free(self.values, first)
            and _is_free(self.loaded_references, first)
        ):
            return False
        if area != POINTS:
            return True
        return (
            _is_free(self.loads, load)
            and _is_free(self.products, product)
            and self._can_send_sum(self.of_sums.last_cycle + 1, horizon)
        )

    def _can_send_sum(self, cycle: int, horizon: int) -> bool:
        """Return whether all outputs of the last block have a free slot from this cycle on."""
        channels = self.of_sums.outputs
        for index in range(len(channels)):
            if inline.is_full(channels, index):
                self._run_others(horizon)
            if not _is_free(inline.channel(channels[index]), cycle):
                return False
        return True

    def _run_others(self, until: int) -> None:
        """Run the blocks that read the sums, so that they free slots."""
        for index in range(self.leading, len(self.processes)):
            process: LogicalProcess = self.processes[index]
            process.run(until)

    def _combine(self, at: int, coordinate: int, source: int, value: float) -> None:
        """Make the updates of the other blocks for an element that leaves the first one in cycle ``at``."""
        self.points.points += 1
        self.passed += 1
        references = self.loaded_references
        loaded_at = self.of_load.pass_update(references, at + 1, references, at + 1)
        _pass_by(references, loaded_at)
        result = self._product(at + 1, loaded_at + 1, self.load.load(self.references.integer(source)), value)
        product_at = self.of_product.last_cycle
        _pass_by(self.values, product_at)
        _pass_by(self.loads, product_at)
        sums = self.sums
        sum_at = self.of_sums.pass_update(self.coordinates, at + 1, self.products, product_at + 1)
        _pass_by(self.coordinates, sum_at)
        _pass_by(self.products, sum_at)
        if sums.open and sums.coordinate != coordinate:
            sums._send()
        sums._add(coordinate, result)

    def _product(self, value_seen: int, load_seen: int, loaded: float, value: float) -> float:
        """Return the product of a loaded value and a value, which are visible from these cycles."""
        product = self.product
        if self.loads_first:
            self.of_product.pass_update(self.loads, load_seen, self.values, value_seen)
            return product.compute(loaded * product.sign_a, value * product.sign_b)
        self.of_product.pass_update(self.values, value_seen, self.loads, load_seen)
        return product.compute(value * product.sign_a, loaded * product.sign_b)

    def settle(self) -> int:
        """Count the elements that have passed as tokens of the streams between the blocks.

        Returns:
            The last cycle of a tick or update before which a block was not idle.
        """
        if self.passed > 0:
            for stream in (*self.points.streams, self.load.out_val, self.product.out_val):
                stream.tokens[DATA] += self.passed
            self.passed = 0
        return max([process.worked for process in self.processes])


def _is_free(channel: Channel, cycle: int) -> bool:  # C: cdef, noexcept
    """Return whether a channel has a free slot in its writer's cycle, and in all later ones until a push."""
    return not channel.bounded or channel.free_from(1) <= cycle


def _pass_by(channel: Channel, cycle: int) -> None:  # C: cdef, noexcept
    """Count a token that passes an empty channel without being stored; the reader pops it in this cycle."""
    channel.pops += 1
    if channel._stamped:
        channel._pop_time = cycle * channel._reader_clock.period
        channel._stamps[(channel.pops - 1) & channel._stamp_mask] = cycle
