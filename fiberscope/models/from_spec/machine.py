"""A machine from its specification: the blocks of each stage, those behind the cut as often as instances."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from fiberscope.accelerators.composition import PartFactory
from fiberscope.accelerators.layout import Layout
from fiberscope.accelerators.memory import MemoryParameters
from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.fiber_pairs import FiberPairs
from fiberscope.models.from_spec.cascade import CascadeOutputs
from fiberscope.models.from_spec.chains import chains_of
from fiberscope.models.from_spec.composition import MappedComposition
from fiberscope.models.from_spec.lookahead import add_lookaheads
from fiberscope.models.from_spec.memory import MappedMemory
from fiberscope.models.from_spec.rounds import first_round, first_stages
from fiberscope.models.from_spec.settings import MappedParameters
from fiberscope.models.from_spec.stage_blocks import BuiltStage
from fiberscope.models.from_spec.stage_graph import StageGraph, base_name
from fiberscope.models.from_spec.stages import Stage
from fiberscope.models.trace.memory_entries import (
    DRAM_ONLY,
    OTHER_ORDER,
    MemoryEntry,
    least_bytes,
    unmoved_tensors,
)
from fiberscope.models.trace.specification import Component as Unit
from fiberscope.models.trace.specification import Specification
from fiberscope.sim import Kernel
from fiberscope.sim.lookahead import LookaheadKernel
from fiberscope.workloads.fibertree import FiberTree

__all__ = ["MappedMachine"]

NO_BLOCK = "no block moves it"  # as the rows of an output that is added up where instances meet
PARTS = 16  # of the core's clock, of which the clock of a store's banks is a multiple
PICOSECONDS = 10**12  # a second
MEGAHERTZ = 10**6  # the memory's clock is a whole number of these, so that it fits other clocks


class MappedMachine(MappedComposition):
    """The machine of a specification, its operands loaded.

    Args:
        parameters: the parameters of it.
        specification: complete.
        stages: with their graphs, in the order in which they run.
        operands: trees of the inputs, by name.
        name: with which the names of its components begin.
        kernel: what runs it.
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
        several = len(stages) > 1
        self._trees = dict(operands)
        self._ideal = parameters.timing.memory != "modelled"
        chains = [
            {} if self._ideal else chains_of(specification, stage, graph.formatted) for stage, graph in stages
        ]
        self.stores = MappedMemory(self, [chain for each in chains for chain in each.values()])
        self.stages: list[BuiltStage] = []
        for (stage, graph), each in zip(stages, chains, strict=True):
            prefix = f"{graph.name}." if several else ""
            before = self.stages[-1] if self.stages else None
            self.stages.append(BuiltStage(self.stores, stage, graph, each, prefix, before))
        for component in self.kernel.components:
            if isinstance(component, StreamBlock):
                component.value_type = self.value_type
        self.stores.build()
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
        """The output of each Einsum as the instances wrote it."""
        outputs = {stage.graph.einsum.name: stage.output() for stage in self.stages}
        self._trees |= {stage.graph.einsum.output: outputs[stage.graph.einsum.name] for stage in self.stages}
        return CascadeOutputs(self.specification, outputs)

    def operations(self) -> dict[str, int]:
        """Multiplies, additions, steps of intersectors that skip, and elements merged."""
        operations = Counter({"multiply": 0, "add": 0})
        for stage in self.stages:
            operations.update(stage.operations())
        return dict(operations)

    @property
    def cascade_stages(self) -> Sequence[Stage]:
        """Return the stages of the cascade, once where it repeats."""
        stages = [built.stage for built in self.stages]
        return stages if self.specification.iteration is None else first_stages(stages)

    @property
    def tensors(self) -> Mapping[str, Sequence[int]]:
        """Return the names of the tensors that are moved; beyond the last number, all others share a name."""
        return {name: (number,) for name, number in self.stores.tensors.items()}

    @property
    def memory_parameters(self) -> MemoryParameters:
        """Return the memory parameters of the referred machine, or channels for the file's bandwidth."""
        parameters = self.parameters.memory
        names = {name for each in self.specification.configurations.values() for name in each.memories}
        memories = [component for component in self._components() if component.name in names]
        memory = min(memories, key=lambda component: component.kind != "DRAM")
        if memory.kind != "DRAM":
            return self._store_parameters(memory)
        if isinstance(parameters, MemoryParameters):
            return parameters
        asked = int((memory.bandwidth or 8 * parameters.bandwidth) / 8)
        channels = -(-asked // parameters.bandwidth)
        step = MEGAHERTZ * 2 * parameters.width // 8  # bytes a second: two transfers a cycle
        line = self.stores.line
        changed = {
            "bandwidth": max(1, round(asked / channels / step)) * step,
            "interleave": -(-parameters.interleave // line) * line,
        }
        return MemoryParameters(channels=channels, **{**parameters.model_dump(mode="json"), **changed})

    def _store_parameters(self, store: Unit) -> MemoryParameters:
        """Return a store as memory: banks of a line a cycle at most, which answer as those of a cache do."""
        clock, line, width = int(self.kernel.clocks[0].hertz), self.stores.line, self.parameters.memory.width
        asked = int((store.bandwidth or 0) / 8)
        banks = -(-asked // (line * clock))
        step = clock * 2 * width // (8 * PARTS)  # bytes a second of a clock that fits the core's
        changed = {
            "model": "simple",
            "bandwidth": max(1, round(asked / banks / step)) * step,
            "interleave": line,
            "simple_latency": f"{self.parameters.timing.cache_stages * PICOSECONDS // clock} ps",
            "channels": banks,
        }
        return MemoryParameters(**{**self.parameters.memory.model_dump(mode="json"), **changed})

    def layouts(self) -> Sequence[Layout]:
        """Operands, and an area of each output's arrays for each instance."""
        return self.stores.layouts

    def traffic_minimum_bytes(self) -> int:
        """Return the bytes of each operand once and of each result once, whether they are moved or not.

        Results count from ``result`` on, as their sizes are not known before.
        """
        return least_bytes(first_round(self.specification), self._trees)

    def unmoved(self) -> dict[str, str]:
        """Return tensors, and ranks of tensors, that are bound to memory and not moved, with the reason."""
        handed = {stage.stage.einsums[0].output for stage in self.stages if stage.stage.merger}
        orders = {
            (base_name(name), order) for stage in self.stages for name, order in stage.graph.formatted.items()
        }

        def reason(entry: MemoryEntry) -> str:
            if self._ideal:
                return f"timing.memory={self.parameters.timing.memory}"
            if not entry.buffered:
                return DRAM_ONLY
            if self.stores.lays_out(entry.tensor, entry.rank, entry.kind):
                return ""
            if entry.tensor in handed:
                return "a merger hands it over"
            return OTHER_ORDER if (entry.tensor, entry.format.rank_order) not in orders else NO_BLOCK

        return unmoved_tensors(first_round(self.specification), reason)

    def stage_begins(self) -> dict[str, int]:
        """Return the cycle in which each stage begins, by name of its Einsum; empty for a single stage."""
        if len(self.stages) == 1:
            return {}
        statistics = self.kernel.statistics()
        core, walk = self.kernel.clocks[0].hertz, self.walking.hertz
        waits = [
            [statistics[root.name].input_stall.get("after", 0) for root in stage.outside.all_roots()]
            for stage in self.stages
        ]
        begins = [-(-max(cycles, default=0) * core // walk) for cycles in waits]
        return {stage.graph.einsum.name: begin for stage, begin in zip(self.stages, begins, strict=True)}

    def progress(self) -> tuple[int, int]:
        """Tasks that have ended, and those that have been dealt."""
        dealt = sum(stage.cut.dealt for stage in self.stages)
        return dealt - sum(stage.cut.under_way for stage in self.stages), dealt
