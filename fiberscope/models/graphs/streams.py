"""Token counts of the streams in a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fiberscope.results.report.document import Report
from fiberscope.results.report.table import Table

KINDS = ("data", "stops", "dones", "empties")  # suffixes of the counters of an output
LAST = "_data"


@dataclass(frozen=True)
class StreamCount:
    """Token counts of a block's output.

    Args:
        block: name of the block, without the name of the machine.
        output: name of the output.
        data: tokens with a coordinate, reference or value.
        stops: stop tokens, which end fibers.
        dones: done tokens, which end the stream.
        empties: N tokens, which stand for a missing element.
        cycles: length of the run in cycles.
    """

    block: str
    output: str
    data: int
    stops: int
    dones: int
    empties: int
    cycles: int

    @property
    def idle(self) -> int:
        """Return the cycles without a token, including those after done.

        The number can be negative, as ``cycles`` covers only the phases of the graph that count.
        """
        return self.cycles - self.data - self.stops - self.dones - self.empties


def stream_counts(report: Report) -> Iterator[StreamCount]:
    """Yield the counts of every output of every block."""
    for name, component in report.components.items():
        counters = component.counters
        for key in counters:
            if key.startswith("out_") and key.endswith(LAST):
                output = key.removesuffix(LAST)
                kinds = {kind: counters[f"{output}_{kind}"] for kind in KINDS}
                block = name.partition(".")[2]
                yield StreamCount(block, output.removeprefix("out_"), cycles=report.cycles, **kinds)


def build_streams_table(report: Report) -> Table:
    """Return a table of all streams."""
    table = Table("Streams", ("stream", "data", "stops", "empties", "dones", "idle cycles"))
    for stream in stream_counts(report):
        counts = (stream.data, stream.stops, stream.empties, stream.dones, max(0, stream.idle))
        table.add(f"{stream.block} {stream.output}", *(f"{count:,}" for count in counts))
    return table
