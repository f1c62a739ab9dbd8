"""A plain reader of VCD files, written from the standard (IEEE 1364) and knowing nothing of our writer."""

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class VcdSignal:
    """One ``$var``: its declaration and its (time, value) changes, the first of them from ``$dumpvars``.

    A value is an int, negative for an ``integer`` with its highest bit set, or a text: for a ``string``, and
    for a ``reg``, of which the comment says what its numbers stand for.
    """

    type: str
    width: int
    texts: dict[int, str] = field(default_factory=dict, compare=False)
    changes: list[tuple[int, int | str]] = field(default_factory=list)

    def at(self, time: int) -> int | str:
        """The value that holds at a time."""
        position = bisect_right(self.changes, time, key=lambda change: change[0])
        assert position > 0, f"no value at {time}: the first is at {self.changes[0][0]}"
        return self.changes[position - 1][1]


@dataclass
class Vcd:
    """A whole file: header sections by keyword, signals by full name, and its last time."""

    header: dict[str, str]
    signals: dict[str, VcdSignal]
    start: int
    end: int


def read_vcd(path: Path) -> Vcd:
    """Read a whole file; fails on anything that the standard, or GTKWave for strings, does not know."""
    head, _, body = path.read_text(encoding="utf-8").partition("$enddefinitions $end\n")
    header, signals, by_code = _read_header(head)
    times: list[int] = []
    for line in body.splitlines():
        if line.startswith("#"):
            times.append(int(line[1:]))
        elif line not in ("$dumpvars", "$end"):
            code, raw = _split(line)
            signal = by_code[code]
            signal.changes.append((times[-1], _value(signal, raw)))
    assert times == sorted(set(times)), "the times do not increase"
    return Vcd(header, signals, times[0], times[-1])


def _read_header(head: str) -> tuple[dict[str, str], dict[str, VcdSignal], dict[str, VcdSignal]]:
    header: dict[str, str] = {}
    signals: dict[str, VcdSignal] = {}
    by_code: dict[str, VcdSignal] = {}
    scope: list[str] = []
    for keyword, text in re.findall(r"\$(\w+)\s(.*?)\s*\$end", head, re.DOTALL):
        match keyword, text.split():
            case "scope", [_kind, name]:
                scope.append(name)
            case "upscope", []:
                scope.pop()
            case "var", [kind, width, code, name]:
                texts = _texts(header) if kind == "reg" else {}
                by_code[code] = signals[".".join((*scope, name))] = VcdSignal(kind, int(width), texts)
            case _:
                header[keyword] = text
    assert not scope, f"scope {scope} is not closed"
    return header, signals, by_code


def _texts(header: dict[str, str]) -> dict[int, str]:
    """What the numbers of a ``reg`` stand for."""
    lines = re.findall(r"^\s*reg (\d+): (.*)$", header["comment"], re.MULTILINE)
    return {int(row): text for row, text in lines}


def _split(line: str) -> tuple[str, str]:
    """Code and value with its leading letter, if it has one."""
    if line[0] in "bs":
        raw, code = line.split(" ")
        return code, raw
    return line[1:], f"b{line[0]}"


def _value(signal: VcdSignal, raw: str) -> int | str:
    if raw[0] == "s":
        assert signal.type == "string", raw
        return re.sub(r"\\x(..)", lambda match: chr(int(match[1], 16)), raw[1:])
    assert signal.type != "string", raw
    number = int(raw[1:], 2)
    assert number < 1 << signal.width, f"{raw} has more than {signal.width} bits"
    if signal.type == "reg":
        return signal.texts[number]
    negative = signal.type == "integer" and number >> (signal.width - 1)
    return number - (1 << signal.width) if negative else number
