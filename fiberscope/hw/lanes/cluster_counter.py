# cython: infer_types=True
"""A cluster counter, which ranks the occurrences of each key in a sorted row."""

from __future__ import annotations

from fiberscope.hw.lanes.rows import ArrayPipeline, check_size
from fiberscope.hw.stream import STREAM
from fiberscope.sim.component import Input, Output, Signal


class ClusterCounter(ArrayPipeline):
    """A counter that ranks the keys of each cluster from 0; a cluster is a run of equal keys in a row.

    Interface: ``sorted`` receives arrays and ``clusters`` sends arrays, row by row, see
    ``fiberscope.hw.lanes.rows``. The coordinate is the key, and the value is not changed. The sent reference
    is the rank of the key in its cluster. The number of occurrences of a key in a row is therefore the rank
    of the last one, plus one.

    Timing: one row a cycle, which is sent in the cycle in which it is accepted: the channels at ``clusters``
    are the register.

    Counts: ``numbers``, the keys; ``clusters``, the clusters.

    Source: MINT (Section V-A, Figure 8) counts equal column ids of a sorted chunk. The rank, with which equal
    keys of a row can get consecutive slots in one cycle, is a choice of this model.

    Args:
        lanes: keys a cycle, 1 to 256.
        width: bits of a key, 1 to 62.

    Raises:
        ValueError: if a number is out of its range.
        SimulationError: as ``fiberscope.hw.lanes.rows.ArrayPipeline``.
    """

    PORTS = (Input("sorted", STREAM, array=True), Output("clusters", STREAM, array=True))
    COUNTERS = ("numbers", "clusters")
    SIGNALS = (Signal("numbers", 48), Signal("clusters", 48))

    def __init__(self, name: str, lanes: int, width: int = 32) -> None:
        check_size(name, lanes, width)
        super().__init__(name, ("sorted", "clusters"), lanes, width, 0)
        self.clusters = 0

    def _compute(self, number: int, reference: int, index: int) -> None:
        """Write the rank of a key: one more than that of an equal key in the lane before, else 0."""
        self.coordinates[index] = number
        if index > 0 and number == self.coordinates[index - 1]:
            self.references[index] = self.references[index - 1] + 1
        else:
            self.references[index] = 0
            self.clusters += 1
