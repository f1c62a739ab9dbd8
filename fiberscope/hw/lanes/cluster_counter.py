# cython: infer_types=True
"""The cluster counter: how often each key of a sorted row comes, and which of them a key is."""

from __future__ import annotations

from fiberscope.hw.lanes.rows import ArrayPipeline, check_size
from fiberscope.hw.stream import STREAM
from fiberscope.sim.component import Input, Output, Signal


class ClusterCounter(ArrayPipeline):
    """Ranks the equal keys that stand side by side in a row, a cluster, from 0.

    Interface: an array comes in on ``sorted`` and leaves on ``clusters``, row by row, see
    ``fiberscope.hw.lanes.rows``. The coordinate is the key; as reference leaves the rank of the number in its
    cluster, and the value stays. So the rank of the last of a cluster, and one, is how often the key comes in
    the row.

    Timing: one row a cycle, which leaves in the cycle in which it is taken: the channels at ``clusters`` are
    its register.

    Counts: ``numbers``, and ``clusters``.

    Source: MINT (Section V-A, Figure 8) counts equal column ids of a sorted chunk. The rank, by which equal
    keys of a row can be given places at once, is a choice of this model.

    Args:
        name: instance name.
        lanes: keys a cycle, 1 to 256.
        width: bits of a key, 1 to 62.

    Raises:
        ValueError: for a number out of its range.
        SimulationError: as ``fiberscope.hw.lanes.rows.ArrayPipeline``.
    """

    PORTS = (Input("sorted", STREAM, array=True), Output("clusters", STREAM, array=True))

    def __init__(self, name: str, lanes: int, width: int = 32) -> None:
        check_size(name, lanes, width)
        super().__init__(name, ("sorted", "clusters"), lanes, width, 0)
        self.clusters = 0

    def _compute(self, number: int, reference: int, place: int) -> None:
        self.coordinates[place] = number
        if place > 0 and number == self.coordinates[place - 1]:
            self.references[place] = self.references[place - 1] + 1
        else:
            self.references[place] = 0
            self.clusters += 1

    def counters(self) -> dict[str, int]:
        """Keys, and clusters of them."""
        return {"numbers": self.numbers, "clusters": self.clusters}

    def signals(self) -> tuple[Signal, ...]:
        """All keys and clusters so far."""
        return (Signal("numbers", 48), Signal("clusters", 48))

    def sample(self) -> tuple[int, ...]:
        """Current values of the signals."""
        return (self.numbers, self.clusters)
