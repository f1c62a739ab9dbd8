# cython: infer_types=True
"""A processing element: a buffer of microtiles, and a core that intersects their fibers and multiplies."""

from __future__ import annotations

from typing import ClassVar

from fiberscope.accelerators.extensor.layout import HALVES, NOTHING, PARTIALS, PRODUCT
from fiberscope.accelerators.extensor.operand import TiledOperand
from fiberscope.accelerators.extensor.output import PartialSlot
from fiberscope.hw.fibers.intersection import NO_FIBERS, FiberIntersection
from fiberscope.hw.fibers.masks import FiberMasks
from fiberscope.hw.fibers.scanner_pair import ScannerPair
from fiberscope.hw.value_type import DOUBLE, ValueType
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Port, Signal
from fiberscope.sim.errors import SimulationError

NO_MICROTILE = -1


class MicrotileBuffer(Component):
    """Moves the microtiles of the next product from the last-level buffer, while the core works on one.

    Interface: products come in on ``tasks`` and leave on ``ready`` with their microtiles in the buffer; only
    then is their token taken from ``tasks``. A microtile of A that the last product had stays; so does one of
    B.

    Timing: ``port_bytes`` a cycle, at least a cycle a product. The buffer holds two products at the most, the
    core's and the next one; where both together do not fit, the next one comes when the core has finished.
    The core takes a product's token away when it has finished it.

    Args:
        name: instance name.
        a, b: the operands.
        port_bytes: bytes that come in a cycle.
        size: bytes of the buffer; it holds any two microtiles that are multiplied.

    Raises:
        SimulationError: when built, if the channel at ``ready`` has not a capacity of 2.
    """

    PORTS: ClassVar[tuple[Port, ...]] = (Input("tasks", PRODUCT), Output("ready", PRODUCT))
    COUNTERS = ("bytes", "reuses")  # moved from the last-level buffer; microtiles of A that were there
    SIGNALS = (Signal("microtile_a", 32, "integer"), Signal("microtile_b", 32, "integer"))

    tasks: Channel
    ready: Channel

    def __init__(self, name: str, a: TiledOperand, b: TiledOperand, port_bytes: int, size: int) -> None:
        super().__init__(name)
        self.a = a
        self.b = b
        self.port_bytes = port_bytes
        self.size = size
        self.microtile_a = self.microtile_b = NO_MICROTILE  # those that come, or came last
        self.bytes_a = self.bytes_b = 0  # of these
        self.filling = False
        self.until = 0  # cycle in which the last byte is there
        self.bytes = 0
        self.reuses = 0

    def elaborate(self) -> None:
        """Fetch the channels, and check their size."""
        super().elaborate()
        if self.ready.capacity != HALVES:
            raise SimulationError(f"{self.ready.name}: its capacity should be {HALVES}: a buffer's halves")

    def tick(self, now: int) -> int:
        """Hand on what is complete and begin the next."""
        if self.filling:
            if now < self.until:
                return self.busy(self.until)
            self._hand_on()
        if not self.tasks.can_pop():
            return self.idle()
        free = HALVES if self._crowded() else 1
        if self.ready.space() < free:
            self.ready.want(free)
            return self.wait_output(self.ready)
        return self.busy(self._begin(now))

    def _crowded(self) -> bool:  # C: noexcept
        """Return whether the next product does not fit beside the last one."""
        a, b = self.tasks.coordinate(), self.tasks.reference()
        needed = self.a.microtile_bytes[a] + self.b.microtile_bytes[b]
        if self.microtile_a != a:
            needed += self.bytes_a
        if self.microtile_b != b:
            needed += self.bytes_b
        return needed > self.size

    def _hand_on(self) -> None:
        self.ready.push(self.tasks.control(), self.microtile_a, self.microtile_b)
        self.tasks.pop()
        self.filling = False

    def _begin(self, now: int) -> int:
        """Take a product; returns when to go on."""
        a, b = self.tasks.coordinate(), self.tasks.reference()
        self.reuses += a == self.microtile_a
        moved = 0
        if a != self.microtile_a:
            self.microtile_a, self.bytes_a = a, self.a.microtile_bytes[a]
            moved += self.bytes_a
        if b != self.microtile_b:
            self.microtile_b, self.bytes_b = b, self.b.microtile_bytes[b]
            moved += self.bytes_b
        self.bytes += moved
        self.filling = True
        self.until = now + max(1, (moved + self.port_bytes - 1) // self.port_bytes)
        return self.until


class IntersectingCore(Component):
    """Multiplies two microtiles, fiber by fiber.

    Interface: products come in on ``ready``; the partial outputs of one leave on ``partials``, in a slot of
    the core's own, when the product is done; one without a match sends only that.

    Timing: for every fiber M0 of A's microtile and N0 of B's, their K0 coordinates are intersected, a step a
    cycle: the heads are equal, and their values are multiplied and added, or the one behind skips to the
    first coordinate not below the other. It ends with the shorter fiber. (With ``scanners`` the steps are
    those that ``ScannerPair`` says.) The scan of fibers, the multiplier and the adder are pipelined
    and cost no cycle of their own. A product is worked out in the cycle in which it begins and lasts as many
    cycles as it has steps; nothing can be seen of it before the last.

    Args:
        name: instance name.
        a, b: the operands.
        slots: of this core.
        first_slot: the number of the first of them among those of all cores.
        microtile: coordinates of a microtile.
        shape: of an output tile, in microtiles.
        skip: whether the head behind skips; else it goes on by one.
        scanners: whose steps count instead, if there are any; cores may share them.
        value_type: of the values.
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
        self.masked = all(map(len, masks))
        self.intersection = FiberIntersection(
            a.element_k,
            b.element_k,
            a.values,
            b.values,
            b.fiber_elements,
            skip=skip,
            value_type=value_type,
        )
        self.scanners = scanners
        self.slots = slots
        self.slot_count = len(slots)
        self.first_slot = first_slot
        self.slot = 0
        self.partial = slots[0]
        self.microtile = microtile
        self.rows, self.columns = shape  # C: columns=long, rows=long
        self.working = False
        self.until = 0  # cycle after the last step
        self.microtile_a = self.microtile_b = NO_MICROTILE  # the product at hand
        self.fiber_a = self.last_a = self.fiber_b = self.last_b = 0  # those of its microtiles
        self.first_key = 0  # of the coordinates 0 in M and N
        self.half = 0  # of the output tile
        self.row = 0  # of microtiles in it
        self.result = NOTHING  # the slot to send at the end, if any
        self.intersect_k0 = 0  # steps, those of the product at hand included, as in all that is counted
        self.multiply = 0
        self.add = 0
        self.fiber_pairs = 0
        self.products = 0
        self.longest_product = 0  # in steps

    def tick(self, now: int) -> int:
        """Finish the product at hand and begin the next."""
        if self.working:
            if now < self.until:
                return self.busy(self.until)
            if not self.partials.can_push():
                return self.wait_output(self.partials)
            self._send()
            self.ready.pop()
        if not self.ready.can_pop():
            return self.idle()
        return self.busy(self._begin(now))

    def _send(self) -> None:
        """Send what the product has given, if only that it is done."""
        self.partials.push(self.half, self.result, self.row)
        self.microtile_a = self.microtile_b = NO_MICROTILE
        self.working = False

    def _begin(self, now: int) -> int:
        """Take a product and work it out; returns when it is done."""
        self._open()
        before = self._steps()
        for fiber_a in range(self.fiber_a, self.last_a):
            if self.masked:
                self._dot_met(fiber_a, self.fiber_b)
            else:
                self._dot(fiber_a, self.fiber_b)
        steps = self._steps() - before if self.scanners is None else self._scanned()
        self._close(steps)
        self.until = now + steps
        return self.until

    def _steps(self) -> int:  # C: noexcept
        return self.intersection.steps + self.masks.steps

    def _scanned(self) -> int:
        """Steps that the scanners take for a product."""
        steps, elements = 0, self.a.fiber_elements
        for fiber in range(self.fiber_a, self.last_a):
            steps += self.scanners.steps(  # type: ignore[union-attr]  # asked before
                elements[fiber], elements[fiber + 1], self.fiber_b, self.last_b
            )
        return steps

    def _open(self) -> None:
        """Turn to a product, and to an empty slot for what it gives."""
        a, b, side = self.ready.coordinate(), self.ready.reference(), self.microtile
        self.microtile_a, self.microtile_b, self.half = a, b, self.ready.control()
        self.slot = (self.slot + 1) % self.slot_count
        self.partial = self.slots[self.slot]
        self.partial.clear()
        self.fiber_a, self.last_a = self.a.microtile_fibers[a], self.a.microtile_fibers[a + 1]
        self.fiber_b, self.last_b = self.b.microtile_fibers[b], self.b.microtile_fibers[b + 1]
        row = self.a.fiber_coordinates[self.fiber_a] // side
        column = self.b.fiber_coordinates[self.fiber_b] // side
        self.row = row % self.rows
        self.first_key = (column % self.columns * side - row * side) * side - column * side
        self.fiber_pairs += (self.last_a - self.fiber_a) * (self.last_b - self.fiber_b)
        self.working = True

    def _close(self, steps: int) -> None:
        """Count what a product has given."""
        self.result = self.first_slot + self.slot if self.partial.count > 0 else NOTHING
        self.products += 1
        self.intersect_k0 += steps
        self.longest_product = max(self.longest_product, steps)

    def _dot(self, fiber_a: int, fiber_b: int) -> None:
        """Intersect a fiber with those of B, multiply and add."""
        both = self.intersection
        first, end = self.a.fiber_elements[fiber_a], self.a.fiber_elements[fiber_a + 1]
        fiber_b = both.meet(first, end, fiber_b, self.last_b)
        while fiber_b < self.last_b:
            self._keep(fiber_a, fiber_b, both.matches, both.total)
            fiber_b = both.meet(first, end, fiber_b + 1, self.last_b)

    def _dot_met(self, fiber_a: int, fiber_b: int) -> None:
        """The same, with masks that say which meet it: a loop for both takes 1.05 of the whole time."""
        both, masks = self.intersection, self.masks
        first, end = self.a.fiber_elements[fiber_a], self.a.fiber_elements[fiber_a + 1]
        fiber_b = masks.next_met(fiber_a, fiber_b, self.last_b)
        while fiber_b < self.last_b:
            both.meet(first, end, fiber_b, fiber_b + 1)
            self._keep(fiber_a, fiber_b, both.matches, both.total)
            fiber_b = masks.next_met(fiber_a, fiber_b + 1, self.last_b)

    def _keep(self, fiber_a: int, fiber_b: int, matches: int, total: float) -> None:  # C: inline
        """Put what two fibers have given, which met so many times, into the slot."""
        key = self.first_key + self.a.fiber_coordinates[fiber_a] * self.microtile
        self.partial.append(key + self.b.fiber_coordinates[fiber_b], total)
        self.multiply += matches
        self.add += matches - 1
