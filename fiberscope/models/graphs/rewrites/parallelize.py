"""Parallel loops: distribute a loop's coordinates over copies of its blocks, and gather the results.

1.  The streams of the loop's coordinates and references remain. A scatter distributes each of these streams,
    element by element.
2.  All blocks within the loop are copied once per way, also levels and values: each copy reads its own.
3.  A merge sorts the coordinates that leave the loop, and sends the way of each coordinate. A gather for each
    other stream follows the merge.

A stream that leaves the loop must therefore be nested in the loop. A sum over the loop would need a sum over
ways, and an accumulator across the loop needs the points of all ways.
"""

from __future__ import annotations

from collections.abc import Collection

from fiberscope.base.errors import InputError
from fiberscope.models.graphs.loops import Nest
from fiberscope.models.graphs.nests import derive_nests
from fiberscope.models.graphs.netlist import Graph, Node, Stream
from fiberscope.models.graphs.rewrites.edits import Output, copy_graph, new_name

NOWHERE: Output = ("", "")


def parallelize_loop(graph: Graph, variable: str, copies: int) -> Graph:
    """Return a graph with copies of the blocks within a loop, in all phases with this loop.

    Args:
        graph: a checked graph.
        variable: index variable of the loop.
        copies: number of copies, at least 1; with 1, the result is an unchanged copy of the graph.

    Raises:
        InputError: no such loop exists, or a stream that leaves the loop is not nested in it.
    """
    if copies < 1:
        raise InputError(f"parallelize {variable}:{copies}: a loop has at least 1 copy")
    loops = [
        node for node in graph.nodes.values() if node.primitive.belongs_to_loop and node["index"] == variable
    ]
    if not loops:
        raise InputError(f"parallelize {variable}:{copies}: there is no loop {variable}")
    graph = copy_graph(graph)
    for phase in sorted({node.phase for node in loops}) if copies > 1 else ():
        _LoopRewrite(graph, variable, copies, phase).copy_loop()
    return graph


class _LoopRewrite:
    """Rewrite of the loop in one phase; ``copy_loop`` is called once, and changes the graph.

    Args:
        graph: a copy of the graph, which may change.
        variable: index variable of the loop.
        copies: number of copies, called ways.
        phase: number of the phase.
    """

    def __init__(self, graph: Graph, variable: str, copies: int, phase: int) -> None:
        self._graph, self._ways = graph, copies
        self._nests = derive_nests(graph)
        self._added = {"index": variable, "ways": copies} | ({"phase": phase} if phase > 1 else {})
        nodes = [node for node in graph.nodes.values() if node.phase == phase]
        self._loop_nodes = [
            node for node in nodes if node.primitive.belongs_to_loop and node["index"] == variable
        ]
        # the nest of the loop itself: nests of blocks deeper inside are longer
        self._loop = min(
            (self._nests[node.name, _find_first_output(node)] for node in self._loop_nodes), key=len
        )
        # the streams before the rewrite; ``copy_loop`` adds others, which it must not visit
        self._streams = list(graph.streams)
        self._copies = {node.name: [node] for node in nodes if self._is_inside(node)}
        self._scattered: dict[Output, Node] = {}
        self._gathered: dict[Output, tuple[Node, str]] = {}
        # the merge orders results by the loop's coordinates: those that leave the copies, if there are any
        names = [node.name for node in self._loop_nodes]
        self._coordinates = self._find_coordinates_output(names)
        inner = self._find_coordinates_output(self._copies)
        self._coordinates = self._coordinates if inner == NOWHERE else inner

    def copy_loop(self) -> None:
        """Copy the blocks within the loop, and add scatters and gathers at its borders.

        Raises:
            InputError: a stream that leaves the loop is not nested in it.
        """
        for stream in self._streams:
            if stream.source in self._copies and stream.target not in self._copies:
                self._check_leaving((stream.source, stream.output))
        # all copies exist before the first stream is connected: a stream needs those of both ends
        for name, copies in self._copies.items():
            attributes = self._graph.nodes[name].attributes
            kind = self._graph.nodes[name].type
            copies += [
                self._graph.add(kind, new_name(self._graph), **attributes) for _ in range(1, self._ways)
            ]
        for stream in self._streams:
            if stream.target in self._copies:
                self._copy(stream)
            elif stream.source in self._copies:
                node, output = self._gather((stream.source, stream.output))
                stream.source, stream.output = node.name, output

    def _is_inside(self, node: Node) -> bool:
        """Return whether a block is copied: the loop is around its inputs, and nothing keeps it outside."""
        if node in self._loop_nodes or node.primitive.needs_whole_result or self._drops_fibers(node):
            return False
        depths = [self._count_extra_depth((s.source, s.output)) for s in self._graph.list_streams_into(node)]
        return bool(depths) and all(depth >= 0 for depth in depths)

    def _drops_fibers(self, node: Node) -> bool:
        """Return whether a dropper passes empty fibers out of the loop, which only later blocks can drop."""
        has_inner_consumer = any(stream.output == "inner" for stream in self._graph.list_streams_from(node))
        return (
            node.primitive.drops
            and has_inner_consumer
            and self._count_extra_depth(self._find_source(node, "outer")) == 0
        )

    def _find_source(self, node: Node, input: str) -> Output:
        stream = self._graph.stream_into(node, input)
        return NOWHERE if stream is None else (stream.source, stream.output)

    def _count_extra_depth(self, output: Output) -> int:
        """Return how many loops a stream is deeper than this loop; -1 if the stream is outside."""
        nest: Nest = self._nests.get(output, ())
        return len(nest) - len(self._loop) if nest[: len(self._loop)] == self._loop else -1

    def _check_leaving(self, output: Output) -> None:
        if self._count_extra_depth(output) < 0 or self._coordinates == NOWHERE:
            variable, node = self._loop[-1], self._graph.nodes[output[0]]
            raise InputError(
                f"parallelize {variable}:{self._ways}: {node} brings together what different {variable} "
                "give; no block adds up lanes; take a loop of the result around which are loops of the "
                "result alone, and behind an accumulator the outermost"
            )

    def _copy(self, stream: Stream) -> None:
        """Connect a stream to each copy of its target block."""
        sources = self._copies.get(stream.source)
        if sources is None:
            scatter = self._find_or_add_scatter((stream.source, stream.output))
            ends = [(scatter, f"out[{lane}]") for lane in range(self._ways)]
        else:
            ends = [(source, stream.output) for source in sources]
        # the existing stream serves the first copy, whose block is the original
        stream.source, stream.output = ends[0][0].name, ends[0][1]
        targets = self._copies[stream.target]
        for (source, output), target in list(zip(ends, targets, strict=True))[1:]:
            self._graph.connect(source, output, target, stream.input)

    def _find_or_add_scatter(self, output: Output) -> Node:
        """Return the scatter of a stream, and add the scatter if missing."""
        if output not in self._scattered:
            node = self._graph.add("scatter", new_name(self._graph), **self._added)
            self._graph.connect(self._graph.nodes[output[0]], output[1], node, "in")
            self._scattered[output] = node
        return self._scattered[output]

    def _gather(self, output: Output) -> tuple[Node, str]:
        """Return the gather of an output of all copies and its port, and add the gather if missing."""
        if not self._gathered:
            merge = self._graph.add("merge", new_name(self._graph), **self._added)
            self._join(self._coordinates, merge, "crd")
            self._gathered[self._coordinates] = merge, "crd"
        if output not in self._gathered:
            merge, _crd = self._gathered[self._coordinates]
            node = self._graph.add("gather", new_name(self._graph), **self._added)
            self._join(output, node, "stream")
            self._graph.connect(merge, "ref", node, "ref")
            self._gathered[output] = node, "out"
        return self._gathered[output]

    def _join(self, output: Output, node: Node, array: str) -> None:
        """Connect an output of all copies, or of a scatter, to an array of inputs."""
        copies = self._copies.get(output[0])
        for lane in range(self._ways):
            source = self._find_or_add_scatter(output) if copies is None else copies[lane]
            self._graph.connect(
                source, f"out[{lane}]" if copies is None else output[1], node, f"{array}[{lane}]"
            )

    def _find_coordinates_output(self, names: Collection[str]) -> Output:
        """Return the output with the loop's coordinates among these blocks, or ``NOWHERE``."""
        loop_names = {node.name for node in self._loop_nodes}
        for stream in self._streams:
            output = stream.source, stream.output
            # coordinates between blocks of the loop itself, or used as references by it, are not its result
            outside = stream.target not in loop_names and not (
                stream.source in loop_names and stream.input == "ref"
            )
            if (
                stream.kind == "crd"
                and stream.source in names
                and outside
                and self._count_extra_depth(output) == 0
            ):
                return output
        return NOWHERE


def _find_first_output(node: Node) -> str:
    """Return an output whose nest includes the loop."""
    port = node.primitive.outputs[0].name
    return port.replace("[]", "[0]")
