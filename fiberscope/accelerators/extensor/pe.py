# cython: infer_types=True
"""Processing element of ExTensor: a microtile buffer, and a core that intersects fibers and multiplies."""

from __future__ import annotations

from array import array
from typing import ClassVar

from fiberscope.accelerators.extensor.layout import HALVES, NO_SLOT, PARTIALS, PRODUCT
from fiberscope.accelerators.extensor.operand import TiledOperand
from fiberscope.accelerators.extensor.output import PartialSlot
from fiberscope.hw.fibers.intersection import NO_FIBERS, FiberIntersection
from fiberscope.hw.fibers.masks import FiberMasks
from fiberscope.hw.fibers.scanner_pair import ScannerPair
from fiberscope.hw.value_type import DOUBLE, ValueType
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Port, Signal
from fiberscope.sim.errors import SimulationError

NO_MICROTILE = -1  # number in place of a microtile without one


class MicrotileBuffer(Component):
    """A buffer that loads the microtiles of the next product while the core works on another product.

    Interface: products arrive on ``tasks``, and leave on ``ready`` when their microtiles are in the buffer.
    The token on ``tasks`` is popped only then. A microtile of A or B that the previous product used is not
    loaded again.

    Timing: ``port_bytes`` a cycle, and at least one cycle for each product. The buffer holds at most two
    products, the core's and the next one. If the two do not fit together, the next one is loaded after the
    core has finished. The core pops the token of a product when it has finished the product.

    Args:
        a, b: the operands.
        port_bytes: bytes loaded in a cycle.
        buffer_bytes: bytes of the buffer; any two microtiles that are multiplied fit.

    Raises:
        SimulationError: when built, if the channel at ``ready`` does not have a capacity of 2.
    """

    PORTS: ClassVar[tuple[Port, ...]] = (Input("tasks", PRODUCT), Output("ready", PRODUCT))
    # Bytes moved from the last-level buffer; products whose microtile of A was in the buffer already.
    COUNTERS = ("bytes", "reuses")
    SIGNALS = (Signal("microtile_a", 32, "integer"), Signal("microtile_b", 32, "integer"))

    tasks: Channel
    ready: Channel

    def __init__(
        self, name: str, a: TiledOperand, b: TiledOperand, port_bytes: int, buffer_bytes: int
    ) -> None:
        super().__init__(name)
        self.a = a
        self.b = b
        self.port_bytes = port_bytes
        self.buffer_bytes = buffer_bytes
        self.microtile_a = self.microtile_b = NO_MICROTILE  # microtiles being loaded, or loaded last
        self.bytes_a = self.bytes_b = 0  # bytes of these microtiles
        self.is_filling = False
        self.busy_until = 0  # cycle in which the last byte has arrived
        self.bytes = 0
        self.reuses = 0

    def elaborate(self) -> None:
        """Look up the channels; check that ``ready`` holds a token for each half of the buffer."""
        super().elaborate()
        if self.ready.capacity != HALVES:
            raise SimulationError(f"{self.ready.name}: its capacity should be {HALVES}: a buffer's halves")

    def tick(self, now: int) -> int:
        """Pass on a loaded product and begin to load the next."""
        if self.is_filling:
            if now < self.busy_until:
                return self.busy(self.busy_until)
            self._send_product()
        if not self.tasks.can_pop():
            return self.idle()
        free = HALVES if self._exceeds_buffer() else 1
        if self.ready.space() < free:
            self.ready.want(free)
            return self.wait_output(self.ready)
        return self.busy(self._begin(now))

    def write_signals(self, values: array[int]) -> None:  # C: cpdef, values=long[::1]
        """Store the current values of the signals."""
        values[0] = self.microtile_a
        values[1] = self.microtile_b

    def _exceeds_buffer(self) -> bool:  # C: noexcept
        """Return whether the next product does not fit in the buffer together with the previous one."""
        a, b = self.tasks.coordinate(), self.tasks.reference()
        needed = self.a.microtile_bytes[a] + self.b.microtile_bytes[b]
        if self.microtile_a != a:
            needed += self.bytes_a
        if self.microtile_b != b:
            needed += self.bytes_b
        return needed > self.buffer_bytes

    def _send_product(self) -> None:
        self.ready.push(self.tasks.control(), self.microtile_a, self.microtile_b)
        self.tasks.pop()
        self.is_filling = False

    def _begin(self, now: int) -> int:
        """Begin to load a product; return the cycle in which it is complete."""
        a, b = self.tasks.coordinate(), self.tasks.reference()
        self.reuses += a == self.microtile_a
        loaded_bytes = 0
        if a != self.microtile_a:
            self.microtile_a, self.bytes_a = a, self.a.microtile_bytes[a]
            loaded_bytes += self.bytes_a
        if b != self.microtile_b:
            self.microtile_b, self.bytes_b = b, self.b.microtile_bytes[b]
            loaded_bytes += self.bytes_b
        self.bytes += loaded_bytes
        self.is_filling = True
        self.busy_until = now + max(1, (loaded_bytes + self.port_bytes - 1) // self.port_bytes)
        return self.busy_until


class IntersectingCore(Component):
    """A core that multiplies two microtiles, fiber by fiber.

    Interface: products arrive on ``ready``. When a product is done, its partial outputs leave on
    ``partials`` in a slot of this core. A product without a match sends a token without a slot.

    Timing: for each fiber M0 of A's microtile and each fiber N0 of B's, the K0 coordinates are intersected,
    one step a cycle. The heads are the next element of each fiber. In a step, either the heads are equal, and
    their values are multiplied and added, or the head with the smaller coordinate skips to the first
    coordinate not below the other. An intersection ends when either fiber has no further element. With
    ``scanners``, ``ScannerPair`` determines the steps. The scan of fibers, the multiplier and the adder are
    pipelined and take no cycles of their own. The model computes a product in the cycle in which the product
    begins: outputs leave after the last step, but counters and signals include the whole product from its
    first cycle on.

    Args:
        a, b: the operands.
        slots: slots of this core.
        first_slot: number of this core's first slot among the slots of all cores.
        microtile: side of a microtile, in coordinates.
        shape: microtiles of an output tile in M and N.
        skip: whether the head with the smaller coordinate skips; if not, it advances by one element.
        scanners: scanners that determine the steps, or None; cores may share them.
        value_type: type in which values are multiplied and added.
    """

    PORTS: ClassVar[tuple[Port, ...]] = (Input("ready", PRODUCT), Output("partials", PARTIALS))
    COUNTERS = ("intersect_k0", "multiply", "add", "fiber_pairs", "products", "longest_product")
    SIGNALS = (
        Signal("microtile_a", 32, "integer"),
        Signal("microtile_b", 32, "integer"),
        Signal("intersect_k0", 48),
        Signal("multiply", 48),
    )

    ready: Channel
    partials: Channel

    def __init__(
        self,
        name: str,
        a: TiledOperand,
        b: TiledOperand,
        slots: list[PartialSlot],
        first_slot: int,
        *,
        microtile: int,
        shape: tuple[int, int],
        skip: bool = True,
        scanners: ScannerPair | None = None,
        value_type: ValueType = DOUBLE,
    ) -> None:
        super().__init__(name)
        self.a, self.b = a, b
        masks = [operand.masks(microtile) if skip else NO_FIBERS for operand in (a, b)]
        self.masks = FiberMasks(*masks)
        self.uses_masks = all(map(len, masks))
        self.intersection = FiberIntersection(
            a.element_k, b.element_k, a.values, b.values, b.fiber_elements, skip=skip, value_type=value_type
        )
        self.scanners = scanners
        self.slots = slots
        self.slot_count = len(slots)
        self.first_slot = first_slot
        self.slot = 0
        self.partial = slots[0]
        self.microtile = microtile
        self.rows, self.columns = shape  # C: columns=long, rows=long
        self.is_working = False
        self.busy_until = 0  # cycle after the last step
        self.microtile_a = self.microtile_b = NO_MICROTILE  # microtiles of the current product
        self.fiber_a = self.end_a = self.fiber_b = self.end_b = 0  # first fibers, last fibers + 1
        self.first_key = 0  # key of the coordinates 0 in M and N, see ``_append_sum``
        self.half = 0  # half of the output tile
        self.row = 0  # row of microtiles in the output tile
        self.result_slot = NO_SLOT  # slot to send at the end, if any
        self.intersect_k0 = 0  # steps so far; like all counts, it includes the whole current product
        self.multiply = 0
        self.add = 0
        self.fiber_pairs = 0
        self.products = 0
        self.longest_product = 0  # steps of the longest product

    def tick(self, now: int) -> int:
        """Finish the current product and begin the next."""
        if self.is_working:
            if now < self.busy_until:
                return self.busy(self.busy_until)
            if not self.partials.can_push():
                return self.wait_output(self.partials)
            self._send()
            self.ready.pop()
        if not self.ready.can_pop():
            return self.idle()
        return self.busy(self._begin(now))

    def write_signals(self, values: array[int]) -> None:  # C: cpdef, values=long[::1]
        """Store the current values of the signals."""
        values[0] = self.microtile_a
        values[1] = self.microtile_b
        values[2] = self.intersect_k0
        values[3] = self.multiply

    def _send(self) -> None:
        """Send the slot with the partial outputs of the product, or a token without a slot."""
        self.partials.push(self.half, self.result_slot, self.row)
        self.microtile_a = self.microtile_b = NO_MICROTILE
        self.is_working = False

    def _begin(self, now: int) -> int:
        """Compute the next product; return the cycle in which it is done."""
        self._open()
        steps_before = self._steps()
        for fiber_a in range(self.fiber_a, self.end_a):
            if self.uses_masks:
                self._dot_masked(fiber_a, self.fiber_b)
            else:
                self._dot(fiber_a, self.fiber_b)
        steps = self._steps() - steps_before if self.scanners is None else self._count_scanner_steps()
        self._close(steps)
        self.busy_until = now + steps
        return self.busy_until

    def _steps(self) -> int:  # C: noexcept
        return self.intersection.steps + self.masks.steps

    def _count_scanner_steps(self) -> int:
        """Return the number of steps that the scanners take for the current product."""
        steps, elements = 0, self.a.fiber_elements
        for fiber in range(self.fiber_a, self.end_a):
            steps += self.scanners.steps(  # type: ignore[union-attr]  # only called with scanners
                elements[fiber], elements[fiber + 1], self.fiber_b, self.end_b
            )
        return steps

    def _open(self) -> None:
        """Set up the next product and an empty slot for its partial outputs."""
        a, b, side = self.ready.coordinate(), self.ready.reference(), self.microtile
        self.microtile_a, self.microtile_b, self.half = a, b, self.ready.control()
        self.slot = (self.slot + 1) % self.slot_count
        self.partial = self.slots[self.slot]
        self.partial.clear()
        self.fiber_a, self.end_a = self.a.microtile_fibers[a], self.a.microtile_fibers[a + 1]
        self.fiber_b, self.end_b = self.b.microtile_fibers[b], self.b.microtile_fibers[b + 1]
        row = self.a.fiber_coordinates[self.fiber_a] // side
        column = self.b.fiber_coordinates[self.fiber_b] // side
        self.row = row % self.rows
        self.first_key = (column % self.columns * side - row * side) * side - column * side
        self.fiber_pairs += (self.end_a - self.fiber_a) * (self.end_b - self.fiber_b)
        self.is_working = True

    def _close(self, steps: int) -> None:
        """Update the counters with a product of ``steps`` steps, and set the slot to send."""
        self.result_slot = self.first_slot + self.slot if self.partial.count > 0 else NO_SLOT
        self.products += 1
        self.intersect_k0 += steps
        self.longest_product = max(self.longest_product, steps)

    def _dot(self, fiber_a: int, fiber_b: int) -> None:
        """Compute the dot products of a fiber of A and the fibers of B from ``fiber_b`` on."""
        intersection = self.intersection
        start, end = self.a.fiber_elements[fiber_a], self.a.fiber_elements[fiber_a + 1]
        fiber_b = intersection.find_match(start, end, fiber_b, self.end_b)
        while fiber_b < self.end_b:
            self._append_sum(fiber_a, fiber_b, intersection.matches, intersection.total)
            fiber_b = intersection.find_match(start, end, fiber_b + 1, self.end_b)

    def _dot_masked(self, fiber_a: int, fiber_b: int) -> None:
        """Compute the dot products with the fibers of B that have a common coordinate, which masks select.

        One loop for this case and ``_dot`` would take 1.05 times the run time.
        """
        intersection, masks = self.intersection, self.masks
        start, end = self.a.fiber_elements[fiber_a], self.a.fiber_elements[fiber_a + 1]
        fiber_b = masks.next_met(fiber_a, fiber_b, self.end_b)
        while fiber_b < self.end_b:
            intersection.find_match(start, end, fiber_b, fiber_b + 1)
            self._append_sum(fiber_a, fiber_b, intersection.matches, intersection.total)
            fiber_b = masks.next_met(fiber_a, fiber_b + 1, self.end_b)

    def _append_sum(self, fiber_a: int, fiber_b: int, matches: int, total: float) -> None:  # C: inline
        """Append the sum of the ``matches`` products of two fibers to the slot."""
        # A key is (column of the microtile * side + row in it) * side + column in it (``OutputRow``);
        # ``first_key`` makes it from global coordinates.
        key = self.first_key + self.a.fiber_coordinates[fiber_a] * self.microtile
        self.partial.append(key + self.b.fiber_coordinates[fiber_b], total)
        self.multiply += matches
        self.add += matches - 1
