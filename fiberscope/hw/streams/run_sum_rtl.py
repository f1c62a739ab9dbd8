"""RTL of ``fiberscope.hw.streams.run_sum.RunSum`` with the operation ``add``: sums of runs of points."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyrtl

from fiberscope.hw.rtl.kit.twin import DataRegister, Signal, Streams, alias, unless
from fiberscope.hw.rtl.kit.unit import PortContents, unit
from fiberscope.hw.streams import tokens_rtl as tokens
from fiberscope.hw.streams.fiber_reduce_rtl import SumParameters
from fiberscope.hw.streams.run_sum import RunSum
from fiberscope.hw.streams.stream_adapter_rtl import StreamAdapter, check_usual
from fiberscope.hw.streams.tokens import DATA
from fiberscope.hw.streams.tokens_rtl import Head


@dataclass(frozen=True)
class RunSumParameters(SumParameters):
    """Parameters of sums of runs.

    Args:
        coordinate_bits, value_bits, sum_bits, values: see ``SumParameters``.
    """


def port_contents(parameters: RunSumParameters) -> PortContents:
    """Return the contents of the streams: points with values in, and points with sums out."""
    coordinates = tokens.numbers(parameters.coordinate_bits)
    return {
        "in_crd": coordinates,
        "in_val": tokens.values(parameters.value_field),
        "out_crd": coordinates,
        "out_val": tokens.values(parameters.sum_field),
    }


def design(parameters: RunSumParameters, streams: Streams) -> None:
    """Build the registers of a run's coordinate and sum, which leave when a token ends the run.

    The sum leaves as a point with another coordinate enters, or in a cycle before a stop or done. Unlike the
    component, the logic does not check that the two streams have the same shape.
    """
    crd, val = Head.from_stream(streams.inputs["in_crd"]), Head.from_stream(streams.inputs["in_val"])
    acts = alias("acts", tokens.room_in(streams) & crd.shown & val.shown)
    is_open: Signal = pyrtl.Register(1, "open")
    coordinate: Signal = DataRegister(parameters.coordinate_bits, "coordinate")
    bits = parameters.sum_field.width
    total: Signal = DataRegister(bits, "sum")
    ends = alias("ends", is_open & (~crd.is_data | (crd.payload != coordinate)))
    # A stop or done stays in the input while the sum before it leaves. A point enters as that sum leaves.
    takes = alias("takes", acts & (crd.is_data | ~ends))
    for stream in streams.inputs.values():
        stream.accept(takes)
    # a value N counts as 0
    value = unless(~val.is_data, val.payload).sign_extended(bits)
    added = parameters.added(total, value)
    counts = alias("counts", takes & crd.is_data)
    # A stop that ends a run clears ``is_open`` and stays, so that the next cycle sends the stop itself
    is_open.next <<= pyrtl.select(acts, crd.is_data, is_open)
    coordinate.next <<= pyrtl.select(counts, crd.payload, coordinate)
    total.next <<= pyrtl.select(counts, pyrtl.select(is_open & ~ends, added, value), total)
    kind = tokens.kind_of(ends, ~ends & crd.is_stop, ~ends & crd.is_done)
    for port, payload in (("out_crd[0]", coordinate), ("out_val[0]", total)):
        tokens.send(streams.outputs[port], acts & (ends | ~crd.is_data), kind, crd.level, payload)


class RunSumAdapter(StreamAdapter):
    """Component that replaces a ``RunSum`` by its RTL in a simulation."""

    _open, _additions = False, 0

    def observe(self, moved: Mapping[str, Any]) -> None:
        """Count additions; the first point after a sum has left starts a run and is not an addition."""
        super().observe(moved)
        # Both outputs move together, so that one shows whether a sum or a stop has left
        self._open &= "out_crd[0]" not in moved
        if "in_crd" in moved and moved["in_crd"].control == DATA:
            self._additions += self._open
            self._open = True

    def counters(self) -> dict[str, int]:
        """Return the number of additions, and the tokens of the outputs by kind."""
        return {"additions": self._additions} | super().counters()


def _of_runs(component: RunSum) -> dict[str, object]:
    check_usual(component.operation == "add")
    return {}


BLOCK = unit(
    "run_sum", RunSum, RunSumParameters, port_contents, design, base=RunSumAdapter, instance=_of_runs
)
