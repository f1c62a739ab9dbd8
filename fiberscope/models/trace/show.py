"""Views of ``fiberscope model --show``: loop nests, blocks and traffic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from fiberscope.base.errors import InputError
from fiberscope.models.trace.model import find_loops_outside_space, group_blocks
from fiberscope.models.trace.specification import (
    Einsum,
    Flatten,
    Follow,
    Partition,
    Specification,
    Split,
    UniformOccupancy,
    UniformShape,
)
from fiberscope.results.report.document import Report
from fiberscope.results.report.table import Table
from fiberscope.workloads.errors import suggest
from fiberscope.workloads.expressions.expression import (
    Access,
    Alias,
    Call,
    Equation,
    Expression,
    Operation,
    Take,
    accesses,
)

_INDENT = "    "
_COMMENT_COLUMN = 56
SPECIFICATION_VIEWS = ("loopnest", "blocks")  # views without operands
RUN_VIEWS = ("traffic", "spacetime")


def loop_nests(specification: Specification) -> str:
    """Return the loops of all Einsums as text, outermost loop first.

    A loop over ``A & B`` visits the coordinates that both tensors have, a loop over ``A | B`` those that
    either has. ``Z << A`` inserts the coordinates of A into Z. The comment of a loop names its placement and
    its components.
    """
    iteration = specification.iteration
    nests = ["\n".join(_Nest(specification, einsum).lines()) for einsum in specification.einsums]
    if iteration is None:
        return "\n\n".join(nests)
    condition = f"{iteration.until_empty} is empty" if iteration.until_empty else "nothing changes"
    first_line = f"until {condition}, {iteration.limit:,} rounds at the most:"
    carry = ", ".join(f"{target} = {source}" for target, source in iteration.carry.items())
    return "\n\n".join([first_line, *nests, f"next round: {carry}"])


@dataclass(frozen=True)
class _Nest:
    """Text of the loop nest of one Einsum."""

    specification: Specification
    einsum: Einsum

    def lines(self) -> Iterator[str]:
        """Yield the lines of one Einsum."""
        equation = self.einsum.equation
        yield equation.text
        if isinstance(equation, Alias):
            return
        for step in self.einsum.partitioning:
            yield f"{_INDENT}{_describe_partition(step)}"
        for depth, rank in enumerate(self.einsum.loop_order):
            line = f"{_INDENT * (depth + 1)}for {rank.lower()} in {self._format_coiteration(equation, rank)}:"
            comment = "; ".join(self._list_comments(rank))
            yield f"{line:<{_COMMENT_COLUMN}}  # {comment}" if comment else line
        yield f"{_INDENT * (len(self.einsum.loop_order) + 1)}{self._format_body(equation)}"

    def _format_coiteration(self, equation: Equation, rank: str) -> str:
        """Return the iterator of a loop: fibers of the inputs, and the output that the loop fills."""
        fibers = self._format_fibers(equation.expression, rank)
        output = equation.output.tensor if self._has_rank(equation.output, rank) else ""
        if fibers is None:
            return f"the shape of {_find_base(self.einsum, rank)}" + (f", into {output}" if output else "")
        return f"{output} << {fibers}" if output else fibers

    def _format_fibers(self, expression: Expression, rank: str) -> str | None:
        """Return the fibers that an expression co-iterates at a rank; None if there are none."""
        if isinstance(expression, Access):
            return expression.tensor if self._has_rank(expression, rank) else None
        if not isinstance(expression, Operation | Take | Call):
            return None
        operands = (self._format_fibers(operand, rank) for operand in expression.operands)
        fibers = list(dict.fromkeys(fiber for fiber in operands if fiber is not None))
        # a product and a take need all operands; any other operation runs where one of them is present
        intersects = isinstance(expression, Take) or (
            isinstance(expression, Operation) and expression.operator == "*"
        )
        joined = (" & " if intersects else " | ").join(fibers)
        return (f"({joined})" if len(fibers) > 1 and not intersects else joined) or None

    def _has_rank(self, access: Access, rank: str) -> bool:
        """Return whether a tensor's indices have all ranks of which a loop's rank consists."""
        return set(_find_bases(self.einsum, rank)) <= set(access.ranks)

    def _list_comments(self, rank: str) -> Iterator[str]:
        spacetime, bindings = self.einsum.spacetime, self.einsum.bindings
        if spacetime is not None and rank in [stamp.rank for stamp in spacetime.space]:
            yield "in space"
        for intersector in bindings.intersectors:
            if intersector.rank == rank:
                components = self.specification.configurations[bindings.config].components
                leader = f", {intersector.leader} leads" if intersector.leader else ""
                yield f"{intersector.component}: {components[intersector.component].intersection}{leader}"
        for tensor in self._find_lookup_tensors(rank):
            yield f"{tensor} is looked up"

    def _find_lookup_tensors(self, rank: str) -> Iterator[str]:
        """Yield the tensors that are looked up in the loop of a flattened rank."""
        equation, bases = self.einsum.equation, set(_find_bases(self.einsum, rank))
        # of the pieces of a split rank, only the innermost (K0 of K2, K1, K0) has single coordinates
        is_innermost = rank.endswith("0") or not any(
            isinstance(step, Split) and rank in step.names for step in self.einsum.partitioning
        )
        # a tensor with only some of the flattened ranks has no fiber for this loop
        if isinstance(equation, Equation) and len(bases) > 1 and is_innermost:
            for access in accesses(equation.expression):
                if bases & set(access.ranks) and not bases <= set(access.ranks):
                    yield access.tensor

    def _format_body(self, equation: Equation) -> str:
        """Return the statement of the innermost loop, with the redefined operators as a comment."""
        # points that differ only in these ranks update the same element
        reduced_ranks = set(self.einsum.ranks) - set(equation.output.ranks)
        left, _equals, right = equation.text.partition("=")
        redefined = {
            key: name for key, name in self.einsum.operators.items() if name not in ("mul", "add", "sub")
        }
        names = ", ".join(f"{operator} is {name}" for operator, name in redefined.items())
        line = f"{left.strip()} {'+=' if reduced_ranks else '='} {right.strip()}"
        return f"{line}  # {names}" if names else line


def _describe_partition(step: Partition) -> str:
    if isinstance(step, Flatten):
        return f"{' and '.join(step.ranks)} are flattened to {step.name}"
    if isinstance(step, Follow):
        return f"{step.rank} follows {step.leader} into {', '.join(step.names)}"
    pieces = ", ".join(_describe_pieces(directive) for directive in step.directives)
    return f"{step.rank} is cut into {', '.join(step.names)}: {pieces}"


def _describe_pieces(directive: UniformShape | UniformOccupancy) -> str:
    if isinstance(directive, UniformOccupancy):
        return f"{directive.size:,} elements of {directive.leader}"
    return f"{directive.ways:,} ranges" if directive.ways else f"{directive.size:,} coordinates"


def _find_base(einsum: Einsum, rank: str) -> str:
    """Return the rank of which a loop's rank is a piece."""
    for step in einsum.partitioning:
        if isinstance(step, Split) and rank in step.names and rank != step.rank:
            return step.rank
    return rank


def _find_bases(einsum: Einsum, rank: str) -> tuple[str, ...]:
    """Return the ranks of the Einsum that a loop's rank consists of."""
    base = _find_base(einsum, rank)
    for step in einsum.partitioning:
        if isinstance(step, Flatten) and step.name == base:
            return tuple(origin for flattened in step.ranks for origin in _find_bases(einsum, flattened))
    return (base,) if base == rank else _find_bases(einsum, base)


def check_view(name: str) -> None:
    """Check the name of a view.

    Raises:
        InputError: the view does not exist; the message suggests the nearest name.
    """
    views = (*SPECIFICATION_VIEWS, *RUN_VIEWS)
    if name not in views:
        raise InputError(f"--show {name}: there is no such view; {suggest(name, views)}")


def describe_blocks(specification: Specification) -> str:
    """Describe the blocks of concurrent Einsums, one a line, with the reason why each block begins."""
    bound = [einsum for einsum in specification.einsums if einsum.bindings.config]
    if not bound:
        return "no Einsum is bound to an architecture"
    groups, by_name = group_blocks(bound), {einsum.name: einsum for einsum in bound}
    lines = [" and ".join(groups[0])]
    for previous, block in pairwise(groups):
        lines.append(
            f"{' and '.join(block)}: {_explain_separation(by_name[previous[-1]], by_name[block[0]])}"
        )
    return "\n".join(lines)


def _explain_separation(previous: Einsum, einsum: Einsum) -> str:
    """Return why an Einsum begins a new block; the common unit may be of an Einsum before the previous."""
    if previous.bindings.config != einsum.bindings.config:
        return f"in another configuration, {einsum.bindings.config}"
    previous_loops, loops = find_loops_outside_space(previous), find_loops_outside_space(einsum)
    if previous_loops != loops:
        return f"loops outside of space are [{', '.join(loops)}], not [{', '.join(previous_loops)}]"
    return "a unit is needed by both"


def build_traffic_table(report: Report) -> Table:
    """Return a table of the bytes read from and written to each memory, by Einsum and tensor, and times.

    Bytes are rounded down. The time is that of the component for all tensors of the Einsum, so that it is the
    same in the rows of several tensors.

    Args:
        report: the report of a run of the trace model.
    """
    table = Table("Traffic", ["Einsum", "memory", "tensor", "read", "written", "ns"], labels=3)
    assert report.teaal is not None
    for einsum, components in report.teaal.metrics.items():
        for component, tensors in components.items() if isinstance(components, Mapping) else ():
            for tensor, counts in tensors.items():
                if isinstance(counts, Mapping):
                    # metrics count bits
                    cells = [f"{counts.get(direction, 0) // 8:,}" for direction in ("read", "write")]
                    table.add(einsum, component, tensor, *cells, f"{tensors['time'] * 1e9:,.2f}")
    return table
