"""Views of ``fiberscope model --show``: loop nests, blocks and traffic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from fiberscope.base.errors import InputError
from fiberscope.models.trace.model import blocks, loops_outside_space
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
from fiberscope.workloads.errors import nearest
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
OF_SPECIFICATIONS = ("loopnest", "blocks")  # views without operands
OF_RUNS = ("traffic", "spacetime")


def loop_nests(specification: Specification) -> str:
    """Return the loops of all Einsums as text, outermost loop first.

    A loop visits the coordinates that ``&`` finds in all, ``|`` in any of its tensors; ``Z << A`` inserts the
    coordinates of A into Z. The comment of a loop names its placement and its components.
    """
    rounds = specification.iteration
    nests = ["\n".join(_Nest(specification, einsum).lines()) for einsum in specification.einsums]
    if rounds is None:
        return "\n\n".join(nests)
    end = f"{rounds.until_empty} is empty" if rounds.until_empty else "nothing changes"
    carry = ", ".join(f"{target} = {source}" for target, source in rounds.carry.items())
    return "\n\n".join([f"until {end}, {rounds.limit:,} rounds at the most:", *nests, f"next round: {carry}"])


@dataclass(frozen=True)
class _Nest:
    specification: Specification
    einsum: Einsum

    def lines(self) -> Iterator[str]:
        """Yield the lines of one Einsum."""
        equation = self.einsum.equation
        yield equation.text
        if isinstance(equation, Alias):
            return
        for step in self.einsum.partitioning:
            yield f"{_INDENT}{_step(step)}"
        for depth, rank in enumerate(self.einsum.loop_order):
            line = f"{_INDENT * (depth + 1)}for {rank.lower()} in {self._coiterated_fibers(equation, rank)}:"
            comment = "; ".join(self._comments(rank))
            yield f"{line:<{_COMMENT_COLUMN}}  # {comment}" if comment else line
        yield f"{_INDENT * (len(self.einsum.loop_order) + 1)}{self._body(equation)}"

    def _coiterated_fibers(self, equation: Equation, rank: str) -> str:
        fibers = self._fibers(equation.expression, rank)
        output = equation.output.tensor if self._has_rank(equation.output, rank) else ""
        if fibers is None:
            return f"the shape of {_base(self.einsum, rank)}" + (f", into {output}" if output else "")
        return f"{output} << {fibers}" if output else fibers

    def _fibers(self, expression: Expression, rank: str) -> str | None:
        """Return the fibers that an expression co-iterates at a rank; None if there are none."""
        if isinstance(expression, Access):
            return expression.tensor if self._has_rank(expression, rank) else None
        if not isinstance(expression, Operation | Take | Call):
            return None
        parts = [part for operand in expression.operands if (part := self._fibers(operand, rank)) is not None]
        every = isinstance(expression, Take) or (
            isinstance(expression, Operation) and expression.operator == "*"
        )
        parts = list(dict.fromkeys(parts))
        joined = (" & " if every else " | ").join(parts)
        return (f"({joined})" if len(parts) > 1 and not every else joined) or None

    def _has_rank(self, access: Access, rank: str) -> bool:
        """Return whether a tensor's indices have all ranks of a loop."""
        return set(_bases(self.einsum, rank)) <= set(access.ranks)

    def _comments(self, rank: str) -> Iterator[str]:
        spacetime, bound = self.einsum.spacetime, self.einsum.bindings
        if spacetime is not None and rank in [stamp.rank for stamp in spacetime.space]:
            yield "in space"
        for intersector in bound.intersectors:
            if intersector.rank == rank:
                components = self.specification.configurations[bound.config].components
                leads = f", {intersector.leader} leads" if intersector.leader else ""
                yield f"{intersector.component}: {components[intersector.component].intersection}{leads}"
        for tensor in self._lookup_tensors(rank):
            yield f"{tensor} is looked up"

    def _lookup_tensors(self, rank: str) -> Iterator[str]:
        """Yield the tensors that are looked up in the loop of a flattened rank."""
        equation, bases = self.einsum.equation, set(_bases(self.einsum, rank))
        lowest = rank.endswith("0") or not any(
            isinstance(step, Split) and rank in step.names for step in self.einsum.partitioning
        )
        if isinstance(equation, Equation) and len(bases) > 1 and lowest:
            for access in accesses(equation.expression):
                if bases & set(access.ranks) and not bases <= set(access.ranks):
                    yield access.tensor

    def _body(self, equation: Equation) -> str:
        reduces = set(self.einsum.ranks) - set(equation.output.ranks)
        left, _equals, right = equation.text.partition("=")
        redefined = {
            key: name for key, name in self.einsum.operators.items() if name not in ("mul", "add", "sub")
        }
        names = ", ".join(f"{operator} is {name}" for operator, name in redefined.items())
        line = f"{left.strip()} {'+=' if reduces else '='} {right.strip()}"
        return f"{line}  # {names}" if names else line


def _step(step: Partition) -> str:
    if isinstance(step, Flatten):
        return f"{' and '.join(step.ranks)} are flattened to {step.name}"
    if isinstance(step, Follow):
        return f"{step.rank} follows {step.leader} into {', '.join(step.names)}"
    cuts = ", ".join(_cut(directive) for directive in step.directives)
    return f"{step.rank} is cut into {', '.join(step.names)}: {cuts}"


def _cut(directive: UniformShape | UniformOccupancy) -> str:
    if isinstance(directive, UniformOccupancy):
        return f"{directive.size:,} elements of {directive.leader}"
    return f"{directive.ways:,} ranges" if directive.ways else f"{directive.size:,} coordinates"


def _base(einsum: Einsum, rank: str) -> str:
    """Return the rank of which a loop's rank is a piece."""
    for step in einsum.partitioning:
        if isinstance(step, Split) and rank in step.names and rank != step.rank:
            return step.rank
    return rank


def _bases(einsum: Einsum, rank: str) -> tuple[str, ...]:
    """Return the ranks of the Einsum that a loop's rank consists of."""
    base = _base(einsum, rank)
    for step in einsum.partitioning:
        if isinstance(step, Flatten) and step.name == base:
            return tuple(base for part in step.ranks for base in _bases(einsum, part))
    return (base,) if base == rank else _bases(einsum, base)


def check(name: str) -> None:
    """Check the name of a view.

    Raises:
        InputError: the view does not exist; the message suggests the nearest name.
    """
    kinds = (*OF_SPECIFICATIONS, *OF_RUNS)
    if name not in kinds:
        raise InputError(f"--show {name}: there is no such view; {nearest(name, kinds)}")


def blocks_in_words(specification: Specification) -> str:
    """Describe the blocks of concurrent Einsums, one a line, with the reason why each block begins."""
    bound = [einsum for einsum in specification.einsums if einsum.bindings.config]
    if not bound:
        return "no Einsum is bound to an architecture"
    groups, by_name = blocks(bound), {einsum.name: einsum for einsum in bound}
    lines = [" and ".join(groups[0])]
    for previous, block in pairwise(groups):
        lines.append(f"{' and '.join(block)}: {_separation_reason(by_name[previous[-1]], by_name[block[0]])}")
    return "\n".join(lines)


def _separation_reason(previous: Einsum, einsum: Einsum) -> str:
    """Return why an Einsum does not run concurrently with the previous Einsum."""
    if previous.bindings.config != einsum.bindings.config:
        return f"in another configuration, {einsum.bindings.config}"
    outer = [loops_outside_space(stage) for stage in (previous, einsum)]
    if outer[0] != outer[1]:
        return f"loops outside of space are [{', '.join(outer[1])}], not [{', '.join(outer[0])}]"
    return "a unit is needed by both"


def traffic_table(report: Report) -> Table:
    """Return a table of bytes read from and written to each memory, by Einsum and tensor, with times."""
    table = Table("Traffic", ["Einsum", "memory", "tensor", "read", "written", "ns"], labels=3)
    assert report.teaal is not None
    for einsum, components in report.teaal.metrics.items():
        for component, tensors in components.items() if isinstance(components, Mapping) else ():
            for tensor, counts in tensors.items():
                if isinstance(counts, Mapping):
                    cells = [f"{counts.get(direction, 0) // 8:,}" for direction in ("read", "write")]
                    table.add(einsum, component, tensor, *cells, f"{tensors['time'] * 1e9:,.2f}")
    return table
