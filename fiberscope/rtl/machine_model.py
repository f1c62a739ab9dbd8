"""The event model of a whole machine behind memory pins, for a user's cocotb bench (``DUT=gamma``).

The pins are the ports of an HDL module at which the bench serves the machine's memory requests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any, cast

from fiberscope.accelerators.configuration import Configuration, parse_settings
from fiberscope.accelerators.machine import EVENT, Machine
from fiberscope.accelerators.problem_settings import configure
from fiberscope.base.progress import ignore_progress
from fiberscope.hw.rtl.kit.interface import Interface
from fiberscope.hw.rtl.kit.memory_pins import DONE, MemoryPins, memory_interface
from fiberscope.run.find_machine import find
from fiberscope.sim import Component, Kernel
from fiberscope.sim.deadlock import describe_blocked
from fiberscope.workloads import Problem


def machine_interface(accelerator: str, settings: Sequence[str]) -> Interface:
    """Return the ports of an accelerator with these settings, independent of its operands.

    Raises:
        ConfigurationError: an invalid setting.
    """
    configured, _maker = _configured(accelerator, settings)
    return _interface(accelerator, configured)


def check_operand(accelerator: str, settings: Sequence[str], a: str) -> None:
    """Check that an accelerator accepts a matrix.

    Args:
        accelerator: name of the accelerator.
        settings: its parameters, ``key=value``.
        a: the matrix, which is multiplied by itself.

    Raises:
        ConfigurationError, WorkloadError: an invalid setting or matrix.
    """
    _configured(accelerator, settings)[1].load(a, None, exact=False, progress=ignore_progress)


def _interface(accelerator: str, configured: Configuration) -> Interface:
    return memory_interface(accelerator, cast(Any, configured).memory.channels)


def _configured(accelerator: str, settings: Sequence[str]) -> tuple[Configuration, Any]:
    return configure(find(accelerator), None, parse_settings(settings))


class MachineModel:
    """A machine in cycles of its memory's clock.

    For each cycle, call ``outputs`` to read the machine's outputs, then ``clock`` with all wires' values.

    The machine starts after reset. No component sleeps, so that every cycle at the pins is a cycle of the
    machine.

    Args:
        accelerator: name of the accelerator.
        settings: its parameters, ``key=value``.
        a: the matrix, which is multiplied by itself.

    Raises:
        ConfigurationError, WorkloadError: an invalid setting or matrix.
    """

    def __init__(self, accelerator: str, settings: Sequence[str], a: str) -> None:
        descriptor = find(accelerator)
        configured, maker = _configured(accelerator, settings)
        self.problem: Problem = maker.load(a, None, exact=False, progress=ignore_progress)
        interface = _interface(accelerator, configured)
        channels = len(interface.streams) // 2  # all streams of requests come before those of replies
        requests, replies = interface.streams[:channels], interface.streams[channels:]
        numbers = count()  # the machine creates its memory channels in the order of their ports

        def pins(name: str, *_arguments: object) -> Component:
            channel = next(numbers)
            return MemoryPins(name, requests[channel], replies[channel])

        make = partial(descriptor.models[EVENT], parts={"memory": pins}, kernel=Kernel(sleep=False))
        self._machine = cast(Machine, make(configured, *self.problem.machine_inputs()))
        self.problem.precision = getattr(self._machine, "value_type", None)
        self._kernel = self._machine.kernel
        components = self._kernel.components
        self._pins = [unit for unit in components if isinstance(unit, MemoryPins)]
        self._other_components = [unit for unit in components if not isinstance(unit, MemoryPins)]
        self._has_ended = False

    def outputs(self) -> dict[str, int]:
        """Return the bits of every output in the next cycle; ``done`` stays high once the machine is done."""
        bits = {DONE: int(self._has_ended)}
        for pins in self._pins:
            bits.update(pins.outputs())
        return bits

    def clock(self, wires: Mapping[str, int]) -> None:
        """Simulate a cycle with these values of all wires."""
        for pins in self._pins:
            pins.move(wires)
        cycle = self._pins[0].cycle
        # a step of the kernel may be of another clock: step until the pins have had their cycle
        while self._pins[0].cycle == cycle and self._kernel.step():
            pass
        self._has_ended = self._has_ended or self._is_done()

    def _is_done(self) -> bool:
        """Return whether all work is done and no token is in flight."""
        done, total = self._machine.progress()
        if done < total or any(pins.offered or pins.waiting_replies for pins in self._pins):
            return False
        wiring = self._kernel.wiring
        return not any(next(iter(describe_blocked(unit, wiring)), "") for unit in self._other_components)

    def fault(self) -> str | None:
        """Describe the fault of the machine's answer; None if the answer is right.

        Before ``done`` has been high, the fault is that the machine has not ended.
        """
        if not self._has_ended:
            return "the machine has not come to its end"
        comparison = self.problem.check(self._machine.result())
        return None if comparison.passed else f"the machine's {self.problem.answer} is wrong"
