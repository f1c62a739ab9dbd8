"""Nodes that read a tensor's levels and values, and write a result's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar

from fiberscope.errors import InputError
from fiberscope.models.graphs.formats import LETTERS
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
    from fiberscope.hw.rtl.kit.interface import Token
    from fiberscope.hw.streams.block import StreamBlock
    from fiberscope.models.graphs.blocks import Context
    from fiberscope.models.graphs.cost.estimate import Walk
    from fiberscope.models.graphs.cost.expected import Expected
    from fiberscope.models.graphs.expression import Expression, Tree
    from fiberscope.models.graphs.faults import Faults
    from fiberscope.models.graphs.nests import Nest
    from fiberscope.models.graphs.netlist import Graph, Node
    from fiberscope.models.graphs.ports import Edge, PortFinder
    from fiberscope.models.graphs.verilog import Sizes

LEVEL = {"index": None, "tensor": None, "mode": None, "format": "compressed"}
ROOT = {"root": "false"}
WORDS = "bitvector"  # a format
FORMATS = tuple(dict.fromkeys(LETTERS.values()))


class _Scanner(Primitive):
    of_loop = scans = True
    positions = REF

    def makes(self, port: str, attributes: Attributes) -> str | None:
        """Of bit vectors words in the place of coordinates."""
        return BV if port == CRD and attributes.get("format") == WORDS else None

    def check(self, graph: Graph, node: Node, faults: Faults) -> None:
        _check_level(graph, node, faults)

    def input_of(self, finder: PortFinder, node: Node, edge: Edge) -> str:
        return "skip" if edge.said_last.startswith("skip") else REF

    def output_port(self, node: Node, port: str) -> str:
        words = port == CRD and node["format"] == WORDS
        return "out_bv" if words else super().output_port(node, port)

    def nest(self, node: Node, fed: dict[str, Nest], faults: Faults) -> dict[str, Nest]:
        return {"": (*next(iter(fed.values())), node["index"])}

    def estimate(self, walk: Walk, node: Node, fed: Mapping[str, Expected]) -> dict[str, Expected]:
        from fiberscope.models.graphs.cost.expected import ROOT
        from fiberscope.models.graphs.cost.levels import scanned, whole, words

        references = fed.get(REF, ROOT)
        if node["format"] == WORDS:
            walk.bits[node.name] = made = scanned(walk, node, references)
            held = words(references, len(made.spread[node["index"]]))
            return {CRD: held, REF: held}
        made = (whole if node["format"] == "dense" else scanned)(walk, node, references)
        return {CRD: made, REF: made}

    def make(self, name: str, node: Node, context: Context) -> StreamBlock:
        from fiberscope.hw.fibers.level import Level
        from fiberscope.hw.streams.bit_vector import BitVectorScanner
        from fiberscope.hw.streams.compressed import CompressedScanner
        from fiberscope.hw.streams.dense import DenseScanner
        from fiberscope.hw.streams.skipping import SkippingScanner
        from fiberscope.models.graphs.storage import BitLevel, CompressedLevel

        tensor = context.tensors[node["tensor"]]
        if node["format"] == "dense":
            return DenseScanner(name, tensor.shape[int(node["mode"])], context.quirks)
        level = tensor.level(int(node["mode"]))
        if node["format"] == WORDS and isinstance(level, BitLevel):
            per_fiber = level.words.shape[1]
            return BitVectorScanner(name, level.words.ravel().tolist(), context.quirks, per_fiber)
        if not isinstance(level, CompressedLevel):
            stored = f"{node['tensor']} is {tensor.format}"
            raise InputError(f"{node} scans a level of format {node['format']}, and {stored}")
        compressed = Level(level.segments.tolist(), level.coordinates.tolist())
        skips = context.graph.feeding(node, "skip") is not None
        return (SkippingScanner if skips else CompressedScanner)(name, compressed, context.quirks)

    def lacks(self, node: Node) -> str:
        skips = "no hardware here skips ahead; take skip out of its intersection"
        return NO_WORDS if node["format"] == WORDS else skips

    def words(self, node: Node, block: StreamBlock, sizes: Sizes) -> list[Token]:
        from fiberscope.hw.rtl.kit.interface import Token
        from fiberscope.hw.streams.compressed import CompressedScanner

        if not isinstance(block, CompressedScanner):
            return []
        level = block.level
        segments = [level.begin(fiber) for fiber in range(level.fibers + 1)]
        both = enumerate((segments, map(level.coordinate, range(segments[-1]))))
        return [Token(control, at, word, 0.0) for control, words in both for at, word in enumerate(words)]


class _Writer(Primitive):
    # its size is an expression of the compiler's
    numbers: ClassVar[Mapping[str, int]] = {
        name: least for name, least in Primitive.numbers.items() if name != "size"
    }
    writes = whole = True

    def needed(self, node: Node, arity: int) -> Iterator[str]:
        yield VAL if node.writes_values else BV if node["format"] == WORDS else CRD

    def takes(self, node: Node, input: str) -> bool:
        return input in self.needed(node, 0)

    def check(self, graph: Graph, node: Node, faults: Faults) -> None:
        if not node.writes_values:
            _check_level(graph, node, faults)

    def input_of(self, finder: PortFinder, node: Node, edge: Edge) -> str:
        return edge.kind if edge.kind in (BV, VAL) else CRD

    def estimate(self, walk: Walk, node: Node, fed: Mapping[str, Expected]) -> dict[str, Expected]:
        return {}

    def make(self, name: str, node: Node, context: Context) -> StreamBlock:
        from fiberscope.hw.streams.writers import BitVectorWriter, CompressedWriter, ValuesWriter

        of_level = BitVectorWriter if node["format"] == WORDS else CompressedWriter
        return (ValuesWriter if node.writes_values else of_level)(name, quirks=context.quirks)

    def lacks(self, node: Node) -> str:
        return NO_WORDS


class _Locator(Primitive):
    of_loop = True
    positions = "located"
    through: ClassVar[Mapping[str, str]] = {CRD: CRD}

    def before(self, node: Node, output: str) -> str:
        return "base" if output == self.positions else REF

    def output_port(self, node: Node, port: str) -> str:
        return "out_ref2" if port == self.positions else super().output_port(node, port)

    def estimate(self, walk: Walk, node: Node, fed: Mapping[str, Expected]) -> dict[str, Expected]:
        return {CRD: fed[CRD], self.positions: fed[CRD]}

    def make(self, name: str, node: Node, context: Context) -> StreamBlock:
        from fiberscope.hw.streams.locator import DenseLocator

        return DenseLocator(name, context.tensors[node["tensor"]].shape[int(node["mode"])])


class _Array(Primitive):
    unit = "arrays.ArrayLoad"
    loads = True

    def value(self, tree: Tree, node: Node) -> Expression:
        return tree.access(node)

    def estimate(self, walk: Walk, node: Node, fed: Mapping[str, Expected]) -> dict[str, Expected]:
        from fiberscope.models.graphs.cost.expected import ROOT

        return {VAL: fed.get(REF, ROOT).points}

    def arguments(self, node: Node, context: Context) -> tuple[object, ...]:
        return (context.tensors[node["tensor"]].values,)

    def words(self, node: Node, block: StreamBlock, sizes: Sizes) -> list[Token]:
        from fiberscope.hw.rtl.kit.interface import Token
        from fiberscope.hw.streams.arrays import ArrayLoad

        assert isinstance(block, ArrayLoad)
        return [Token(0, at, 0, sizes.whole(node, value)) for at, value in enumerate(block.values)]


def _check_level(graph: Graph, node: Node, faults: Faults) -> None:
    if node["format"] not in FORMATS:
        faults.add(node.place, f"{node}: format={node['format']} is none of {', '.join(FORMATS)}")
    stored = graph.formats.get(node["tensor"])
    if not node["mode"].isdecimal():
        faults.add(node.place, f"{node}: mode={node['mode']} should be a dimension, from 0 on")
    elif stored is not None and int(node["mode"]) not in stored.order:
        dimensions = ", ".join(map(str, sorted(stored.order))) or "none"
        faults.add(
            node.place,
            f"{node}: mode={node['mode']} is no dimension of {node['tensor']}={stored} ({dimensions})",
        )


MADE = (
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
