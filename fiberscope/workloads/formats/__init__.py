"""Compression formats of tensors, exact to the bit: sizes, encoding, decoding, and memory layout.

Source: E. Qin et al., "Extending Sparse Tensor Accelerators to Support Multiple Compression Formats", IPDPS
2021 (MINT). docs/mint.md lists the choices that the paper leaves open.
"""

from __future__ import annotations

import re

from fiberscope.workloads.errors import WorkloadError, suggest
from fiberscope.workloads.formats.compressed import Bsr, Csc, Csr
from fiberscope.workloads.formats.coordinates import Coo, Csf
from fiberscope.workloads.formats.flat import Dense, Rlc, Zvc
from fiberscope.workloads.formats.format import Encoded, Field, Format, index_bits
from fiberscope.workloads.formats.header import from_bytes, to_bytes
from fiberscope.workloads.formats.numbers import WIDTHS, check_width, convert_to_numbers, convert_to_words

__all__ = [
    "FORMATS",
    "WIDTHS",
    "Bsr",
    "Coo",
    "Csc",
    "Csf",
    "Csr",
    "Dense",
    "Encoded",
    "Field",
    "Format",
    "Rlc",
    "Zvc",
    "check_width",
    "convert_to_numbers",
    "convert_to_words",
    "format_called",
    "from_bytes",
    "index_bits",
    "to_bytes",
]

FORMATS: dict[str, Format] = {
    form.name: form for form in (Dense(), Coo(), Csr(), Csc(), Zvc(), Rlc(), Bsr(2), Csf())
}


def format_called(name: str) -> Format:
    """Return the format with this name.

    ``bsr`` is followed by the block size; ``rlc`` may be followed by the bits of a run, and by ``-value`` if
    a continuation has a value: ``bsr4``, ``rlc5-value``.

    Raises:
        WorkloadError: there is no such format; names the nearest.
    """
    if blocks := re.fullmatch("bsr([0-9]{1,9})", name.lower()):
        return Bsr(int(blocks[1]))
    if runs := re.fullmatch("rlc([0-9]{1,9})(-value)?", name.lower()):
        return Rlc(int(runs[1]), bool(runs[2]))
    if name.lower() not in FORMATS:
        raise WorkloadError(f"no format is called {name!r}", fix=suggest(name, FORMATS))
    return FORMATS[name.lower()]
