"""Node types of machines built from a specification: loop cuts, fiber mergers, lookups and lane units.

A graph with a cut, a merger or a sum over tasks runs only in a machine of ``fiberscope.models.from_spec``.
The machine has several copies (instances) of the blocks after a cut. Each instance runs a part of the tasks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fiberscope.base.errors import InputError
from fiberscope.models.graphs.primitives.primitive import ANY, CRD, REF, VAL, Port, Primitive

if TYPE_CHECKING:
    from fiberscope.hw.rtl.kit.interface import Token
    from fiberscope.hw.streams.block import StreamBlock
    from fiberscope.models.graphs.faults import Faults
    from fiberscope.models.graphs.loops import Nest
    from fiberscope.models.graphs.netlist import Node
    from fiberscope.models.graphs.primitives.primitive import BlockContext, WordSizes
    from fiberscope.sim import Component

SKIP_AHEAD = "skipahead"
LANE_SEEK = "laneseek"
LOCATED = "located"  # output with the positions that a lookup returns
FIBER_PAIRS = "fiberpairs"


class _SpecificationNode(Primitive):
    """Base of the node types whose blocks only a machine from a specification builds."""

    infers_ports = False

    def build(self, name: str, node: Node, context: BlockContext) -> StreamBlock:
        raise InputError(
            f"{node}: a graph file cannot have this block; run its machine, as in fiberscope sim spec:gamma"
        )

    def missing_twin(self, node: Node) -> str:
        return f"there is no RTL of {self.type}; a machine from its specification simulates it"


class _Root(Primitive):
    """Source of a task: the reference 0, then the done token."""

    block_class = "root.Root"

    def nest(self, node: Node, inputs: dict[str, Nest], faults: Faults) -> dict[str, Nest]:
        return {"": ()}


class _Cut(_SpecificationNode):
    """Block that passes streams ``in[i]`` to ``out[i]`` as tasks; only the innermost loop remains."""

    def nest(self, node: Node, inputs: dict[str, Nest], faults: Faults) -> dict[str, Nest]:
        # a stream that no loop surrounds is nested in the sequence of the tasks instead
        return {f"out{port.removeprefix('in')}": nest[-1:] or ("task",) for port, nest in inputs.items()}


class _Swap(_SpecificationNode):
    """Merger that turns fibers within an outer loop into points, sorted by two loops of the result."""

    def nest(self, node: Node, inputs: dict[str, Nest], faults: Faults) -> dict[str, Nest]:
        return {"": (*inputs[REF][:-1], node["index"])}

    def memory_contents(self, node: Node, block: Component, sizes: WordSizes) -> list[Token]:
        from fiberscope.hw.rtl.kit.interface import Token
        from fiberscope.hw.streams.ways import FiberWays

        assert isinstance(block, FiberWays)
        # ``control`` of a token selects the memory: 0 for segments, 1 for coordinates, 2 for values
        numbers = enumerate((block.segments, block.coordinates))
        level = [Token(control, i, word, 0.0) for control, words in numbers for i, word in enumerate(words)]
        values = enumerate(block.values)
        return [*level, *(Token(2, i, 0, sizes.check_value(node, value)) for i, value in values)]


class _Sum(_SpecificationNode):
    """Adder of the outputs of all instances after a cut."""

    has_equal_depths = needs_whole_result = True

    def missing_twin(self, node: Node) -> str:
        return "there is no RTL of a sum over tasks; a machine from its specification simulates it"


class _SkipAhead(Primitive):
    """Skip-ahead intersecter, which reads the fibers of two operands itself.

    Operand i is the level of dimension ``mode{i}`` of ``tensor{i}``; its fibers are those at ``ref[i]``.
    """

    infers_ports = False
    belongs_to_loop = has_equal_depths = intersects = True

    def nest(self, node: Node, inputs: dict[str, Nest], faults: Faults) -> dict[str, Nest]:
        return {"": (*inputs["ref[0]"], node["index"])}

    def input_port(self, node: Node, port: str) -> str:
        return f"in_{port.replace('[', '').replace(']', '')}"

    def build(self, name: str, node: Node, context: BlockContext) -> StreamBlock:
        from fiberscope.hw.streams.skip_intersector import SkipAhead

        return SkipAhead(
            name,
            *(context.read_fibers_at(node[f"tensor{operand}"], node[f"mode{operand}"]) for operand in (0, 1)),
        )


class _Lookup(Primitive):
    """Base of node types that compute or look up coordinates."""

    infers_ports = False
    belongs_to_loop = has_equal_depths = True


class _Projection(_Lookup):
    """Unit that computes a coordinate from those of loops, for an affine index such as ``q + s``.

    The attribute ``terms`` has three numbers for each input: factor, divisor and size. The result is the
    attribute ``constant`` plus the sum of ``factor * (coordinate // divisor % size)`` over the inputs. A size
    of 0 omits the remainder.
    """

    def build(self, name: str, node: Node, context: BlockContext) -> StreamBlock:
        from fiberscope.hw.streams.seek import Projection

        numbers = [int(number) for number in node["terms"].split()]
        terms = list(zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True))
        return Projection(name, terms, int(node["constant"]))


class _Seek(_Lookup):
    """Unit that looks up coordinates in a compressed level, and drops the operands of missing coordinates."""

    intersects = True
    position_output = LOCATED

    def reference_input(self, node: Node, output: str) -> str:
        return "base" if output == self.position_output else output

    def input_port(self, node: Node, port: str) -> str:
        return f"in_{port.replace('[', '').replace(']', '')}"

    def build(self, name: str, node: Node, context: BlockContext) -> StreamBlock:
        from fiberscope.hw.streams.seek import Seek

        fibers = context.read_fibers_at(node["tensor"], node["mode"])
        numbers = range(context.graph.arity(node))
        return Seek(
            name, fibers, [context.find_protocol_into(node, f"carried[{number}]") for number in numbers]
        )

    def memory_contents(self, node: Node, block: Component, sizes: WordSizes) -> list[Token]:
        from fiberscope.hw.streams.seek import Seek
        from fiberscope.hw.streams.seek_rtl import words_of

        assert isinstance(block, Seek)
        return words_of(block)


class _Count(_Lookup):
    """Generator of the coordinates of a loop that no tensor has.

    The loop counts from 0 in steps of the attribute ``step``, up to ``size`` - 1. With a ``piece`` above
    0, it counts from each input coordinate, over this many coordinates.
    """

    def nest(self, node: Node, inputs: dict[str, Nest], faults: Faults) -> dict[str, Nest]:
        return {"": (*inputs[REF], node["index"])}

    def build(self, name: str, node: Node, context: BlockContext) -> StreamBlock:
        from fiberscope.hw.streams.counter import Counter

        return Counter(name, int(node["size"]), int(node["step"]), int(node["piece"]))


class _FiberPairs(_SkipAhead):
    """Intersecter of pairs of fibers: ``mode{i}`` of ``tensor{i}`` lists them, ``below{i}`` holds them."""

    def nest(self, node: Node, inputs: dict[str, Nest], faults: Faults) -> dict[str, Nest]:
        # the coordinates of a pair leave at the same time, so the pairs are one loop and not two
        pairs = (*inputs["ref[0]"], node["inner"])
        return {"": pairs, "ref": (*pairs, node["index"])}

    def build(self, name: str, node: Node, context: BlockContext) -> StreamBlock:
        from fiberscope.hw.streams.fiber_pairs import FiberPairs

        levels = (
            context.read_fibers_at(node[f"tensor{operand}"], node[f"{attribute}{operand}"])
            for operand in (0, 1)
            for attribute in ("mode", "below")
        )
        return FiberPairs(name, *levels)

    def memory_contents(self, node: Node, block: Component, sizes: WordSizes) -> list[Token]:
        from fiberscope.hw.streams.fiber_pairs import FiberPairs
        from fiberscope.hw.streams.fiber_pairs_rtl import words_of

        assert isinstance(block, FiberPairs)
        return words_of(block)


class _LaneSeek(_SkipAhead):
    """Unit that looks up all elements of a fiber of ``tensor0`` in a fiber of ``tensor1``.

    The attributes ``terms`` and ``constant`` map coordinates of the first fiber to those of the second, as in
    ``_Projection`` with one input.
    """

    def build(self, name: str, node: Node, context: BlockContext) -> StreamBlock:
        from fiberscope.hw.streams.lane_seek import LaneSeek

        first, second = (
            context.read_fibers_at(node[f"tensor{operand}"], node[f"mode{operand}"]) for operand in (0, 1)
        )
        factor, divisor, size = (int(number) for number in node["terms"].split())
        return LaneSeek(name, first, second, factor, divisor, size, int(node["constant"]))

    def memory_contents(self, node: Node, block: Component, sizes: WordSizes) -> list[Token]:
        from fiberscope.hw.streams.lane_seek import LaneSeek
        from fiberscope.hw.streams.lane_seek_rtl import words_of

        assert isinstance(block, LaneSeek)
        return words_of(block)


class _RunSum(Primitive):
    """Adder of runs of equal coordinates, as a merger sends them."""

    block_class = "run_sum.RunSum"
    infers_ports = False
    has_equal_depths = True

    def build(self, name: str, node: Node, context: BlockContext) -> StreamBlock:
        from fiberscope.hw.streams.run_sum import RunSum

        return RunSum(name)


TYPES = (
    _Root("rootref", (), (Port(REF, (REF,)),), {"root": "true"}, "Root", "orange"),
    _Cut("cut", (Port("in[]", ANY),), (Port("out[]", ANY),), {"index": ""}, "Cut {index}", "orange"),
    _Swap(
        "swap",
        (Port(CRD, (CRD,)), Port(REF, (REF,)), Port("carried[]", (REF,), optional=True)),
        (Port("outer", (CRD,)), Port("inner", (CRD,)), Port(VAL, (VAL,)), Port("carried[]", (REF,))),
        {"index": "", "tensor": None, "mode": None, "radix": None},
        "Merge {tensor}{mode} by {radix}",
        "green2",
        "own",
    ),
    _Sum(
        "tasksum",
        (Port("crd[]", (CRD,), optional=True), Port(VAL, (VAL,))),
        (),
        {"tensor": None},
        "Sum {tensor}",
        "orange",
    ),
    _SkipAhead(
        SKIP_AHEAD,
        (Port("ref[]", (REF,)),),
        (Port(CRD, (CRD,)), Port("ref[]", (REF,))),
        {"index": None, "tensor0": None, "mode0": None, "tensor1": None, "mode1": None},
        "Skip ahead {index}: {tensor0}, {tensor1}",
        "purple",
    ),
    _Projection(
        "project",
        (Port("crd[]", (CRD,)),),
        (Port(CRD, (CRD,)),),
        {"index": None, "terms": None, "constant": "0"},
        "Project {index}: {terms}",
    ),
    _Seek(
        "seek",
        (Port(CRD, (CRD,)), Port("base", (REF, CRD)), Port("carried[]", (CRD, REF), optional=True)),
        (Port(LOCATED, (REF,)), Port("carried[]", (CRD, REF))),
        {"index": None, "tensor": None, "mode": None},
        "Seek {index}: {tensor}{mode}",
        "green4",
        "memory",
    ),
    _Count(
        "count",
        (Port(REF, (CRD, REF)),),
        (Port(CRD, (CRD,)), Port(REF, (REF,))),
        {"index": None, "size": None, "step": "1", "piece": "0"},
        "Count {index} to {size}",
    ),
    _FiberPairs(
        FIBER_PAIRS,
        (Port("ref[]", (REF,)),),
        (Port("outer", (CRD,)), Port("inner", (CRD,)), Port("ref[]", (REF,))),
        {
            "index": None,
            "outer": None,
            "inner": None,
            **{f"{attribute}{way}": None for way in (0, 1) for attribute in ("tensor", "mode", "below")},
        },
        "Pairs {outer},{inner} by {index}: {tensor0}, {tensor1}",
        "purple",
    ),
    _LaneSeek(
        LANE_SEEK,
        (Port("ref[]", (REF,)),),
        (Port(CRD, (CRD,)), Port("ref[]", (REF,))),
        {
            "index": None,
            "tensor0": None,
            "mode0": None,
            "tensor1": None,
            "mode1": None,
            "terms": None,
            "constant": "0",
        },
        "Seek {tensor0} in {tensor1}",
        "green4",
    ),
    _RunSum(
        "runsum", (Port(CRD, (CRD,)), Port(VAL, (VAL,))), (Port(CRD, (CRD,)), Port(VAL, (VAL,))), label="Runs"
    ),
)
