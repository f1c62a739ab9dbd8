"""Node types that access levels and values: level scanner, level writer, locator and array."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar

from fiberscope.base.errors import InputError
from fiberscope.base.whole_numbers import read_whole_number
from fiberscope.models.graphs.levels import BY_NAME
from fiberscope.models.graphs.levels.scans import find_scanned_format
from fiberscope.models.graphs.primitives.primitive import (
    BV,
    CRD,
    NO_WORDS,
    REF,
    VAL,
    Attributes,
    Port,
    Primitive,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from fiberscope.hw.rtl.kit.interface import Token
    from fiberscope.hw.streams.block import StreamBlock
    from fiberscope.models.graphs.cost.expected_streams import ExpectedStreams
    from fiberscope.models.graphs.edges import Edge
    from fiberscope.models.graphs.faults import Faults
    from fiberscope.models.graphs.loops import Nest
    from fiberscope.models.graphs.netlist import Graph, Node
    from fiberscope.models.graphs.primitives.primitive import (
        BlockContext,
        CostWalk,
        EdgePorts,
        ValueTree,
        WordSizes,
    )
    from fiberscope.sim import Component
    from fiberscope.workloads.expressions.expression import Expression

COMPRESSED = "compressed"
LEVEL = {"index": None, "tensor": None, "mode": None, "format": COMPRESSED}  # ``mode``: the dimension
ROOT = {"root": "false"}


class _Scanner(Primitive):
    """Level scanner: for each reference, sends the coordinates and references of the fiber there."""

    belongs_to_loop = scans = True
    position_output = REF

    def output_kind(self, port: str, attributes: Attributes) -> str | None:
        """Return the kind of an output: bit-vector words instead of coordinates for bit vectors."""
        return BV if port == CRD and _has_words(attributes.get("format", COMPRESSED)) else None

    def check(self, graph: Graph, node: Node, faults: Faults) -> None:
        _check_level(graph, node, faults)

    def input_of_edge(self, finder: EdgePorts, node: Node, edge: Edge) -> str:
        return "skip" if edge.target_comment.startswith("skip") else REF

    def output_port(self, node: Node, port: str) -> str:
        words = port == CRD and node.level.is_bit_vector
        return "out_bv" if words else super().output_port(node, port)

    def nest(self, node: Node, inputs: dict[str, Nest], faults: Faults) -> dict[str, Nest]:
        # ``inputs`` has no skip stream, so its only entry is the reference stream
        return {"": (*next(iter(inputs.values())), node["index"])}

    def estimate(self, walk: CostWalk, node: Node, inputs: ExpectedStreams) -> ExpectedStreams:
        from fiberscope.models.graphs.cost.expected_streams import ROOT

        coordinates, references = find_scanned_format(node).estimate(walk, node, inputs.get(REF, ROOT))
        return {CRD: coordinates, REF: references}

    def build(self, name: str, node: Node, context: BlockContext) -> StreamBlock:
        if context.registered and (node.level.is_bit_vector or context.graph.stream_into(node, "skip")):
            feature = "of a bit vector" if node.level.is_bit_vector else "that skips"
            raise InputError(f"{node}: no scanner {feature} has memory=registered; use combinational")
        return find_scanned_format(node).scanner(name, node, context)

    def missing_twin(self, node: Node) -> str:
        skips = "there is no RTL of a scanner with skips; remove skip from its intersection"
        return NO_WORDS if node.level.is_bit_vector else skips

    def memory_contents(self, node: Node, block: Component, sizes: WordSizes) -> list[Token]:
        from fiberscope.hw.rtl.kit.interface import Token
        from fiberscope.hw.streams.compressed import CompressedScanner

        if not isinstance(block, CompressedScanner):
            return []
        level = block.level
        # memory 0 of the twin holds the segments, memory 1 the coordinates
        segments = [level.begin(fiber) for fiber in range(level.fibers + 1)]
        arrays = enumerate((segments, map(level.coordinate, range(segments[-1]))))
        return [Token(control, i, word, 0.0) for control, words in arrays for i, word in enumerate(words)]


class _Writer(Primitive):
    """Writer of one level of a result, or of its values if ``mode`` is ``vals``."""

    # ``size`` of a writer is an expression of the public compiler, not a number
    numbers: ClassVar[Mapping[str, int]] = {
        name: least for name, least in Primitive.numbers.items() if name != "size"
    }
    writes = needs_whole_result = True

    def required_inputs(self, node: Node, arity: int) -> Iterator[str]:
        yield VAL if node.writes_values else BV if _has_words(node["format"]) else CRD

    def accepts(self, node: Node, input: str) -> bool:
        return input in self.required_inputs(node, 0)

    def check(self, graph: Graph, node: Node, faults: Faults) -> None:
        if not node.writes_values:
            _check_level(graph, node, faults)

    def input_of_edge(self, finder: EdgePorts, node: Node, edge: Edge) -> str:
        return edge.kind if edge.kind in (BV, VAL) else CRD

    def estimate(self, walk: CostWalk, node: Node, inputs: ExpectedStreams) -> ExpectedStreams:
        return {}

    def build(self, name: str, node: Node, context: BlockContext) -> StreamBlock:
        from fiberscope.hw.streams.writers import ValuesWriter

        if node.writes_values:
            return ValuesWriter(name, quirks=context.quirks)
        return find_scanned_format(node).writer(name, context.quirks)

    def missing_twin(self, node: Node) -> str:
        return NO_WORDS


class _Locator(Primitive):
    """Lookup of coordinates in a dense level; input ``base`` has the fiber to search for each coordinate."""

    belongs_to_loop = True
    position_output = "located"
    full_fiber_inputs: ClassVar[Mapping[str, str]] = {CRD: CRD}

    def reference_input(self, node: Node, output: str) -> str:
        return "base" if output == self.position_output else REF

    def output_port(self, node: Node, port: str) -> str:
        return "out_ref2" if port == self.position_output else super().output_port(node, port)

    def estimate(self, walk: CostWalk, node: Node, inputs: ExpectedStreams) -> ExpectedStreams:
        # a dense level has every coordinate, so no lookup fails
        return {CRD: inputs[CRD], self.position_output: inputs[CRD]}

    def build(self, name: str, node: Node, context: BlockContext) -> StreamBlock:
        from fiberscope.hw.streams.locator import DenseLocator

        return DenseLocator(name, context.tensors[node["tensor"]].shape[int(node["mode"])])


class _Array(Primitive):
    """Array of a tensor's values: sends the value at each reference."""

    block_class = "arrays.ArrayLoad"
    loads = True

    def value(self, tree: ValueTree, node: Node) -> Expression:
        return tree.access(node)

    def estimate(self, walk: CostWalk, node: Node, inputs: ExpectedStreams) -> ExpectedStreams:
        from fiberscope.models.graphs.cost.expected_streams import ROOT

        # an N token loads the value 0, so its point counts; an array of a scalar has the root as its input
        return {VAL: inputs.get(REF, ROOT).points}

    def build(self, name: str, node: Node, context: BlockContext) -> StreamBlock:
        if not context.registered:
            return super().build(name, node, context)
        from fiberscope.hw.streams.registered_memory import RegisteredArray

        return RegisteredArray(name, *self.arguments(node, context))

    def arguments(self, node: Node, context: BlockContext) -> tuple[npt.ArrayLike]:
        return (context.tensors[node["tensor"]].values,)

    def memory_contents(self, node: Node, block: Component, sizes: WordSizes) -> list[Token]:
        from fiberscope.hw.rtl.kit.interface import Token
        from fiberscope.hw.streams.arrays import ArrayLoad

        assert isinstance(block, ArrayLoad)
        return [Token(0, i, 0, sizes.check_value(node, value)) for i, value in enumerate(block.values)]


def _has_words(name: str) -> bool:
    """Return whether a format stores bit vectors; False for an unknown format, which ``check`` reports."""
    return name in BY_NAME and BY_NAME[name].is_bit_vector


def _check_level(graph: Graph, node: Node, faults: Faults) -> None:
    """Report an unknown format, and a mode that is no dimension of the tensor."""
    if node["format"] not in BY_NAME:
        faults.add(node.location, f"{node}: format={node['format']} is none of {', '.join(BY_NAME)}")
    tensor_format = graph.formats.get(node["tensor"])
    mode = read_whole_number(node["mode"])
    if mode is None:
        faults.add(node.location, f"{node}: mode={node['mode']} should be a dimension, from 0 on")
    elif tensor_format is not None and mode not in tensor_format.order:
        dimensions = ", ".join(map(str, sorted(tensor_format.order))) or "none"
        faults.add(
            node.location,
            f"{node}: mode={node['mode']} is no dimension of {node['tensor']}={tensor_format} ({dimensions})",
        )


TYPES = (
    _Scanner(
        "fiberlookup",
        (Port("ref", (REF, CRD, BV)), Port("skip", (CRD,), optional=True)),
        (Port("crd", (CRD,)), Port("ref", (REF,))),
        {**LEVEL, "src": "true", **ROOT},
        "FiberLookup {index}: {tensor}{mode}\n{format}",
        "green4",
        "memory",
    ),
    _Writer(
        "fiberwrite",
        (Port("crd", (CRD, REF)), Port("bv", (BV,)), Port("val", (VAL,))),
        (),
        {**LEVEL, "index": "", "segsize": "", "crdsize": "", "size": "", "sink": "true", "ends": "true"},
        "FiberWrite {index}: {tensor}{mode}\n{format}",
        "green3",
        "memory",
    ),
    _Locator(
        "locate",
        (Port("crd", (CRD,)), Port("ref", (REF, CRD)), Port("base", (REF, CRD), optional=True)),
        (Port("crd", (CRD,)), Port("located", (REF,))),
        {"index": None, "tensor": None, "mode": None},
        "Locate {index}: {tensor}{mode}",
        "green4",
    ),
    _Array(
        "arrayvals",
        (Port("ref", (REF, CRD)),),
        (Port("val", (VAL,)),),
        {"tensor": None, **ROOT},
        "Array Vals: {tensor}",
        "green2",
        "memory",
    ),
)
