"""A whole graph in plain Python, by the loop of the public simulator: tokens move, then blocks update.

A second way to run a graph, made of the models of ``streams.plain``: no kernel, no channels, every block in
every cycle.
"""

from collections import deque

from streams.plain_accumulators import MatrixReduce, PointToFiber, VectorReduce
from streams.plain_bitvectors import BitVector, Chunker, WordDropper, WordIntersect
from streams.plain_coordinates import (
    CoordinateDropper,
    EmptyFiberDropper,
    Flatten,
    Split,
    StopDropper,
    ValueDropper,
)
from streams.plain_joiners import Intersect, Union
from streams.plain_levels import (
    ArrayLoad,
    BitVectorScanner,
    CompressedWriter,
    DenseScanner,
    SkippingScanner,
    ValuesWriter,
)
from streams.plain_repeat import CoordinateHold, Repeater, RepeatSignalGenerator
from streams.plain_values import Alu, ScalarReduce

PAIRED = ("intersect", "union", "bvintersect")


class PlainGraph:
    """One phase of a graph; ``streams`` is what each output made: (node, output) to (cycle, token)."""

    def __init__(self, graph, tensors, phase=1):
        self.graph = graph
        self.nodes = {n.name: n for n in graph.nodes.values() if n.phase == phase}
        self.blocks = {name: _model(graph, node, tensors) for name, node in self.nodes.items()}
        self.points = {}  # the stop droppers in front of accumulators
        self.roots = {
            name: deque([0, "D"])
            for name, node in self.nodes.items()
            if node.root or (node.type == "arrayvals" and graph.stream_into(node, "ref") is None)
        }
        self.streams = {}
        self.made = {name: {} for name in self.nodes}  # what the output registers hold
        self.edges = [s for s in graph.streams if s.source in self.blocks]
        self.cycles = 0

    def run(self, limit=100_000):
        """Run to the end; returns the cycles that the public simulator would report."""
        ending = [n.name for n in self.nodes.values() if n.type == "fiberwrite" and n["ends"] != "false"]
        writers = [n.name for n in self.nodes.values() if n.type == "fiberwrite"]
        for cycle in range(limit):
            self.move()
            self.update(cycle)
            if not self.cycles and all(self.blocks[name].done for name in ending):
                self.cycles = cycle + 1
            if all(self.blocks[name].done for name in writers):
                return self.cycles
        raise AssertionError("the plain graph does not end")

    def move(self):
        """The SET phase: what was made goes to its consumers."""
        for name, root in self.roots.items():
            if root:
                self.blocks[name].queues["ref"].append(root.popleft())
        for edge in self.edges:
            if self.nodes[edge.target].type not in (*PAIRED, "spaccumulator"):
                self.put(edge)
        for node in self.nodes.values():
            if node.type in PAIRED:
                self.put_pairs(node)
            if node.type == "spaccumulator":
                self.put_points(node)

    def made_at(self, edge):
        return self.made[edge.source].get(_output(self.nodes[edge.source], edge.output))

    def put(self, edge):
        token = self.made_at(edge)
        if token is None:
            return
        self.blocks[edge.target].arrive(_input(self.nodes[edge.target], edge.input), token)

    def put_pairs(self, node):
        """A pair is queued when both of its tokens were made in the same cycle."""
        fed = {s.input: self.made_at(s) for s in self.edges if s.target == node.name}
        for number in range(self.graph.arity(node)):
            crd = fed.get(f"{'bv' if node.type == 'bvintersect' else 'crd'}[{number}]")
            ref = fed.get(f"ref[{number}]")
            if crd is not None and ref is not None:
                self.blocks[node.name].queues[f"in{number + 1}"].append((ref, crd))

    def put_points(self, node):
        """In front of each input of an accumulator is a stop dropper, which is a block as any other."""
        for edge in self.edges:
            if edge.target != node.name:
                continue
            dropper, held = self.points.setdefault((node.name, edge.input), (StopDropper(), {}))
            if held:
                port = {"crd_outer": "outer", "crd_inner": "inner"}.get(edge.input, edge.input)
                self.blocks[node.name].queues[port].append(held.pop("out"))
            token = self.made_at(edge)
            if token is not None:
                dropper.queues["in"].append(token)

    def update(self, cycle):
        """The UPDATE phase."""
        for name, block in self.blocks.items():
            self.made[name] = block.update()
            for output, token in self.made[name].items():
                self.streams.setdefault((name, output), []).append((cycle, token))
        for dropper, held in self.points.values():
            held.update(dropper.update())


def _output(node, output):
    """What the models call an output."""
    if node.type in PAIRED and "[" in output:
        base, _, number = output[:-1].partition("[")
        return f"{base}{int(number) + 1}"
    return output


def _input(node, input_):
    if node.type == "fiberwrite":
        return "val" if node.writes_values or node["format"] == "bitvector" else "crd"
    if node.type in ("mul", "add"):
        return f"in{int(input_[4:-1]) + 1}"
    return input_


def _model(graph, node, tensors):
    makers = {
        "fiberlookup": lambda: _scanner(node, tensors[node["tensor"]]),
        "fiberwrite": lambda: ValuesWriter() if _input(node, "") == "val" else CompressedWriter(),
        "arrayvals": lambda: ArrayLoad(tensors[node["tensor"]].values.tolist()),
        "repeat": Repeater,
        "repsiggen": RepeatSignalGenerator,
        "intersect": lambda: Intersect(ways=graph.arity(node)),
        "union": lambda: Union(ways=graph.arity(node)),
        "mul": lambda: Alu(operation="mul"),
        "add": lambda: Alu(operation="add", neg2=node["sub"] == "1"),
        "reduce": ScalarReduce,
        "crddrop": ValueDropper if _drops_values(graph, node) else CoordinateDropper,
        "crdhold": CoordinateHold,
        "spaccumulator": VectorReduce if node["order"] == "1" else MatrixReduce,
        "stopdrop": StopDropper,
        "emptystopdrop": EmptyFiberDropper,
        "pointtofiber": PointToFiber,
        "split": lambda: Split(split_factor=int(node["factor"]), orig_crd=False),
        "flatten": lambda: Flatten(split_factor=int(node["factor"])),
        "bitvector": BitVector,
        "chunk": lambda: Chunker(width=int(node["width"]), size=int(node["size"])),
        "bvintersect": lambda: WordIntersect(emit_zeros=node["emit_zeros"] == "true"),
        "bvdrop": WordDropper,
    }
    return makers[node.type]()


def _drops_values(graph, node):
    inner = graph.stream_into(node, "inner") if node.type == "crddrop" else None
    return inner is not None and inner.kind == "val"


def _scanner(node, tensor):
    dimension = int(node["mode"])
    if node["format"] == "dense":
        return DenseScanner(tensor.shape[dimension])
    level = tensor.level(dimension)
    if node["format"] == "bitvector":
        return BitVectorScanner(level.words.ravel().tolist())
    return SkippingScanner(level.segments.tolist(), level.coordinates.tolist())
