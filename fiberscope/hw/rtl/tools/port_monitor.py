"""Watches the ports of a module in a cocotb bench: every cycle's pins, and whether the protocol is kept."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, TypeAlias

from cocotb.triggers import RisingEdge

from fiberscope.hw.rtl.kit.interface import CLOCKING, Interface
from fiberscope.hw.rtl.kit.port_coverage import PortCoverage
from fiberscope.hw.rtl.kit.protocol_checker import ProtocolChecker
from fiberscope.hw.rtl.kit.words import Words
from fiberscope.hw.rtl.tools.pin_reader import PinReader

__all__ = ["PortMonitor"]

MakeChecker: TypeAlias = "Callable[[str, Interface, Words], ProtocolChecker]"


class PortMonitor:
    """Reads the pins of a module in every cycle behind its reset, and checks the protocol.

    Args:
        dut: the module, as cocotb gives it.
        interface: its ports.
        checker: makes the checker of a module's name, its ports and their words, anew behind every reset.
        prefix: what the names of the pins begin with.

    Attributes:
        violation: the text of the first rule that was broken; None if there is none.
    """

    def __init__(
        self,
        dut: Any,  # noqa: ANN401  (cocotb's handles)
        interface: Interface,
        checker: MakeChecker = ProtocolChecker,
        prefix: str = "",
    ) -> None:
        self.violation: str | None = None
        self._interface = interface
        self._words = Words(interface)
        self._pins = PinReader(dut, interface, self._words.unknown, prefix)
        self._clock, self._reset = (self._pins.handles[name] for name in CLOCKING)
        self._make = checker
        self._coverage = PortCoverage(interface, self._words)

    @property
    def bins(self) -> Mapping[str, Mapping[str, int]]:
        """Counts of events at each stream, by kind."""
        return self._coverage.bins

    async def cycles(self) -> AsyncIterator[tuple[int, dict[str, int]]]:
        """Yield each cycle since the last reset with the bits at all streams, as they are before its end."""
        checker, cycle = self._new_checker(), 0
        while True:
            await RisingEdge(self._clock)
            if str(self._reset.value) != "0":  # unknown counts as a reset
                checker, cycle = self._new_checker(), 0
                continue
            wires = self._pins.all()
            self._words.drive(wires)
            self._words.show(wires)
            checker.cycle(cycle)
            if self.violation is None and checker.violation is not None:
                self.violation = checker.violation[1]
            yield cycle, wires
            cycle += 1

    def _new_checker(self) -> ProtocolChecker:
        checker = self._make(self._interface.module, self._interface, self._words)
        checker.coverage = self._coverage
        return checker
