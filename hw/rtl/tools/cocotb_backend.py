"""A module in an HDL simulator as a backend: cocotb owns the clock, and steps it when a component ticks.

Only within a cocotb test, in a function that the test calls through ``cocotb.task.bridge``:

    @cocotb.test()
    async def in_the_loop(dut):
        await bridge(simulate)(lambda: CocotbBackend(dut, interface))
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cocotb.task import resume
from cocotb.triggers import Timer

from hw.rtl.kit.interface import Interface, Stream
from sim.errors import SimulationError

HALF_CYCLE = 1  # ns


class CocotbBackend:
    """Drives the module under test; resets it when made.

    Args:
        dut: the module, as cocotb gives it.
        interface: its ports.
        prefix: what their names begin with, where the module under test is a harness.

    Raises:
        SimulationError: if ``valid``, ``ready`` or a field of a valid token is undefined in a cycle.
    """

    def __init__(self, dut: Any, interface: Interface, prefix: str = "") -> None:  # noqa: ANN401  (cocotb)
        wires = interface.wires()
        self._handles = {wire.name: getattr(dut, prefix + wire.name) for wire in wires}
        self._streams = interface.streams
        self._status = interface.status
        self._inputs = [
            wire.name for wire in wires if wire.direction == "input" and wire.name not in ("clk", "rst")
        ]
        resume(self._reset)()

    def cycle(self, changed: Mapping[str, int]) -> Mapping[str, int]:
        """Run one clock cycle; see ``Backend``."""
        return resume(self._cycle)(changed)

    async def _reset(self) -> None:
        """Hold ``rst`` for a cycle."""
        self._drive({"clk": 0, "rst": 1} | dict.fromkeys(self._inputs, 0))
        await Timer(HALF_CYCLE, "ns")
        self._drive({"clk": 1})
        await Timer(HALF_CYCLE, "ns")
        self._drive({"clk": 0, "rst": 0})
        await Timer(HALF_CYCLE, "ns")

    async def _cycle(self, changed: Mapping[str, int]) -> dict[str, int]:
        """Inputs settle while the clock is low; outputs are read just before it rises."""
        self._drive({**changed, "clk": 0})
        await Timer(HALF_CYCLE, "ns")
        outputs: dict[str, int] = {}
        for stream in self._streams:
            outputs.update(self._read_stream(stream))
        outputs.update((name, self._read(name)) for name in self._status)
        self._drive({"clk": 1})
        await Timer(HALF_CYCLE, "ns")
        return outputs

    def _drive(self, inputs: Mapping[str, int]) -> None:
        for name, bits in inputs.items():
            self._handles[name].value = bits

    def _read_stream(self, stream: Stream) -> dict[str, int]:
        """What the module drives of a stream; the fields of a token that is not valid read as 0."""
        if stream.direction == "input":
            return {stream.wire("ready"): self._read(stream.wire("ready"))}
        valid = self._read(stream.wire("valid"))
        names = [stream.wire(field) for field in stream.widths]
        fields = {name: self._read(name) for name in names} if valid else dict.fromkeys(names, 0)
        return {stream.wire("valid"): valid, **fields}

    def _read(self, name: str) -> int:
        value = self._handles[name].value
        if not value.is_resolvable:
            raise SimulationError(f"{name} of the module is {value}: not reset, or driven by nothing")
        return int(value)
