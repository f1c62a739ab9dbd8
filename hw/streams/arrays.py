"""Arrays: from references to the values they name, and back."""

from __future__ import annotations

from array import array
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from hw.fibers.arrays import values_of
from hw.streams.block import StreamBlock
from hw.streams.growing import Growing
from hw.streams.output import OutputStream
from hw.streams.ports import output_stream
from hw.streams.quirks import CLEAN, Q13
from hw.streams.tokens import DATA, DONE, EMPTY, INTEGER, REF, VAL, written_head
from sim.channel import Channel
from sim.component import Input
from sim.errors import SimulationError
from sim.protocol import ANY

LARGEST = 1 << 40  # values of an array that is written: beyond, a reference is a mistake


class ArrayLoad(StreamBlock):
    """Reads for each reference the value that it names.

    Interface: references on ``in_ref``, values on ``out_val``. N gives 0; stops and done pass.

    Timing: a token a cycle.

    Quirks: Q13, integers, among them the 0 for N, are marked as such (``hw.streams.tokens.INTEGER``).

    Counts: ``loads``, and ``addresses`` that differ among them.

    Source: SAM (ASPLOS 2023), Definition 3.6; the public simulator's array (weiya711/sam at 6e477d1).

    Args:
        name: instance name.
        values: of the array; copied.
        quirks: see ``StreamBlock``.

    Raises:
        SimulationError: in the run, if a reference lies outside the array.
    """

    PORTS = (Input("in_ref", ANY), output_stream("out_val", VAL))
    COUNTERS = ("loads", "addresses")

    in_ref: Channel
    out_val: OutputStream

    def __init__(self, name: str, values: npt.ArrayLike, quirks: int = CLEAN) -> None:
        super().__init__(name, quirks)
        self.values = values_of(values)
        self.size = len(self.values)
        self.mark_of_empty = INTEGER if quirks & Q13 else 0
        self.mark = self.mark_of_empty if np.issubdtype(np.asarray(values).dtype, np.integer) else 0
        self.loads = self.addresses = 0
        self._seen = bytearray(self.size)

    def update(self, now: int) -> int:
        """Read one value, or pass a token."""
        source = self.in_ref
        if not source.can_pop():
            return self.wait_input(source)
        kind, payload = source.control(), source.coordinate()
        source.pop()
        if kind == DATA:
            self._load(payload)
        elif kind == EMPTY:
            self.out_val.push(DATA, self.mark_of_empty, 0.0)
        else:
            self.out_val.push(kind, payload)
        return self.finish(now) if kind == DONE else self.busy(now + 1)

    def _load(self, address: int) -> None:
        check_address(self.name, address, self.size)
        self.loads += 1
        if not self._seen[address]:
            self._seen[address] = 1
            self.addresses += 1
        self.out_val.push(DATA, self.mark, self.values[address])


class ArrayStore(StreamBlock):
    """Writes each value to the place that its reference names.

    Interface: references on ``in_ref`` and values on ``in_val``, of the same shape; stops and N are ignored.
    It is done with done on both.

    Timing: a pair a cycle, when both are seen.

    Counts: ``stores``.

    Source: the public simulator's array (weiya711/sam at 6e477d1).

    Args:
        name: instance name.
        room: values that are allocated at first; it grows when a reference lies beyond.
        quirks: see ``StreamBlock``.

    Raises:
        SimulationError: in the run, if a reference is negative, or the streams differ in shape.
    """

    PORTS = (Input("in_ref", ANY), Input("in_val", VAL))
    COUNTERS = ("stores",)

    in_ref: Channel
    in_val: Channel

    def __init__(self, name: str, room: int = 1, quirks: int = CLEAN) -> None:
        super().__init__(name, quirks)
        self.memory = Growing(room)
        self.stores = 0

    def update(self, now: int) -> int:
        """Take one pair."""
        if not self.in_ref.can_pop():
            return self.wait_input(self.in_ref)
        if not self.in_val.can_pop():
            return self.wait_input(self.in_val)
        kind = self.in_ref.control()
        if kind != EMPTY and kind != self.in_val.control():
            self._refuse()
        if kind == DATA:
            self._store(self.in_ref.coordinate(), self.in_val.value())
        self.in_ref.pop()
        self.in_val.pop()
        return self.finish(now) if kind == DONE else self.busy(now + 1)

    def _store(self, address: int, value: float) -> None:
        check_address(self.name, address, LARGEST)
        self.memory.put_value(address, value)
        self.stores += 1

    def _refuse(self) -> NoReturn:
        reference, value = written_head(self.in_ref, REF), written_head(self.in_val, VAL)
        raise SimulationError(f"{self.name}: reference {reference} comes with value {value}")

    @property
    def values(self) -> array[float]:
        """The array, up to the highest place written; 0.0 where nothing was."""
        return self.memory.values()


def check_address(reader: str, address: int, size: int) -> None:
    """Check that a reference lies in an array.

    Raises:
        SimulationError: naming who wants to use it.
    """
    if address < 0 or address >= size:
        raise SimulationError(f"{reader}: reference {address} lies outside an array of {size} values")
