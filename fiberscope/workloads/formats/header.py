"""Encoded tensors as bytes: a header of 32-bit words, and the arrays, each on separate lines.

The first word of the header has the format, the order, the bits of a value and the format's parameter, one
byte each. The sizes of the ranks and the counts follow, nonzeros first. Zeros pad the header to a multiple of
eight words. In a file, the header occupies whole lines, as any array does.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from fiberscope.workloads.errors import WorkloadError
from fiberscope.workloads.formats.bit_packing import LINE_BYTES
from fiberscope.workloads.formats.compressed import Bsr, Csc, Csr
from fiberscope.workloads.formats.coordinates import Coo, Csf
from fiberscope.workloads.formats.flat import Dense, Rlc, Zvc
from fiberscope.workloads.formats.format import Encoded, Field, Format
from fiberscope.workloads.formats.numbers import WIDTHS

HEADER_WORDS = 8  # the length of a header is a multiple of this number of words
MAX_WORD = 2**32 - 1  # largest word

Words = npt.NDArray[np.uint32]

_FORMAT_BY_CODE: dict[int, Callable[[int], Format]] = {  # formats as functions of the parameter
    Dense.code: lambda _: Dense(),
    Zvc.code: lambda _: Zvc(),
    Rlc.code: lambda parameter: Rlc(parameter & 127, bool(parameter >> 7)),
    Coo.code: lambda _: Coo(),
    Csr.code: lambda _: Csr(),
    Csc.code: lambda _: Csc(),
    Bsr.code: Bsr,
    Csf.code: lambda _: Csf(),
}


def encode_header(encoded: Encoded) -> bytes:
    """Return the header of an encoded tensor, a multiple of ``HEADER_WORDS`` words.

    Raises:
        WorkloadError: a size or count needs more than 32 bits.
    """
    form = encoded.format
    first_word = form.code | len(encoded.shape) << 8 | encoded.bits << 16 | form.parameter << 24
    words = [first_word, *encoded.shape, *encoded.counts.values()]
    if max(words) > MAX_WORD:
        raise WorkloadError(f"{form.name}: {max(words)} is wider than the 32 bits of a header's word")
    words += [0] * (-len(words) % HEADER_WORDS)
    return np.array(words, dtype="<u4").tobytes()


def to_bytes(encoded: Encoded) -> bytes:
    """Return header and arrays as bytes.

    Raises:
        WorkloadError: see ``encode_header``.
    """
    header = encode_header(encoded)
    return header + bytes(-len(header) % LINE_BYTES) + encoded.packed()


def from_bytes(content: bytes, location: str) -> Encoded:
    """Decode the result of ``to_bytes``.

    Args:
        content: content of a file.
        location: name in errors.

    Raises:
        WorkloadError: the content is truncated or too long, has no header, or has arrays of no valid tensor.
    """
    # ``frombuffer`` refuses a part of a word; the length is checked below, as it follows from the header
    words = np.frombuffer(content[: len(content) // 4 * 4], "<u4")
    form, shape, bits, counts, start = _read_header(words, location)
    layout = form.layout(shape, counts, bits)
    start += -start % LINE_BYTES
    if len(content) != (expected := start + form.line_bytes(layout)):
        fault = f"{len(content)} bytes; {form.name} of {' x '.join(map(str, shape))} here takes {expected}"
        raise WorkloadError(
            fault, location=location, fix="the file is cut short" if len(content) < expected else None
        )
    items = form.unpack(np.frombuffer(content[start:], "<u8"), layout, counts)
    fields = [Field(span.name, span.width, array) for span, array in zip(layout, items, strict=True)]
    encoded = Encoded(form, shape, bits, counts, tuple(fields))
    _check(encoded, location)
    return encoded


def _read_header(words: Words, location: str) -> tuple[Format, tuple[int, ...], int, dict[str, int], int]:
    """Return the format, the shape, the bits of a value, the counts, and the bytes of the header.

    Raises:
        WorkloadError: no header begins the content, or the format does not hold tensors of this order.
    """
    if len(words) < HEADER_WORDS:
        raise WorkloadError("too short for the header of a tensor", location=location)
    code, order, bits, parameter = (int(words[0]) >> shift & 255 for shift in (0, 8, 16, 24))
    if code not in _FORMAT_BY_CODE or order == 0 or bits not in WIDTHS:
        raise WorkloadError("does not begin with the header of a tensor", location=location)
    form = _FORMAT_BY_CODE[code](parameter)
    # The names depend on the order only, so that any shape of this order will do before the shape is read
    names = form.count_names(range(order))
    header_words = 1 + order + len(names)
    if len(words) < header_words:
        raise WorkloadError("too short for the header of a tensor", location=location)
    numbers = [int(word) for word in words[1:header_words]]
    shape = tuple(numbers[:order])
    form.check(shape)
    size = 4 * (header_words + -header_words % HEADER_WORDS)
    return form, shape, bits, dict(zip(names, numbers[order:], strict=True)), size


def _check(encoded: Encoded, location: str) -> None:
    """Refuse arrays that differ from the encoding of their decoded tensor.

    Decoding may itself fail for arrays of no tensor, such as pointers beyond the end.
    """
    try:
        difference = encoded.format.encode(encoded.decode(), encoded.bits).difference(encoded)
    except (ValueError, IndexError) as error:
        difference = str(error)
    if difference is not None:
        fault = f"the arrays of {encoded.format.name} are those of no tensor ({difference})"
        raise WorkloadError(fault, location=location)
