# cython: infer_types=True
"""Array loads: a block that reads the value of an array for each reference."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fiberscope.hw.fibers.arrays import values_of
from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.quirks import NO_QUIRKS, Q13
from fiberscope.hw.streams.tokens import DATA, DONE, EMPTY, INTEGER, VAL
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input
from fiberscope.sim.errors import SimulationError
from fiberscope.sim.protocol import ANY


class ArrayLoad(StreamBlock):
    """Reads for each reference the value of an array at this index.

    Interface: references arrive on ``in_ref``, values leave on ``out_val``. For an N token the value of the
    attribute ``empty`` leaves, marked ``ABSENT``. Stops and done pass unchanged.

    Timing: one token per cycle.

    Quirks: Q13: all values are marked as integers (``fiberscope.hw.streams.tokens.INTEGER``) if the array
    that the constructor gets has an integer type. The value for an N is always marked.

    Counts: ``loads``, and ``addresses``, the number of different references that were loaded. N is no load.

    Source: SAM (ASPLOS 2023), Definition 3.5, in the mode *load*; the public simulator's array (weiya711/sam
    at 6e477d1).

    Args:
        values: the values of the array, by reference. A contiguous, writable array of doubles is not copied,
            and must not change before the end of the run.
        quirks: see ``StreamBlock``.

    Attributes:
        empty: value for an N token, 0 unless it is set after construction.

    Raises:
        SimulationError: during the run, if a reference lies outside the array.
    """

    PORTS = (Input("in_ref", ANY), output_stream("out_val", VAL))
    COUNTERS = ("loads", "addresses")

    in_ref: Channel
    out_val: OutputStream

    def __init__(self, name: str, values: npt.ArrayLike, quirks: int = NO_QUIRKS) -> None:
        super().__init__(name, quirks)
        self.values = values_of(values)  # C: double[::1]
        self.size = len(self.values)
        self.mark_of_empty = INTEGER if quirks & Q13 else 0
        # The public simulator's ALU distinguishes integers; ``values_of`` has made doubles of them
        self.mark = self.mark_of_empty if np.issubdtype(np.asarray(values).dtype, np.integer) else 0
        self.empty = 0.0  # C: public
        self.loads = self.addresses = 0
        self._is_loaded = bytearray(self.size)  # one byte for each value, quick to test in compiled code

    def update(self, now: int) -> int:
        """Read one value, send ``empty`` for an N, or pass a stop or done."""
        source = self.in_ref
        if not source.can_pop():
            return self.wait_input(source)
        kind, payload = source.control(), source.coordinate()
        source.pop()
        if kind == DATA:
            self.out_val.push(DATA, self.mark, self.load(payload))
        elif kind == EMPTY:
            self.out_val.push_absent(self.mark_of_empty, self.empty)
        else:
            self.out_val.push(kind, payload)
        return self.finish(now) if kind == DONE else self.busy(now + 1)

    def load(self, address: int) -> float:
        """Return the value of a reference, ``address``, and count the load.

        Raises:
            SimulationError: if the reference lies outside the array.
        """
        check_address(self.name, address, self.size)
        self.loads += 1
        if not self._is_loaded[address]:
            self._is_loaded[address] = 1
            self.addresses += 1
        return self.values[address]


def check_address(reader: str, address: int, size: int) -> None:  # C: reader=str, cpdef
    """Check that a reference lies in an array.

    Args:
        reader: name of the component that uses the reference, for the message.
        address: the reference.
        size: number of values in the array.

    Raises:
        SimulationError: if it does not; the message names the reader.
    """
    if address < 0 or address >= size:
        raise SimulationError(f"{reader}: reference {address} lies outside an array of {size} values")
