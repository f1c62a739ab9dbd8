"""Lower a stage to a stream graph: the loops before the cut, and the loops after it for one instance.

The lowering follows the rules of the graph compiler (``fiberscope.models.graphs.compiler.lower``) and four
further rules:

1.  The loops are the loops of the mapping, including loops over pieces. The levels of a tensor are the ranks
    of its partitioned fibertree. A loop over pieces is therefore lowered like any other loop.
2.  References and coordinates pass from the outer to the inner loops through a ``cut``, which makes tasks.
3.  In a product, an operand with a dense level is looked up at each coordinate of the other operands.
4.  A merger that swaps two ranks (``swap``) receives fibers by reference and sends points. The second Einsum
    may need other operands of the first Einsum: their references pass through the merger.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from fiberscope.hw.fibers.merge import RADIX
from fiberscope.models.from_spec.arithmetic import StageArithmetic
from fiberscope.models.from_spec.lane_blocks import seek_on_lanes
from fiberscope.models.from_spec.operands import EinsumLoops
from fiberscope.models.from_spec.pairs import find_fiber_lists, sum_pairs
from fiberscope.models.from_spec.projections import Lookup, Projection, find_range, project_index
from fiberscope.models.from_spec.stage_graph import Crossing, StageGraph, strip_primes
from fiberscope.models.from_spec.stages import Stage, list_skipped_loops, refuse
from fiberscope.models.from_spec.task_blocks import TaskBlocks, TaskSum, WrittenResult, project_coordinates
from fiberscope.models.graphs.compiler.language import translate_expression
from fiberscope.models.graphs.compiler.lower import add_value, find_size_sources, lower_loop
from fiberscope.models.graphs.compiler.results import LoweredLoop
from fiberscope.models.graphs.compiler.terms import (
    Function,
    Operand,
    Term,
    TermSum,
    Wire,
    build_term,
    derive_iteration,
    iterate_operands,
)
from fiberscope.models.graphs.formats import Format
from fiberscope.models.graphs.levels.compressed import CompressedLevel
from fiberscope.models.graphs.netlist import Graph, Node
from fiberscope.models.trace.levels import build_output_levels
from fiberscope.models.trace.plan import uses_of
from fiberscope.models.trace.specification import Specification
from fiberscope.workloads.canonical import Integers
from fiberscope.workloads.expressions.expression import Access, Expression, Index

SWAPPED_RANKS = 2  # number of ranks that a merger exchanges


def lower_stage(
    specification: Specification, stage: Stage, einsum_loops: Sequence[EinsumLoops]
) -> StageGraph:
    """Return the graph of a stage.

    Args:
        specification: the specification of the stage.
        einsum_loops: loops and operands of each Einsum of the stage.

    Raises:
        ConfigurationError: the stage needs a function that no block has.
    """
    return _Lowering(specification, stage, einsum_loops).lower()


class _Lowering:
    """The lowering of one stage; ``lower`` is called once."""

    def __init__(
        self, specification: Specification, stage: Stage, einsum_loops: Sequence[EinsumLoops]
    ) -> None:
        self._specification, self._stage, self._einsum_loops = specification, stage, einsum_loops
        self._last_loops = einsum_loops[-1]
        formats = {
            name: tensor.format for nest in reversed(einsum_loops) for name, tensor in nest.tensors.items()
        }
        self._graph = Graph(formats)
        self._terms = [build_term(self._translate(nest), formats) for nest in einsum_loops]
        self._blocks = TaskBlocks(self._graph, 1, find_size_sources(self._terms[0]))
        self._blocks.skips = list_skipped_loops(specification, einsum_loops[0].plan.einsum)
        self._crossings: list[Crossing] = []
        self._crossed: dict[str, Wire] = {}  # by loop before the cut, the loop's coordinates after the cut

    def _translate(self, einsum_loops: EinsumLoops) -> Expression:
        plan, accesses = einsum_loops.plan, iter(einsum_loops.accesses)
        operators = plan.einsum.operators
        return translate_expression(plan.equation.expression, lambda _access: next(accesses), operators)

    def lower(self) -> StageGraph:
        """Add all blocks to the graph, and return the graph."""
        term, outer = self._terms[0], self._stage.outer
        loops: list[LoweredLoop] = []
        for variable in outer:
            loops.append(self._add_loop(term, variable, loops))
        cut = self._add_cut(term, loops)
        outer_nodes = set(self._graph.nodes)
        output_coordinates = self._lower_merger(term) if self._stage.merger else self._lower_inner_loops(term)
        sums = next((node for node in self._graph.nodes.values() if node.type == "tasksum"), None)
        return StageGraph(
            self._last_loops.plan.einsum,
            self._graph,
            cut,
            tuple(self._crossings),
            frozenset(self._graph.nodes.keys() - outer_nodes - ({sums.name} if sums else set())),
            sums,
            output_coordinates,
            self._last_loops.plan,
            {name: tensor for nest in reversed(self._einsum_loops) for name, tensor in nest.tensors.items()},
            self._list_orders(),
            self._list_orders() | dict(pair for nest in self._einsum_loops for pair in nest.orders.items()),
            StageArithmetic.from_einsum(self._specification, self._last_loops.plan.einsum),
        )

    def _list_orders(self) -> dict[str, tuple[str, ...]]:
        plan, output = self._last_loops.plan, self._last_loops.plan.einsum.output
        read = {
            access.tensor: access.variables
            for nest in reversed(self._einsum_loops)
            for access in nest.accesses
        }
        tensor = self._specification.tensors[output]
        uses = uses_of(plan.equation.output, tensor.ranks)
        return {
            **read,
            output: tuple(level.rank.name for level in build_output_levels(plan, uses, tensor.empty) if uses),
        }

    def _add_loop(self, term: Term, variable: str, loops: Sequence[LoweredLoop]) -> LoweredLoop:
        """Add the blocks of a loop inside ``loops``, and the look-ups that its coordinates determine."""
        iteration = derive_iteration(term, variable)
        if iteration is None:
            loop = self._add_counter(term, variable, loops)
        else:
            on_lanes = seek_on_lanes(self._blocks, self._stage, term, iteration, variable, self._lookups)
            if on_lanes is not None:
                return on_lanes
            outer = loops[-1].coordinates if loops else None
            loop = lower_loop(self._blocks, term, iteration, variable, outer)
        for operand in iterate_operands(term):
            for lookup in self._lookups(operand):
                if lookup.loop == variable:
                    self._add_lookup(term, operand, lookup, [*loops, loop])
        return loop

    def _add_counter(self, term: Term, variable: str, loops: Sequence[LoweredLoop]) -> LoweredLoop:
        """Add a counter for a loop that no operand has."""
        span = find_range(self._einsum_loops[0].plan, variable)
        if span is None:
            raise self._error(f"no tensor on the right has {variable}, so its range is not known")
        if span.piece_loop:
            outer = self._repeat_coordinates(span.piece_loop, loops)
        elif loops:
            outer = loops[-1].coordinates
        else:
            references = (operand.references for operand in iterate_operands(term) if operand.references)
            outer = next(references, None) or Wire(self._graph.add("rootref"), "ref")
        sizes = {"size": span.size, "step": span.step, "piece": span.piece_size}
        coordinates = Wire(self._blocks.add("count", {"ref": outer}, index=variable, **sizes), "crd")
        self._blocks.repeat(list(iterate_operands(term)), variable, coordinates)
        return LoweredLoop(variable, coordinates, intersects=False, filled=span.size > 0)

    def _repeat_coordinates(self, name: str, loops: Sequence[LoweredLoop]) -> Wire:
        """Return coordinates of a loop, before the cut or in ``loops``, repeated in the last of ``loops``."""
        names = [loop.variable for loop in loops]
        if name in names:
            return self._repeat_first(loops[names.index(name) :])
        return self._repeat(self._crossed[name], name, loops)

    def _repeat_first(self, loops: Sequence[LoweredLoop]) -> Wire:
        return self._repeat(loops[0].coordinates, loops[0].variable, loops[1:])

    def _repeat(self, coordinates: Wire, outer: str, inner: Sequence[LoweredLoop]) -> Wire:
        """Return the coordinates of loop ``outer``, repeated for each iteration of the last inner loop."""
        for loop in inner:
            inputs: dict[str, Wire | None] = {"outer": coordinates, "inner": loop.coordinates}
            node = self._blocks.add("crdhold", inputs, outer=outer, inner=loop.variable)
            coordinates = Wire(node, "outer")
        return coordinates

    def _loops_needed_after_cut(self, term: Term) -> set[str]:
        """Return the loops before the cut whose coordinates look-ups and counters after the cut need."""
        plan, outer = self._einsum_loops[0].plan, self._stage.outer
        loops_needed: set[str] = set()
        for operand in iterate_operands(term):
            inner_lookups = (lookup for lookup in self._lookups(operand) if lookup.loop not in outer)
            loops_needed.update(index.loop for lookup in inner_lookups for index in lookup.projection.terms)
        for variable in plan.loops[len(outer) :]:
            span = find_range(plan, variable) if derive_iteration(term, variable) is None else None
            loops_needed.update([span.piece_loop] if span is not None else [])
        if self._stage.banked:
            loops_needed.add(outer[-1])
        return loops_needed & set(outer)

    def _lookups(self, operand: Operand) -> tuple[Lookup, ...]:
        return self._einsum_loops[0].lookups[operand.access.tensor]

    def _add_lookup(self, term: Term, operand: Operand, lookup: Lookup, loops: Sequence[LoweredLoop]) -> None:
        """Look up a rank of an operand in the last of the loops; iterations without a match are dropped."""
        coordinates = [self._repeat_coordinates(index.loop, loops) for index in lookup.projection.terms]
        other_operands = [other for other in iterate_operands(term) if other is not operand]
        streams = [loops[-1].coordinates, *(other.references for other in other_operands if other.references)]
        crd = project_coordinates(self._blocks, lookup.projection, coordinates)
        loops[-1].coordinates, *references = self._blocks.seek(operand, lookup.graph_name, crd, streams)
        for other, wire in zip(other_operands, references, strict=True):
            other.references = wire
        loops[-1].intersects, loops[-1].filled = True, False

    def _error(self, reason: str) -> Exception:
        return refuse(self._specification, f"{self._last_loops.plan.einsum.name}: {reason}")

    def _add_cut(self, term: Term, loops: Sequence[LoweredLoop]) -> Node:
        """Add the streams that cross the cut: a reference for each operand, and coordinates of the output."""
        cut = self._graph.add("cut", index=self._stage.outer[-1] if loops else "")
        required, loops_needed = set(_required_operands(term)), self._loops_needed_after_cut(term)
        for operand in iterate_operands(term):
            wire = operand.references or Wire(self._graph.add("rootref"), "ref")
            segments = self._segments_below(operand) if operand in required else None
            operand.references = self._add_crossing(cut, wire, Crossing("ref", segments=segments))
        for depth, loop in enumerate(loops):
            is_output, is_round_loop = loop.variable in self._output_loops(), depth < self._stage.rounds
            is_group_loop = self._stage.eager and self._belongs_to_output(loop.variable)
            projected = [item for item in self._projections.items() if item[1].terms[0].loop == loop.variable]
            is_crossing = is_output or is_round_loop or is_group_loop or loop.variable in loops_needed
            repeats = is_crossing or projected
            coordinates = self._repeat_first(loops[depth:]) if repeats else loop.coordinates
            if is_crossing:
                crossing = Crossing("crd", loop.variable, is_output, is_group_loop)
                self._crossed[loop.variable] = self._add_crossing(cut, coordinates, crossing)
            for name, projection in projected:
                wire = project_coordinates(self._blocks, projection, [coordinates])
                self._add_crossing(cut, wire, Crossing("crd", name, is_output=True))
        return cut

    def _add_crossing(self, node: Node, wire: Wire, crossing: Crossing) -> Wire:
        number = len(self._crossings)
        self._graph.connect(wire.node, wire.output, node, f"in[{number}]")
        self._crossings.append(crossing)
        return Wire(node, f"out[{number}]")

    def _segments_below(self, operand: Operand) -> Integers | None:
        tensor = next(nest.tensors[operand.access.tensor] for nest in self._einsum_loops)
        outer = {lookup.graph_name for lookup in self._lookups(operand) if lookup.loop in self._stage.outer}
        outer.update(self._stage.outer)
        depth = sum(variable in outer for variable in operand.access.variables)
        level = tensor.levels[depth] if depth < len(tensor.levels) else None
        return level.segments if isinstance(level, CompressedLevel) else None

    def _output_loops(self) -> list[str]:
        """Return the output's coordinates by name, in loop order: loops and parts of flattened ranks."""
        plan = self._last_loops.plan
        loop_of_rank = {rank: plan.loop_of(rank) for rank in plan.equation.output.ranks}
        ranks = [rank for loop in plan.loops for rank in loop_of_rank if loop_of_rank[rank] == loop]
        return [plan.find_lowest_piece(rank) for rank in ranks]

    @cached_property
    def _projections(self) -> dict[str, Projection]:
        """The coordinates of the output that are parts of flattened ranks, each computed from its loop."""
        plan = self._last_loops.plan
        names = [name for name in self._output_loops() if name not in plan.loops]
        return {name: project_index(plan, Index(((name, 1),))) for name in names}

    def _inner_output_loops(self) -> tuple[str, ...]:
        """Return the output's coordinates of the loops after the cut, by name."""
        plan = self._last_loops.plan
        return tuple(name for name in self._output_loops() if plan.loop_of(name) not in self._stage.outer)

    @property
    def _sums_tasks(self) -> bool:
        """Return whether the last Einsum sums over a loop before the cut, so that tasks share points."""
        return not all(self._belongs_to_output(loop) for loop in self._stage.outer)

    def _belongs_to_output(self, loop: str) -> bool:
        plan = self._last_loops.plan
        base = plan.base(loop)
        if base in plan.flattened:
            return all(self._belongs_to_output(rank) for rank in plan.flattened[base].ranks)
        return base in plan.equation.output.ranks

    def _lower_inner_loops(self, term: Term) -> tuple[str, ...]:
        """Lower the loops after the cut, and return the output's coordinates that they write."""
        plan, output_loops = self._last_loops.plan, self._inner_output_loops()
        inner = plan.loops[len(self._stage.outer) :]
        pairs = find_fiber_lists(self._specification, self._stage, self._einsum_loops[0], term)
        if pairs is not None and self._sums_tasks and output_loops == pairs.loops[:2]:
            sum_pairs(self._blocks, term, pairs, plan.einsum.output)
            return output_loops
        loops: list[LoweredLoop] = []
        for variable in inner:
            loops.append(self._add_loop(term, variable, loops))
        output = Access.plain(plan.einsum.output, output_loops)
        result_class = TaskSum if self._sums_tasks else WrittenResult
        projections = {name: self._projections[name] for name in output_loops if name in self._projections}
        format = Format("s" * len(output_loops), tuple(range(len(output_loops))))
        result = result_class(output, format, inner, projections)
        result.write(self._blocks, loops, add_value(self._blocks, term, lambda _operand: None))
        return output_loops

    def _lower_merger(self, term: Term) -> tuple[str, ...]:
        """Lower two Einsums with a merger between them, and return the output's coordinates they write."""
        first, second = (nest.plan for nest in self._einsum_loops)
        depth = len(self._stage.outer)
        inner, swapped = first.loops[depth:], second.loops[depth:]
        if len(inner) != SWAPPED_RANKS or swapped != inner[::-1]:
            raise self._error(f"a merger of {first.einsum.output} that does more than exchange two loops")
        upper, lower = inner
        merged, other_operands = self._find_merged(term, lower)
        loop = self._add_loop(term, upper, [])
        carried = self._find_carried(other_operands)
        node = self._add_merger(merged, loop, lower, [other_operands[name] for name in carried])
        for number, operands in enumerate(carried.values()):
            for operand in operands:
                operand.references = Wire(node, f"carried[{number}]")
        values: dict[Operand | TermSum, Wire] = {self._output_of_first(): Wire(node, "val")}
        value = add_value(self._blocks, self._terms[1], values.get)
        return self._add_run_writers(Wire(node, "outer"), value, lower)

    def _find_merged(self, term: Term, lower: str) -> tuple[Operand, dict[str, Operand]]:
        """Return the operand whose fibers are merged, and by name the operands that only select fibers."""
        operands = list(iterate_operands(term))
        owners = [operand for operand in operands if operand.has_level(lower)]
        selected = term
        while isinstance(selected, Function) and selected.name == "take":
            selected = selected.terms[-1]
        if len(owners) != 1 or selected is not owners[0] or owners[0].access.variables[-1] != lower:
            raise self._error(
                f"{self._stage.einsums[0].output} is merged, but is no take of one tensor's fibers of {lower}"
            )
        return owners[0], {operand.access.tensor: operand for operand in operands if operand is not owners[0]}

    def _output_of_first(self) -> Operand:
        output = self._stage.einsums[0].output
        operands = iterate_operands(self._terms[1])
        return next(operand for operand in operands if operand.access.tensor == output)

    def _find_carried(self, other_operands: Mapping[str, Operand]) -> dict[str, list[Operand]]:
        """Return the second Einsum's operands but the merged tensor, by their name in the first Einsum."""
        operands: dict[str, list[Operand]] = {}
        merged_name = self._stage.einsums[0].output
        for operand in iterate_operands(self._terms[1]):
            name = operand.access.tensor
            if name == merged_name:
                continue
            carried = other_operands.get(strip_primes(name))
            if carried is None or set(carried.access.variables) != set(operand.access.variables):
                raise self._error(f"{name} is read behind a merger, but not before it")
            operands.setdefault(carried.access.tensor, []).append(operand)
        return operands

    def _add_merger(self, merged: Operand, loop: LoweredLoop, lower: str, carried: Sequence[Operand]) -> Node:
        merger = self._stage.merger
        assert merger is not None
        radix = merger.radix if merger.inputs is not None else self._bound_fibers(merged, lower)
        if radix is None:
            raise self._error(
                f"{merger.name} has no bound on its inputs, and the number of fibers is not known"
            )
        inputs: dict[str, Wire | None] = {"crd": loop.coordinates, "ref": merged.references}
        inputs |= {f"carried[{number}]": operand.references for number, operand in enumerate(carried)}
        return self._blocks.add(
            "swap",
            inputs,
            index=lower,
            tensor=merged.access.tensor,
            mode=merged.dimension(lower),
            radix=radix,
        )

    def _bound_fibers(self, merged: Operand, lower: str) -> int:
        """Return the largest number of fibers of a task: the inputs of a merger without a bound."""
        tensor = next(nest.tensors[merged.access.tensor] for nest in self._einsum_loops)
        level = tensor.levels[merged.access.variables.index(lower) - 1]
        return max(RADIX[0], int(level.counts.max(initial=0)))

    def _add_run_writers(self, crd: Wire, value: Wire, lower: str) -> tuple[str, ...]:
        """Add the blocks that sum each run of equal coordinates and write the sums."""
        plan = self._last_loops.plan
        if self._inner_output_loops() != (lower,):
            raise self._error(
                f"behind a merger, the output should have {lower} and no other rank of the inner loops"
            )
        node = self._blocks.add("runsum", {"crd": crd, "val": value})
        tensor = plan.einsum.output
        crd, value = Wire(node, "crd"), Wire(node, "val")
        if self._sums_tasks:
            self._blocks.add("tasksum", {"crd[0]": crd, "val": value}, tensor=tensor)
        else:
            self._blocks.add("fiberwrite", {"crd": crd}, index=lower, tensor=tensor, mode=0)
            self._blocks.add("fiberwrite", {"val": value}, tensor=tensor, mode="vals")
        return (lower,)


def _required_operands(term: Term) -> Iterator[Operand]:
    """Yield the operands that make a term 0 where they have no value."""
    if isinstance(term, Operand):
        yield term
    elif isinstance(term, Function) and not term.adds:
        for factor in term.terms:
            yield from _required_operands(factor)
