"""A machine from its specification: the blocks of each stage, those behind the cut as often as instances."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, TypeAlias, cast

import numpy as np

from fiberscope.accelerators.composition import Composition, PartFactory
from fiberscope.accelerators.layout import Layout, Role
from fiberscope.accelerators.memory import MemoryParameters
from fiberscope.hw.fibers.arrays import integers_of
from fiberscope.hw.fibers.merge import HighRadixMerger
from fiberscope.hw.memory.cache import FiberCacheBank
from fiberscope.hw.streams.alu import Alu
from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.cut import Cut, TaskEnd
from fiberscope.hw.streams.droppers import StopDropper
from fiberscope.hw.streams.join import Intersect
from fiberscope.hw.streams.run_sum import RunSum
from fiberscope.hw.streams.task_sum import TaskSum
from fiberscope.models.graphs.blocks import CARRIES, Context
from fiberscope.models.graphs.levels.compressed import CompressedLevel
from fiberscope.models.graphs.machine import segments_of
from fiberscope.models.graphs.netlist import Node, Stream
from fiberscope.models.graphs.storage import elements_of
from fiberscope.models.mapped.cascade import Made
from fiberscope.models.mapped.chains import Chains, chains_of
from fiberscope.models.mapped.leaf import Leaf
from fiberscope.models.mapped.lowering import Lowered
from fiberscope.models.mapped.memory import MappedMemory, StageMemory
from fiberscope.models.mapped.settings import MappedParameters
from fiberscope.models.mapped.stages import Stage
from fiberscope.models.trace.specification import Component as Unit
from fiberscope.models.trace.specification import Specification
from fiberscope.sim import Component, Kernel
from fiberscope.sim.names import numbered
from fiberscope.workloads.canonical import Integers, Values
from fiberscope.workloads.fibertree import FiberTree

__all__ = ["MappedMachine"]

MEGAHERTZ = 10**6  # the memory's clock is a whole number of these, so that it fits other clocks
Part: TypeAlias = tuple[Mapping[str, Integers], Values]  # of an output: coordinates by loop, and values


class MappedMachine(Composition[MappedParameters]):  # type: ignore[type-var] # its memory may say no channels
    """The machine of a specification, its operands loaded.

    Args:
        parameters: of it.
        specification: complete.
        stages: with their graphs, in the order in which they run.
        name: with which the names of its components begin.
        kernel: what runs it.
    """

    PARTS: ClassVar[Mapping[str, PartFactory]] = {
        **Composition.PARTS,
        "alu": Alu,
        "bank": FiberCacheBank,
        "intersect": Intersect,
        "merger": HighRadixMerger,
        "runsum": RunSum,
    }

    def __init__(
        self,
        parameters: MappedParameters,
        specification: Specification,
        stages: Sequence[tuple[Stage, Lowered]],
        name: str,
        *,
        parts: Mapping[str, PartFactory] | None = None,
        kernel: Kernel | None = None,
    ) -> None:
        self.NAME = name  # type: ignore[misc] # it is a machine of its own
        super().__init__(parameters, parts, kernel)
        self.specification = specification
        several = len(stages) > 1
        ideal = parameters.timing.memory == "ideal"
        chains = [{} if ideal else chains_of(specification, stage, graph.orders) for stage, graph in stages]
        self.instances = max(stage.instances for stage, _graph in stages)
        self.stores = MappedMemory(self, [chain for each in chains for chain in each.values()])
        self.stages: list[BuiltStage] = []
        for (stage, graph), each in zip(stages, chains, strict=True):
            prefix = f"{graph.name}." if several else ""
            before = self.stages[-1] if self.stages else None
            self.stages.append(BuiltStage(self, stage, graph, each, prefix, before))
        self.stores.build()
        self.build()

    def result(self) -> Made:
        """The outputs as the instances wrote them."""
        return Made(self.specification, {one.graph.einsum.output: one.output() for one in self.stages})

    def operations(self) -> dict[str, int]:
        """Multiplies, additions and elements merged."""
        found = Counter({"multiply": 0, "add": 0})
        for stage in self.stages:
            found.update(stage.operations())
        return dict(found)

    @property
    def tensors(self) -> Mapping[str, Sequence[int]]:
        """Those that are moved; of more than there are numbers, the last is all others."""
        return {name: (number,) for name, number in self.stores.tensors.items()}

    @property
    def memory_parameters(self) -> MemoryParameters:
        """Those of the machine that the file refers to, or channels for the file's bandwidth."""
        given = self.parameters.memory
        if isinstance(given, MemoryParameters):
            return given
        memory = next(one for one in self._components() if one.kind == "DRAM")
        asked = int((memory.bandwidth or 8 * given.bandwidth) / 8)
        channels = -(-asked // given.bandwidth)
        step = MEGAHERTZ * 2 * given.width // 8  # bytes a second: two transfers a cycle
        line = self.stores.line
        changed = {
            "bandwidth": max(1, round(asked / channels / step)) * step,
            "interleave": -(-given.interleave // line) * line,
        }
        return MemoryParameters(channels=channels, **{**given.model_dump(mode="json"), **changed})

    def part(self, name: str, unit: str) -> str:
        """The part that a component is: one for it alone, if none stands in for all of its kind."""
        return unit if unit in self.parts and self.parts[name] is self.PARTS[name] else name

    def component(self, name: str) -> Unit:
        """One of the architecture's by its name."""
        return next(one for one in self._components() if one.name == name)

    def _components(self) -> Iterator[Unit]:
        for stage in self.stages:
            config = stage.stage.einsums[0].bindings.config
            yield from self.specification.configurations[config].components.values()

    def layouts(self) -> Sequence[Layout]:
        """Operands, and an area of each output's arrays for each instance."""
        return self.stores.layouts

    def traffic_minimum_bytes(self) -> int:
        """The arrays of the operands, each once; what is written is known when it has been."""
        return sum(one.size for one in self.stores.layouts if one.role is Role.OPERAND)

    def progress(self) -> tuple[int, int]:
        """Tasks that have ended, and those that have been dealt."""
        dealt = sum(stage.cut.dealt for stage in self.stages)
        return dealt - sum(stage.cut.under_way for stage in self.stages), dealt


class BuiltStage:
    """A stage in a machine's kernel.

    Args:
        machine: that it is of.
        stage: what runs.
        graph: as blocks.
        chains: of what it moves.
        prefix: of the names of its components.
        before: the stage that must have ended.
    """

    def __init__(
        self,
        machine: MappedMachine,
        stage: Stage,
        graph: Lowered,
        chains: Chains,
        prefix: str,
        before: BuiltStage | None,
    ) -> None:
        self.machine, self.stage, self.graph = machine, stage, graph
        context = Context(graph.graph, graph.tensors, 0)
        self.memory = StageMemory(machine.stores, stage, graph, chains, context.nests)
        nodes = graph.graph.nodes.values()
        outside = [
            node for node in nodes if node.name not in graph.leaf and node not in (graph.cut, graph.sums)
        ]
        self.outside = Leaf(machine, f"{prefix}outer.", 0, outside, self.memory, context)
        names = numbered(f"{prefix}{stage.level}", stage.instances)
        inside = [node for node in nodes if node.name in graph.leaf]
        self.leaves = [
            Leaf(machine, f"{name}.", number, inside, self.memory, context)
            for number, name in enumerate(names)
        ]
        self.cut = self._add_cut(prefix)
        self.sums = self._add_sums(prefix) if graph.sums else None
        self._connect()
        if before is not None:
            self._follow(before)

    def _add_cut(self, prefix: str) -> Cut:
        crossings = self.graph.crossings
        return self.machine.add(
            Cut,
            f"{prefix}cut",
            self.stage.instances,
            [CARRIES[one.kind] for one in crossings],
            tasks=self.machine.parameters.timing.tasks,
            required=[None if one.segments is None else integers_of(one.segments) for one in crossings],
            static=self.machine.parameters.timing.dispatch == "static",
        )

    def _add_sums(self, prefix: str) -> TaskSum:
        """What adds tasks up; which instance has each of them it is told by the cut."""
        graph, crossings = self.graph.graph, self.graph.crossings
        outer = [self.cut.elements[place] for place, one in enumerate(crossings) if one.loop]
        name = f"{prefix}{self.graph.names[self._output.name]}"
        ways, level = graph.arity(self._output), self._last_level()
        sums = self.machine.add(TaskSum, name, self.stage.instances, ways, level, outer)
        connect, capacity = self.machine.kernel.connect, self.machine.parameters.timing.capacity
        connect(self.cut, "turns", sums, "turns", capacity=None)
        for place, writer in enumerate(self.memory.sum_writers(name)):
            connect(sums, f"out_element[{place}]", writer, "in_stream", capacity=capacity)
        return sums

    @property
    def _output(self) -> Node:
        """Where the values of the output go."""
        graph = self.graph
        return graph.sums or next(node for node in graph.graph.nodes.values() if node.writes_values)

    @property
    def _last(self) -> Stream:
        """The stream of these values."""
        stream = self.graph.graph.feeding(self._output, "val")
        assert stream is not None  # a graph that was lowered has no open ports
        return stream

    def _last_level(self) -> int:
        """Of the stop that ends a task in it."""
        nest = self.outside.context.nests[self._last.source, self._last.output]
        return max(0, len(nest) - 1)

    def _follow(self, before: BuiltStage) -> None:
        """Begin when all that a stage writes is written."""
        last = before.sums or before.cut
        for place, root in enumerate(self.outside.all_roots()):
            self.machine.kernel.connect(last, f"out_over[{place}]", root, "after", capacity=None)

    def _connect(self) -> None:
        graph, connect, cut = self.graph.graph, self.machine.kernel.connect, self.graph.cut
        streams = graph.streams
        self.outside.connect(streams)
        for stream in graph.streams_into(cut):
            source = graph.nodes[stream.source]
            number = stream.input[len("in") :]
            end = self.outside.output(source, stream.output)
            connect(*end, self.cut, f"in_stream{number}", capacity=self.machine.parameters.timing.capacity)
        for place, leaf in enumerate(self.leaves):
            leaf.connect(streams)
            self._deal(place, leaf)
            self._end(place, leaf)

    def _deal(self, place: int, leaf: Leaf) -> None:
        """What is dealt to an instance; it holds as many tasks as the cut lets it have."""
        graph, used = self.graph.graph, Counter[int]()
        for stream in graph.streams_from(self.graph.cut):
            if stream.target in leaf.nodes:
                number = int(stream.output[len("out[") : -1])
                port = f"out_{number}_{place}[{used[number]}]"
                used[number] += 1
                target = leaf.input(leaf.nodes[stream.target], stream.input)
                self.machine.kernel.connect(self.cut, port, *target, capacity=None)
        for number, crossing in enumerate(self.graph.crossings if self.sums is None else ()):
            for writer in self.memory.task_writers(leaf.name, place, crossing.loop) if crossing.loop else ():
                port = f"out_{number}_{place}[{used[number]}]"
                self.machine.kernel.connect(self.cut, port, writer, "in_stream", capacity=None)

    def _end(self, place: int, leaf: Leaf) -> None:
        """What tells the cut that a task of an instance has ended: the stop behind its last value."""
        graph, connect = self.graph.graph, self.machine.kernel.connect
        ends = self.machine.add(TaskEnd, f"{leaf.name}task_end", self._last_level())
        source = leaf.output(leaf.nodes[self._last.source], self._last.output)
        connect(*source, ends, "in_stream", capacity=None)
        connect(ends, "ended", self.cut, f"ended[{place}]", capacity=None)
        if self.sums is not None:
            for stream in graph.streams_into(self._output):
                port = stream.input.removeprefix("crd[").removesuffix("]")
                end = leaf.output(leaf.nodes[stream.source], stream.output)
                points = self.machine.add(
                    StopDropper, f"{leaf.name}{port}_points", CARRIES[stream.kind], kept=self._last_level()
                )
                connect(*end, points, "in_stream", capacity=self.machine.parameters.timing.capacity)
                waiting = self.machine.parameters.timing.partials
                connect(points, "out_stream[0]", self.sums, f"in_{port}_{place}", capacity=waiting)

    def operations(self) -> dict[str, int]:
        """Of the blocks of all its instances."""
        found = Counter[str]()
        for leaf in (self.outside, *self.leaves):
            for name, block in leaf.blocks.items():
                _count(found, leaf.nodes[name], block.counters(), block)
        if self.sums is not None:
            found["add"] += self.sums.additions
        return dict(found)

    def output(self) -> FiberTree:
        """What the instances wrote, put together by the coordinates of their tasks."""
        parts = self._written() if self.sums is None else self._added()
        mapped, specification = self.graph.mapped, self.machine.specification
        ranks = [index.rank for index in mapped.equation.output.indices]
        declared = specification.tensors[self.graph.einsum.output].ranks
        shape = {name: mapped.shape(str(rank)) for name, rank in zip(declared, ranks, strict=True)}
        loops = [mapped.lowest(str(rank)) for rank in ranks]
        columns = [_joined([columns[loop] for columns, _values in parts]) for loop in loops]
        values = np.concatenate([values for _columns, values in parts]) if parts else np.zeros(0)
        if not shape:
            return FiberTree((), (), (), values if len(values) else np.zeros(1))
        return FiberTree.from_coo(shape, columns, values)

    def _written(self) -> list[Part]:
        """Coordinates by loop and values of each instance's writers."""
        owners = np.array(self.cut.owner.integers(), np.int64)
        outer = {
            one.loop: np.array(self.cut.elements[place].integers(), np.int64)
            for place, one in enumerate(self.graph.crossings)
            if one.loop
        }
        found = []
        for place, leaf in enumerate(self.leaves):
            own = owners == place
            if own.any():
                columns = {loop: column[own] for loop, column in outer.items()}
                found.append(_written(leaf, int(own.sum()), columns, self.graph.loops))
        return found

    def _added(self) -> list[Part]:
        """The same of the sums over all tasks."""
        assert self.sums is not None  # it is asked for where there are such
        loops = [one.loop for one in self.graph.crossings if one.loop]
        loops += self.graph.loops
        points = np.array(list(self.sums.sums), np.int64).reshape(len(self.sums.sums), len(loops))
        columns = dict(zip(loops, points.T, strict=True))
        return [(columns, np.array(list(self.sums.sums.values())))]


def _written(leaf: Leaf, tasks: int, outer: Mapping[str, Integers], loops: Sequence[str]) -> Part:
    """What one instance wrote in so many tasks: coordinates by loop, and values."""
    writers = [node for node in leaf.nodes.values() if node.primitive.writes]
    levels: list[CompressedLevel] = [
        CompressedLevel(np.array([0, tasks]), np.arange(tasks)),
        CompressedLevel(np.arange(tasks + 1), np.zeros(tasks, np.int64)),
    ]
    by_loop = {node["index"]: leaf.blocks[node.name] for node in writers if not node.writes_values}
    for loop in loops:
        block = cast(StreamBlock, by_loop[loop])
        coordinates = np.array(block.coordinates, np.int64)  # type: ignore[attr-defined]
        levels.append(CompressedLevel(segments_of(block, levels), coordinates))
    columns, _positions = elements_of(levels)
    values = next(leaf.blocks[node.name] for node in writers if node.writes_values)
    task = columns[0]
    found = {loop: column[task] for loop, column in outer.items()}
    found |= dict(zip(loops, columns[2:], strict=True))
    return found, np.array(values.values, np.float64)  # type: ignore[attr-defined]


def _joined(columns: Sequence[Integers]) -> Integers:
    return np.concatenate(columns) if columns else np.zeros(0, np.int64)


def _count(found: Counter[str], node: Node, counters: Mapping[str, int], block: Component) -> None:
    """Add what a block did to the operations."""
    if "operations" in counters:
        found[node.primitive.counted] += counters["operations"]
    if "reductions" in counters:
        found["add"] += counters["reductions"] - block.missing - block.filled  # type: ignore[attr-defined]
    if "points" in counters and "elements" in counters:
        found["add"] += counters["points"] - counters["elements"]
    if "additions" in counters:
        found["add"] += counters["additions"]
    if "merged" in counters and "lists" in counters:
        found["merge"] += counters["merged"]
