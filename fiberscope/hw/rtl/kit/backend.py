"""Backends that run a module, cycle by cycle: their interface, and PyRTL's own simulation."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Protocol

import pyrtl

from fiberscope.hw.rtl.kit.behaviour import Models
from fiberscope.hw.rtl.kit.twin import DataRegister, Twin, taken_as_checked
from fiberscope.hw.rtl.kit.waves import is_shown
from fiberscope.hw.rtl.kit.words import Words

SCOPE = "/"  # of PyRTL, between an instance and what is within


class Backend(Protocol):
    """A module in a simulator, freshly reset.

    ``words`` are its ports.
    """

    words: Words

    def cycle(self) -> None:
        """Run one clock cycle.

        ``words.inputs`` are the bits at the module's inputs, ``words.outputs`` become those at its outputs,
        as they are just before the rising edge that ends the cycle. Clock and reset are the backend's.
        """
        ...

    def idle(self, cycles: int) -> int:
        """Run as many clock cycles, at least 1, with the inputs of the cycle before.

        It may come back sooner, behind a cycle whose outputs are not those of the one before it.

        Returns:
            How many it ran.
        """
        ...

    def signals(self) -> Mapping[str, int]:
        """The wires within the module that a waveform shows, and their bits; none if it is not watched.

        One in an instance is called ``instance.wire``.
        """
        ...

    def sample(self) -> Sequence[int]:
        """The bits of these wires, just before the rising edge that ends the cycle run last."""
        ...


class _Watch:
    """Trace for PyRTL's simulation that keeps only the requested wires of a single cycle."""

    def __init__(self, wires: Sequence[str]) -> None:
        self.trace = wires

    def _set_initial_values(self, *_values: object) -> None:
        """The simulation begins."""


class _Simulation(pyrtl.FastSimulation):  # type: ignore[misc]  # PyRTL has no types
    """PyRTL's, without a check of every input in every cycle: words are as wide as their wires.

    A cycle before which nothing has changed is not worked out again. ``context`` are the wires of the last.
    """

    regs: dict[str, int]
    _writes: Sequence[tuple[str, int, int]] = ()
    _before: Mapping[str, int] | None = None

    def step(self, inputs: Mapping[str, int]) -> None:
        """Run one cycle with these bits at all inputs."""
        before = {**inputs, **self.regs}
        if before == self._before and not self._writes:
            return
        self._before = before
        self.regs, outputs, self._writes = self.sim_func(before | self.mems)
        for memory, address, value in self._writes:
            self.mems[memory][address] = value
        self.context = before | outputs


class PyrtlBackend:
    """Runs a twin in PyRTL's ``FastSimulation``, which needs no HDL simulator, and the models within it.

    Args:
        twin: what to run.
        seed: of what memories and data registers hold before they are written; None for zeros. A twin that
            relies on that differs from its component for some seed, as it would in hardware.
        watched: whether a waveform is to show what is within.
    """

    def __init__(self, twin: Twin, seed: int | None = None, *, watched: bool = False) -> None:
        contents = {} if seed is None else _drawn(twin, random.Random(seed))
        held = {} if seed is None else _drawn_registers(twin, random.Random(seed))
        self._shown = _shown(twin) if watched else {}
        watch = _Watch(list(self._shown)) if watched else None
        with pyrtl.set_working_block(twin.block, no_sanity_check=True), taken_as_checked(twin.block):
            self._simulation = _Simulation(held, memory_value_map=contents, tracer=watch, block=twin.block)
        self.words = Words(twin.interface)
        self._models = Models(twin)
        self._outputs = list(self.words.seen())

    def cycle(self) -> None:
        """Run one clock cycle; see ``Backend``."""
        self._simulation.step(self.words.driven() | self._models.driven_bits())
        self._models.clocked(self._simulation.inspect)
        seen = self._simulation.context
        self.words.show({name: seen[name] for name in self._outputs})

    def idle(self, _cycles: int) -> int:
        """Run one cycle; see ``Backend``."""
        self.cycle()
        return 1

    def signals(self) -> Mapping[str, int]:
        """See ``Backend``."""
        return {name.replace(SCOPE, "."): bits for name, bits in self._shown.items()}

    def sample(self) -> Sequence[int]:
        """See ``Backend``; zeros before the first cycle."""
        context = getattr(self._simulation, "context", {})
        return [context.get(name, 0) for name in self._shown]


def _shown(twin: Twin) -> dict[str, int]:
    """The named wires of a twin, sorted by name, and their bits."""
    wires = [wire for wire in twin.block.wirevector_set if is_shown(wire.name.rpartition(SCOPE)[2])]
    return {wire.name: len(wire) for wire in sorted(wires, key=lambda wire: wire.name)}


def _drawn(twin: Twin, generator: random.Random) -> dict[pyrtl.MemBlock, dict[int, int]]:
    """Random contents for every memory of a twin."""
    reads = sorted(twin.block.logic_subset("m"), key=lambda net: net.op_param[1].name)
    memories = dict.fromkeys(net.op_param[1] for net in reads)
    return {
        memory: {address: generator.getrandbits(memory.bitwidth) for address in range(1 << memory.addrwidth)}
        for memory in memories
    }


def _drawn_registers(twin: Twin, generator: random.Random) -> dict[DataRegister, int]:
    """Random contents for every register that the reset leaves as it is."""
    registers = sorted(twin.block.wirevector_subset(DataRegister), key=lambda register: register.name)
    return {register: generator.getrandbits(len(register)) for register in registers}
