"""Backends that run a module cycle by cycle: their protocol, and the simulator of PyRTL."""

from __future__ import annotations

import random
from array import array
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import pyrtl

from fiberscope.hw.rtl.kit.behaviour import Models
from fiberscope.hw.rtl.kit.step_source import StepSource
from fiberscope.hw.rtl.kit.twin import DataRegister, Twin
from fiberscope.hw.rtl.kit.waves import is_shown
from fiberscope.hw.rtl.kit.words import Words

SCOPE = "/"  # PyRTL's separator between an instance and its wires


class Backend(Protocol):
    """A module in a simulator, after reset. ``words`` are the bits at its ports."""

    words: Words

    def cycle(self) -> None:
        """Run one clock cycle.

        ``words.inputs`` are the bits at the module's inputs. ``words.outputs`` become the bits at its outputs
        just before the rising edge that ends the cycle. The backend drives clock and reset.
        """
        ...

    def idle(self, cycles: int) -> int:
        """Run up to ``cycles`` clock cycles, at least 1, with the inputs of the cycle before.

        The backend may stop earlier, after a cycle with changed outputs.

        Returns:
            The number of cycles.
        """
        ...

    def signals(self) -> Mapping[str, int]:
        """Return the inner wires for a waveform, with their bits; none if the module is not recorded.

        The name of a wire in an instance is ``instance.wire``.
        """
        ...

    def sample(self) -> Sequence[int]:
        """Return the bits of the wires of ``signals``, in its order, just before the last rising edge."""
        ...


class BackendObserver:
    """A backend that runs another one, and observes the ports and wires after each cycle.

    A subclass defines ``observe``. ``idle`` runs single cycles, so that no cycle is missed.

    Args:
        backend: the backend to run; both share ``words``.
    """

    def __init__(self, backend: Backend) -> None:
        self.words = backend.words
        self._backend = backend

    def observe(self) -> None:
        """Observe the cycle that has ended."""
        raise NotImplementedError(f"{type(self).__name__} does not define observe")

    def cycle(self) -> None:
        """Run one clock cycle; see ``Backend``."""
        self._backend.cycle()
        self.observe()

    def idle(self, _cycles: int) -> int:
        """Run one cycle; see ``Backend``."""
        self.cycle()
        return 1

    def signals(self) -> Mapping[str, int]:
        """See ``Backend``."""
        return self._backend.signals()

    def sample(self) -> Sequence[int]:
        """See ``Backend``."""
        return self._backend.sample()


class _Simulation:
    """A twin in Python. Inputs are not checked, as words are as wide as their wires.

    A cycle with unchanged inputs, registers and memories is not computed again.

    Args:
        twin: the twin.
        words: bits of its ports; ``words.outputs`` are set in every cycle.
        contents: initial contents of memories; 0 by default.
        held: initial values of registers; by default those after reset.
        seen: names of the wires whose bits ``seen`` has after a cycle.
    """

    def __init__(
        self,
        twin: Twin,
        words: Words,
        contents: Mapping[pyrtl.MemBlock, dict[int, int]],
        held: Mapping[DataRegister, int],
        seen: Sequence[str],
    ) -> None:
        registers = sorted(twin.block.wirevector_subset(pyrtl.Register), key=lambda register: register.name)
        self.places = {register.name: i for i, register in enumerate(registers)}
        self.held = self._following = tuple(held.get(each, each.reset_value or 0) for each in registers)
        self.seen: tuple[int, ...] = ()
        source = StepSource(twin.block, registers, words.layout["input"], words.layout["output"], seen)
        scope: dict[str, Any] = {
            name: memory if isinstance(memory, pyrtl.RomBlock) else contents.get(memory, {})
            for name, memory in source.memories.items()
        }
        exec(compile(source.code, "<step>", "exec"), scope)
        self._step, self._words = scope["step"], words
        self._inputs: tuple[bytes, Mapping[str, int]] | None = None  # no inputs: the first cycle is computed
        self._writes: Sequence[tuple[dict[int, int], int, int]] = ()

    def step(self, driven: Mapping[str, int]) -> None:
        """Run one cycle with these bits at other inputs. ``held`` has the values of registers before it."""
        inputs = self._words.inputs.tobytes(), driven
        if self.is_still() and inputs == self._inputs:
            return
        self._inputs, self.held = inputs, self._following
        self._following, outputs, self.seen, self._writes = self._step(self._words.inputs, self.held, driven)
        # After the step, so that its reads return the words before this cycle.
        for memory, address, value in self._writes:
            memory[address] = value
        self._words.outputs[:] = array("Q", outputs)

    def is_still(self) -> bool:
        """Return whether the last cycle changed no register and no memory."""
        return not self._writes and self._following == self.held


class PyrtlBackend:
    """A backend that runs a twin, and the models within it, in Python.

    Args:
        seed: seed of the initial contents of memories and data registers; None for zeros. A twin that depends
            on these contents differs from its component for some seed.
        watched: whether a waveform shows inner wires.
    """

    def __init__(self, twin: Twin, seed: int | None = None, *, watched: bool = False) -> None:
        contents = {} if seed is None else _draw_contents(twin, random.Random(seed))
        held = {} if seed is None else _draw_register_values(twin, random.Random(seed))
        self._shown = _shown(twin) if watched else {}
        self.words = Words(twin.interface)
        self._models = Models(twin)
        self._seen = [*self._models.seen, *self._shown]
        self._simulation = _Simulation(twin, self.words, contents, held, self._seen)

    def cycle(self) -> None:
        """Run one clock cycle; see ``Backend``."""
        # The outputs of models depend only on their state, so they are known before the logic runs.
        self._simulation.step(self._models.driven_bits())
        if self._models.count:
            self._models.clocked(dict(zip(self._seen, self._simulation.seen, strict=True)))

    def idle(self, cycles: int) -> int:
        """Run one cycle, and all cycles if it changed nothing; see ``Backend``."""
        self.cycle()
        # A model within the twin may act while its inputs are unchanged, so all its cycles are run.
        return cycles if self._simulation.is_still() and not self._models.count else 1

    def signals(self) -> Mapping[str, int]:
        """See ``Backend``."""
        return {name.replace(SCOPE, "."): bits for name, bits in self._shown.items()}

    def sample(self) -> Sequence[int]:
        """See ``Backend``; zeros before the first cycle."""
        # The wires that models read come first, see ``_seen``.
        return self._simulation.seen[len(self._models.seen) :] or [0] * len(self._shown)


def _shown(twin: Twin) -> dict[str, int]:
    """Return the named wires of a twin, sorted by name, with their bits."""
    wires = [wire for wire in twin.block.wirevector_set if is_shown(wire.name.rpartition(SCOPE)[2])]
    return {wire.name: len(wire) for wire in sorted(wires, key=lambda wire: wire.name)}


def _draw_contents(twin: Twin, generator: random.Random) -> dict[pyrtl.MemBlock, dict[int, int]]:
    """Draw random contents for every memory of a twin."""
    # Sorted, since a set of nets has no fixed order, but a seed must always give the same contents.
    reads = sorted(twin.block.logic_subset("m"), key=lambda net: net.op_param[1].name)
    memories = dict.fromkeys(net.op_param[1] for net in reads)
    return {
        memory: {address: generator.getrandbits(memory.bitwidth) for address in range(1 << memory.addrwidth)}
        for memory in memories
    }


def _draw_register_values(twin: Twin, generator: random.Random) -> dict[DataRegister, int]:
    """Draw random values for every register without reset."""
    registers = sorted(twin.block.wirevector_subset(DataRegister), key=lambda register: register.name)
    return {register: generator.getrandbits(len(register)) for register in registers}
