"""Units for values of which some are absent, as RTL: ``ArrayLoad`` and ``Alu`` where operators are redefined.

A wire beside each value says whether it is absent: a value that stands for an element that a tensor lacks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import pyrtl

from fiberscope.hw.rtl.kit.arithmetic import ValueParameters, value_type
from fiberscope.hw.rtl.kit.codec import WHOLE_BITS
from fiberscope.hw.rtl.kit.interface import Content, Field, float_bits
from fiberscope.hw.rtl.kit.parameters import choice, number, one_of
from fiberscope.hw.rtl.kit.twin import Signal, Streams, alias, index_bits
from fiberscope.hw.rtl.kit.unit import Each, PortContents, Summed, unit
from fiberscope.hw.streams import tokens_rtl as tokens
from fiberscope.hw.streams.alu import Alu
from fiberscope.hw.streams.arrays import ArrayLoad
from fiberscope.hw.streams.memory_rtl import LOAD, Memory, value_words
from fiberscope.hw.streams.tokens import DATA
from fiberscope.hw.streams.tokens_rtl import Head
from fiberscope.hw.streams.values_rtl import OPERATIONS, AluAdapter, ArrayAdapter

KNOWN = (*OPERATIONS, "first", "differs", "less", "or", "and")
ALL, ANY = NEEDS = ("all", "any")
MAX_EMPTY = 1 << 16  # largest magnitude of a whole number that stands for an absent value
MIN_BITS = 20  # least width of integer values; it holds every whole number up to ``MAX_EMPTY``
ABSENT = "absent"


class AbsentParameters(ValueParameters):
    """Base of the parameters of blocks that know absent values.

    Args:
        empty: the value that stands for an absent one, a whole number; ignored if ``infinite`` is not 0.
        infinite: sign of that value if it is infinite, else 0.

    Raises:
        ValueError: if the absent value is infinite and the type is an integer type.
    """

    empty: int
    infinite: int

    def __post_init__(self) -> None:
        """Refuse an absent value that the type cannot represent."""
        super().__post_init__()
        if not self.value_field.codec.fits(float_bits(self.empty_value)):
            absent = f"{self.empty_value:g}, which stands for absent values,"
            raise ValueError(f"{absent} is no {self.values}; set value=float32, say")

    @property
    def empty_value(self) -> float:
        """Return the value that stands for an absent one."""
        return self.infinite * math.inf if self.infinite else float(self.empty)

    @property
    def empty_word(self) -> Signal:
        """Return the bits of the value that stands for an absent one."""
        field = self.value_field
        return pyrtl.Const(field.codec.encode(float_bits(self.empty_value)), field.width)

    @property
    def marked(self) -> Content:
        """Return the fields of a stream of values with a mark."""
        return {**tokens.values(self.value_field), ABSENT: Field("reference", 1, "unsigned")}


@dataclass(frozen=True)
class MarkedArrayParameters(AbsentParameters):
    """Parameters of an array that marks the values of references that are N.

    Args:
        entries: number of values, 1 to 65536.
        reference_bits: width of a reference, enough for all entries.
        value_bits: width of a value of an integer type, 20 to 53.
        values: type of the values.
        empty: value for an N, a whole number from -65536 to 65536.
        infinite: sign of the value for an N if that value is infinite, else 0.
    """

    entries: int = number(512, 1, 1 << 16)
    reference_bits: int = number(32, tokens.LEVEL_BITS, 62, lambda own: (index_bits(own.entries), 62))
    value_bits: int = number(32, MIN_BITS, WHOLE_BITS)
    values: str = value_type()
    empty: int = number(0, -MAX_EMPTY, MAX_EMPTY)
    infinite: int = one_of(0, -1, 0, 1)


@dataclass(frozen=True)
class FillingAluParameters(AbsentParameters):
    """Parameters of an ALU that knows which operands are absent.

    Args:
        operation: the operation on its two operands.
        needs: ``all`` if a result needs both operands, ``any`` if one is enough; otherwise it is absent.
        value_bits: width of operands and results of an integer type, 20 to 53.
        values: type of the values.
        empty: the absent value, also for an N, a whole number from -65536 to 65536.
        infinite: sign of the absent value if that value is infinite, else 0.
    """

    operation: str = choice("mul", KNOWN)
    needs: str = choice(ALL, NEEDS)
    value_bits: int = number(32, MIN_BITS, WHOLE_BITS)
    values: str = value_type()
    empty: int = number(0, -MAX_EMPTY, MAX_EMPTY)
    infinite: int = one_of(0, -1, 0, 1)


def array_contents(parameters: MarkedArrayParameters) -> PortContents:
    """Return the fields of the streams; ``load`` writes a value."""
    return {
        "in_ref": tokens.numbers(parameters.reference_bits),
        LOAD: value_words(parameters.entries, parameters.value_field),
        "out_val": parameters.marked,
    }


def array_design(parameters: MarkedArrayParameters, streams: Streams) -> None:
    """Build the array: a memory of values. A reference that is N gives the absent value, marked.

    The memory is filled through ``load`` before the run; the module does not check references.
    """
    head, room = Head.from_stream(streams.inputs["in_ref"]), tokens.room_in(streams)
    load, sink = streams.inputs[LOAD], streams.outputs["out_val[0]"]
    load.accept(pyrtl.Const(1, 1))
    words = Memory("words", parameters.entries, parameters.value_field.width)
    words.write(load.fields["address"], load.fields["word"], load.valid)
    streams.inputs["in_ref"].accept(room)
    kind = tokens.kind_of(head.is_data | head.is_empty, head.is_stop, head.is_done)
    value = pyrtl.select(head.is_empty, parameters.empty_word, words[head.payload])
    sent = tokens.token(sink, kind, head.level, value)
    sink.send(room & head.shown, {**sent, ABSENT: head.is_empty})


def alu_contents(parameters: FillingAluParameters) -> PortContents:
    """Return the fields of the streams: two operands and a result, each with its mark."""
    return {"in_val": Each(parameters.marked, 2), "out_val": parameters.marked}


def alu_design(parameters: FillingAluParameters, streams: Streams) -> None:
    """Build the ALU, which accepts both operands together and has no registers.

    The module does not check that both operands have the same shape.
    """
    room, sink = tokens.room_in(streams), streams.outputs["out_val[0]"]
    heads = [Head.from_stream(stream) for stream in streams.inputs.values()]
    left = heads[0]
    acts = alias("acts", room & left.shown & heads[1].shown)
    for stream in streams.inputs.values():
        stream.accept(acts)
    empty, bits = parameters.empty_word, parameters.value_bits
    # An N has no value on its wires; it counts as an absent value
    first, second = (pyrtl.select(head.is_empty, empty, head.payload) for head in heads)
    has_first, has_second = (head.is_data & ~head.fields[ABSENT] for head in heads)
    present = alias("present", has_first & has_second if parameters.needs == ALL else has_first | has_second)
    computed = parameters.computed(parameters.operation, first, second, bits)
    # The first operand decides the kind, as both have the same shape
    data = left.is_data | left.is_empty
    kind = tokens.kind_of(data, left.is_stop, left.is_done)
    sent = tokens.token(sink, kind, left.level, pyrtl.select(present, computed, empty))
    sink.send(acts, {**sent, ABSENT: data & ~present})


def _empty_of(value: float) -> dict[str, object]:
    """Return the parameters that describe an absent value.

    Raises:
        ValueError: if the parameters cannot describe the value.
    """
    if math.isinf(value):
        return {"infinite": 1 if value > 0 else -1}
    if not float(value).is_integer() or abs(value) > MAX_EMPTY:
        raise ValueError(
            f"no hardware here has absent values of {value:g}, but whole numbers to {MAX_EMPTY:,}"
        )
    return {"empty": int(value)}


def _of_array(array: ArrayLoad) -> dict[str, object]:
    # A memory has at least one word
    return {"entries": max(1, array.size), **_empty_of(array.empty)}


def _of_alu(alu: Alu) -> dict[str, object]:
    # Both give the second operand; ``needs`` says which operands must be present
    operation = "take" if alu.operation == "second" else alu.operation
    if operation not in KNOWN:
        raise ValueError(f"no hardware here does {operation}; known: {', '.join(KNOWN)}")
    return {"operation": operation, "needs": ALL if alu.needs_all else ANY, **_empty_of(alu.empty)}


def _alu(name: str, parameters: FillingAluParameters) -> Alu:
    # The constructor sets the usual meaning of an operator; redefined operators are set afterwards
    alu = Alu(name, parameters.operation)
    alu.fills, alu.needs_all, alu.empty = True, parameters.needs == ALL, parameters.empty_value
    return alu


# No classes of their own: the netlist of a graph says which of its blocks know absent values.
ARRAY = replace(
    unit(
        "marked_array",
        ArrayLoad,
        MarkedArrayParameters,
        array_contents,
        array_design,
        base=ArrayAdapter,
        alone=False,
        instance=_of_array,
    ),
    kinds=(),
)
ALU = replace(
    unit(
        "filling_alu",
        Alu,
        FillingAluParameters,
        alu_contents,
        alu_design,
        base=AluAdapter,
        component=_alu,
        instance=_of_alu,
        counters={"operations": Summed("out_val[0]", lambda token: token.control == DATA)},
    ),
    kinds=(),
)
