# cython: infer_types=True
"""Pipelined arithmetic on streams, one element per cycle.

The latency of a block is the latency of its output channel, set where the block is connected. An output
channel sustains one element per cycle with a capacity of latency + 1, or latency + 2 for an accumulator.
"""

from __future__ import annotations

from array import array

from fiberscope.hw.stream import DATA, STOP, STREAM
from fiberscope.hw.value_type import AUTO, TYPES, ValueType
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal
from fiberscope.sim.errors import SimulationError


class Multiplier(Component):
    """Multiplies each element by the scale register that its reference selects.

    Interface: elements arrive on ``operands`` and leave on ``products``. Stops, and elements with a negative
    reference, pass unchanged.

    Timing: one token per cycle. A token leaves in the cycle in which it is visible, if ``products`` has a
    free slot.

    Accounting: busy while a token moves; waiting for ``products`` while it is full; else idle, also within a
    fiber.

    Args:
        scales: the scale registers, as doubles; not copied, so that their owner can load them.
        values: name of the type of all values, a key of ``TYPES``.

    Raises:
        KeyError: if ``TYPES`` has no type ``values``.
        SimulationError: in the run, if a reference selects no register.
    """

    PORTS = (Input("operands", STREAM), Output("products", STREAM))
    COUNTERS = ("multiply",)  # done
    SIGNALS = (Signal("multiply", 48),)

    operands: Channel
    products: Channel

    def __init__(self, name: str, scales: array[float], values: str = AUTO) -> None:
        super().__init__(name)
        self.value_type: ValueType = TYPES[values]  # C: readonly ValueType
        self.scales = scales  # C: double[::1]
        self.registers = len(scales)
        self.multiply = 0

    def tick(self, now: int) -> int:
        """Multiply one element, or pass on a stop."""
        operands = self.operands
        if not operands.can_pop():
            return self.idle()
        if not self.products.can_push():
            return self.wait_output(self.products)
        control = operands.control()
        reference = operands.reference()
        value = operands.value()
        if control == DATA and reference >= 0:
            if reference >= self.registers:
                raise SimulationError(
                    f"{self.name}: reference {reference} names no scale register; there are {self.registers}"
                )
            value = self.value_type.multiply(value, self.scales[reference])
            self.multiply += 1
        self.products.push(control, operands.coordinate(), reference, value)
        operands.pop()
        return self.busy(now + 1)

    def write_signals(self, values: array[int]) -> None:  # C: cpdef, values=long[::1]
        """Store the current values of the signals."""
        values[0] = self.multiply


class PairMultiplier(Component):
    """Multiplies the elements of two streams pairwise, such as the matches of an intersection.

    Interface: one token of ``a`` and one token of ``b`` give one token on ``products``, with the control word
    of both. All products have coordinate 0, so that an accumulator adds up the products of a fiber.
    Values are doubles.

    Timing: one pair per cycle, if both tokens are visible and ``products`` has a free slot.

    Accounting: busy while a pair moves; waiting for the stream without a token if the other has one; waiting
    for ``products`` while it is full; idle without tokens.

    Raises:
        SimulationError: in the run, if only one of two tokens ends a fiber.
    """

    PORTS = (Input("a", STREAM), Input("b", STREAM), Output("products", STREAM))
    COUNTERS = ("multiply",)  # done
    SIGNALS = (Signal("multiply", 48),)

    a: Channel
    b: Channel
    products: Channel

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.multiply = 0

    def tick(self, now: int) -> int:
        """Multiply one pair of elements, or pass on two stops as one."""
        # Whether each stream has a token: with one token only, the component waits for the other
        here = self.a.can_pop()
        if here != self.b.can_pop():
            return self.wait_input(self.b if here else self.a)
        if not here:
            return self.idle()
        if not self.products.can_push():
            return self.wait_output(self.products)
        control = self.a.control()
        if control != self.b.control():
            raise SimulationError(f"{self.name}: a fiber ends on one side alone")
        if control == DATA:
            self.multiply += 1
        self.products.push(control, 0, 0, self.a.value() * self.b.value())
        self.a.pop()
        self.b.pop()
        return self.busy(now + 1)


class Accumulator(Component):
    """Adds up runs of elements with equal coordinates, and sends a sum when the coordinate changes.

    Interface: elements with non-decreasing coordinates arrive on ``products``. Sums with increasing
    coordinates leave on ``sums``, with 0 as reference, and a stop follows the last sum of a fiber. The order
    is not checked: equal coordinates that are not adjacent get a sum each.

    Timing: one token per cycle. The last sum of a fiber and its stop leave in the same cycle, so that the end
    of a fiber takes no additional cycle. An element that adds to the held sum needs no free slot at ``sums``.
    An element that begins a sum needs one, even if no sum is held.

    Accounting: busy while an element or a stop is taken; waiting for ``sums`` while it lacks a slot; without
    a token, waiting for ``products`` while a sum is held, else idle.

    Args:
        values: as for ``Multiplier``.

    Raises:
        KeyError: if ``TYPES`` has no type ``values``.
        SimulationError: when built, if the channel at ``sums`` has a capacity of less than 2.
    """

    PORTS = (Input("products", STREAM), Output("sums", STREAM))
    COUNTERS = ("add", "emitted")  # add: additions; emitted: sums
    SIGNALS = (Signal("coordinate", 56, "integer"),)  # of the held sum; -1: none

    products: Channel
    sums: Channel

    def __init__(self, name: str, values: str = AUTO) -> None:
        super().__init__(name)
        self.value_type: ValueType = TYPES[values]  # C: readonly ValueType
        self.holding = False
        self.coordinate = 0
        self.sum = 0.0
        self.add = 0
        self.emitted = 0

    def elaborate(self) -> None:
        """Look up the channels, and check the capacity of ``sums``.

        Raises:
            SimulationError: if the capacity is less than 2: a sum and a stop could not leave together.
        """
        super().elaborate()
        if self.sums.capacity < 2:
            raise SimulationError(
                f"{self.sums.name}: an accumulator's sums need a capacity of at least 2, "
                f"not {self.sums.capacity}: the last sum of a fiber and its stop leave together"
            )

    def tick(self, now: int) -> int:
        """Take one element or stop, and send the held sum if it is complete."""
        products = self.products
        if not products.can_pop():
            return self.wait_input(products) if self.holding else self.idle()
        if products.control() == STOP:
            # The held sum, if any, and the stop leave together
            if not self.sums.fits(2 if self.holding else 1):
                return self.wait_output(self.sums)
            self._emit()
            self.sums.push(STOP)
        elif self.holding and products.coordinate() == self.coordinate:
            self.sum = self.value_type.add(self.sum, products.value())
            self.add += 1
        else:
            if not self.sums.can_push():
                return self.wait_output(self.sums)
            self._emit()
            self._hold()
        products.pop()
        return self.busy(now + 1)

    def _emit(self) -> None:
        """Send the held sum, if there is one."""
        if self.holding:
            self.sums.push(DATA, self.coordinate, 0, self.sum)
            self.emitted += 1
            self.holding = False

    def _hold(self) -> None:
        """Begin a sum with the element at the head of ``products``."""
        self.holding = True
        self.coordinate = self.products.coordinate()
        self.sum = self.products.value()

    def write_signals(self, values: array[int]) -> None:  # C: cpdef, values=long[::1]
        """Store the current values of the signals."""
        values[0] = self.coordinate if self.holding else -1
