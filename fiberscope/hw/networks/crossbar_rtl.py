"""The crossbar of memory tokens as RTL: the twin of ``Crossbar``, which routes by address or by tag."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import pyrtl

from fiberscope.hw.memory.protocol import PORT_SHIFT
from fiberscope.hw.networks.crossbar import Crossbar
from fiberscope.hw.networks.routes import AddressRoute, PortRoute, Route
from fiberscope.hw.rtl.kit.adapter import Adapter
from fiberscope.hw.rtl.kit.memory_port import LINE_BITS, MemoryPort
from fiberscope.hw.rtl.kit.parameters import Parameters, choice, number
from fiberscope.hw.rtl.kit.trees import any_of, chosen, lowest, ones_of, remainder
from fiberscope.hw.rtl.kit.twin import InputStream, Signal, Streams, alias, packed, unpacked
from fiberscope.hw.rtl.kit.unit import Each, PortContents, unit
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component
from fiberscope.sim.raw_words import lowest_bit

ADDRESS, PORT = "address", "port"
WAITING = "waiting"  # status output: for each output, whether an input has a token for it
LOSING = "losing"  # status output: number of tokens that lose the arbitration of an output with space


@dataclass(frozen=True)
class CrossbarParameters(Parameters):
    """Parameters of a crossbar; widths in bits.

    Args:
        inputs: number of inputs, 1 to 128.
        outputs: number of outputs, 1 to 64.
        route: field that selects the output: the ``address`` (without ``interleave_bits``, modulo the
            outputs), or the ``port`` in the tag (divided by ``group``).
        interleave_bits: low bits of an address that do not select the output, 0 to 16.
        group: number of consecutive ports that share an output, 1 to 128.
        tag_bits: bits of a tag, 33 to 63. The bits from 32 up are the port.
        address_bits: bits of an address, 17 to 64; the highest is 0, as addresses are not negative.
        line_bits: bits of the line beside a token, 0 to 4,096; 0 for no line.
    """

    inputs: int = number(8, 1, 128)
    outputs: int = number(8, 1, 64)
    route: str = choice(ADDRESS, (ADDRESS, PORT))
    interleave_bits: int = number(6, 0, 16)
    group: int = number(1, 1, 128)
    tag_bits: int = number(48, PORT_SHIFT + 1, 63)
    address_bits: int = number(48, 17, 64)
    line_bits: int = number(0, *LINE_BITS)


def port_contents(parameters: CrossbarParameters) -> PortContents:
    """Return the ports: memory tokens, with operation, tag, address, and the line if there is one."""
    token = MemoryPort(parameters.tag_bits, parameters.address_bits, parameters.line_bits).fields
    return {"inputs": Each(token, parameters.inputs), "outputs": Each(token, parameters.outputs)}


def status(inputs: int, outputs: int) -> Mapping[str, int]:
    """Return the status outputs: ``waiting``, a bit for each output, and ``losing``, a number of tokens."""
    # ``show_losers`` adds a flag for each pair of an input and an output, which determines the bits.
    return {WAITING: outputs, LOSING: (inputs * outputs).bit_length()}


def design(parameters: CrossbarParameters, streams: Streams) -> None:
    """Create a round-robin arbiter for each output, among the inputs whose token goes there."""
    inputs, outputs = list(streams.inputs.values()), list(streams.outputs.values())
    goals = [_goals(parameters, source) for source in inputs]
    words = [packed(source.fields) for source in inputs]
    wanting = [[flags[place] for flags in goals] for place in range(parameters.outputs)]
    takes = []
    for place, (sink, flags) in enumerate(zip(outputs, wanting, strict=True)):
        turn = Turn(f"output_{place:02}", flags)
        sink.send(any_of(f"sends_{place:02}", flags), unpacked(chosen(turn.first, words), inputs[0].fields))
        takes.append([flag & sink.ready for flag in turn.first])
        turn.pass_on(takes[-1])
    for i, (source, row) in enumerate(zip(inputs, zip(*takes, strict=True), strict=True)):
        source.accept(any_of(f"moves_{i:03}", row))
    show_losers(streams, wanting, takes)


def _goals(parameters: CrossbarParameters, source: InputStream) -> list[Signal]:
    """Return for each output whether the token at an input goes there."""
    if parameters.route == ADDRESS:
        place = source.fields["reference"][parameters.interleave_bits :]
        goal = remainder(place, parameters.outputs)
        return [source.valid & (goal == output) for output in range(parameters.outputs)]
    port = source.fields["coordinate"][PORT_SHIFT:]
    # A port goes to the last output whose group begins at or below it; a port beyond all groups to none. Its
    # token blocks the input for ever, where the component raises an error.
    beyond_first = (port >= output * parameters.group for output in range(1, parameters.outputs + 1))
    reached = [pyrtl.Const(1, 1), *beyond_first]
    return [source.valid & at & ~beyond for at, beyond in pairwise(reached)]


class Turn:
    """A round-robin arbiter among requesters. Call ``pass_on`` once, with the requester that is served.

    The register ``later`` has a bit for each requester, set for those after the requester that was served
    last; it is 0 after reset. The first of these that requests wins; if none of them does, the first of all
    requesters.

    Args:
        name: suffix of the names of its wires.
        asking: whether each requester requests.

    Attributes:
        first: whether each requester wins; at most one does.
    """

    def __init__(self, name: str, asking: Sequence[Signal]) -> None:
        flags = pyrtl.concat_list(list(asking))
        self.later: Signal = pyrtl.Register(len(flags), f"behind_{name}")
        later = alias(f"later_{name}", flags & self.later)
        self.first = lowest(list(pyrtl.select(later != 0, later, flags)))

    def pass_on(self, taken: Sequence[Signal]) -> None:
        """Give priority to the requesters after the one that is served; keep it if none is served.

        Args:
            taken: whether each requester is served, at most one: its flag in ``first``, if the sink is ready.
        """
        behind, moved = self.later, pyrtl.concat_list(list(taken))
        # ``moved - 1`` has all bits below the set bit, so that ``above`` has all bits above it.
        above = (~(moved | (moved - 1)))[: len(moved)] if len(moved) > 1 else pyrtl.Const(0, 1)
        behind.next <<= pyrtl.select(moved != 0, above, behind)


def show_losers(
    streams: Streams, wanting: Sequence[Sequence[Signal]], takes: Sequence[Sequence[Signal]]
) -> None:
    """Drive the status outputs of a crossbar.

    Args:
        streams: the streams of the module.
        wanting: for each output, whether each input has a token for it.
        takes: for each output, whether each input sends it a token.
    """
    outputs = list(streams.outputs.values())
    wanted = [any_of(f"wanted_{i:02}", flags) for i, flags in enumerate(wanting)]
    streams.show(WAITING, pyrtl.concat_list(wanted))
    lost = [
        flag & sink.ready & ~taken
        for sink, flags, row in zip(outputs, wanting, takes, strict=True)
        for flag, taken in zip(flags, row, strict=True)
    ]
    streams.show(LOSING, ones_of(pyrtl.concat_list(lost)))


class CrossbarAdapter(Adapter):
    """The adapter for crossbars with the status outputs ``waiting`` and ``losing``."""

    ARBITERS = ("outputs",)
    OBSERVED = ()
    COUNTED_BY: ClassVar[Mapping[str, tuple[str, ...]]] = {LOSING: ("conflicts",)}

    _lost = 0

    def account(self, now: int, moved: Mapping[str, Any], blocked: Channel | None) -> int:
        """See ``Adapter``: busy while a token moves, waiting for the requested outputs, or else idle."""
        self._lost += self.status[LOSING]
        waiting = self.status[WAITING]
        if self.moving:
            return self.busy(now + 1)
        if waiting == 0:
            return self.idle()
        outputs = self.channels("outputs")
        several = waiting & (waiting - 1)
        return self.wait_any_output(outputs) if several else self.wait_output(outputs[lowest_bit(waiting)])

    def counters(self) -> dict[str, int]:
        """Return the tokens that moved, and the tokens that lost an arbitration, summed over all cycles."""
        sent = sum(end.tokens for end in self.ends if not end.is_input)
        return self.available_counters({"transfers": sent, "conflicts": self._lost})


def matching(route: Route, *, virtual_output_queues: int = 0) -> CrossbarParameters:
    """Return the parameters for a component with these arguments, except the numbers of ports.

    Raises:
        ValueError: no module has such a route or virtual output queues, or ``interleave_bytes`` is not a
            power of two of at most 2**16.
    """
    if virtual_output_queues:
        raise ValueError(f"crossbar: a module has no virtual_output_queues, not {virtual_output_queues}")
    if isinstance(route, PortRoute):
        return CrossbarParameters(route=PORT, group=route.group)
    if not isinstance(route, AddressRoute):
        raise ValueError(f"crossbar: a module routes by address or port, not by {type(route).__name__}")
    interleave = route.interleave_bytes
    if interleave & (interleave - 1):
        raise ValueError(f"crossbar: interleave must be a power of two, not {interleave}")
    return CrossbarParameters(interleave_bits=interleave.bit_length() - 1)


def connected(component: Component) -> Mapping[str, int]:
    """Return the numbers of connected inputs and outputs of a component."""
    return {port: len(component.channels(port)) for port in ("inputs", "outputs")}


def _component(name: str, parameters: CrossbarParameters) -> Crossbar:
    by_port = parameters.route == PORT
    return Crossbar(
        name, PortRoute(parameters.group) if by_port else AddressRoute(1 << parameters.interleave_bits)
    )


BLOCK = unit(
    "crossbar",
    Crossbar,
    CrossbarParameters,
    port_contents,
    design,
    status=lambda parameters: status(parameters.inputs, parameters.outputs),
    base=CrossbarAdapter,
    matching=matching,
    component=_component,
    connected=connected,
)
