"""Several requesters at one port of a network as RTL: the twin of ``Concentrator``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyrtl

from fiberscope.hw.memory.protocol import PORT_SHIFT
from fiberscope.hw.networks.concentrator import Concentrator
from fiberscope.hw.networks.crossbar_rtl import Turn
from fiberscope.hw.rtl.kit.memory_port import LINE_BITS, MemoryPort
from fiberscope.hw.rtl.kit.parameters import Parameters, number
from fiberscope.hw.rtl.kit.trees import any_of, chosen
from fiberscope.hw.rtl.kit.twin import Signal, Streams, packed, unpacked
from fiberscope.hw.rtl.kit.unit import Each, PortContents, tokens, unit
from fiberscope.sim.component import Component

REQUESTERS = (1, 64)


@dataclass(frozen=True)
class ConcentratorParameters(Parameters):
    """Parameters of a concentrator; widths in bits.

    Args:
        requesters: number of requesters, 1 to 64.
        repliers: number of requesters that receive replies, the first ones, 1 to ``requesters``.
        first_port: port of the first requester at the network, 0 to 32,767.
        tag_bits: bits of a tag at the network, 33 to 63. The bits from 32 up are the port, and must suffice
            for all requesters.
        address_bits: bits of an address, 17 to 64; the highest is 0, as addresses are not negative.
        line_bits: bits of the line beside a token, 0 to 4,096; 0 for no line.
    """

    requesters: int = number(8, *REQUESTERS)
    repliers: int = number(8, *REQUESTERS, lambda own: (1, own.requesters))
    first_port: int = number(0, 0, (1 << 15) - 1, lambda own: (0, own.most_ports - own.requesters))
    tag_bits: int = number(48, PORT_SHIFT + 1, 63)
    address_bits: int = number(48, 17, 64)
    line_bits: int = number(0, *LINE_BITS)

    @property
    def most_ports(self) -> int:
        """Number of ports that tags towards the network can name."""
        return 1 << self.tag_bits - PORT_SHIFT


def port_contents(parameters: ConcentratorParameters) -> PortContents:
    """Return the ports: memory tokens, whose tags have no port on the side of the requesters."""
    rest = parameters.address_bits, parameters.line_bits
    own, whole = MemoryPort(PORT_SHIFT, *rest).fields, MemoryPort(parameters.tag_bits, *rest).fields
    inputs, outputs = Each(own, parameters.requesters), Each(own, parameters.repliers)
    return {"inputs": inputs, "requests": whole, "replies": whole, "outputs": outputs}


def design(parameters: ConcentratorParameters, streams: Streams) -> None:
    """Create an arbiter for requests, and a decoder of the port for replies.

    A reply to another port than those of the ``repliers`` blocks all replies for ever. The component raises
    an error instead.
    """
    _send_on(parameters, streams)
    replies = streams.inputs["replies"]
    tag = replies.fields["coordinate"]
    own = replies.fields | {"coordinate": tag[:PORT_SHIFT]}
    taken = []
    for i in range(parameters.repliers):
        sink = streams.outputs[f"outputs[{i}]"]
        goes = replies.valid & (tag[PORT_SHIFT:] == parameters.first_port + i)
        sink.send(goes, own)
        taken.append(goes & sink.ready)
    replies.accept(any_of("returned", taken))


def _send_on(parameters: ConcentratorParameters, streams: Streams) -> None:
    """Send the request that wins the round-robin arbitration, with the requester's port in its tag."""
    inputs = [streams.inputs[f"inputs[{i}]"] for i in range(parameters.requesters)]
    requests = streams.outputs["requests"]
    asking = [source.valid for source in inputs]
    turn = Turn("requests", asking)
    taken = [first & requests.ready for first in turn.first]
    turn.pass_on(taken)
    for source, flag in zip(inputs, taken, strict=True):
        source.accept(flag)
    word = unpacked(chosen(turn.first, [packed(source.fields) for source in inputs]), inputs[0].fields)
    ports: list[Signal] = [
        pyrtl.Const(parameters.first_port + i, parameters.tag_bits - PORT_SHIFT) for i in range(len(inputs))
    ]
    # An input has only the requester's own part of the tag, so the port is put above it.
    tag = pyrtl.concat(chosen(turn.first, ports), word["coordinate"])
    requests.send(any_of("sends", asking), word | {"coordinate": tag})


def connected(component: Component) -> Mapping[str, int]:
    """Return the parameters that follow from the connections of a component."""
    return {"requesters": len(component.channels("inputs")), "repliers": len(component.channels("outputs"))}


BLOCK = unit(
    "concentrator",
    Concentrator,
    ConcentratorParameters,
    port_contents,
    design,
    arguments=("first_port",),
    connected=connected,
    counters={"sent": tokens("requests"), "returned": tokens("replies")},
    arbiters=("requests",),
    awaits=False,
    any_of=("outputs",),
)
