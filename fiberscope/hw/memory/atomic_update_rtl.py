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
STALLS = "stalls"  # status output: all stages move, but an update waits for its destination
FORWARDED = "forwarded"  # status output: an update is accepted while its destination is in flight


@dataclass(frozen=True)
class AtomicUpdateParameters(Parameters):
    """Sizes, operation and latencies of the pipeline.

    Args:
        mode: ``"stall"`` or ``"forward"``.
        operation: ``"min"`` or ``"add"``.
        entries: number of destinations, 1 to 1,024.
        value_bits: bits of a value and of a property, integers in two's complement, 2 to 53. The module does
            not detect the overflow of a sum.
        read_latency, reduce_latency, write_latency: cycles of each step, 1 to 8. The reduction is
            combinational in one stage; all other cycles of a step are plain registers that delay.
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
        """Return the property of a destination without an update: the largest value for ``min``, else 0."""
        return (1 << self.value_bits - 1) - 1 if self.operation == MIN else 0

    @property
    def window(self) -> int:
        """Return the number of cycles for which an operation is in flight."""
        return self.read_latency + self.reduce_latency + self.write_latency


def port_contents(parameters: AtomicUpdateParameters) -> PortContents:
    """Return the ports; values are whole numbers.

    The module does not check a destination: the sender must avoid numbers of ``entries`` or above, for which
    the component raises ``SimulationError``.
    """
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
    """A pipeline stage, which has at most one operation.

    Args:
        update, read, stop: whether the stage has an operation of this kind.
        place: destination of an update or a read.
    """

    update: Signal
    read: Signal
    stop: Signal
    place: Signal

    def matches(self, place: Signal) -> Signal:
        """Return whether the stage has an update or a read of this destination."""
        return (self.update | self.read) & (self.place == place)


def design(parameters: AtomicUpdateParameters, streams: Streams) -> None:
    """Create a pipeline with one enable: a read of synchronous memory, the reduction, and the write.

    Stage n has the operation that was accepted n + 1 cycles before. An operation leaves in the last stage of
    the window; its result is written at the end of the stage before. With forwarding, ``read_latency`` - 1
    further stages follow the window. The update in reduction read the memory before the results in these
    stages were written, so it needs them from there.
    """
    moves: Signal = pyrtl.WireVector(1, "moves")
    behind = parameters.read_latency - 1 if parameters.mode == FORWARD else 0
    bits = index_bits(parameters.entries)
    stages = [_stage(f"{i:02}", bits) for i in range(parameters.window + behind)]
    # The operation in the last stage of the window is no longer in flight: its result is in the memory
    entering = _entering(parameters, streams, moves, stages[: parameters.window - 1])
    for stage, before in zip(stages, [entering, *stages], strict=False):
        for name, wire in vars(stage).items():
            wire.next <<= pyrtl.select(moves, vars(before)[name], wire)
    first, value = _values(parameters, streams, moves, entering, stages)
    last = stages[parameters.window - 1]
    touched, temporaries = streams.outputs["touched"], streams.outputs["temporaries"]
    tells = alias("tells", last.stop | (last.update & first))
    touched.send(tells, {"control": last.stop, "coordinate": unless(last.stop, last.place)})
    temporaries.send(last.read, {"coordinate": last.place, "value": value})
    moves <<= ~((tells & ~touched.ready) | (last.read & ~temporaries.ready))
    # The token of the last stage shows at a port, so only the stages before it are pending unseen
    inside = [stage.update | stage.read | stage.stop for stage in stages[: parameters.window - 1]]
    streams.show(PENDING, any_of("inside", inside))


def _stage(number: str, bits: int) -> _Stage:
    """Return the registers of a stage; the destination has no reset."""
    update, read, stop = (pyrtl.Register(1, f"{name}_{number}") for name in ("update", "read", "stop"))
    return _Stage(update, read, stop, DataRegister(bits, f"place_{number}"))


def _entering(
    parameters: AtomicUpdateParameters, streams: Streams, moves: Signal, flying: Sequence[_Stage]
) -> _Stage:
    """Return the operation that enters the first stage if all stages move.

    The function also drives ``ready`` of the inputs, and the status outputs ``STALLS`` and ``FORWARDED``.

    Args:
        streams: the streams of the module.
        moves: whether all stages move.
        flying: the stages whose operations are in flight.
    """
    updates, reads = streams.inputs["updates"], streams.inputs["reads"]
    place = pyrtl.select(updates.valid, updates.fields["coordinate"], reads.fields["coordinate"])
    same = [stage.matches(place) for stage in flying]
    flies = alias("same_flies", any_of("same", same))
    waits = flies
    if parameters.mode == FORWARD:
        unreduced = parameters.reduce_latency - 1
        # When the entering update is reduced, an update that is now in stage ``unreduced`` or later has been
        # reduced, so that its result is forwarded. The neutral property that a read leaves is not forwarded.
        # If a match is before ``unreduced``, the youngest match is too, so all matches can be tested alike.
        cannot = [
            match if i < unreduced else match & stage.read
            for i, (match, stage) in enumerate(zip(same, flying, strict=True))
        ]
        waits = alias("waits", pyrtl.select(updates.valid, any_of("cannot", cannot), flies))
    stop = updates.fields["control"]
    update = alias("enters", updates.valid & ~stop & ~waits)
    updates.accept(moves & (stop | ~waits))
    reads.accept(moves & ~updates.valid & ~waits)
    streams.show(STALLS, moves & updates.valid & ~stop & waits)
    streams.show(FORWARDED, moves & update & flies)
    return _Stage(update, reads.valid & ~updates.valid & ~waits, updates.valid & stop, place)


def _values(
    parameters: AtomicUpdateParameters,
    streams: Streams,
    moves: Signal,
    entering: _Stage,
    flying: Sequence[_Stage],
) -> tuple[Signal, Signal]:
    """Create the memory and the reduction.

    Args:
        parameters: parameters of the module.
        streams: the streams of the module.
        moves: whether all stages move.
        entering: the operation that enters the first stage.
        flying: all stages, including those after the window.

    Returns:
        Whether the property of the last stage of the window was neutral before its update; and the property
        after this update, or for a read the property before it becomes neutral.
    """
    reads, window = parameters.read_latency, parameters.window
    memory = Sram("temporary", parameters.entries, parameters.value_bits)
    before = _delayed(
        "before", _property(parameters, memory, entering, flying[window - 2], moves), moves, reads - 1
    )
    value = _delayed("value", streams.inputs["updates"].fields["value"], moves, reads)
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

    A register bit for each destination is set by an update, and cleared by a read. An SRAM has no reset, and
    the bits also let a read make a property neutral without writing to the memory.
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
    """Return the property for a reduction: of the youngest reduced update of the destination, or as read.

    Args:
        before: the property as read.
        now: the stage of the update that is reduced.
        later: the stages after it, each with its result.
    """
    # From the oldest to the youngest stage, so that the youngest match is selected last and wins
    for stage, result in reversed(later[parameters.reduce_latency - 1 :]):
        before = pyrtl.select(stage.update & (stage.place == now.place), result, before)
    return alias("forwarded_property", before)


def _operation(parameters: AtomicUpdateParameters, before: Signal, value: Signal) -> Signal:
    """Return the property reduced with a value."""
    if parameters.operation == MIN:
        return pyrtl.select(pyrtl.signed_lt(value, before), value, before)
    return (before + value)[: len(value)]


def _delayed(name: str, wire: Signal, moves: Signal, cycles: int) -> Signal:
    """Return a wire delayed by ``cycles`` cycles in which the pipeline moves."""
    for cycle in range(cycles):
        behind: Signal = DataRegister(len(wire), f"{name}_{cycle:02}")
        behind.next <<= pyrtl.select(moves, wire, behind)
        wire = behind
    return wire


class AtomicUpdateAdapter(Adapter):
    """The adapter for an ``AtomicUpdate`` whose properties no other component accesses.

    The port ``temporaries`` must be connected.
    """

    AWAITS = False  # without tokens the component is idle, not waiting

    def elaborate(self) -> None:
        """See ``Adapter``.

        Raises:
            SimulationError: ``temporaries`` is not connected, so that another component must access the
                properties.
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
    """Return the parameters of the module for a component with these arguments, at the full value width.

    Raises:
        ValueError: an operation of the caller, values in floating point, or a ``neutral`` other than that of
            the module.
    """
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
    status={STALLS: 1, FORWARDED: 1, PENDING: 1},  # the first two are high in each cycle that they count
    counters={
        "accepted": elements("updates"),
        "stalls": StatusCounter(STALLS),
        "forwarded": StatusCounter(FORWARDED),
    },
    base=AtomicUpdateAdapter,
    matching=_matching,
    component=_component,
)
