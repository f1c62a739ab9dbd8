"""A monitor of a module's ports in a cocotb bench: the pins of every cycle, and the protocol."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, TypeAlias

from cocotb.triggers import RisingEdge

from fiberscope.hw.rtl.kit.interface import CLOCKING, Interface
from fiberscope.hw.rtl.kit.port_coverage import PortCoverage
from fiberscope.hw.rtl.kit.protocol_checker import ProtocolChecker
from fiberscope.hw.rtl.kit.words import Words
from fiberscope.hw.rtl.tools.pin_reader import PinReader

MakeChecker: TypeAlias = "Callable[[str, Interface, Words], ProtocolChecker]"


class PortMonitor:
    """A reader for the pins of a module in every cycle after reset, with a check of the protocol.

    Args:
        dut: the module, a cocotb handle.
        interface: its ports.
        checker: creates a checker from the module's name, its ports and their words, after every reset.
        prefix: prefix of the pins' names.

    Attributes:
        violation: description of the first violation, also of an earlier reset; None if there is none.
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
        """Return the counts of events at each stream, by kind; over all resets."""
        return self._coverage.bins

    async def cycles(self) -> AsyncIterator[tuple[int, dict[str, int]]]:
        """Yield all cycles outside of reset: the number since the last reset, and the bits at all streams.

        The bits are those just before the rising edge that ends the cycle. The checker has already seen them.
        The iteration does not end by itself.
        """
        checker, cycle = self._new_checker(), 0
        while True:
            await RisingEdge(self._clock)
            if str(self._reset.value) != "0":  # an unknown reset is active
                checker, cycle = self._new_checker(), 0
                continue
            wires = self._pins.all()
            # Each of the two takes only its own wires: the module's inputs, and its outputs.
            self._words.drive(wires)
            self._words.show(wires)
            checker.cycle(cycle)
            if self.violation is None and checker.violation is not None:
                self.violation = checker.violation[1]
            yield cycle, wires
            cycle += 1

    def _new_checker(self) -> ProtocolChecker:
        """Return a checker in the state after reset, with the coverage so far."""
        checker = self._make(self._interface.module, self._interface, self._words)
        checker.coverage = self._coverage
        return checker
