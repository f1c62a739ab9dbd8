"""Compression formats of tensors, exact to the bit: sizes, encoding, decoding, and how they lie in memory.

Source: E. Qin et al., "Extending Sparse Tensor Accelerators to Support Multiple Compression Formats", IPDPS
2021 (MINT); where that is silent, docs/mint.md says what was chosen.
"""

from __future__ import annotations

import re

from fiberscope.workloads.errors import WorkloadError, nearest
from fiberscope.workloads.formats.compressed import Bsr, Csc, Csr
from fiberscope.workloads.formats.coordinates import Coo, Csf
from fiberscope.workloads.formats.flat import Dense, Rlc, Zvc
from fiberscope.workloads.formats.format import Encoded, Field, Format, index_bits
from fiberscope.workloads.formats.header import from_bytes, to_bytes
from fiberscope.workloads.formats.numbers import WIDTHS, check_width, numbers_of, words_of

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
    "format_called",
    "from_bytes",
    "index_bits",
    "numbers_of",
    "to_bytes",
    "words_of",
]

FORMATS: dict[str, Format] = {
    form.name: form for form in (Dense(), Coo(), Csr(), Csc(), Zvc(), Rlc(), Bsr(2), Csf())
}


def format_called(name: str) -> Format:
    """The format of this name.

    Behind ``bsr`` stands the edge of its blocks; behind ``rlc`` may stand the bits of its runs, and then
    ``-value`` where a continuation has a value: ``bsr4``, ``rlc5-value``.

    Raises:
        WorkloadError: there is none, with the nearest.
    """
    if blocks := re.fullmatch("bsr([0-9]{1,9})", name.lower()):
        return Bsr(int(blocks[1]))
    if runs := re.fullmatch("rlc([0-9]{1,9})(-value)?", name.lower()):
        return Rlc(int(runs[1]), bool(runs[2]))
    if name.lower() not in FORMATS:
        raise WorkloadError(f"no format is called {name!r}", fix=nearest(name, FORMATS))
    return FORMATS[name.lower()]
