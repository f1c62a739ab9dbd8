"""The blocks of one instance of a mapped machine, and the channels between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias, cast

from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.hw.fibers.arrays import integers_of
from fiberscope.hw.fibers.merge import RADIX, HighRadixMerger
from fiberscope.hw.fibers.sorted_head import SortedHeadUnit
from fiberscope.hw.streams.droppers import StopDropper
from fiberscope.hw.streams.fiber_heads import FiberHeads, HeadPoints
from fiberscope.hw.streams.lanes import Lanes
from fiberscope.hw.streams.merge_lists import Lists
from fiberscope.hw.streams.merged_points import MergedPoints
from fiberscope.hw.streams.merged_sums import Either, FiberSums, PointsAndSums
from fiberscope.hw.streams.root import Root
from fiberscope.hw.streams.tensor_reduce import TensorReduce
from fiberscope.hw.streams.tokens import CRD, VAL
from fiberscope.hw.streams.ways import FiberWays
from fiberscope.models.from_spec.arithmetic import STANDARD_SUM
from fiberscope.models.from_spec.lookahead import Merge
from fiberscope.models.from_spec.settings import Timing
from fiberscope.models.from_spec.stage_memory import StageMemory
from fiberscope.models.from_spec.units import PART_OF, find_unit
from fiberscope.models.graphs.blocks import Context
from fiberscope.models.graphs.levels.compressed import CompressedLevel
from fiberscope.models.graphs.nests import accumulated_variables
from fiberscope.models.graphs.netlist import Node, Stream
from fiberscope.models.graphs.primitives.tasks import LANE_SEEK, LOCATED
from fiberscope.sim import Component
from fiberscope.sim.clock import Clock

if TYPE_CHECKING:
    from fiberscope.models.from_spec.composition import MappedComposition

PortOf: TypeAlias = tuple[Component, str]  # a component and one of its ports


class InstanceBlocks:
    """The blocks of one instance of a stage, or the blocks before the cut.

    The constructor adds the blocks to the machine. ``connect`` then adds the channels between them, and the
    stage connects their other ports with ``find_input`` and ``take_output``.

    Args:
        machine: the machine to which the blocks are added.
        name: prefix of the blocks' names: the name of the instance with a dot.
        number: number of the instance, from 0.
        nodes: nodes of the graph; there is a block for each.
        memory: memory accesses of the stage.
        context: graph, tensors and loop nests from which blocks are made.
        clock: clock of the blocks; by default the first clock of the machine.
        capacity: capacity of a channel between blocks in tokens; None for no bound.

    Attributes:
        blocks: the block of each node, by name of the node; for a merger, the block before it.
        roots: the added blocks that send the first reference of a tensor.
        merges: each merger that may run ahead, with the block before it and the block after it.
    """

    def __init__(
        self,
        machine: MappedComposition,
        name: str,
        number: int,
        nodes: Sequence[Node],
        memory: StageMemory,
        context: Context,
        clock: Clock | None = None,
        capacity: int | None = None,
    ) -> None:
        self.clock = clock or machine.kernel.clocks[0]
        self.capacity = capacity
        self.machine, self.name, self.number = machine, name, number
        self.memory, self.context = memory, context
        self.timing: Timing = machine.parameters.timing
        self.nodes = {node.name: node for node in nodes}
        self.arithmetic = memory.graph.arithmetic
        self.blocks: dict[str, Component] = {}
        self.roots: list[Component] = []
        self.merges: list[Merge] = []
        self._inputs: dict[tuple[str, str], PortOf] = {}
        self._outputs: dict[tuple[str, str], PortOf] = {}
        self._consumers: Counter[PortOf] = Counter()
        # Whether partial fibers are sums. A unit that sorts heads makes no partial fibers.
        self.reduces = memory.stage.reduces and not self._sorts_heads
        for node in nodes:
            self._add_block(node, self.block_name(node))
            self._delay_coordinates(node)
            if node.type == "runsum" and self.reduces:
                self._add_partial_sum_path(node, self.block_name(node))

    def block_name(self, node: Node) -> str:
        """Return the name of a node's block."""
        return f"{self.name}{self.memory.graph.names[node.name]}"

    def _delay_coordinates(self, node: Node) -> None:
        """Delay what a scanner or a look-up sends until its coordinates have arrived from memory."""
        fetch = self.memory.build_coordinate_fetch(self.name, node, self.block_name(node))
        if fetch is not None:
            for port in ("ref", "crd") if node.primitive.scans else ():
                # First the block's own output; consumers then get the output of the fetch.
                self._connect(self.take_output(node, port), (fetch, f"in_{port}"))
                self._outputs[node.name, port] = fetch, f"out_{port}"
            if node.primitive.position_output == LOCATED:
                self._connect(self.take_output(node, LOCATED), (fetch, "in_ref"))
                self._outputs[node.name, LOCATED] = fetch, "out_ref"

    def _add_block(self, node: Node, name: str) -> None:
        """Add the block of a node, or for a merger or an accumulator its group of blocks."""
        if node.type == "swap":
            self._add_merger(node, name)
        elif node.primitive.accumulates:
            self._add_accumulator(node, name)
        elif node.type in PART_OF and not node.is_unary:
            arguments = node.primitive.arguments(node, self.context)
            if node.type == "runsum":
                arguments = (self.arithmetic.sum,) if self.arithmetic.sum != STANDARD_SUM else ()
            part = self.machine.parts[self._part_name(node)]
            self.blocks[node.name] = self.machine.add_at(self.clock, part, name, *arguments)
        else:
            self.blocks[node.name] = self.machine.kernel.add(
                node.primitive.build(f"{self.machine.NAME}.{name}", node, self.context), self.clock
            )
        self.arithmetic.set(node, self.blocks[node.name])

    def _part_name(self, node: Node) -> str:
        """Return the name of the part that implements a node with a component of the architecture."""
        return self.machine.find_part_name(PART_OF[node.type], find_unit(self.memory.stage, node))

    def _add_accumulator(self, node: Node, name: str) -> None:
        """Add an accumulator that the stop of each task empties, after droppers of all other stops."""
        variables = accumulated_variables(node)
        add, clock = self.machine.add_at, self.clock
        block = add(clock, TensorReduce, name, len(variables), flushes=True, operation=self.arithmetic.sum)
        self.blocks[node.name] = block
        # Names in the graph for the outermost and innermost coordinates; the block numbers its ports.
        pairs = {"crd_outer": "crd0", "crd_inner": f"crd{len(variables) - 1}"}
        for stream in self.context.graph.list_streams_into(node):
            port = pairs.get(stream.input, stream.input.replace("[", "").replace("]", ""))
            carries = VAL if stream.kind == "val" else CRD
            depth = len(self.context.nests[stream.source, stream.output])
            # The accumulator takes points without stops; only the stop that ends a task passes.
            points = add(clock, StopDropper, f"{name}.{port}_points", carries, kept=depth - 1)
            target = "in_val" if carries is VAL else f"in_crd[{port.removeprefix('crd')}]"
            self._connect((points, "out_stream[0]"), (block, target))
            self._inputs[node.name, stream.input] = points, "in_stream"
        for output in ("crd_outer", "crd_inner", *(f"crd[{number}]" for number in range(len(variables)))):
            port = pairs.get(output, output.replace("[", "").replace("]", ""))
            self._outputs[node.name, output] = block, f"out_{port}"

    @property
    def _sorts_heads(self) -> bool:
        """Return whether fibers are merged by a unit that sorts their heads, not by a tree of comparators.

        A merger without a bound on its inputs needs this unit for more fibers than a tree has ways.
        """
        merger = self.memory.stage.merger
        swaps = [int(node["radix"]) for node in self.nodes.values() if node.type == "swap"]
        return merger is not None and merger.inputs is None and max(swaps, default=0) > RADIX[1]

    def _add_merger(self, node: Node, name: str) -> None:
        """Add a merger with the block that feeds it and the one that follows it."""
        tensor = self.context.tensors[node["tensor"]]
        level = tensor.levels[int(node["mode"])]
        assert isinstance(level, CompressedLevel)  # the innermost of a tensor that is merged
        carried = sum(
            stream.input.startswith("carried") for stream in self.context.graph.list_streams_into(node)
        )
        lists, timing = Lists(carried), self.timing
        arrays = self.memory.list_merger_arrays(self.name, node)
        ways = self.machine.add(
            FiberHeads if self._sorts_heads else FiberWays,
            f"{name}.ways",
            int(node["radix"]),
            integers_of(level.segments),
            integers_of(level.coordinates),
            tensor.values,
            lists,
            [array for _chain, array in arrays],
            ahead=timing.ahead,
            waiting=timing.tasks,
        )
        for number, (chain, _lines) in enumerate(arrays):
            copy = self.memory.copy_of(chain, self.name)
            self.memory.memory.connect_reads(chain, self.name, copy, ways, f"[{number}]")
        points = (
            self._add_head_sorter(node, name, ways)
            if self._sorts_heads
            else self._add_comparator_tree(node, name, ways)
        )
        self.blocks[node.name] = ways
        inputs = {"crd": "in_crd", "ref": "in_ref"}
        outputs = {"outer": "out_outer", "inner": "out_inner", "val": "out_val"}
        inputs |= {f"carried[{number}]": f"in_carried[{number}]" for number in range(carried)}
        outputs |= {f"carried[{number}]": f"out_carried{number}" for number in range(carried)}
        self._inputs |= {(node.name, port): (ways, name) for port, name in inputs.items()}
        self._outputs |= {(node.name, port): (points, name) for port, name in outputs.items()}

    def _add_comparator_tree(self, node: Node, name: str, ways: FiberWays) -> Component:
        """Add a merger after its ways, and return the block that follows the merger."""
        add = self.machine.add
        connect = self.machine.kernel.connect
        timing = self.timing
        reduces = self.reduces
        merger = add(self._part_name(node), f"{name}.merger", ways.radix, timing.stages)
        points = add(PointsAndSums if reduces else MergedPoints, f"{name}.points", ways.table)
        connect(ways, "tasks", merger, "tasks", capacity=2)
        connect(ways, "groups", points, "groups", capacity=4)
        if not reduces:
            connect(points, "partials", ways, "partials", capacity=None)
        for way in range(ways.radix):
            connect(ways, f"ways[{way}]", merger, f"ways[{way}]", capacity=timing.way)
        connect(merger, "merged", points, "merged", capacity=2)
        self.merges.append((ways, merger, points))
        return points

    def _add_head_sorter(self, node: Node, name: str, heads: FiberWays) -> Component:
        """Add the unit that keeps the heads of all fibers sorted, and return the block that follows it.

        Raises:
            ConfigurationError: a part of the user's own replaces the merger.
        """
        if self.machine.parts[self._part_name(node)] is not HighRadixMerger:
            raise ConfigurationError(
                f"{name}.merger: a task has {heads.radix:,} fibers to merge, and a part in the place of a "
                f"merger has at most {RADIX[1]} ways; give the merger a number of inputs"
            )
        add, connect = self.machine.add, self.machine.kernel.connect
        merger = add(SortedHeadUnit, f"{name}.merger", heads.radix)
        points = add(HeadPoints, f"{name}.points", heads.table)
        connect(heads, "tasks", merger, "tasks", capacity=2)
        connect(heads, "groups", points, "groups", capacity=4)
        connect(heads, "elements", merger, "elements", capacity=self.timing.way)
        connect(merger, "successors", heads, "successors", capacity=2)
        connect(merger, "merged", points, "merged", capacity=2)
        return points

    def _add_partial_sum_path(self, node: Node, name: str) -> None:
        """Add the path of partial sums around the node that adds runs.

        Partial sums that are merged again bypass the multiplier, and partial fibers are stored.
        """
        swap = next(candidate for candidate in self.nodes.values() if candidate.type == "swap")
        ways, points = cast(FiberWays, self.blocks[swap.name]), self._outputs[swap.name, "outer"][0]
        runs, connect = self.blocks[node.name], self.machine.kernel.connect
        operands = self.machine.add(Either, f"{name}.operands")
        sums = self.machine.add(FiberSums, f"{name}.fibers", ways.table)
        self._connect((points, "out_sum[0]"), (operands, "in_second"))
        self._connect((operands, "out_val[0]"), (runs, "in_val"))
        for port in ("crd", "val"):
            self._connect((runs, f"out_{port}[0]"), (sums, f"in_{port}"))
            self._outputs[node.name, port] = sums, f"out_{port}"
        self._inputs[node.name, "val"] = operands, "in_first"
        connect(points, "targets", sums, "targets", capacity=4)
        connect(sums, "partials", ways, "partials", capacity=None)

    def _connect(self, source: PortOf, target: PortOf, *, bounded: bool = True) -> None:
        self.machine.kernel.connect(*source, *target, capacity=self.capacity if bounded else None)

    def find_input(self, node: Node, port: str) -> PortOf:
        """Return the component and port at which a stream into a block ends.

        This is a port of the block, or of a fetch or lanes before it. Each call adds these blocks, so call
        the method once for each port.

        Args:
            node: the node of the block.
            port: name of the input in the graph.
        """
        replaced = self._inputs.get((node.name, port))
        end = replaced or (self.blocks[node.name], node.primitive.input_port(node, port))
        # From the block towards the source: each fetch is connected to what follows it.
        for fetch in reversed(
            [*self.memory.iterate_input_fetches(self.name, node, port, f"{self.block_name(node)}.{port}")]
        ):
            self._connect((fetch, "out_ref[0]"), end)
            end = fetch, "in_ref"
        return self._add_lanes(end) if (node.name, port) == self._lane_port else end

    @cached_property
    def _lane_port(self) -> tuple[str, str] | None:
        """The node and port after the lanes: a look-up in the innermost loop, or a load of its values."""
        ports = [("crd", node) for node in self.nodes.values() if node.type == "seek"]
        ports += [("ref", node) for node in self.nodes.values() if node.primitive.loads]
        innermost = self.memory.stage.einsums[-1].loop_order[-1]
        for port, node in ports if self.memory.stage.lanes else ():
            stream = self.memory.graph.graph.stream_into(node, port)
            nest = self.context.nests[stream.source, stream.output] if stream is not None else ()
            if nest[-1:] == (innermost,):
                return node.name, port
        return None

    def _add_lanes(self, end: PortOf) -> PortOf:
        """Add the lanes before a port, and return their input."""
        stage = self.memory.stage
        # A step has all loops on lanes, so that a stop of level ``vectors`` - 1 ends it.
        arguments = stage.lanes, stage.vectors - 1, self.machine.lane_ticks
        lanes = self.machine.add_at(self.machine.lane_clock, Lanes, f"{self.name}lanes", *arguments)
        self._connect((lanes, "out_stream[0]"), end)
        for node in self.nodes.values():
            if node.type == LANE_SEEK:
                self._connect((self.blocks[node.name], "out_sizes[0]"), (lanes, "in_sizes"), bounded=False)
        return lanes, "in_stream"

    def take_output(self, node: Node, port: str) -> PortOf:
        """Return the component and port for one more consumer of an output.

        Each consumer has its own port, so each call returns another port.

        Args:
            node: the node of the block.
            port: name of the output in the graph.
        """
        replaced = self._outputs.get((node.name, port))
        block, name = replaced or (self.blocks[node.name], node.primitive.output_port(node, port))
        number = self._consumers[block, name]
        self._consumers[block, name] += 1
        return block, f"{name}[{number}]"

    def find_roots(self) -> list[Component]:
        """Return the added roots of tensors, and the roots that are blocks of nodes."""
        return [*self.roots, *(block for block in self.blocks.values() if isinstance(block, Root))]

    def connect(self, streams: Sequence[Stream]) -> None:
        """Connect the blocks by the streams that begin and end here, and add a root for each tensor.

        Call this method once: it also adds the fetches and writers of the connected ports.

        Args:
            streams: streams of the stage's graph; a stream that crosses the cut is ignored.
        """
        for node in self.nodes.values():
            if node.root and node.primitive.inputs:
                block, port = self.find_input(node, "ref")
                root = self.machine.kernel.add(Root(f"{block.name}.root"), self.clock)
                self.roots.append(root)
                self._connect((root, "out_ref[0]"), (block, port))
        for stream in streams:
            if stream.source in self.nodes and stream.target in self.nodes:
                source, target = self.nodes[stream.source], self.nodes[stream.target]
                # The channel to a block with an input ``outer`` holds coordinates until their fibers end.
                bounded = target.primitive.input("outer") is None
                end = self.find_input(target, stream.input)
                self._connect(self.take_output(source, stream.output), end, bounded=bounded)
                if target.primitive.writes:
                    name = self.block_name(target)
                    for writer in self.memory.writers(self.name, self.number, target, name):
                        self._connect(self.take_output(source, stream.output), (writer, "in_stream"))
