"""RTL of the locator, ``fiberscope.hw.streams.locator.DenseLocator``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import and_

import pyrtl

from fiberscope.hw.rtl.kit.parameters import Parameters, number
from fiberscope.hw.rtl.kit.twin import Streams, alias, index_bits, unless
from fiberscope.hw.rtl.kit.unit import PortContents, unit
from fiberscope.hw.streams import tokens_rtl as tokens
from fiberscope.hw.streams.dense_rtl import times
from fiberscope.hw.streams.locator import DenseLocator
from fiberscope.hw.streams.stream_adapter_rtl import StreamAdapter
from fiberscope.hw.streams.tokens import DATA, EMPTY
from fiberscope.hw.streams.tokens_rtl import Head


@dataclass(frozen=True)
class LocatorParameters(Parameters):
    """Parameters of a locator.

    Args:
        size: number of coordinates of the level, 0 to 65536.
        bases: 1 if the stream ``in_base`` gives the fiber to search; 0 without this stream, for which the
            first fiber is searched.
        coordinate_bits: width of a coordinate, 4 to 55.
        reference_bits: width of a reference, enough for all coordinates, at most 62. References of fibers
            that do not fit wrap around, so the sender must avoid these fibers.
    """

    size: int = number(64, 0, 1 << 16)
    bases: int = number(0, 0, 1)
    coordinate_bits: int = number(32, tokens.LEVEL_BITS, 55)
    reference_bits: int = number(32, tokens.LEVEL_BITS, 62, lambda own: (index_bits(own.size), 62))


def port_contents(parameters: LocatorParameters) -> PortContents:
    """Return the fields of the streams: the inputs, with ``in_base`` if there is one, then the outputs."""
    coordinates = tokens.numbers(parameters.coordinate_bits)
    references = tokens.numbers(parameters.reference_bits)
    bases = {"in_base": references} if parameters.bases else {}
    return {
        "in_crd": coordinates,
        "in_ref": references,
        **bases,
        "out_crd": coordinates,
        "out_ref": references,
        "out_ref2": references,
    }


def design(parameters: LocatorParameters, streams: Streams) -> None:
    """Build the locator without registers: the comparison with the size, and the reference that is found.

    All inputs must have the same shape: the stops and done of ``in_crd`` decide for all streams. The
    component raises ``SimulationError`` otherwise, the module does not check.
    """
    # The inputs have the order of ``port_contents``: ``in_crd``, ``in_ref``, and perhaps ``in_base``
    heads = [Head.from_stream(stream) for stream in streams.inputs.values()]
    crd, ref = heads[:2]
    # A dropped coordinate waits for room at the outputs too, as every update of a ``StreamBlock`` does
    acts = alias("acts", tokens.room_in(streams) & reduce(and_, [head.shown for head in heads]))
    # Every coordinate is below a size that needs more bits than a coordinate has. No coordinate is below 0,
    # so the comparison is left out for a size of 0.
    within = pyrtl.Const(parameters.size >> len(crd.payload) > 0, 1)
    if parameters.size:
        within = within | (crd.payload < parameters.size)
    present = alias("found", reduce(and_, [head.is_data for head in heads]) & within)
    for stream in streams.inputs.values():
        stream.accept(acts)
    bits = parameters.reference_bits
    base = times(heads[2].payload, parameters.size) if parameters.bases else pyrtl.Const(0, bits)
    kind = tokens.kind_of(present, crd.is_stop, crd.is_done)
    place = (base + crd.payload)[:bits]
    for port, payload in (("out_crd", crd.payload), ("out_ref", ref.payload), ("out_ref2", place)):
        sends = acts & (present | crd.is_control)
        tokens.send(streams.outputs[f"{port}[0]"], sends, kind, crd.level, unless(~present, payload))


class LocatorAdapter(StreamAdapter):
    """Component that replaces a ``DenseLocator`` by its RTL in a simulation."""

    PORTS = DenseLocator.PORTS

    def counters(self) -> dict[str, int]:
        """Return the counters of the component, which follow from the tokens at the ports.

        Data and N are look-ups. Those that give no coordinate at ``out_crd`` are ``missed``.
        """
        lookups = self.moved["in_crd", DATA] + self.moved["in_crd", EMPTY]
        count = self.moved["out_crd[0]", DATA]
        return {"found": count, "missed": lookups - count} | super().counters()


BLOCK = unit(
    "locator",
    DenseLocator,
    LocatorParameters,
    port_contents,
    design,
    arguments=("size",),
    base=LocatorAdapter,
    component=lambda name, parameters: DenseLocator(name, parameters.size),
    instance=lambda component: {"size": component.size, "bases": int(component.in_base is not None)},
)
