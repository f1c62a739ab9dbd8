"""Makes the block of ``fiberscope.hw.streams`` that each node of a graph stands for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from fiberscope.errors import InputError
from fiberscope.hw.fibers.level import Level
from fiberscope.hw.streams.accumulators import MatrixReduce, VectorReduce
from fiberscope.hw.streams.alu import Alu, UnaryAlu
from fiberscope.hw.streams.arrays import ArrayLoad
from fiberscope.hw.streams.bit_expander import BitExpander
from fiberscope.hw.streams.bit_vector import BitVectorScanner
from fiberscope.hw.streams.bit_words import BitVector, Chunker
from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.compressed import CompressedScanner
from fiberscope.hw.streams.coordinate_dropper import CoordinateDropper, ValueDropper
from fiberscope.hw.streams.dense import DenseScanner
from fiberscope.hw.streams.droppers import EmptyFiberDropper, StopDropper
from fiberscope.hw.streams.hold import CoordinateHold
from fiberscope.hw.streams.join import Intersect, Union
from fiberscope.hw.streams.locator import DenseLocator
from fiberscope.hw.streams.parallel import Scatter
from fiberscope.hw.streams.points import PointToFiber
from fiberscope.hw.streams.reduce import FiberReduce, ScalarReduce
from fiberscope.hw.streams.repeater import Repeater, RepeatSignalGenerator
from fiberscope.hw.streams.serializer import Merge, Serializer
from fiberscope.hw.streams.skipping import SkippingScanner
from fiberscope.hw.streams.split import Flatten, Split
from fiberscope.hw.streams.tensor_reduce import TensorReduce
from fiberscope.hw.streams.tokens import BV, CRD, REF, VAL
from fiberscope.hw.streams.word_dropper import WordDropper
from fiberscope.hw.streams.word_intersect import WordIntersect
from fiberscope.hw.streams.writers import BitVectorWriter, CompressedWriter, ValuesWriter
from fiberscope.models.graphs.nests import Nest, Nests, accumulated, drops_empty, nests_of
from fiberscope.models.graphs.netlist import Graph, Node
from fiberscope.models.graphs.storage import BitLevel, CompressedLevel, StoredTensor
from fiberscope.sim.protocol import Protocol

__all__ = ["Context", "input_port", "make", "output_port"]

CARRIES: Mapping[str, Protocol] = {"crd": CRD, "ref": REF, "val": VAL, "bv": BV}
BINARY = {"fp_mul": "mul", "fp_add": "add", "fp_max": "max", "smax": "max", "fp_div": "div"}


@dataclass(frozen=True)
class Context:
    """What blocks are made from.

    Args:
        graph: that they are of.
        tensors: by name, as they are stored.
        quirks: of the public simulator, a mask.
    """

    graph: Graph
    tensors: Mapping[str, StoredTensor]
    quirks: int

    @cached_property
    def nests(self) -> Nests:
        """The loop nests of its streams."""
        return nests_of(self.graph)

    def nest_into(self, node: Node, port: str) -> Nest:
        """The loop nest of the stream into a block."""
        stream = next(stream for stream in self.graph.streams_into(node) if stream.input == port)
        return self.nests[stream.source, stream.output]

    def carried_into(self, node: Node) -> Protocol:
        """What the streams that pass through a block carry."""
        passed = (stream.kind for stream in self.graph.streams_into(node) if stream.input != "ref")
        return CARRIES[next(passed, "ref")]


def make(name: str, node: Node, context: Context) -> StreamBlock:
    """The block of a node.

    Raises:
        InputError: the tensor that it reads is not stored as it would be read.
    """
    return _MAKERS[node.type](name, node, context)


def input_port(node: Node, port: str) -> str:
    """What a block calls an input of its node."""
    if node.type == "scatter":
        return "in_crd"
    if port == "val[0]" and node.is_unary:
        return "in_val"
    return "in_stream" if port == "in" else f"in_{port}"


def output_port(node: Node, port: str) -> str:
    """What a block calls an output of its node; one of a numbered kind is a port of its own for each."""
    if node.type == "fiberlookup" and port == "crd" and node["format"] == "bitvector":
        return "out_bv"
    if port == "located":
        return "out_ref2"
    if node.type == "scatter":
        return f"out_crd{port[4:-1]}"
    return "out_stream" if port == "out" else f"out_{port.replace('[', '').replace(']', '')}"


def _scanner(name: str, node: Node, context: Context) -> StreamBlock:
    tensor = context.tensors[node["tensor"]]
    if node["format"] == "dense":
        return DenseScanner(name, tensor.shape[int(node["mode"])], context.quirks)
    level = tensor.level(int(node["mode"]))
    if node["format"] == "bitvector" and isinstance(level, BitLevel):
        per_fiber = level.words.shape[1]
        return BitVectorScanner(name, level.words.ravel().tolist(), context.quirks, per_fiber)
    if not isinstance(level, CompressedLevel):
        stored = tensor.format
        raise InputError(f"{node} scans a level of format {node['format']}, and {node['tensor']} is {stored}")
    compressed = Level(level.segments.tolist(), level.coordinates.tolist())
    skips = context.graph.feeding(node, "skip") is not None
    return (SkippingScanner if skips else CompressedScanner)(name, compressed, context.quirks)


def _locator(name: str, node: Node, context: Context) -> StreamBlock:
    return DenseLocator(name, context.tensors[node["tensor"]].shape[int(node["mode"])])


def _writer(name: str, node: Node, context: Context) -> StreamBlock:
    words = BitVectorWriter if node["format"] == "bitvector" else CompressedWriter
    return (ValuesWriter if node.writes_values else words)(name, quirks=context.quirks)


def _array(name: str, node: Node, context: Context) -> StreamBlock:
    return ArrayLoad(name, context.tensors[node["tensor"]].values, context.quirks)


def _alu(name: str, node: Node, context: Context) -> StreamBlock:
    operation = "sub" if node["sub"] == "1" else BINARY.get(node.type, node.type)
    if not node.is_unary:
        return Alu(name, operation, quirks=context.quirks)
    scalar = context.tensors[node["scalar"]].values[0] if node["scalar"] else node["in2"] or node["const0"]
    first = bool(node["const0"])
    return UnaryAlu(name, operation, float(scalar), constant_first=first, quirks=context.quirks)


def _unary(name: str, node: Node, context: Context) -> StreamBlock:
    return UnaryAlu(name, node.type.removeprefix("fp_"), quirks=context.quirks)


def _reduce(name: str, node: Node, context: Context) -> StreamBlock:
    if context.graph.feeding(node, "crd") is not None:
        return FiberReduce(name, context.quirks)
    drops = drops_empty(context.graph, context.nests, node)
    return ScalarReduce(name, drop_empty=drops, quirks=context.quirks)


def _dropper(name: str, node: Node, context: Context) -> StreamBlock:
    inner = context.graph.feeding(node, "inner")
    if len(context.nest_into(node, "inner")) == len(context.nest_into(node, "outer")):
        return ValueDropper(name, context.quirks)
    return CoordinateDropper(name, CARRIES[inner.kind] if inner else CRD, context.quirks)


def _accumulator(name: str, node: Node, context: Context) -> StreamBlock:
    kind = VectorReduce if node["order"] == "1" else MatrixReduce
    return kind(name, quirks=context.quirks)


def _accumulate(name: str, node: Node, context: Context) -> StreamBlock:
    coordinates = len(accumulated(node))
    return TensorReduce(name, coordinates, coordinates - int(node["order"]), quirks=context.quirks)


def _plain(kind: Callable[..., StreamBlock]) -> Callable[[str, Node, Context], StreamBlock]:
    """One that takes nothing but its quirks."""
    return lambda name, _node, context: kind(name, quirks=context.quirks)


def _carrying(kind: Callable[..., StreamBlock]) -> Callable[[str, Node, Context], StreamBlock]:
    """One that passes on whatever comes in."""
    return lambda name, node, context: kind(name, context.carried_into(node), context.quirks)


def _joining(kind: Callable[..., StreamBlock]) -> Callable[[str, Node, Context], StreamBlock]:
    """One of several operands."""
    return lambda name, node, context: kind(name, context.graph.arity(node), context.quirks)


def _scatter(name: str, node: Node, context: Context) -> StreamBlock:
    carries = context.carried_into(node)
    return Scatter(name, int(node["ways"]), carries=carries, quirks=context.quirks)


def _gather(name: str, node: Node, context: Context) -> StreamBlock:
    depth = len(context.nest_into(node, "stream[0]")) - len(context.nest_into(node, "ref"))
    return Serializer(name, int(node["ways"]), depth, context.carried_into(node), context.quirks)


def _split(name: str, node: Node, context: Context) -> StreamBlock:
    return Split(name, int(node["factor"]), node["orig_crd"] == "true", quirks=context.quirks)


def _flatten(name: str, node: Node, context: Context) -> StreamBlock:
    return Flatten(name, int(node["factor"]), quirks=context.quirks)


def _chunk(name: str, node: Node, context: Context) -> StreamBlock:
    return Chunker(name, int(node["width"]), int(node["size"]), quirks=context.quirks)


def _word_intersect(name: str, node: Node, context: Context) -> StreamBlock:
    return WordIntersect(name, node["emit_zeros"] == "true", quirks=context.quirks)


_MAKERS: Mapping[str, Callable[[str, Node, Context], StreamBlock]] = {
    "fiberlookup": _scanner,
    "fiberwrite": _writer,
    "locate": _locator,
    "arrayvals": _array,
    "repeat": _plain(Repeater),
    "repsiggen": _plain(RepeatSignalGenerator),
    "intersect": _joining(Intersect),
    "union": _joining(Union),
    **dict.fromkeys(("mul", "add", "max", "div", "take", *BINARY), _alu),
    **dict.fromkeys(("exp", "fp_exp", "sqrt", "neg", "abs"), _unary),
    "reduce": _reduce,
    "crddrop": _dropper,
    "crdhold": _plain(CoordinateHold),
    "spaccumulator": _accumulator,
    "accumulate": _accumulate,
    "stopdrop": _carrying(StopDropper),
    "emptystopdrop": _carrying(EmptyFiberDropper),
    "pointtofiber": _plain(PointToFiber),
    "scatter": _scatter,
    "merge": _joining(Merge),
    "gather": _gather,
    "split": _split,
    "flatten": _flatten,
    "bitvector": _plain(BitVector),
    "chunk": _chunk,
    "bvexpand": _plain(BitExpander),
    "bvintersect": _word_intersect,
    "bvdrop": _plain(WordDropper),
}
