"""A machine from its specification: for each stage the blocks before the cut, its instances and stores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from fiberscope.accelerators.composition import PartFactory
from fiberscope.accelerators.layout import Layout
from fiberscope.accelerators.memory import MemoryParameters
from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.fiber_pairs import FiberPairs
from fiberscope.models.from_spec.cascade import CascadeOutputs
from fiberscope.models.from_spec.chains import build_chains
from fiberscope.models.from_spec.composition import MappedComposition
from fiberscope.models.from_spec.lookahead import add_lookaheads
from fiberscope.models.from_spec.memory import MappedMemory
from fiberscope.models.from_spec.rounds import select_first_round, select_first_stages
from fiberscope.models.from_spec.settings import MappedParameters
from fiberscope.models.from_spec.stage_blocks import BuiltStage
from fiberscope.models.from_spec.stage_graph import StageGraph, strip_primes
from fiberscope.models.from_spec.stages import Stage
from fiberscope.models.trace.memory_entries import (
    DRAM_ONLY,
    OTHER_ORDER,
    MemoryEntry,
    count_least_bytes,
    find_unmoved_tensors,
)
from fiberscope.models.trace.specification import Component as Unit
from fiberscope.models.trace.specification import Specification
from fiberscope.sim import Kernel
from fiberscope.sim.lookahead import LookaheadKernel
from fiberscope.workloads.fibertree import FiberTree

NO_BLOCK = "no block moves it"  # for example the rows of an output that the unit which sums tasks holds
CLOCK_DIVISIONS = 16  # the clock of a store's banks is a multiple of the core's clock divided by this number
PICOSECONDS = 10**12  # picoseconds in a second
MEGAHERTZ = 10**6  # the memory's clock in Hz is a multiple, so that its ratio to other clocks is simple


class MappedMachine(MappedComposition):
    """The machine of a specification, with loaded operands.

    Args:
        parameters: the parameters of the machine.
        specification: a complete specification, with the Einsums of all rounds.
        stages: the stages with their graphs, in the order in which they run.
        operands: fibertrees of the inputs, by name.
        name: first part of the names of the machine's components.
        parts: replacements of entries of ``PARTS``, by name.
        kernel: kernel that runs the machine; by default a new ``LookaheadKernel``.

    Attributes:
        stores: the memory system; without any chain, if ``timing.memory`` is not ``modelled``.
        stages: the blocks of each stage, in the order in which the stages run.
    """

    def __init__(
        self,
        parameters: MappedParameters,
        specification: Specification,
        stages: Sequence[tuple[Stage, StageGraph]],
        operands: Mapping[str, FiberTree],
        name: str,
        *,
        parts: Mapping[str, PartFactory] | None = None,
        kernel: Kernel | None = None,
    ) -> None:
        super().__init__(parameters, specification, [stage for stage, _graph in stages], name, parts, kernel)
        has_several = len(stages) > 1
        self._trees = dict(operands)
        # both ``ideal`` and ``registered`` have no memory system
        self._ideal = parameters.timing.memory != "modelled"
        chains = [
            {} if self._ideal else build_chains(specification, stage, graph.formatted)
            for stage, graph in stages
        ]
        self.stores = MappedMemory(self, [chain for by_key in chains for chain in by_key.values()])
        self.stages: list[BuiltStage] = []
        for (stage, graph), stage_chains in zip(stages, chains, strict=True):
            prefix = f"{graph.name}." if has_several else ""
            previous = self.stages[-1] if self.stages else None
            self.stages.append(BuiltStage(self.stores, stage, graph, stage_chains, prefix, previous))
        for component in self.kernel.components:
            if isinstance(component, StreamBlock):
                component.value_type = self.value_type
        self.stores.build()  # after all stages, which have registered their requests
        # a replaced part may be of a class that cannot run ahead of the clock
        if isinstance(self.kernel, LookaheadKernel) and not parts:
            leaves = [leaf for stage in self.stages for leaf in stage.leaves]
            blocks = [block for leaf in leaves for block in leaf.blocks.values()]
            add_lookaheads(
                self.kernel,
                [merge for leaf in leaves for merge in leaf.merges],
                [block for block in blocks if isinstance(block, FiberPairs)],
            )
        self.build()

    def result(self) -> CascadeOutputs:
        """Return the output of each Einsum whose output a stage writes; call this method after the run.

        From then on, ``traffic_minimum_bytes`` counts the results too.
        """
        outputs = {stage.graph.einsum.name: stage.output() for stage in self.stages}
        # a later round overwrites the result of an earlier one
        self._trees |= {stage.graph.einsum.output: outputs[stage.graph.einsum.name] for stage in self.stages}
        return CascadeOutputs(self.specification, outputs)

    def operations(self) -> dict[str, int]:
        """Return the number of operations by kind, such as ``multiply``, ``add`` and ``merge``."""
        operations = Counter({"multiply": 0, "add": 0})  # in the report even if no block multiplies or adds
        for stage in self.stages:
            operations.update(stage.operations())
        return dict(operations)

    @property
    def cascade_stages(self) -> Sequence[Stage]:
        """Return the stages of the cascade; if the cascade repeats, the stages of its first round."""
        stages = [blocks.stage for blocks in self.stages]
        return stages if self.specification.iteration is None else select_first_stages(stages)

    @property
    def tensors(self) -> Mapping[str, Sequence[int]]:
        """Return the names of the tensors that are moved, with their numbers.

        All tensors beyond the largest number share that number.
        """
        return {name: (number,) for name, number in self.stores.tensors.items()}

    @property
    def memory_parameters(self) -> MemoryParameters:
        """Return the parameters of the memory.

        A DRAM has the parameters of the machine to which the specification refers, or else channels for the
        bandwidth in the file. Without a DRAM, the store in the place of memory determines them.
        """
        parameters = self.parameters.memory
        configurations = self.specification.configurations.values()
        names = {name for configuration in configurations for name in configuration.memories}
        memories = [component for component in self._components() if component.name in names]
        memory = min(memories, key=lambda component: component.kind != "DRAM")  # a DRAM if there is one
        if memory.kind != "DRAM":
            return self._store_parameters(memory)
        if isinstance(parameters, MemoryParameters):
            return parameters
        # bits per second in the file, bytes per second in the parameters
        bandwidth = max(1, int((memory.bandwidth or 8 * parameters.bandwidth) / 8))
        channels = -(-bandwidth // parameters.bandwidth)
        step = MEGAHERTZ * 2 * parameters.width // 8  # bytes per second: two transfers per cycle
        line = self.stores.line
        settings = {
            "bandwidth": max(1, round(bandwidth / channels / step)) * step,
            "interleave": -(-parameters.interleave // line) * line,
        }
        return MemoryParameters(channels=channels, **{**parameters.model_dump(mode="json"), **settings})

    def _store_parameters(self, store: Unit) -> MemoryParameters:
        """Return the parameters of a store in place of memory.

        Its banks transfer at most a line per cycle, and have the latency of a cache bank.
        """
        clock, line, width = int(self.kernel.clocks[0].hertz), self.stores.line, self.parameters.memory.width
        bandwidth = max(1, int((store.bandwidth or 0) / 8))
        banks = -(-bandwidth // (line * clock))
        step = clock * 2 * width // (8 * CLOCK_DIVISIONS)  # bytes per second at the smallest clock
        settings = {
            "model": "simple",
            "bandwidth": max(1, round(bandwidth / banks / step)) * step,
            "interleave": line,
            "simple_latency": f"{self.parameters.timing.cache_stages * PICOSECONDS // clock} ps",
            "channels": banks,
        }
        return MemoryParameters(**{**self.parameters.memory.model_dump(mode="json"), **settings})

    def layouts(self) -> Sequence[Layout]:
        """Return the memory layout of the operands and of the arrays of the outputs."""
        return self.stores.layouts

    def traffic_minimum_bytes(self) -> int:
        """Return the bytes to move each operand and each result once, including tensors that are not moved.

        Results count only after a call of ``result``: their sizes are unknown before. Tensors that are bound
        to no memory count 0.
        """
        return count_least_bytes(select_first_round(self.specification), self._trees)

    def unmoved(self) -> dict[str, str]:
        """Return the tensors and parts of tensors that are not moved, each with the reason.

        Each is bound to memory and not moved, or is an input or a result that is bound to no memory.
        """
        handed = {stage.stage.einsums[0].output for stage in self.stages if stage.stage.merger}
        orders = {
            (strip_primes(name), order)
            for stage in self.stages
            for name, order in stage.graph.formatted.items()
        }

        def reason(entry: MemoryEntry) -> str:
            if self._ideal:
                return f"timing.memory={self.parameters.timing.memory}"
            if not entry.is_buffered:
                return DRAM_ONLY
            if self.stores.has_array(entry.tensor, entry.rank, entry.kind):
                return ""
            if entry.tensor in handed:
                return "a merger hands it over"
            return OTHER_ORDER if (entry.tensor, entry.format.rank_order) not in orders else NO_BLOCK

        return find_unmoved_tensors(select_first_round(self.specification), reason)

    def stage_begins(self) -> dict[str, int]:
        """Return the cycle of the core in which each stage begins, by name of its Einsum.

        The mapping is empty for a single stage. Call this method after the run.
        """
        if len(self.stages) == 1:
            return {}
        statistics = self.kernel.statistics()
        core, walk = self.kernel.clocks[0].hertz, self.outer_clock.hertz
        # a root of a later stage stalls at its input ``after`` from cycle 0 to the end of the stage before; a
        # root of the first stage has no such input
        waits = [
            [statistics[root.name].input_stall.get("after", 0) for root in stage.outer_blocks.find_roots()]
            for stage in self.stages
        ]
        # from cycles of the blocks before the cut to cycles of the core, rounded up
        starts = [-(-max(cycles, default=0) * core // walk) for cycles in waits]
        return {stage.graph.einsum.name: start for stage, start in zip(self.stages, starts, strict=True)}

    def progress(self) -> tuple[int, int]:
        """Return the number of tasks that have ended, and the number of dispatched tasks."""
        dispatched = sum(stage.cut.dealt for stage in self.stages)
        return dispatched - sum(stage.cut.under_way for stage in self.stages), dispatched
