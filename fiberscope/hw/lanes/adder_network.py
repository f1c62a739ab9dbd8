# cython: infer_types=True
"""SIGMA's forwarding adder network (FAN): the sums of many vectors of any lengths that lie side by side."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

import numpy as np

from fiberscope.hw.lanes.rows import RowPipeline
from fiberscope.hw.stream import DATA, EMPTY, STREAM
from fiberscope.sim.component import Input, Output, Signal

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEAVES = (2, 256)  # least and most of a network, powers of two
NO_NEURON = -1  # instead of a first leaf, or an id: a leaf without an operand


def depth(leaves: int) -> int:
    """Cycles from a vector in to its sums out: a level of adders a cycle, and the output register."""
    return leaves.bit_length()


def level(adder: int) -> int:
    """The level of an adder, which stands between the leaves ``adder`` and ``adder`` + 1: its trailing ones.

    An adder of level l spans the leaves ``adder`` - 2**l + 1 to ``adder`` + 2**l.
    """
    return ((adder + 1) & ~adder).bit_length() - 1


def output_lanes(first: NDArray[Any], last: NDArray[Any]) -> NDArray[Any]:
    """The lanes on which the sums of virtual neurons leave, from the first and the last leaf of each.

    That is the number of the highest adder within the neuron, or the leaf where it has but one. It lies among
    the neuron's own leaves, so no two sums want one lane.
    """
    highest = np.frexp(first ^ last)[1]  # bits of the number: those above are the same in both
    adder = (last >> (highest - 1) << (highest - 1)) - 1
    return np.where(first == last, first, adder)


def neurons(ids: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """First and last leaf of each virtual neuron: of neighbours whose ids are equal; one that is negative
    says that the leaf is empty.
    """
    begins = np.flatnonzero(np.diff(ids, prepend=NO_NEURON - 1))
    ends = np.append(begins[1:], len(ids)) - 1
    occupied = ids[begins] >= 0
    return begins[occupied], ends[occupied]


def sums(operands: NDArray[Any], ids: NDArray[Any], add: np.ufunc = np.add) -> NDArray[Any]:
    """Return the sums of many vectors at once: those of the neurons in the order of the leaves.

    They are added in the order in which the network does, so that rounding is that of the hardware, in the
    precision of the operands.

    Args:
        operands: vectors of operands along the last axis, as long as there are leaves: a power of two.
        ids: of the neuron at each leaf, the same for all vectors; negative where there is none.
        add: what adds two arrays, as an adder does.
    """
    first, last = neurons(ids)
    beginning = np.full(len(ids), len(ids))
    for begin, end in zip(first, last, strict=True):
        beginning[begin : end + 1] = begin
    partial = operands.copy()
    span = 1
    while span < len(ids):
        adders = np.arange(span - 1, len(ids) - 1, 2 * span)
        adders = adders[beginning[adders + 1] <= adders]
        left = np.maximum(beginning[adders + 1], adders + 1 - span)
        partial[..., left] = add(partial[..., left], partial[..., adders + 1])
        span *= 2
    return partial[..., first]


class AdderNetwork(RowPipeline):
    """Sums the virtual neurons of a vector, any number of any lengths, by one network of adders.

    Interface: a vector is a row of tokens, one on each of ``leaves``, see ``fiberscope.hw.lanes.rows``: the
    coordinate is the id of a virtual neuron, the value its operand; a leaf without one is ``EMPTY``.
    Neighbours with equal ids are one neuron. Its sum leaves as value with the id as coordinate on one of
    ``sums``, see ``output_lanes``, and all other lanes are ``EMPTY``.

    Timing: one vector a cycle. A vector is taken when all leaves show their token, and its sums leave
    together ``depth`` cycles later, when all of ``sums`` have space. The stages move in step, see
    ``fiberscope.hw.lanes.pipeline``; the latency of the channels at ``sums`` comes on top.

    The adders stand as in the hardware: adder a between the leaves a and a + 1, in the level that ``level``
    gives. One whose two leaves belong to one neuron adds; the others forward. So a neuron of n leaves takes
    n - 1 additions, and its sum is that of the two parts that its highest adder lies between, each summed in
    the same way.

    Accounting: busy while vectors move through it; waiting for output while the oldest cannot leave; empty,
    but with some leaves showing a token, waiting for the first that shows none.

    Source: SIGMA (HPCA 2020), Section IV, and its public RTL for the network (georgia-tech-synergy-lab/SIGMA
    at 213a062). The lanes of the sums are a choice of this model: there, two sums can want one lane.

    Args:
        name: instance name.
        leaves: operands a cycle, a power of two from 2 to 256.

    Raises:
        ValueError: for another number of leaves.
        SimulationError: when built, unless as many ``leaves`` and ``sums`` are connected as there are leaves.
    """

    PORTS = (Input("leaves", STREAM, array=True), Output("sums", STREAM, array=True))
    SIGNALS = (Signal("in_flight", 9), Signal("neurons", 48), Signal("add", 48))

    def __init__(self, name: str, leaves: int) -> None:
        least, most = LEAVES
        if leaves not in range(least, most + 1) or leaves & (leaves - 1):
            raise ValueError(f"{name}: leaves must be a power of two from {least} to {most}, not {leaves}")
        super().__init__(name, ("leaves", "sums"), leaves, depth(leaves))
        self.beginning = array("q", bytes(8 * leaves))  # by leaf: the first of its neuron
        self.partial = array("d", bytes(8 * leaves))  # by the first leaf of what is summed so far
        self.neurons = 0
        self.add = 0

    def _take(self, place: int) -> None:
        self._load()
        self._reduce()
        self._place(place)

    def _load(self) -> None:
        """The operands, and where their neurons begin."""
        before = -1  # C: long
        beginning = NO_NEURON
        for leaf in range(self.lanes):
            source = self.inputs[leaf]  # C: Channel
            if source.control() != DATA:
                beginning = NO_NEURON
            elif beginning == NO_NEURON or source.coordinate() != before:
                beginning = leaf
                before = source.coordinate()
            self.beginning[leaf] = beginning
            self.partial[leaf] = source.value()

    def _reduce(self) -> None:
        """Add, level by level; an adder's left part begins where its span does, or the neuron."""
        span = 1
        while span < self.lanes:
            for adder in range(span - 1, self.lanes - 1, 2 * span):
                beginning = self.beginning[adder + 1]
                if beginning != NO_NEURON and beginning <= adder:
                    left = max(beginning, adder + 1 - span)  # C: long
                    self.partial[left] += self.partial[adder + 1]
                    self.add += 1
            span *= 2

    def _place(self, place: int) -> None:
        """Put each sum on its lane, when the last leaf of its neuron is reached."""
        for leaf in range(self.lanes):
            self.kinds[place + leaf] = EMPTY
        for leaf in range(self.lanes):
            beginning = self.beginning[leaf]
            source = self.inputs[leaf]  # C: Channel
            if beginning != NO_NEURON and (leaf + 1 == self.lanes or self.beginning[leaf + 1] != beginning):
                lane = place + _output_lane(beginning, leaf)
                self.kinds[lane] = DATA
                self.coordinates[lane] = source.coordinate()
                self.values[lane] = self.partial[beginning]
                self.neurons += 1

    def counters(self) -> dict[str, int]:
        """Vectors taken, the neurons in them, and additions: in each vector its operands less its neurons."""
        return {"vectors": self.rows, "neurons": self.neurons, "add": self.add}

    def sample(self) -> tuple[int, ...]:
        """Vectors within, and neurons and additions of all that were taken."""
        return (self.pipeline.filled, self.neurons, self.add)


def _output_lane(first: int, last: int) -> int:  # C: cdef, noexcept
    """Return the output lane of one neuron, as in ``output_lanes``."""
    if first == last:
        return first
    highest = first ^ last
    while highest & (highest - 1):
        highest &= highest - 1
    return (last & -highest) - 1
