"""Reader for the pins of a module in an HDL simulator, with X and Z."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from cocotb.types import Logic, LogicArray

from fiberscope.hw.rtl.kit.interface import MASK, Interface, Stream

CONTROL = ("control", MASK)  # fields that affect the handshake beside valid and ready


class PinReader:
    """A reader for the pins of a module. Fields of an invalid token are 0.

    Args:
        dut: the module, a cocotb handle.
        interface: its ports.
        unknown: receives, by wire, the bits as text of wires that are X or Z in the last cycle; these bits
            are 0.
        prefix: prefix of the pins' names if the module under test is a harness.
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
        """Return the bits of the outputs of the module.

        X and Z in payloads, which no token carries, are not recorded as unknown.
        """
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
        """Return the bits of every pin of every stream.

        X and Z in fields are recorded as unknown only for the fields in ``CONTROL``.
        """
        self._unknown.clear()
        wires: dict[str, int] = {}
        for stream in self._streams:
            wires[stream.wire("ready")] = self._read(stream.wire("ready"))
            wires.update(self._offer(stream, CONTROL))
        return wires

    def _offer(self, stream: Stream, noted: Collection[str]) -> Iterator[tuple[str, int]]:
        """Yield the bits of ``valid`` and of each field; fields of a lane that the mask omits are 0.

        Args:
            noted: fields whose unknown bits are recorded.
        """
        valid = self._read(stream.wire("valid"))
        yield stream.wire("valid"), valid
        if not valid:
            yield from dict.fromkeys(map(stream.wire, stream.widths), 0).items()
            return
        mask = self._read(stream.wire(MASK)) if MASK in stream.widths else -1
        for field, width in stream.widths.items():
            keeps = [field == MASK or mask >> lane & 1 for lane in reversed(range(len(stream.ports)))]
            yield (stream.wire(field), self._read(stream.wire(field), keeps, width, is_noted=field in noted))

    def _read(
        self, name: str, keeps: Collection[int] = (1,), width: int = 0, *, is_noted: bool = True
    ) -> int:
        """Return the bits of a wire; unknown bits are 0.

        Args:
            name: the wire.
            keeps: for each lane, the highest first, whether its bits count; other lanes are 0.
            width: bits of a lane; 0 for a wire without lanes.
            is_noted: whether unknown bits are recorded.
        """
        value: Logic | LogicArray = self.handles[name].value
        if value.is_resolvable and all(keeps):
            return int(value)
        bits = str(value)
        lanes = [bits[at : at + width] for at in range(0, len(bits), width)] if width else [bits]
        texts = [lane if keep else "0" * len(lane) for lane, keep in zip(lanes, keeps, strict=True)]
        text = "".join(texts)
        if is_noted and not set(text) <= set("01"):
            self._unknown[name] = bits
        return int("".join(bit if bit in "01" else "0" for bit in text), 2)
