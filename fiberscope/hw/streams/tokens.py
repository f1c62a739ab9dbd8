"""The tokens of the stream machine: their encoding on a channel, and their text form.

A stream of depth d is a flattened list of d + 1 nested levels. The elements of each innermost fiber are
followed by one stop. The level of the stop is the number of outer lists that also end there. One done ends
the stream. N (``EMPTY``) stands in place of an element that an operand does not have.

The text form of an element is its number. A stop of level n is ``"S<n>"``, done is ``"D"`` and N is ``"N"``.
A stream of repeat signals has only ``"R"`` (repeat), ``"S"`` (end of a fiber) and ``"D"``. For example, the
rows (1, 4), (2) of a matrix have the column coordinates ``1, 4, "S0", 2, "S1", "D"``.

On a channel, the control word holds the kind. The coordinate word holds the payload: a coordinate, a
reference, a word of bits, or the level of a stop. The value word holds a value; in a stream of words of bits,
it holds the number of tokens that follow with higher bits of the same word. The reference word is 0, except
for ``ABSENT``.

Source: SAM (ASPLOS 2023), Section 3; the text form is that of the public simulator (weiya711/sam).
"""

from __future__ import annotations

import re

from fiberscope.hw.stream import DATA, EMPTY, STOP
from fiberscope.sim.channel import Channel
from fiberscope.sim.errors import SimulationError
from fiberscope.sim.protocol import Protocol

__all__ = ["BV", "CRD", "DATA", "DONE", "EMPTY", "INTEGER", "REF", "REPSIG", "SKIP_CRD", "STOP", "VAL"]

DONE = 3  # the last token of a stream, exactly once

CRD = Protocol("crd", control="kind", coordinate="coordinate")
REF = Protocol("ref", control="kind", coordinate="reference")  # positions in a level, or numbers of fibers
BV = Protocol("bv", control="kind", coordinate="word")  # words of a bit vector
VAL = Protocol("val", control="kind", coordinate="level", value="value")
REPSIG = Protocol("repsig", control="kind")  # data: repeat; stop: end of a fiber, whatever the level
SKIP_CRD = Protocol("skip crd", control="kind", coordinate="coordinate")  # hints to skip elements

# The coordinate word of a value that the public simulator holds as an integer, such as the value loaded for
# an N token, or the sum of an empty fiber. The ALU of that simulator distinguishes integers from floats.
INTEGER = 1

# The reference word of a value that represents a missing element: a value loaded for N, or a result computed
# from such values. ALUs read this mark to count absent results, and with ``fills`` to choose the value of a
# result (``fiberscope.hw.streams.alu.Arithmetic``). Only the RTL of redefined operators has a wire for it.
ABSENT = 1

Token = tuple[int, int, int, float]  # control, coordinate, reference, value
Written = int | float | str  # the text form of a token

_STOP = re.compile(r"S[0-9]{1,18}")  # a level that fits the word of a channel
_WORD = 1 << 64  # converts between unsigned words of bits and the signed words of a channel


def token(written: Written, carries: Protocol) -> Token:
    """Convert a token from its text form to the words of a channel.

    Args:
        written: the text form: a number such as ``4`` or ``2.5``, or one of ``"S0"``, ``"D"``, ``"N"``,
            ``"R"`` and ``"S"``.
        carries: protocol of the stream.

    Returns:
        The control, coordinate, reference and value words. An integer in a stream of values has the mark
        ``INTEGER``; a fraction in any other stream is cut to an integer.

    Raises:
        SimulationError: if a stream of this kind has no such token.
        ValueError: if a word of bits does not fit in 64 bits.
    """
    if isinstance(written, str):
        return _control_token(written, carries)
    if carries == VAL:
        return DATA, INTEGER if isinstance(written, int) else 0, 0, float(written)
    if carries == BV:
        return DATA, word(int(written)), 0, 0.0
    return DATA, int(written), 0, 0.0


def word(bits: int) -> int:
    """Convert an unsigned word of bits to the signed word of a channel; the inverse of ``unsigned``.

    Raises:
        ValueError: if the word is negative or has more than 64 bits.
    """
    if not 0 <= bits < _WORD:
        raise ValueError(f"a word of a bit vector has 64 bits, too few for {bits}")
    return bits - _WORD if bits >= _WORD // 2 else bits


def unsigned(bits: int) -> int:
    """Convert the signed word of a channel to an unsigned word of bits; the inverse of ``word``."""
    return bits % _WORD


def _control_token(written: str, carries: Protocol) -> Token:
    """Convert a token other than a number from its text form; raise ``SimulationError`` if there is none."""
    # a repeat signal travels as data without a payload, and its stop without a level
    kinds = {"D": DONE} | ({"R": DATA, "S": STOP} if carries == REPSIG else {"N": EMPTY})
    if written in kinds:
        return kinds[written], 0, 0, 0.0
    if carries != REPSIG and _STOP.fullmatch(written):
        return STOP, int(written[1:]), 0, 0.0
    raise SimulationError(f"a {carries} stream has no token {written!r}")


def format_token(kind: int, payload: int, value: float, carries: Protocol) -> Written:
    """Convert a token to its text form; the inverse of ``token``, except that the mark ``INTEGER`` is lost.

    Args:
        kind: kind of the token.
        payload: coordinate, reference, word of bits or level of the token.
        value: value of the token, used only in a stream of values.
        carries: protocol of the stream.
    """
    if kind == DONE:
        return "D"
    if carries == REPSIG:
        return "S" if kind == STOP else "R"
    if kind == DATA:
        return value if carries == VAL else unsigned(payload) if carries == BV else payload
    return f"S{payload}" if kind == STOP else "N"


def written_head(channel: Channel, carries: Protocol) -> Written:
    """Return the text form of the head of a channel, whose tokens follow the protocol ``carries``."""
    return format_token(channel.control(), channel.coordinate(), channel.value(), carries)
