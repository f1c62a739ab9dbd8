"""A module in an HDL simulator as a backend: a component's tick advances the simulator's time by a cycle.

Usable only within a cocotb test, in a function that the test calls through ``cocotb.task.bridge``:

    @cocotb.test()
    async def in_the_loop(dut):
        await bridge(simulate)(lambda: CocotbBackend(dut, interface))
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cocotb.handle import HierarchyObject
from cocotb.task import resume
from cocotb.triggers import Timer
from cocotb.types import Logic, LogicArray
from cocotb.utils import get_sim_time

from fiberscope.hw.rtl.kit.interface import Interface
from fiberscope.hw.rtl.kit.waves import is_shown
from fiberscope.hw.rtl.kit.words import Words
from fiberscope.hw.rtl.tools.pin_reader import PinReader

CYCLE = 1000  # ps of the simulator's time in a cycle
SETTLE = 1  # ps from a change of inputs to a read of outputs


class CocotbBackend:
    """A backend (``fiberscope.hw.rtl.kit.backend.Backend``) for the module under test.

    The constructor asserts reset, and the first cycle begins with a rising edge that resets the module.

    Cycle n of the module is at time n times ``CYCLE`` after reset, or later if the run has advanced further.
    This is the machine's time if the component ticks in every cycle. The edge that ends a cycle is at the
    beginning of the next.

    Args:
        dut: the module, a cocotb handle.
        interface: its ports.
        prefix: prefix of the ports' names if the module under test is a harness.
        within: cocotb's handle of the module itself, to record its inner wires.

    Bits of ``valid``, ``ready`` and fields of valid tokens that are X or Z are 0 in their word, and in
    ``words.unknown``, which a ``ProtocolChecker`` reads.
    """

    def __init__(
        self,
        dut: Any,  # noqa: ANN401  (cocotb's handles)
        interface: Interface,
        prefix: str = "",
        within: Any = None,  # noqa: ANN401
    ) -> None:
        self.words = Words(interface)
        self._pins = PinReader(dut, interface, self.words.unknown, prefix)
        self._driven = self.words.driven()
        self._inner_wires = {} if within is None else dict(sorted(_wires("", within)))
        self._signals = {name: len(handle) for name, handle in self._inner_wires.items()}
        self._begin = 0  # ps: beginning of the last cycle that ran; 0 for the reset
        resume(self._settle)({"rst": 1, "clk": 0} | self._driven)

    def cycle(self) -> None:
        """Run one clock cycle; see ``Backend``."""
        driven = self.words.driven()
        changed = {name: bits for name, bits in driven.items() if bits != self._driven[name]}
        self._driven = driven
        self.words.show(resume(self._cycle)(changed))

    def idle(self, _cycles: int) -> int:
        """Run one clock cycle; see ``Backend``."""
        self.cycle()
        return 1

    def signals(self) -> Mapping[str, int]:
        """See ``Backend``; memories are omitted, and without ``within`` all wires."""
        return self._signals

    def sample(self) -> Sequence[int]:
        """See ``Backend``; unknown bits are 0."""
        values = [handle.value for handle in self._inner_wires.values()]
        return [int(value) if value.is_resolvable else 0 for value in values]

    async def _cycle(self, changed: Mapping[str, int]) -> dict[str, int]:
        """Run a cycle with these changed inputs; return the bits of the outputs.

        The rising edge at the beginning ends the cycle before. The inputs then settle while the clock is low,
        and the outputs are read.
        """
        self._begin += CYCLE
        # If the simulator's time is already later, the cycle begins at once.
        early = self._begin - get_sim_time("ps")
        if early > 0:
            await Timer(early, "ps")
        await self._settle({"clk": 1})
        await self._settle({**changed, "clk": 0, "rst": 0})
        return self._pins.driven()

    async def _settle(self, inputs: Mapping[str, int]) -> None:
        """Drive inputs, and wait until combinational logic has settled."""
        for name, bits in inputs.items():
            self._pins.handles[name].value = bits
        await Timer(SETTLE, "ps")


def _wires(prefix: str, scope: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401
    """Yield the named wires of a scope and of its inner scopes, by path."""
    for handle in scope:
        if isinstance(handle, HierarchyObject):
            yield from _wires(f"{prefix}{handle._name}.", handle)
        elif is_shown(handle._name) and isinstance(getattr(handle, "value", None), Logic | LogicArray):
            yield prefix + handle._name, handle
