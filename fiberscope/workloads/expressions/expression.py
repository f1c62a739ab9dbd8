"""Expression trees, independent of the syntax and of the evaluation.

Expressions of Einsums use ``Scalar``, ``Operation`` and ``Take``. Expressions of graphs, in which every
function has its block, use ``Call`` instead, with ``Sum`` and ``Split`` at their positions. In a cascade, a
lower-case index variable names the rank of the same upper-case letter: ``k`` runs over ``K``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TypeAlias

from fiberscope.workloads.expressions.functions import FUNCTIONS, Function


@dataclass(frozen=True)
class Index:
    """A coordinate as an affine function of the loops' coordinates: ``2*q + s - 1``.

    Args:
        terms: pairs of rank and coefficient, none of them 0, each rank once, in the original order.
        constant: the constant term.
    """

    terms: tuple[tuple[str, int], ...]
    constant: int = 0

    @property
    def ranks(self) -> tuple[str, ...]:
        """The ranks of the terms."""
        return tuple(rank for rank, _coefficient in self.terms)

    @property
    def rank(self) -> str | None:
        """The rank if the index is the plain coordinate of a rank, else None."""
        is_plain = len(self.terms) == 1 and self.terms[0][1] == 1 and self.constant == 0
        return self.terms[0][0] if is_plain else None


@dataclass(frozen=True)
class Access:
    """A tensor at a point: ``A[k, m]``, with an index for each declared rank; none for a scalar tensor.

    Args:
        text_columns: 0-based columns of the tensor and of each index in a text of index notation, for
            messages.
    """

    tensor: str
    indices: tuple[Index, ...]
    # not compared: the same access elsewhere in a text is equal
    text_columns: tuple[int, ...] = field(default=(), compare=False, repr=False)

    @classmethod
    def plain(cls, tensor: str, variables: Sequence[str], text_columns: tuple[int, ...] = ()) -> Access:
        """Return an access at plain variables.

        Args:
            tensor: name of the tensor.
            variables: the variable of each dimension.
            text_columns: 0-based columns of the tensor and of each variable in a text.
        """
        return cls(tensor, tuple(Index(((variable, 1),)) for variable in variables), text_columns)

    def __str__(self) -> str:
        """Return the text of an access at plain variables, as a user writes it; see ``variables``."""
        return f"{self.tensor}({','.join(self.variables)})" if self.indices else self.tensor

    @property
    def variables(self) -> tuple[str, ...]:
        """Return the variables of an access at plain variables, one for each dimension.

        Of an affine index, only the first variable is returned. A constant index raises ``IndexError``.
        """
        return tuple([index.terms[0][0] for index in self.indices])

    @property
    def ranks(self) -> tuple[str, ...]:
        """The distinct ranks of the indices, in their order."""
        return tuple(dict.fromkeys(rank for index in self.indices for rank in index.ranks))


@dataclass(frozen=True)
class Number:
    """A literal number: a float, or an exact fraction in an arithmetic expression (``parse_arithmetic``)."""

    value: float | Fraction

    def __str__(self) -> str:
        """Return the text as a user writes it."""
        return f"{float(self.value):g}"


@dataclass(frozen=True)
class Scalar:
    """A name of a number: a symbol of the specification, or an argument of a function."""

    name: str


@dataclass(frozen=True)
class Operation:
    """``*``, ``+`` or ``-`` between operands, from left to right; ``-`` of one operand is the negative.

    Between three operands or more, the operator is the same: ``A * B * C``.
    ``Einsum.operators`` can redefine the functions, but not the points of evaluation: ``*`` is evaluated
    where all operands exist, ``+`` and ``-`` where any does. References and index notation also have ``/``.
    """

    operator: str
    operands: tuple[Expression, ...]


@dataclass(frozen=True)
class Take:
    """``take(A, B, 1)``: a copy of the selected operand, counted from 0, where all operands exist."""

    operands: tuple[Expression, ...]
    selected: int


@dataclass(frozen=True)
class Call:
    """A named function of operands, evaluated where any operand exists; other operands are empty there.

    Args:
        function: name of the function.
        where: in a graph, the points of evaluation if the function leaves them open: where ``all`` operands
            exist, or where ``any`` does.
        counted: the operation as which the evaluation counts.
    """

    function: str
    operands: tuple[Expression, ...]
    where: str = ""
    counted: str = ""

    def __str__(self) -> str:
        """Return the text as a user writes it."""
        sign = self.meaning.sign
        texts = [f"({operand})" if isinstance(operand, Call) else str(operand) for operand in self.operands]
        return f" {sign} ".join(texts) if sign else f"{self.function}({', '.join(texts)})"

    @property
    def meaning(self) -> Function:
        """The function in a graph."""
        return FUNCTIONS[self.function]

    def map_operands(self, change: Callable[[Expression], Expression]) -> Call:
        """Return the same function with changed operands."""
        return replace(self, operands=tuple(map(change, self.operands)))


@dataclass(frozen=True)
class Sum:
    """A sum over variables."""

    variables: tuple[str, ...]
    operand: Expression

    def __str__(self) -> str:
        """Return the text as a user writes it."""
        return f"sum[{','.join(self.variables)}] ({self.operand})"


@dataclass(frozen=True)
class Split:
    """A one-dimensional tensor whose coordinate is split in two, c = outer * factor + inner."""

    operand: Access
    factor: int

    def __str__(self) -> str:
        """Return the text as a user writes it."""
        return f"split({self.operand}, {self.factor})"


Expression: TypeAlias = Access | Number | Scalar | Operation | Take | Call | Sum | Split


@dataclass(frozen=True)
class Equation:
    """An Einsum: the output at a point, and its expression.

    Args:
        output: plain or affine indices. Ranks that only the expression has are reduced.
        expression: the right-hand side.
        text: the source text.
    """

    output: Access
    expression: Expression
    text: str


@dataclass(frozen=True)
class Alias:
    """``P1 = P0``: another name for the tensor at this position of the cascade. No data moves."""

    output: str
    source: str
    text: str


Statement: TypeAlias = Equation | Alias


def accesses(expression: Expression) -> Iterator[Access]:
    """Yield the tensor accesses of an expression, from left to right."""
    return (node for node in iterate_subexpressions(expression) if isinstance(node, Access))


def iterate_scalars(expression: Expression) -> Iterator[Scalar]:
    """Yield the scalars of an expression, from left to right."""
    return (node for node in iterate_subexpressions(expression) if isinstance(node, Scalar))


def iterate_operators(expression: Expression) -> Iterator[str]:
    """Yield operators and function names of an expression, once for each application, from the outside in.

    An operation on n operands is n - 1 applications. ``Take``, ``Sum`` and ``Split`` yield no name of theirs.
    """
    for node in iterate_subexpressions(expression):
        if isinstance(node, Operation):
            # a negation, with a single operand, is one application
            yield from [node.operator] * max(1, len(node.operands) - 1)
        elif isinstance(node, Call):
            yield node.function


def iterate_subexpressions(expression: Expression) -> Iterator[Expression]:
    """Yield an expression and its subexpressions, from the outside in and from left to right."""
    yield expression
    if isinstance(expression, Sum | Split):
        yield from iterate_subexpressions(expression.operand)
    elif isinstance(expression, Operation | Take | Call):
        for operand in expression.operands:
            yield from iterate_subexpressions(operand)


def reduces(equation: Equation) -> bool:
    """Return whether several points of the iteration space are reduced to one output.

    A take that copies the same value repeatedly does not reduce: only the ranks of its selected operand
    count.
    """
    expression = equation.expression
    if isinstance(expression, Take):
        expression = expression.operands[expression.selected]
    ranks = {rank for access in accesses(expression) for rank in access.ranks}
    # An affine index of the output has no ``rank``, so that its ranks remain: in O[q + s], several points
    # (q, s) are reduced to one output.
    return bool(ranks - {index.rank for index in equation.output.indices})
