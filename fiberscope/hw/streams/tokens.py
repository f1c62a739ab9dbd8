"""The tokens of the stream machine: what stands on a wire, and the text form in which streams are written.

A stream of depth d is a list nested d + 1 deep, flattened: the elements of each innermost fiber, then one
stop whose level is the number of lists that end with it, and behind all of it one done.

On a channel the control word is the kind. The coordinate word is the payload: a coordinate, a reference, a
word of bits, or the level of a stop; values lie in the value word. So every kind of stream is
``{kind, payload}``, as it is in the RTL.

Source: SAM (ASPLOS 2023), Section 3; the text form is that of the public simulator (weiya711/sam).
"""

from __future__ import annotations

from fiberscope.hw.stream import DATA, EMPTY, STOP
from fiberscope.sim.channel import Channel
from fiberscope.sim.errors import SimulationError
from fiberscope.sim.protocol import Protocol

__all__ = ["BV", "CRD", "DATA", "DONE", "EMPTY", "INTEGER", "REF", "REPSIG", "SKIP_CRD", "STOP", "VAL"]

DONE = 3  # the last token of a stream, exactly once

CRD = Protocol("crd", control="kind", coordinate="coordinate")
REF = Protocol("ref", control="kind", coordinate="reference")
BV = Protocol("bv", control="kind", coordinate="word")
VAL = Protocol("val", control="kind", coordinate="level", value="value")
REPSIG = Protocol("repsig", control="kind")  # data: repeat; stop: of whatever level
SKIP_CRD = Protocol("skip crd", control="kind", coordinate="coordinate")  # what a scanner may pass over

# The coordinate word of a value that the public simulator has as an integer (what is loaded for an empty
# token, the sum of an empty fiber): its ALU tells integers from floats.
INTEGER = 1

# The reference word of a value that stands for an element that is not there: what is loaded for N, or what is
# computed of such values. Only the count of operations reads it; the hardware has no wire for it.
ABSENT = 1

Token = tuple[int, int, int, float]  # control, coordinate, reference, value
Written = int | float | str  # a token as text has it

_WORD = 1 << 64  # a word of bits is unsigned, a channel's word is not


def token(written: Written, carries: Protocol) -> Token:
    """A token as a channel has it, from ``4``, ``2.5``, ``"S0"``, ``"D"``, ``"N"``, ``"R"`` or ``"S"``.

    Raises:
        SimulationError: if a stream of this kind has no such token.
    """
    if isinstance(written, str):
        return _control_token(written, carries)
    if carries == VAL:
        return DATA, INTEGER if isinstance(written, int) else 0, 0, float(written)
    if carries == BV:
        return DATA, word(int(written)), 0, 0.0
    return DATA, int(written), 0, 0.0


def word(bits: int) -> int:
    """An unsigned word of bits, as a channel has it.

    Raises:
        ValueError: if it has more than 64 bits.
    """
    if not 0 <= bits < _WORD:
        raise ValueError(f"a word of a bit vector has 64 bits, too few for {bits}")
    return bits - _WORD if bits >= _WORD // 2 else bits


def unsigned(bits: int) -> int:
    """A word of bits from a channel, as an unsigned number; the inverse of ``word``."""
    return bits % _WORD


def _control_token(written: str, carries: Protocol) -> Token:
    kinds = {"D": DONE} | ({"R": DATA, "S": STOP} if carries == REPSIG else {"N": EMPTY})
    if written in kinds:
        return kinds[written], 0, 0, 0.0
    if carries != REPSIG and written[:1] == "S" and written[1:].isdecimal():
        return STOP, int(written[1:]), 0, 0.0
    raise SimulationError(f"a {carries} stream has no token {written!r}")


def text(kind: int, payload: int, value: float, carries: Protocol) -> Written:
    """A token as text has it; the inverse of ``token``."""
    if kind == DONE:
        return "D"
    if carries == REPSIG:
        return "S" if kind == STOP else "R"
    if kind == DATA:
        return value if carries == VAL else unsigned(payload) if carries == BV else payload
    return f"S{payload}" if kind == STOP else "N"


def written_head(channel: Channel, carries: Protocol) -> Written:
    """The head of a channel as text."""
    return text(channel.control(), channel.coordinate(), channel.value(), carries)
