# cython: infer_types=True
"""SIGMA's forwarding adder network (FAN), which sums adjacent vectors of any lengths at once."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

import numpy as np

from fiberscope.hw.lanes.rows import RowPipeline
from fiberscope.hw.stream import DATA, EMPTY, STREAM
from fiberscope.sim.component import Input, Output, Signal

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEAVES = (2, 256)  # minimum and maximum number of leaves, powers of two
NO_NEURON = -1  # first leaf or id of the neuron, for a leaf without an operand


def depth(leaves: int) -> int:
    """Return the cycles from a vector to its sums: one for each level, and one for the output register."""
    return leaves.bit_length()


def level(adder: int) -> int:
    """Return the level of an adder, which is the number of trailing ones of its number.

    Adder a is between the leaves a and a + 1. In level l, it spans the leaves a - 2**l + 1 to a + 2**l.
    """
    return ((adder + 1) & ~adder).bit_length() - 1


def output_lanes(first: NDArray[Any], last: NDArray[Any]) -> NDArray[Any]:
    """Return the output lanes of the sums of virtual neurons.

    The lane is the number of the highest adder within the neuron, or the leaf of a neuron with one leaf. It
    is the number of one of the neuron's own leaves, so that no two sums need the same lane.

    Args:
        first: first leaf of each neuron.
        last: last leaf of each neuron.
    """
    highest = np.frexp(first ^ last)[1]  # higher bits are equal in both
    adder = (last >> (highest - 1) << (highest - 1)) - 1
    return np.where(first == last, first, adder)


def neurons(ids: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the first and the last leaf of each virtual neuron, a run of leaves with equal ids.

    Args:
        ids: for each leaf, the id of its neuron; negative for a leaf without an operand.
    """
    first_leaves = np.flatnonzero(np.diff(ids, prepend=NO_NEURON - 1))
    last_leaves = np.append(first_leaves[1:], len(ids)) - 1
    occupied = ids[first_leaves] >= 0
    return first_leaves[occupied], last_leaves[occupied]


def sums(operands: NDArray[Any], ids: NDArray[Any], add: np.ufunc = np.add) -> NDArray[Any]:
    """Return the sums of the neurons of many vectors, along the last axis in the order of the leaves.

    The function adds in the same order as the network and in the precision of the operands, so that it
    rounds as the hardware does.

    Args:
        operands: operands of the vectors; the last axis is the leaf, and its length is a power of two.
        ids: for each leaf, the id of its neuron in all vectors; negative for a leaf without an operand.
        add: function that adds two arrays as an adder does.

    Returns:
        The sums. The last axis has one entry for each neuron, in the order of the leaves.
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
        lower = np.maximum(beginning[adders + 1], adders + 1 - span)
        partial[..., lower] = add(partial[..., lower], partial[..., adders + 1])
        span *= 2
    return partial[..., first]


class AdderNetwork(RowPipeline):
    """A network of adders that sums the virtual neurons of a vector, of any number and lengths.

    Interface: a vector is a row of tokens, one on each of ``leaves``, see ``fiberscope.hw.lanes.rows``. The
    coordinate is the id of a virtual neuron, the value its operand; a leaf without an operand is ``EMPTY``. A
    run of leaves with equal ids is one neuron; an empty leaf ends the run. A stop counts as ``EMPTY``. The
    sum of a neuron is sent as value, with the id as coordinate, on one of ``sums``, see ``output_lanes``. All
    other lanes are ``EMPTY``.

    Timing: one vector a cycle. A vector is accepted when all leaves have a token, and its sums are sent
    together ``depth`` cycles later, when all of ``sums`` have a free slot. The stages move in step, see
    ``fiberscope.hw.lanes.pipeline``. The latency of the channels at ``sums`` is additional.

    The adders are placed as in the hardware: adder a is between the leaves a and a + 1, and ``level``
    returns its level. An adder whose two leaves belong to the same neuron adds; the others forward. A neuron
    of n leaves therefore takes n - 1 additions. Its highest adder adds the sums of the two parts to its left
    and to its right, which are computed in the same way.

    Accounting: busy while vectors move; waiting for output while the oldest vector is blocked. An empty
    network waits for the first leaf without a token, if another leaf has one.

    Source: SIGMA (HPCA 2020), Section IV, and its public RTL for the network (georgia-tech-synergy-lab/SIGMA
    at 213a062). The lanes of the sums are a choice of this model: in the RTL, two sums can need the same
    lane.

    Args:
        leaves: operands a cycle, a power of two from 2 to 256.

    Raises:
        ValueError: if the number of leaves is out of its range.
        SimulationError: when built, unless both port arrays have a connected port for each leaf.
    """

    PORTS = (Input("leaves", STREAM, array=True), Output("sums", STREAM, array=True))
    SIGNALS = (Signal("in_flight", 9), Signal("neurons", 48), Signal("add", 48))

    def __init__(self, name: str, leaves: int) -> None:
        minimum, maximum = LEAVES
        if leaves not in range(minimum, maximum + 1) or leaves & (leaves - 1):
            raise ValueError(
                f"{name}: leaves must be a power of two from {minimum} to {maximum}, not {leaves}"
            )
        super().__init__(name, ("leaves", "sums"), leaves, depth(leaves))
        self.beginning = array("q", bytes(8 * leaves))  # by leaf: first leaf of its neuron
        self.partial = array("d", bytes(8 * leaves))  # partial sums, by first leaf
        self.neurons = 0
        self.add = 0

    def _process_row(self, index: int) -> None:
        self._load()
        self._reduce()
        self._write_sums(index)

    def _load(self) -> None:
        """Set the operand of each leaf and the first leaf of its neuron."""
        previous_id = -1  # C: long
        beginning = NO_NEURON
        for leaf in range(self.lanes):
            source = self.inputs[leaf]  # C: Channel
            if source.control() != DATA:
                beginning = NO_NEURON
            elif beginning == NO_NEURON or source.coordinate() != previous_id:
                beginning = leaf
                previous_id = source.coordinate()
            self.beginning[leaf] = beginning
            self.partial[leaf] = source.value()

    def _reduce(self) -> None:
        """Add level by level; the left part of an adder starts with its span or with the neuron."""
        span = 1
        while span < self.lanes:
            for adder in range(span - 1, self.lanes - 1, 2 * span):
                beginning = self.beginning[adder + 1]
                if beginning != NO_NEURON and beginning <= adder:
                    lower = max(beginning, adder + 1 - span)  # C: long
                    self.partial[lower] += self.partial[adder + 1]
                    self.add += 1
            span *= 2

    def _write_sums(self, index: int) -> None:
        """Write the sum of each neuron to its output lane."""
        for leaf in range(self.lanes):
            self.kinds[index + leaf] = EMPTY
        for leaf in range(self.lanes):
            beginning = self.beginning[leaf]
            source = self.inputs[leaf]  # C: Channel
            if beginning != NO_NEURON and (leaf + 1 == self.lanes or self.beginning[leaf + 1] != beginning):
                lane = index + _output_lane(beginning, leaf)
                self.kinds[lane] = DATA
                self.coordinates[lane] = source.coordinate()
                self.values[lane] = self.partial[beginning]
                self.neurons += 1

    def counters(self) -> dict[str, int]:
        """Return the vectors accepted, their neurons, and the additions (operands minus neurons)."""
        return {"vectors": self.rows, "neurons": self.neurons, "add": self.add}

    def sample(self) -> tuple[int, ...]:
        """Return the vectors in the pipeline, and the neurons and additions so far."""
        return (self.pipeline.filled, self.neurons, self.add)


def _output_lane(first: int, last: int) -> int:  # C: cdef, noexcept
    """Return the output lane of one neuron, as in ``output_lanes``."""
    if first == last:
        return first
    highest = first ^ last
    while highest & (highest - 1):
        highest &= highest - 1
    return (last & -highest) - 1
