"""Atomic updates as RTL: twin of ``fiberscope.hw.memory.atomic_update.AtomicUpdate``, in both modes."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import pyrtl

from fiberscope.hw.memory.atomic_update import FORWARD, MIN, MODES, OPERATIONS, STALL, AtomicUpdate, Operation
from fiberscope.hw.rtl.kit.adapter import Adapter
from fiberscope.hw.rtl.kit.channel import PENDING
from fiberscope.hw.rtl.kit.codec import WHOLE_BITS
from fiberscope.hw.rtl.kit.interface import Field
from fiberscope.hw.rtl.kit.parameters import Parameters, choice, number
from fiberscope.hw.rtl.kit.sram import Sram
from fiberscope.hw.rtl.kit.trees import any_of, decoded
from fiberscope.hw.rtl.kit.twin import DataRegister, Signal, Streams, alias, index_bits, unless
from fiberscope.hw.rtl.kit.unit import PortContents, StatusCounter, elements, unit
from fiberscope.hw.value_type import AUTO, TYPES
from fiberscope.sim.errors import SimulationError

CYCLES = (1, 8)  # of each of the three latencies
STALLS = "stalls"  # status outputs: an update waits for its destination,
FORWARDED = "forwarded"  # and one is accepted that is forwarded what is in flight


@dataclass(frozen=True)
class AtomicUpdateParameters(Parameters):
    """Parameters of a unit.

    Args:
        mode: ``"stall"`` or ``"forward"``.
        operation: ``"min"`` or ``"add"``.
        entries: destinations, 1 to 1,024.
        value_bits: of a value and a property, integers in two's complement, 2 to 53; a sum that does not fit
            is for the sender to avoid.
        read_latency, reduce_latency, write_latency: in cycles, 1 to 8.
    """

    mode: str = choice(STALL, MODES)
    operation: str = choice(MIN, OPERATIONS)
    entries: int = number(256, 1, 1 << 10)
    value_bits: int = number(32, 2, WHOLE_BITS)
    read_latency: int = number(2, *CYCLES)
    reduce_latency: int = number(1, *CYCLES)
    write_latency: int = number(1, *CYCLES)

    @property
    def neutral(self) -> int:
        """The property of a destination that nothing has reached: of the least the largest, of sums 0."""
        return (1 << self.value_bits - 1) - 1 if self.operation == MIN else 0

    @property
    def window(self) -> int:
        """Cycles in flight."""
        return self.read_latency + self.reduce_latency + self.write_latency


def port_contents(parameters: AtomicUpdateParameters) -> PortContents:
    """Values are whole numbers."""
    place = {"coordinate": index_bits(parameters.entries)}
    value = {"value": Field("value", parameters.value_bits, "whole")}
    return {
        "updates": {"control": 1, **place, **value},
        "reads": place,
        "touched": {"control": 1, **place},
        "temporaries": {**place, **value},
    }


@dataclass(frozen=True)
class _Stage:
    """Pipeline stage after a number of cycles: an update, a read or a stop, and its destination."""

    update: Signal
    read: Signal
    stop: Signal
    place: Signal

    def matches(self, place: Signal) -> Signal:
        """Return whether an update or a read of this destination is here."""
        return (self.update | self.read) & (self.place == place)


def design(parameters: AtomicUpdateParameters, between: Streams) -> None:
    """A pipeline that moves in step: a synchronous memory at its head, the operation in its midst.

    Stage n has what was accepted n + 1 cycles before. In the last of the window it leaves, written at the end
    of the one before. Where results are forwarded, stages behind those have what was written since an update
    that is reduced now has read.
    """
    moves: Signal = pyrtl.WireVector(1, "moves")
    behind = parameters.read_latency - 1 if parameters.mode == FORWARD else 0
    bits = index_bits(parameters.entries)
    stages = [_stage(f"{i:02}", bits) for i in range(parameters.window + behind)]
    entering = _entering(parameters, between, moves, stages[: parameters.window - 1])
    for stage, before in zip(stages, [entering, *stages], strict=False):
        for name, wire in vars(stage).items():
            wire.next <<= pyrtl.select(moves, vars(before)[name], wire)
    first, value = _values(parameters, between, moves, entering, stages)
    last = stages[parameters.window - 1]
    touched, temporaries = between.outputs["touched"], between.outputs["temporaries"]
    tells = alias("tells", last.stop | (last.update & first))
    touched.send(tells, {"control": last.stop, "coordinate": unless(last.stop, last.place)})
    temporaries.send(last.read, {"coordinate": last.place, "value": value})
    moves <<= ~((tells & ~touched.ready) | (last.read & ~temporaries.ready))
    inside = [stage.update | stage.read | stage.stop for stage in stages[: parameters.window - 1]]
    between.show(PENDING, any_of("inside", inside))


def _stage(number: str, bits: int) -> _Stage:
    """Registers, of which the destination counts only for an update or a read."""
    update, read, stop = (pyrtl.Register(1, f"{name}_{number}") for name in ("update", "read", "stop"))
    return _Stage(update, read, stop, DataRegister(bits, f"place_{number}"))


def _entering(
    parameters: AtomicUpdateParameters, between: Streams, moves: Signal, flying: Sequence[_Stage]
) -> _Stage:
    """Return the accepted input, if all stages move: an update or a read whose destination is free."""
    updates, reads = between.inputs["updates"], between.inputs["reads"]
    place = pyrtl.select(updates.valid, updates.fields["coordinate"], reads.fields["coordinate"])
    same = [stage.matches(place) for stage in flying]
    flies = alias("same_flies", any_of("same", same))
    waits = flies
    if parameters.mode == FORWARD:
        unreduced = parameters.reduce_latency - 1
        cannot = [
            match if i < unreduced else match & stage.read
            for i, (match, stage) in enumerate(zip(same, flying, strict=True))
        ]
        waits = alias("waits", pyrtl.select(updates.valid, any_of("cannot", cannot), flies))
    stop = updates.fields["control"]
    update = alias("enters", updates.valid & ~stop & ~waits)
    updates.accept(moves & (stop | ~waits))
    reads.accept(moves & ~updates.valid & ~waits)
    between.show(STALLS, moves & updates.valid & ~stop & waits)
    between.show(FORWARDED, moves & update & flies)
    return _Stage(update, reads.valid & ~updates.valid & ~waits, updates.valid & stop, place)


def _values(
    parameters: AtomicUpdateParameters,
    between: Streams,
    moves: Signal,
    entering: _Stage,
    flying: Sequence[_Stage],
) -> tuple[Signal, Signal]:
    """Return the values of the stages: whether the last stage's property was neutral, and its value."""
    reads, window = parameters.read_latency, parameters.window
    memory = Sram("temporary", parameters.entries, parameters.value_bits)
    before = _delayed(
        "before", _property(parameters, memory, entering, flying[window - 2], moves), moves, reads - 1
    )
    value = _delayed("value", between.inputs["updates"].fields["value"], moves, reads)
    results = [DataRegister(parameters.value_bits, f"result_{i:02}") for i in range(len(flying) - reads)]
    if parameters.mode == FORWARD:
        before = _forwarded(
            parameters, before, flying[reads - 1], list(zip(flying[reads:], results, strict=True))
        )
    result = pyrtl.select(flying[reads - 1].read, before, _operation(parameters, before, value))
    for register, wire in zip(results, [result, *results], strict=False):
        register.next <<= pyrtl.select(moves, wire, register)
    memory.write(flying[window - 2].place, [results[window - 2 - reads]], [moves & flying[window - 2].update])
    first = _delayed("first", before == parameters.neutral, moves, window - reads)
    return first, results[window - 1 - reads]


def _property(
    parameters: AtomicUpdateParameters, memory: Sram, entering: _Stage, writes: _Stage, moves: Signal
) -> Signal:
    """Return the property read from memory, one cycle later; neutral for a destination that was not written.

    A bit each, in a register, says which were, by an update that a read does not follow.
    """
    written: Signal = pyrtl.Register(parameters.entries, "written")
    place = decoded(writes.place, parameters.entries)
    less = pyrtl.select(moves & writes.read, written & ~place, written)
    written.next <<= pyrtl.select(moves & writes.update, written | place, less)
    has_value = _delayed("known", (written & decoded(entering.place, parameters.entries)) != 0, moves, 1)
    (held,) = memory.read(entering.place, moves)
    neutral = pyrtl.Const(parameters.neutral, parameters.value_bits)
    return pyrtl.select(has_value, held, neutral)


def _forwarded(
    parameters: AtomicUpdateParameters, before: Signal, now: _Stage, later: Sequence[tuple[_Stage, Signal]]
) -> Signal:
    """The result of the youngest update of this destination of those that are reduced, or what was read."""
    for stage, result in reversed(later[parameters.reduce_latency - 1 :]):
        before = pyrtl.select(stage.update & (stage.place == now.place), result, before)
    return alias("forwarded_property", before)


def _operation(parameters: AtomicUpdateParameters, before: Signal, value: Signal) -> Signal:
    if parameters.operation == MIN:
        return pyrtl.select(pyrtl.signed_lt(value, before), value, before)
    return (before + value)[: len(value)]


def _delayed(name: str, wire: Signal, moves: Signal, cycles: int) -> Signal:
    """The wire so many cycles later, those in which all stand not counted."""
    for cycle in range(cycles):
        behind: Signal = DataRegister(len(wire), f"{name}_{cycle:02}")
        behind.next <<= pyrtl.select(moves, wire, behind)
        wire = behind
    return wire


class AtomicUpdateAdapter(Adapter):
    """Stand-in of an ``AtomicUpdate`` with unshared properties; all its ports must be connected."""

    AWAITS = False  # updates and reads come when they come

    def elaborate(self) -> None:
        """See ``Adapter``.

        Raises:
            SimulationError: if the properties do not leave, so that somebody must read them where they are.
        """
        if not self.channels("temporaries"):
            raise SimulationError(
                f"{self.name}: others read and write its properties in memory, which a module cannot share"
            )
        super().elaborate()


def _matching(
    temporary: array[float],
    operation: Operation = MIN,
    *,
    neutral: float,
    mode: str = STALL,
    read_latency: int = 2,
    reduce_latency: int = 1,
    write_latency: int = 1,
    values: str = AUTO,
) -> AtomicUpdateParameters:
    if not isinstance(operation, str):
        raise ValueError("atomic_update: an operation of your own has no module")
    if TYPES[values].floats:
        raise ValueError(f"atomic_update: there is no module for values of {values}")
    matched = AtomicUpdateParameters(
        mode, operation, len(temporary), WHOLE_BITS, read_latency, reduce_latency, write_latency
    )
    if neutral != matched.neutral:
        raise ValueError(f"atomic_update: neutral must be {matched.neutral} for {operation}, not {neutral}")
    return matched


def _component(name: str, parameters: AtomicUpdateParameters) -> AtomicUpdate:
    return AtomicUpdate(
        name,
        array("d", [parameters.neutral] * parameters.entries),
        parameters.operation,
        neutral=parameters.neutral,
        mode=parameters.mode,
        read_latency=parameters.read_latency,
        reduce_latency=parameters.reduce_latency,
        write_latency=parameters.write_latency,
    )


BLOCK = unit(
    "atomic_update",
    AtomicUpdate,
    AtomicUpdateParameters,
    port_contents,
    design,
    status={STALLS: 1, FORWARDED: 1, PENDING: 1},  # the first two in each cycle that counts
    counters={
        "accepted": elements("updates"),
        "stalls": StatusCounter(STALLS),
        "forwarded": StatusCounter(FORWARDED),
    },
    base=AtomicUpdateAdapter,
    matching=_matching,
    component=_component,
)
