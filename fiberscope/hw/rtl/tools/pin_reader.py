"""Reads the pins of a module in an HDL simulator into words, with what is X or Z."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from cocotb.types import Logic, LogicArray

from fiberscope.hw.rtl.kit.interface import MASK, Interface, Stream

__all__ = ["CONTROL", "PinReader"]

CONTROL = ("control", MASK)  # fields that steer who takes a token, beside valid and ready


class PinReader:
    """Reads the pins of a module; the fields of a token that is not valid read as 0.

    Args:
        dut: the module, as cocotb gives it.
        interface: its ports.
        unknown: gets, by wire, the bits as text of what is X or Z in the cycle read last; it reads as 0.
        prefix: what the names of the pins begin with, where the module under test is a harness.
    """

    def __init__(
        self,
        dut: Any,  # noqa: ANN401  (cocotb's handles)
        interface: Interface,
        unknown: dict[str, str],
        prefix: str = "",
    ) -> None:
        self.handles = {wire.name: getattr(dut, prefix + wire.name) for wire in interface.wires()}
        self._unknown = unknown
        self._streams = interface.streams
        self._status = interface.status

    def driven(self) -> dict[str, int]:
        """Read what the module drives; of a payload, which no token carries, nothing is noted."""
        self._unknown.clear()
        wires: dict[str, int] = {}
        for stream in self._streams:
            if stream.direction == "input":
                wires[stream.wire("ready")] = self._read(stream.wire("ready"))
            else:
                wires.update(self._offer(stream, stream.token_fields))
        wires.update((name, self._read(name)) for name in self._status)
        return wires

    def all(self) -> dict[str, int]:
        """Read every pin of every stream; of the fields, those that control are noted."""
        self._unknown.clear()
        wires: dict[str, int] = {}
        for stream in self._streams:
            wires[stream.wire("ready")] = self._read(stream.wire("ready"))
            wires.update(self._offer(stream, CONTROL))
        return wires

    def _offer(self, stream: Stream, noted: Collection[str]) -> Iterator[tuple[str, int]]:
        """The bits of ``valid`` and of each field; those of a lane that the mask leaves out read as 0."""
        valid = self._read(stream.wire("valid"))
        yield stream.wire("valid"), valid
        if not valid:
            yield from dict.fromkeys(map(stream.wire, stream.widths), 0).items()
            return
        mask = self._read(stream.wire(MASK)) if MASK in stream.widths else -1
        for field, width in stream.widths.items():
            kept = [field == MASK or mask >> lane & 1 for lane in reversed(range(len(stream.ports)))]
            yield stream.wire(field), self._read(stream.wire(field), kept, width, is_noted=field in noted)

    def _read(self, name: str, kept: Collection[int] = (1,), width: int = 0, *, is_noted: bool = True) -> int:
        """The bits of a wire, those of some lanes; unknown ones are 0."""
        value: Logic | LogicArray = self.handles[name].value
        if value.is_resolvable and all(kept):
            return int(value)
        bits = str(value)
        lanes = [bits[at : at + width] for at in range(0, len(bits), width)] if width else [bits]
        shown = [lane if keep else "0" * len(lane) for lane, keep in zip(lanes, kept, strict=True)]
        text = "".join(shown)
        if is_noted and not set(text) <= set("01"):
            self._unknown[name] = bits
        return int("".join(bit if bit in "01" else "0" for bit in text), 2)
