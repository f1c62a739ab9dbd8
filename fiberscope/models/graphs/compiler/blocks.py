"""Build the blocks of a phase of a graph, and connect their ports.

A phase is one statement of a compiled expression; phases run one after another. A ``Wire`` is an output of a
block, to which any number of inputs can be connected.
"""

from __future__ import annotations

from collections.abc import Mapping

from fiberscope.models.graphs.compiler.terms import FullRange, Iteration, Join, Operand, Scan, Wire
from fiberscope.models.graphs.levels import BY_LETTER
from fiberscope.models.graphs.levels.level import LevelFormat
from fiberscope.models.graphs.netlist import Graph, Node

# coordinates, and references by operand; None for the references of a scan of all coordinates
JoinedStreams = tuple[Wire, dict[Operand | None, Wire]]


class Blocks:
    """Builder of the blocks of a phase.

    Args:
        graph: the graph, to which the blocks are added.
        phase: number of the phase, from 1.
        size_sources: by index variable, a tensor and its dimension with the size of the variable.
    """

    def __init__(self, graph: Graph, phase: int, size_sources: Mapping[str, tuple[str, int]]) -> None:
        self._graph, self._size_sources = graph, size_sources
        self._phase = phase

    def add(self, type: str, inputs: Mapping[str, Wire | None], **attributes: object) -> Node:
        """Add a block and the streams into it, and return its node.

        Args:
            type: type of the node, a key of ``PRIMITIVES``.
            inputs: the output that feeds each input, by port; None leaves an input open.
            attributes: attributes of the node, by name.

        Raises:
            InputError: there is no such type or port.
        """
        # 1 is the default of the attribute
        if self._phase > 1:
            attributes["phase"] = self._phase
        node = self._graph.add(type, "", **attributes)
        for port, wire in inputs.items():
            if wire is not None:
                self._graph.connect(wire.node, wire.output, node, port)
        return node

    def value(self, type: str, *operands: Wire, **attributes: object) -> Wire:
        """Add an ALU on values, and return its output.

        Args:
            type: type of the ALU's node.
            operands: streams of values of the same shape.
            attributes: attributes of the node, by name.
        """
        inputs = {f"val[{number}]": operand for number, operand in enumerate(operands)}
        return Wire(self.add(type, inputs, **attributes), "val")

    def add_iteration(self, iteration: Iteration, variable: str, outer: Wire | None) -> JoinedStreams:
        """Add the scanners and joiners of an iteration, and return coordinates and references.

        Args:
            iteration: the iteration of the index variable.
            variable: index variable of the loop.
            outer: coordinates of the enclosing loop; None for the outermost loop.
        """
        if isinstance(iteration, Scan):
            return self._add_scan(iteration.operand, variable)
        if isinstance(iteration, FullRange):
            return self._add_full_scan(variable, outer)
        # an intersecter of bit vectors takes two; a vector without a partner is expanded before it is joined
        pairs = _pair_vectors(iteration, variable)
        unpaired = [scan for scan in iteration.inputs if not any(scan in pair for pair in pairs)]
        streams = [
            self._intersect_bit_vectors(first.operand, second.operand, variable) for first, second in pairs
        ]
        streams += [self.add_iteration(scan, variable, outer) for scan in unpaired]
        return self._add_joiner(iteration, variable, streams) if len(streams) > 1 else streams[0]

    def _add_scan(self, operand: Operand, variable: str) -> JoinedStreams:
        node = self._add_scanner_of(operand, variable)
        if operand.level(variable).is_bit_vector:
            inputs = {"bv": Wire(node, "crd"), "ref": Wire(node, "ref")}
            node = self.add("bvexpand", inputs, index=variable)
        return Wire(node, "crd"), {operand: Wire(node, "ref")}

    def _intersect_bit_vectors(self, first: Operand, second: Operand, variable: str) -> JoinedStreams:
        """Intersect two bit vectors by words; zero words remain, as positions determine coordinates."""
        inputs: dict[str, Wire | None] = {}
        for number, operand in enumerate((first, second)):
            node = self._add_scanner_of(operand, variable)
            inputs |= {f"bv[{number}]": Wire(node, "crd"), f"ref[{number}]": Wire(node, "ref")}
        joiner = self.add("bvintersect", inputs, index=variable, emit_zeros=True)
        expander = self.add("bvexpand", {"bv": Wire(joiner, "bv")}, index=variable)
        return Wire(expander, "crd"), {first: Wire(joiner, "ref[0]"), second: Wire(joiner, "ref[1]")}

    def _add_scanner_of(self, operand: Operand, variable: str) -> Node:
        tensor, dimension = operand.access.tensor, operand.dimension(variable)
        return self._add_scanner(operand.references, variable, tensor, dimension, operand.level(variable))

    def _add_full_scan(self, variable: str, outer: Wire | None) -> JoinedStreams:
        """Add a scanner of all coordinates, which uses only the size of the tensor."""
        # coordinates serve as references: a dense scanner sends the same coordinates for each of them
        node = self._add_scanner(outer, variable, *self._size_sources[variable], BY_LETTER["d"])
        return Wire(node, "crd"), {None: Wire(node, "ref")}

    def _add_scanner(
        self, source: Wire | None, variable: str, tensor: str, dimension: int, level: LevelFormat
    ) -> Node:
        root = {} if source else {"root": True}
        return self.add(
            "fiberlookup",
            {"ref": source},
            index=variable,
            tensor=tensor,
            mode=dimension,
            format=level.name,
            **root,
        )

    def _add_joiner(self, iteration: Join, variable: str, streams: list[JoinedStreams]) -> JoinedStreams:
        """Add a joiner; operands that are already joined share a coordinate stream."""
        pairs = [(crd, operand, ref) for crd, references in streams for operand, ref in references.items()]
        inputs: dict[str, Wire | None] = {}
        for number, (crd, _operand, ref) in enumerate(pairs):
            inputs |= {f"crd[{number}]": crd, f"ref[{number}]": ref}
        node = self.add(iteration.kind, inputs, index=variable)
        references = {
            operand: Wire(node, f"ref[{number}]") for number, (_crd, operand, _ref) in enumerate(pairs)
        }
        return Wire(node, "crd"), references

    def repeat(self, operands: list[Operand], variable: str, coordinates: Wire) -> None:
        """Repeat the references of operands that lack an index variable, once for each of its coordinates.

        Args:
            operands: operands without the variable; their references become the repeated references.
            variable: the index variable.
            coordinates: coordinates of the loop over the variable.
        """
        if not operands:
            return
        signal = Wire(self.add("repsiggen", {"crd": coordinates}, index=variable), "repsig")
        for operand in operands:
            root = {} if operand.references else {"root": True}
            node = self.add(
                "repeat",
                {"ref": operand.references, "repsig": signal},
                index=variable,
                tensor=operand.access.tensor,
                **root,
            )
            operand.references = Wire(node, "ref")

    def add_reducer(self, values: Wire, outer: Wire | None, empty: str = "keep") -> Wire:
        """Add a reducer of each fiber of values, and return its output.

        Args:
            outer: coordinates of the loop around the fibers, which distinguish an empty fiber from no fiber;
                None without such a loop.
            empty: result of an empty fiber: ``keep`` for 0, ``mark`` for N.
        """
        return Wire(self.add("reduce", {"val": values, "crd": outer}, empty=empty), "val")


def _pair_vectors(iteration: Join, variable: str) -> list[tuple[Scan, Scan]]:
    """Return the bit vectors of an intersection in pairs, since their intersecter has two operands."""
    if iteration.kind != "intersect":
        return []
    vectors = [
        scan
        for scan in iteration.inputs
        if isinstance(scan, Scan) and scan.operand.level(variable).is_bit_vector
    ]
    # not strict: the last of an odd number of vectors has no partner
    return list(zip(vectors[::2], vectors[1::2], strict=False))
