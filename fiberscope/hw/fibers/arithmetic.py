# cython: infer_types=True
"""Pipelined arithmetic on streams: one element a cycle.

How long a result takes is the latency of the channel that it leaves by, set where the block is connected; a
capacity of latency + 1 keeps the pipeline full, behind an accumulator latency + 2.
"""

from __future__ import annotations

from array import array

from fiberscope.hw.stream import DATA, STOP, STREAM
from fiberscope.hw.value_type import AUTO, TYPES, ValueType
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component, Input, Output, Signal
from fiberscope.sim.errors import SimulationError


class Multiplier(Component):
    """Scales each element by the register that its reference names.

    Interface: elements in on ``operands``, out on ``products``, stops passed on; an element whose reference
    is negative has no scale and passes unchanged. One element a cycle.

    Args:
        name: instance name.
        scales: the scale registers, as doubles; shared with whoever loads them, not copied.
        values: the type of all values, by its name in ``TYPES``.

    Raises:
        SimulationError: in the run, if a reference names no register.
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
        """Move one element through."""
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


class PairMultiplier(Component):
    """Multiplies the elements of two streams that come side by side, as matches of an intersection do.

    Interface: a token of each of ``a`` and ``b`` gives one on ``products``, with the control part of both;
    products all have coordinate 0, so that those of a fiber add up.

    Args:
        name: instance name.

    Raises:
        SimulationError: in the run, if one side ends a fiber and the other does not.
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
        """Move one pair through."""
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
    """Sums runs of equal coordinates; a change of coordinate emits the sum, a stop the last one and itself.

    Interface: elements with non-decreasing coordinates in on ``products``, sums with increasing coordinates
    out on ``sums``. One element a cycle; the last sum and the stop leave together, so that a fiber costs no
    cycle of its own.

    Args:
        name: instance name.
        values: as of ``Multiplier``.

    Raises:
        SimulationError: when built, if the channel at ``sums`` has a capacity below 2.
    """

    PORTS = (Input("products", STREAM), Output("sums", STREAM))
    COUNTERS = ("add", "emitted")  # additions, sums
    SIGNALS = (Signal("coordinate", 56, "integer"),)  # of the sum that is held; -1: none

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
        """Fetch the channels, and check their size."""
        super().elaborate()
        if self.sums.capacity < 2:
            raise SimulationError(
                f"{self.sums.name}: an accumulator's sums need a capacity of at least 2, "
                f"not {self.sums.capacity}: the last sum of a fiber and its stop leave together"
            )

    def tick(self, now: int) -> int:
        """Take one element."""
        products = self.products
        if not products.can_pop():
            return self.wait_input(products) if self.holding else self.idle()
        if products.control() == STOP:
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
        """Send what is held, if anything."""
        if self.holding:
            self.sums.push(DATA, self.coordinate, 0, self.sum)
            self.emitted += 1
            self.holding = False

    def _hold(self) -> None:
        self.holding = True
        self.coordinate = self.products.coordinate()
        self.sum = self.products.value()

    def sample(self) -> tuple[int, ...]:
        """Current values of the signals."""
        return (self.coordinate if self.holding else -1,)
