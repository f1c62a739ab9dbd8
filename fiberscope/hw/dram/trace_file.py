"""A reader of trace files of memory requests, in Fiberscope's format and those of public DRAM simulators.

All lines of a file have the same format. ``#`` and ``//`` start a comment. Letters can be lower case. Empty
lines are skipped. Requests of the formats without a cycle have cycle 0. Cycles need not ascend. An address is
decimal unless it begins with ``0x`` or the table says otherwise.

| format | line |
| --- | --- |
| Fiberscope | ``cycle R|W address``, also ``RB`` and ``WB`` (one burst); the address is hexadecimal |
| Ramulator 2 | ``LD|ST address`` |
| Ramulator 1 | ``address R|W`` |
| DRAMsim3 | ``address READ|WRITE cycle``; the address is hexadecimal |
| DRAMSys | ``cycle: read|write address``, optionally followed by the written data |

Sources: example traces and trace readers of the simulators (Ramulator 1 and 2, DRAMsim3, DRAMSys).
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from fiberscope.hw.dram.trace import Request
from fiberscope.hw.memory.protocol import READ, READ_BURST, TENSOR_SHIFT, TENSORS, WRITE, WRITE_BURST

ADDRESSES: Final = (
    TENSORS << TENSOR_SHIFT
)  # bytes that a channel can address; addresses are taken modulo them
LATEST: Final = 10**10  # highest cycle; the host would need minutes for the refreshes of a longer gap
ADDRESS_BITS: Final = 64
_OPERATIONS: Mapping[str, int] = {
    **dict.fromkeys(("R", "LD", "READ"), READ),
    **dict.fromkeys(("W", "ST", "WRITE"), WRITE),
    "RB": READ_BURST,
    "WB": WRITE_BURST,
}
_NUMBER = r"(?P<address>0X[0-9A-F]+|\d+)"  # decimal unless it begins with 0x
_HEX = r"(?P<address>(?:0X)?[0-9A-F]+)"
_CYCLE = r"(?P<cycle>\d+)"
_LINES: Mapping[str, str] = {
    "Fiberscope": "cycle R|W hexadecimal-address",
    "Ramulator 2": "LD|ST address",
    "Ramulator 1": "address R|W",
    "DRAMsim3": "hexadecimal-address READ|WRITE cycle",
    "DRAMSys": "cycle: read|write address",
}
_PATTERNS = {
    "Fiberscope": rf"{_CYCLE}\s+(?P<operation>RB?|WB?)\s+{_HEX}",
    "Ramulator 2": rf"(?P<operation>LD|ST)\s+{_NUMBER}",
    "Ramulator 1": rf"{_NUMBER}\s+(?P<operation>R|W)",
    "DRAMsim3": rf"{_HEX}\s+(?P<operation>READ|WRITE)\s+{_CYCLE}",
    "DRAMSys": rf"{_CYCLE}:\s*(?P<operation>READ|WRITE)\s+{_NUMBER}(?:\s+(?:0X)?[0-9A-F]+)?",
}
_FORMS = {form: re.compile(pattern, re.ASCII | re.IGNORECASE) for form, pattern in _PATTERNS.items()}
_BASES = {"Fiberscope": 16, "DRAMsim3": 16}  # bases of addresses without 0x; 10 in the other formats
_COMMENT = re.compile(r"(?:#|//).*")


def read_trace(path: str | Path) -> list[Request]:
    """Read the requests of a trace file, plain or gzipped. The first request determines the format.

    Args:
        path: path of the file; a name that ends in ``.gz`` is a gzipped file.

    Returns:
        The requests as (earliest cycle, operation, byte address), in the order of the lines. Addresses are
        taken modulo ``ADDRESSES``.

    Raises:
        OSError, EOFError, zlib.error: if the file cannot be read or unzipped to its end.
        ValueError: if a line does not have the format; the message has the file and the line.
    """
    opener = gzip.open if str(path).endswith(".gz") else open
    forms = _FORMS
    requests = []
    with opener(path, "rt", encoding="utf-8-sig", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            text = _COMMENT.sub("", line).strip()
            if not text:
                continue
            matches = ((form, pattern.fullmatch(text)) for form, pattern in forms.items())
            form, match = next(((form, match) for form, match in matches if match), ("", None))
            request = None if match is None else _request(form, match)
            if request is None:
                raise ValueError(f"{path}:{number}: {_expected(forms)}, not {text[:60]!r}")
            forms = {form: forms[form]}  # from the first request on, a single format
            requests.append(request)
    return requests


def _request(form: str, match: re.Match[str]) -> Request | None:
    """Return the request of a line; None if its cycle or address is too large, which is a faulty line."""
    fields = match.groupdict()
    cycle, text = int(fields.get("cycle") or 0), fields["address"].lower()
    address = int(text, 16 if text.startswith("0x") else _BASES.get(form, 10))
    if cycle > LATEST or address >> ADDRESS_BITS:
        return None
    return cycle, _OPERATIONS[fields["operation"].upper()], address % ADDRESSES


def _expected(forms: Iterable[str]) -> str:
    lines = " or ".join(f"'{_LINES[form]}' ({form})" for form in forms)
    return f"expected {lines}, with a cycle up to {LATEST:,} and an address of {ADDRESS_BITS} bits"
