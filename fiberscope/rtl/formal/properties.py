"""Properties of a module: assumptions, claims and covers, as wires of a monitor beside the module.

A *claim* is an assertion: it must hold in every cycle. An *assumption* restricts the inputs. A *cover* is a
state that some run must reach.

The monitor is a design in PyRTL. Its inputs are

- all ports of the module except its status outputs,
- the inner registers, named wires and memory words that properties read,
- constants that the solver chooses (``Properties.constant``).

Its outputs are one bit for each property: high while the property holds, or while the cover is reached.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add, and_, or_
from typing import NoReturn, TypeAlias

import pyrtl

from fiberscope.hw.rtl.kit.interface import MASK, Bundle, Interface, Stream, Wire
from fiberscope.hw.rtl.kit.twin import DataRegister, Signal, packed

ASSUME, CLAIM, COVER = "assume", "claim", "cover"  # prefixes of the monitor's outputs
INNER = "inner"  # prefix of its inputs from within the module
ANY = "any"  # prefix of its inputs that may have any value

LaneFields: TypeAlias = Mapping[str, Signal]  # fields of one lane, by name


def implies(condition: Signal, claim: Signal) -> Signal:
    """Return a wire that is low only where the condition holds and the claim does not; both have one bit."""
    return ~condition | claim


def refuse_parameters(block: str, needed: str) -> NoReturn:
    """Raise ``ValueError``: the claims of a block do not hold for its parameters.

    Args:
        block: name of the block.
        needed: parameters or structure for which the claims hold.
    """
    raise ValueError(f"{block}: the claims are for {needed}; --ports registered has those of the ports alone")


def all_of(wires: Sequence[Signal]) -> Signal:
    """Return the conjunction of wires of one bit; true for none."""
    return reduce(and_, wires, pyrtl.Const(1, 1))


def any_of(wires: Sequence[Signal]) -> Signal:
    """Return the disjunction of wires of one bit; false for none."""
    return reduce(or_, wires, pyrtl.Const(0, 1))


def count(wires: Sequence[Signal]) -> Signal:
    """Return the number of high wires; 0 for none."""
    # no addition overflows: a sum of PyRTL has one bit more than its operands
    return reduce(add, wires, pyrtl.Const(0, 1))


def identifier(path: str) -> str:
    """Return a path within a module as one name of Verilog. Different paths may give the same name."""
    return re.sub(r"\W+", "_", path).strip("_")


class StreamWires:
    """Wires of one stream at the module's ports.

    Args:
        definition: the stream, or bundle of lanes, in the interface.
        ports: wires of the module's ports, by name.

    Attributes:
        definition: the same.
        valid, ready: handshake.
        fire: whether a token (of a bundle: a row) moves in this cycle, the name that Chisel uses.
        fields: wires by field; in a bundle, the wire of a field has the bits of all lanes, lane 0 lowest.
        word: the concatenation of all fields, the first field lowest; a constant 0 without fields.
    """

    def __init__(self, definition: Stream, ports: Mapping[str, Signal]) -> None:
        self.definition = definition
        self.valid, self.ready = ports[definition.wire("valid")], ports[definition.wire("ready")]
        self.fire = self.valid & self.ready
        self.fields = {name: ports[definition.wire(name)] for name in definition.widths}
        self.word = packed(self.fields) if self.fields else pyrtl.Const(0, 1)

    @property
    def lanes(self) -> list[LaneFields]:
        """Fields of each lane of a bundle; the only lane of a stream."""
        lanes = range(len(self.definition.ports))
        widths = self.definition.widths
        return [
            {name: self.fields[name][lane * width : (lane + 1) * width] for name, width in widths.items()}
            for lane in lanes
        ]

    def has_fields_of(self, word: Signal) -> Signal:
        """Return whether the fields equal those of a word.

        In a bundle with a mask, the mask has to be equal, but the other fields of an empty lane may differ.

        Args:
            word: an earlier value of ``self.word``.
        """
        bundle = self.definition
        if not isinstance(bundle, Bundle) or not bundle.mask:
            return self.word == word
        old_fields, low_bit = {}, 0
        for name, wire in self.fields.items():
            old_fields[name] = word[low_bit : low_bit + len(wire)]
            low_bit += len(wire)
        claims = [self.fields[MASK] == old_fields[MASK]]
        for lane, fields in enumerate(self.lanes):
            equal_fields = [
                wire == old_fields[name][lane * len(wire) : (lane + 1) * len(wire)]
                for name, wire in fields.items()
            ]
            claims.append(implies(fields[MASK], all_of(equal_fields)))
        return all_of(claims)


@dataclass
class Properties:
    """The properties of one module, collected while the monitor is designed.

    Args:
        interface: the ports of the module.
        ports: wires of these ports in the monitor.
        block: the design of the module, for its registers, memories and named wires.
        outputs: collects the outputs of the monitor, one for each property, by name.
        inner_wires: collects the inputs from within the module, by path.
        constants: collects the inputs that may have any constant value.
        conditions: collects, for each claim with a condition, the cover of the condition.
    """

    interface: Interface
    ports: Mapping[str, Signal]
    block: pyrtl.Block
    outputs: dict[str, Signal] = field(default_factory=dict)
    inner_wires: dict[str, Signal] = field(default_factory=dict)  # by path within the module
    constants: list[Wire] = field(default_factory=list)
    conditions: dict[str, str] = field(default_factory=dict)  # name of the cover, by claim

    def stream(self, prefix: str) -> StreamWires:
        """Return the stream whose wires have this prefix.

        Raises:
            StopIteration: the module has no such stream.
        """
        stream = next(stream for stream in self.interface.streams if stream.prefix == prefix)
        return StreamWires(stream, self.ports)

    def streams(self, direction: str) -> list[StreamWires]:
        """Return all streams of a direction, ``input`` or ``output``, in the order of the interface."""
        return [
            StreamWires(stream, self.ports)
            for stream in self.interface.streams
            if stream.direction == direction
        ]

    def assume(self, name: str, wire: Signal) -> None:
        """Assume that a wire is high in every cycle, which restricts the inputs.

        Args:
            name: name of the assumption, unique in the module.
            wire: one bit.
        """
        self._add(ASSUME, name, wire)

    def claim(self, name: str, wire: Signal, when: Signal | None = None) -> None:
        """Claim that a wire is high in every cycle, or in every cycle in which a condition holds.

        A claim whose condition is not reached within the depth of the proof is reported as vacuous. For this,
        the condition becomes a cover, ``{name}_applies``.

        Args:
            name: name of the claim, unique in the module.
            wire: one bit.
            when: the condition, one bit; None for every cycle.
        """
        if when is None:
            self._add(CLAIM, name, wire)
        else:
            self._add(CLAIM, name, implies(when, wire))
            self.conditions[name] = f"{name}_applies"
            self.cover(self.conditions[name], when)

    def cover(self, name: str, wire: Signal) -> None:
        """Ask for a run that reaches a cycle in which a wire is high.

        Args:
            name: name of the cover, unique in the module.
            wire: one bit.
        """
        self._add(COVER, name, wire)

    def _add(self, kind: str, name: str, wire: Signal) -> None:
        output = pyrtl.Output(1, f"{kind}_{name}")
        output <<= wire
        self.outputs[output.name] = output

    def inner(self, name: str) -> Signal:
        """Return an inner register or named wire of the module, as an input of the monitor.

        Args:
            name: its name in ``block``; ``instance/register`` within an instance.

        Raises:
            KeyError: there is no such wire.
        """
        return self._inner(name.replace("/", "."), len(self.block.wirevector_by_name[name]))

    def memory_words(self, name: str) -> list[Signal]:
        """Return all words of an inner memory of the module, by address, as inputs of the monitor.

        The memory has a word for every value of its address, also beyond the entries that the module uses.
        """
        memory = self.block.get_memblock_by_name(name)
        return [
            self._inner(f"{name}[{address}]", memory.bitwidth) for address in range(1 << memory.addrwidth)
        ]

    def _inner(self, path: str, width: int) -> Signal:
        if path not in self.inner_wires:
            self.inner_wires[path] = pyrtl.Input(width, identifier(f"{INNER}_{path}"))
        return self.inner_wires[path]

    def previous(self, wire: Signal) -> Signal:
        """Return a wire's value of the cycle before; low in the first cycle after reset.

        Each call adds a register to the monitor.
        """
        register = pyrtl.Register(len(wire))
        register.next <<= wire
        return register

    def constant(self, width: int, name: str) -> Signal:
        """Return an arbitrary constant number, so that a claim about it holds for every number.

        Call it at most once for a name. The solver chooses the constant, an input of the monitor and of the
        wrapper around it. The assumption ``{name}_stays`` says that it does not change.

        Args:
            width: bits of the number.
            name: name of the constant, unique in the module.
        """
        wire = pyrtl.Input(width, f"{ANY}_{name}")
        self.constants.append(Wire(wire.name, "input", width))
        # without reset, which would allow the number 0 alone: it keeps the number of the reset cycle
        previous_value = DataRegister(width, f"{name}_before")
        previous_value.next <<= wire
        self.assume(f"{name}_stays", wire == previous_value)
        return wire

    def wires(self) -> list[Wire]:
        """Return the ports of the monitor. Call it after all properties have been added."""
        inputs = [Wire(wire.name, "input", wire.width) for wire in self.interface.wires()]
        inner = [Wire(wire.name, "input", len(wire)) for wire in self.inner_wires.values()]
        return inputs + inner + self.constants + [Wire(name, "output", 1) for name in self.outputs]
