"""RTL of units for values: ``ArrayLoad``, ``Alu`` and ``ScalarReduce`` of ``fiberscope.hw.streams``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyrtl

from fiberscope.hw.rtl.kit.arithmetic import SummingParameters, ValueParameters, value_type
from fiberscope.hw.rtl.kit.channel import CAPACITY, LATENCY, buffered
from fiberscope.hw.rtl.kit.codec import WHOLE_BITS
from fiberscope.hw.rtl.kit.interface import Interface
from fiberscope.hw.rtl.kit.parameters import choice, number
from fiberscope.hw.rtl.kit.sram import COMBINATIONAL, REGISTERED, Sram, memory_parameter
from fiberscope.hw.rtl.kit.twin import DataRegister, Signal, Streams, alias, delayed, index_bits, unless
from fiberscope.hw.rtl.kit.unit import Each, PortContents, Summed, unit
from fiberscope.hw.streams import reduce
from fiberscope.hw.streams import tokens_rtl as tokens
from fiberscope.hw.streams.alu import Alu
from fiberscope.hw.streams.arrays import ArrayLoad
from fiberscope.hw.streams.memory_rtl import LOAD, Memory, value_words
from fiberscope.hw.streams.reduce import ScalarReduce
from fiberscope.hw.streams.registered_memory import RegisteredArray
from fiberscope.hw.streams.stream_adapter_rtl import LOAD_PORT, StreamAdapter, check_usual
from fiberscope.hw.streams.tokens import DATA, EMPTY
from fiberscope.hw.streams.tokens_rtl import Head

if TYPE_CHECKING:
    from fiberscope.hw.rtl.kit.backend import Backend

OPERATIONS = ("mul", "add", "sub", "max", "min", "take")
REDUCTIONS = {"sum": "add", "max": "max", "min": "min"}
EMPTY_FIBERS = KEEP, DROP, MARK = ("keep", "drop", "mark")


@dataclass(frozen=True)
class ArrayParameters(ValueParameters):
    """Parameters of an array.

    Args:
        entries: number of values, 1 to 65536.
        reference_bits: width of a reference; all places of the array must fit.
        value_bits: width of a value if values are integers, 1 to 53.
        values: type of the values.
        memory: ``combinational`` returns a word in the cycle of its address, ``registered`` a cycle later.
    """

    entries: int = number(512, 1, 1 << 16)
    reference_bits: int = number(32, tokens.LEVEL_BITS, 62, lambda own: (index_bits(own.entries), 62))
    value_bits: int = number(32, 1, WHOLE_BITS)
    values: str = value_type()
    memory: str = memory_parameter()


@dataclass(frozen=True)
class AluParameters(ValueParameters):
    """Parameters of an ALU.

    Args:
        operation: name of the operation.
        value_bits: width of an operand if values are integers, 1 to 53.
        result_bits: width of a result, 1 to 53; the sender must avoid results that do not fit.
        values: type of the values.
    """

    operation: str = choice("mul", OPERATIONS)
    value_bits: int = number(24, 1, WHOLE_BITS)
    result_bits: int = number(48, 1, WHOLE_BITS)
    values: str = value_type()


@dataclass(frozen=True)
class ScalarReducerParameters(SummingParameters):
    """Parameters of a scalar reducer.

    Args:
        operation: ``sum``, ``max`` or ``min``.
        empty_fibers: result of an empty fiber: ``keep`` for a zero, ``mark`` for an N, ``drop`` for none.
        value_bits: width of a value if values are integers, 1 to 53.
        sum_bits: width of a result, ``value_bits`` to 53; the sender must avoid results that do not fit.
        values: type of the values.
    """

    operation: str = choice("sum", tuple(REDUCTIONS))
    empty_fibers: str = choice(KEEP, EMPTY_FIBERS)
    value_bits: int = number(32, 1, WHOLE_BITS)
    sum_bits: int = number(48, 1, WHOLE_BITS)
    values: str = value_type()


def array_contents(parameters: ArrayParameters) -> PortContents:
    """Return the contents of the streams; ``load`` writes a value."""
    return {
        "in_ref": tokens.numbers(parameters.reference_bits),
        LOAD: value_words(parameters.entries, parameters.value_field),
        "out_val": tokens.values(parameters.value_field),
    }


def array_design(parameters: ArrayParameters, streams: Streams) -> None:
    """Build an array: a memory, from which an N loads the value zero.

    While the output has no free slot, a registered memory holds the last word read.
    """
    head = Head.from_stream(streams.inputs["in_ref"])
    room = tokens.room_in(streams)
    load = streams.inputs[LOAD]
    load.accept(pyrtl.Const(1, 1))
    streams.inputs["in_ref"].accept(room)
    # A token leaves a registered memory a cycle after its reference, with its kind from registers.
    if parameters.memory == REGISTERED:
        sram = Sram("words", parameters.entries, parameters.value_field.width)
        sram.write(load.fields["address"], [load.fields["word"]], [load.valid])
        (word,) = sram.read(head.payload[: index_bits(parameters.entries)], room)
        head = head.registered(room)
    else:
        words = Memory("words", parameters.entries, parameters.value_field.width)
        words.write(load.fields["address"], load.fields["word"], load.valid)
        word = words[head.payload]
    kind = tokens.kind_of(head.is_data | head.is_empty, head.is_stop, head.is_done)
    value = unless(head.is_empty, word)
    tokens.send(streams.outputs["out_val[0]"], room & head.shown, kind, head.level, value)


def alu_contents(parameters: AluParameters) -> PortContents:
    """Return the contents of the streams: two operands and a result."""
    return {
        "in_val": Each(tokens.values(parameters.value_field), 2),
        "out_val": tokens.values(parameters.field(parameters.result_bits)),
    }


def alu_design(parameters: AluParameters, streams: Streams) -> None:
    """Build an ALU that pops both operands in the same cycle; an N counts as 0."""
    operands = _Operands(streams, parameters.operation)
    room = tokens.room_in(streams)
    operands.accept(room)
    result = parameters.computed(parameters.operation, operands.left, operands.other, parameters.result_bits)
    sink = streams.outputs["out_val[0]"]
    tokens.send(sink, operands.valid & room, operands.kind, operands.level, result)


class _Operands:
    """The heads of both inputs, which are popped in the same cycle.

    Args:
        streams: the streams of the module.
        operation: name of the operation; a take needs both operands.
    """

    def __init__(self, streams: Streams, operation: str) -> None:
        self._inputs = [streams.inputs[f"in_val[{side}]"] for side in range(2)]
        left, right = heads = [Head.from_stream(stream) for stream in self._inputs]
        # Streams of the same shape have elements at the same places: the first operand's kind decides. The
        # module does not check the second operand.
        self.valid: Signal = alias("both_shown", left.shown & right.shown)
        self.left, self.other = (unless(head.is_empty, head.payload) for head in heads)
        if operation == "take":
            # A take without the first operand is 0. Without the second operand, its value is 0 anyway.
            self.other = unless(left.is_empty, self.other)
        self.kind = tokens.kind_of(left.is_data | left.is_empty, left.is_stop, left.is_done)
        self.level = left.level

    def accept(self, ready: Signal) -> None:
        """Pop both heads in the cycles in which both are visible and ``ready`` is 1."""
        for stream in self._inputs:
            stream.accept(self.valid & ready)


@dataclass(frozen=True)
class PipelineParameters(AluParameters):
    """Parameters of a pipelined ALU together with its output channel, whose latency contains the stages.

    Args:
        capacity, latency: capacity in tokens and latency in cycles of the channel.
    """

    capacity: int = number(19, *CAPACITY)
    latency: int = number(4, *LATENCY)


def pipeline_design(parameters: PipelineParameters, streams: Streams) -> None:
    """Build a pipelined ALU. A slot of the channel is reserved at the pop, so registers need no enable."""
    operands = _Operands(streams, parameters.operation)
    # The buffer of the channel is the last cycle of its latency.
    sink, lag = streams.outputs["out_val[0]"], parameters.latency - 1
    result = parameters.computed_in(
        lag, parameters.operation, operands.left, operands.other, parameters.result_bits
    )
    result_token = tokens.token(sink, delayed(operands.kind, lag), delayed(operands.level, lag), result)
    buffered(parameters, [operands], [result_token], sink, late=True)


def reducer_contents(parameters: ScalarReducerParameters) -> PortContents:
    """Return the contents of the streams: values, and the result of each fiber."""
    return {"in_val": tokens.values(parameters.value_field), "out_val": tokens.values(parameters.sum_field)}


def reducer_design(parameters: ScalarReducerParameters, streams: Streams) -> None:
    """Build a reducer: a result for each fiber not dropped, then a stop above level 0, one level lower."""
    head, room = Head.from_stream(streams.inputs["in_val"]), tokens.room_in(streams)
    follows: Signal = pyrtl.Register(1, "stop_follows")
    owed: Signal = DataRegister(tokens.LEVEL_BITS, "its_level")
    takes = alias("takes", room & ~follows & head.shown)
    streams.inputs["in_val"].accept(room & ~follows)
    begun, result = reduction(parameters, parameters.operation, head, takes)

    empty = alias("empty", head.is_stop & ~begun)
    drops = alias("drops", empty & (parameters.empty_fibers == DROP))
    marks = alias("marks", empty & (parameters.empty_fibers == MARK))
    more = alias("ends_more", head.is_stop & (head.level != 0))
    level = (head.level - 1)[: tokens.LEVEL_BITS]
    follows.next <<= pyrtl.select(room, takes & more & ~drops, follows)
    owed.next <<= pyrtl.select(takes, level, owed)
    # The stop after a dropped fiber leaves at once, since no result takes its cycle.
    sends = follows | (takes & ((head.is_stop & ~drops) | (drops & more) | head.is_done))
    data = ~follows & head.is_stop & ~drops & ~marks
    # For an N (``marks``), no flag of the kind is set.
    kind = tokens.kind_of(data, follows | drops, ~follows & head.is_done)
    sent = pyrtl.select(follows, owed, level)
    tokens.send(streams.outputs["out_val[0]"], room & sends, kind, sent, result)


def reduction(
    parameters: SummingParameters, operation: str, head: Head, takes: Signal
) -> tuple[Signal, Signal]:
    """Build the accumulator of a reducer.

    Args:
        parameters: widths and type of the values.
        operation: name of the reduction.
        head: the input.
        takes: 1 in the cycles in which the head is popped.

    Returns:
        Whether the current fiber has had a value, and the reduction of its values, 0 without any.
    """
    bits = parameters.sum_field.width
    begun: Signal = pyrtl.Register(1, "begun")
    result: Signal = DataRegister(bits, "result")
    counts = alias("counts", takes & ~head.is_control)
    value = unless(head.is_empty, head.payload).sign_extended(bits)
    combined = parameters.computed(REDUCTIONS[operation], result, value, parameters.sum_bits)
    # The first value of a fiber replaces the result of the fiber before, which needs no reset.
    result.next <<= pyrtl.select(counts, pyrtl.select(begun, combined, value), result)
    begun.next <<= pyrtl.select(takes, counts, begun)
    return begun, unless(~begun, result)


class ArrayAdapter(StreamAdapter):
    """Component that replaces an ``ArrayLoad`` by its RTL in a simulation."""

    PORTS = (*ArrayLoad.PORTS, LOAD_PORT)

    def __init__(self, name: str, interface: Interface, backend: Backend) -> None:
        super().__init__(name, interface, backend)
        self._addresses: set[int] = set()

    def observe(self, moved: Mapping[str, Any]) -> None:
        """Note the addresses that are loaded."""
        super().observe(moved)
        if "in_ref" in moved and moved["in_ref"].control == DATA:
            self._addresses.add(moved["in_ref"].coordinate)

    def counters(self) -> dict[str, int]:
        """Return the number of loads and of different addresses, and the tokens of the output by kind."""
        own = {"loads": self.moved["in_ref", DATA], "addresses": len(self._addresses)}
        return own | super().counters()


class ScalarReducerAdapter(StreamAdapter):
    """Component that replaces a ``ScalarReduce`` by its RTL in a simulation."""

    _zeros = 0

    def observe(self, moved: Mapping[str, Any]) -> None:
        """Count the results that are zero."""
        super().observe(moved)
        sent = moved.get("out_val[0]")
        self._zeros += sent is not None and sent.control == DATA and sent.value == 0

    def counters(self) -> dict[str, int]:
        """Return the counters of the component."""
        taken = self.moved["in_val", DATA] + self.moved["in_val", EMPTY]
        nonzeros = self.moved["out_val[0]", DATA] - self._zeros
        own = {"reductions": taken, "zeros": self._zeros, "nonzeros": nonzeros}
        return own | super().counters()


def _of_array(array: ArrayLoad) -> dict[str, object]:
    check_usual(array.empty == 0.0)
    memory = REGISTERED if isinstance(array, RegisteredArray) else COMBINATIONAL
    return {"entries": max(1, array.size), "memory": memory}


ARRAY = replace(
    unit(
        "array",
        ArrayLoad,
        ArrayParameters,
        array_contents,
        array_design,
        base=ArrayAdapter,
        alone=False,
        instance=_of_array,
    ),
    kinds=(ArrayLoad, RegisteredArray),
)


def _of_alu(alu: Alu) -> dict[str, object]:
    if alu.operation not in OPERATIONS:
        raise ValueError(f"no hardware here does {alu.operation}; known: {', '.join(OPERATIONS)}")
    check_usual(not alu.fills)
    return {"operation": alu.operation}


class AluAdapter(StreamAdapter):
    """Component that replaces an ``Alu`` by its RTL in a simulation."""

    @property
    def absent(self) -> int:
        """Number of operations without an operand, from the reference component: no wire carries it."""
        return getattr(self.reference_component, "absent", 0)


ALU = unit(
    "alu",
    Alu,
    AluParameters,
    alu_contents,
    alu_design,
    arguments=("operation",),
    instance=_of_alu,
    base=AluAdapter,
    counters={"operations": Summed("out_val[0]", lambda token: token.control == DATA)},
)


PIPELINE = replace(
    ALU, name="alu_pipeline", parameters=PipelineParameters, design=pipeline_design, listed=False, kinds=()
)


def _reducer(name: str, parameters: ScalarReducerParameters) -> ScalarReduce:
    reducer = ScalarReduce(name, parameters.operation, parameters.empty_fibers == DROP)
    reducer.marks = parameters.empty_fibers == MARK
    return reducer


def _of_empty(reducer: ScalarReduce) -> str:
    return DROP if reducer.drops else MARK if reducer.marks else KEEP


def _of_reducer(reducer: ScalarReduce) -> dict[str, object]:
    names = {reduce.OPERATIONS[name]: name for name in REDUCTIONS}
    if reducer.code not in names:
        raise ValueError(f"{reducer.name}: no hardware here reduces other than by {', '.join(REDUCTIONS)}")
    check_usual(not reducer.fills)
    return {"operation": names[reducer.code], "empty_fibers": _of_empty(reducer)}


REDUCER = unit(
    "scalar_reducer",
    ScalarReduce,
    ScalarReducerParameters,
    reducer_contents,
    reducer_design,
    base=ScalarReducerAdapter,
    component=_reducer,
    instance=_of_reducer,
)
