"""Node types of bit vectors, whose words carry a bit per coordinate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fiberscope.models.graphs.primitives.primitive import BV, CRD, NO_WORDS, REF, Port, Primitive

if TYPE_CHECKING:
    from fiberscope.models.graphs.cost.expected_streams import ExpectedStreams
    from fiberscope.models.graphs.netlist import Node
    from fiberscope.models.graphs.primitives.primitive import BlockContext, CostWalk


class _BitVectorNode(Primitive):
    """Base of the node types of bit vectors, which have no RTL."""

    def missing_twin(self, node: Node) -> str:
        return NO_WORDS


class _Packer(_BitVectorNode):
    """Packer of the coordinates of a loop into words.

    The copies of a parallelized loop are joined first, because a word has the coordinates of all copies.
    """

    block_class = "bit_words.BitVector"
    needs_whole_result = True
    forwarded_input = CRD

    def estimate(self, walk: CostWalk, node: Node, inputs: ExpectedStreams) -> ExpectedStreams:
        """Estimate the words of each fiber up to its last bit, the expected maximum of uniform draws."""
        from fiberscope.models.graphs.cost.expected_streams import ExpectedStream, bit_words

        crd = inputs[CRD]
        bits = crd.count / crd.filled if crd.filled else 0.0
        # the largest of n uniform draws from s coordinates is expected at s n / (n + 1)
        last_bit = len(crd.spread[node["index"]]) * bits / (bits + 1)
        words = bit_words(ExpectedStream(crd.filled, crd.filled_spread, crd.parent), int(last_bit))
        walk.work[node.name] = crd.tokens + words.count
        return {BV: ExpectedStream(words.count, words.spread, crd.parent, crd.filled, crd.filled_spread)}


class _Chunker(_BitVectorNode):
    """Divider of words into chunks of ``width`` bits; output ``ref`` counts the ones in lower chunks."""

    block_class = "bit_words.Chunker"
    forwarded_input = BV

    def arguments(self, node: Node, context: BlockContext) -> tuple[object, ...]:
        return (int(node["width"]), int(node["size"]))


class _Expander(_BitVectorNode):
    """Expander of words to the coordinates and references of their ones."""

    block_class = "bit_expander.BitExpander"
    belongs_to_loop = has_equal_depths = expands = True

    def estimate(self, walk: CostWalk, node: Node, inputs: ExpectedStreams) -> ExpectedStreams:
        from fiberscope.models.graphs.cost.expected_streams import expansion_cycles

        words = walk.graph.stream_into(node, BV)
        assert words is not None
        # the coordinates whose bits the words carry, noted at the source of the words
        elements = walk.bits[words.source]
        walk.work[node.name] = expansion_cycles(elements, inputs[BV], node["index"])
        return {CRD: elements, REF: elements}


class _Intersection(_BitVectorNode):
    """Intersecter of two streams of words, which also sends the references of the common ones."""

    block_class = "word_intersect.WordIntersect"
    belongs_to_loop = has_equal_depths = intersects = True
    infers_ports = False

    def reference_input(self, node: Node, output: str) -> str:
        """Return the word input that determines an output."""
        return super().reference_input(node, output).replace(REF, BV)

    def estimate(self, walk: CostWalk, node: Node, inputs: ExpectedStreams) -> ExpectedStreams:
        from fiberscope.models.graphs.cost.expected_streams import expansion_cycles, intersect_streams

        sources = [stream.source for stream in walk.graph.list_streams_into(node) if stream.kind == BV]
        elements = intersect_streams([walk.bits[source] for source in sources], node["index"])
        walk.bits[node.name] = elements
        walk.work[node.name] = expansion_cycles(elements, inputs["bv[0]"], node["index"])
        # every word leaves, zero words included, as with ``emit_zeros=true``
        return {BV: inputs["bv[0]"], "ref[0]": elements, "ref[1]": elements}

    def arguments(self, node: Node, context: BlockContext) -> tuple[object, ...]:
        return (node["emit_zeros"] == "true",)


TYPES = (
    _Packer(
        "bitvector", (Port("crd", (CRD,)),), (Port("bv", (BV,)),), {"index": ""}, "BitVector {index}", "cyan3"
    ),
    _Chunker(
        "chunk",
        (Port("bv", (BV,)),),
        (Port("bv", (BV,)), Port("ref", (REF,))),
        {"index": "", "width": "64", "size": None},
        "Chunk {index} by {width}",
        "cyan3",
    ),
    _Expander(
        "bvexpand",
        (Port("bv", (BV,)), Port("ref", (REF,), optional=True)),
        (Port("crd", (CRD,)), Port("ref", (REF,))),
        {"index": ""},
        "bvexpand {index}",
        "cyan3",
    ),
    _Intersection(
        "bvintersect",
        (Port("bv[]", (BV,)), Port("ref[]", (REF,))),
        (Port("bv", (BV,)), Port("ref[]", (REF,))),
        {"index": "", "emit_zeros": "false"},
        "bvintersect {index}",
        "purple",
    ),
)
