"""Expressions as trees: what one says, apart from how it is written and how it is run.

Those of Einsums have ``Scalar``, ``Operation`` and ``Take``; those that graphs compute, where every function
has its block, have ``Call`` in their place, and say by ``Sum`` and ``Split`` where these stand.

In a cascade an index variable is written small and names the rank that is written large: ``k`` runs over
``K``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TypeAlias

from fiberscope.workloads.expressions.functions import FUNCTIONS, Function

__all__ = [
    "Access",
    "Alias",
    "Call",
    "Equation",
    "Expression",
    "Index",
    "Number",
    "Operation",
    "Scalar",
    "Split",
    "Statement",
    "Sum",
    "Take",
    "accesses",
    "operators_of",
    "parts_of",
    "scalars",
]


@dataclass(frozen=True)
class Index:
    """A coordinate as an affine function of the loops' coordinates: ``2*q + s - 1``.

    Args:
        terms: pairs of rank and coefficient, none of them 0, each rank once, in the order written.
        constant: that is added.
    """

    terms: tuple[tuple[str, int], ...]
    constant: int = 0

    @property
    def ranks(self) -> tuple[str, ...]:
        """The ranks that take part."""
        return tuple(rank for rank, _coefficient in self.terms)

    @property
    def rank(self) -> str | None:
        """The rank that this is the plain coordinate of, if it is."""
        plain = len(self.terms) == 1 and self.terms[0][1] == 1 and self.constant == 0
        return self.terms[0][0] if plain else None


@dataclass(frozen=True)
class Access:
    """A tensor at a point: ``A[k, m]``, an index for each of its declared ranks; none for a scalar tensor.

    Args:
        places: columns, from 0 on, of the tensor and of each index in a text of index notation.
    """

    tensor: str
    indices: tuple[Index, ...]
    places: tuple[int, ...] = field(default=(), compare=False, repr=False)

    @classmethod
    def at(cls, tensor: str, variables: Sequence[str], places: tuple[int, ...] = ()) -> Access:
        """A tensor at plain variables, one a dimension."""
        return cls(tensor, tuple(Index(((variable, 1),)) for variable in variables), places)

    def __str__(self) -> str:
        """Return the text as a user writes it; the tensor has plain variables."""
        return f"{self.tensor}({','.join(self.variables)})" if self.indices else self.tensor

    @property
    def variables(self) -> tuple[str, ...]:
        """Return the variables of an access at plain variables, one for each dimension."""
        return tuple([index.terms[0][0] for index in self.indices])

    @property
    def ranks(self) -> tuple[str, ...]:
        """The ranks in its indices, each once, in their order."""
        return tuple(dict.fromkeys(rank for index in self.indices for rank in index.ranks))


@dataclass(frozen=True)
class Number:
    """A number that is written out; in a reference it is exact."""

    value: float | Fraction

    def __str__(self) -> str:
        """Return the text as a user writes it."""
        return f"{float(self.value):g}"


@dataclass(frozen=True)
class Scalar:
    """A name that stands for a number: a symbol of the specification, or an argument of a function."""

    name: str


@dataclass(frozen=True)
class Operation:
    """``*``, ``+`` or ``-`` between operands, from left to right; ``-`` of one operand is its negative.

    What they compute can be redefined (``Einsum.operators``). Where they compute is fixed: ``*`` where all
    its operands are, ``+`` and ``-`` where any is. References and index notation have ``/``, too.
    """

    operator: str
    operands: tuple[Expression, ...]


@dataclass(frozen=True)
class Take:
    """``take(A, B, 1)``: where all operands are, a copy of the selected one, counted from 0."""

    operands: tuple[Expression, ...]
    selected: int


@dataclass(frozen=True)
class Call:
    """A named function of operands; it is computed where any of them is, an absent one being empty there.

    Args:
        function: its name.
        operands: its operands.
        where: in a graph, where it is computed if its meaning does not say that: where ``all`` its operands
            are, or where ``any`` is.
        counted: what it counts as then.
    """

    function: str
    operands: tuple[Expression, ...]
    where: str = ""
    counted: str = ""

    def __str__(self) -> str:
        """Return the text as a user writes it."""
        sign = self.meaning.sign
        parts = [f"({operand})" if isinstance(operand, Call) else str(operand) for operand in self.operands]
        return f" {sign} ".join(parts) if sign else f"{self.function}({', '.join(parts)})"

    @property
    def meaning(self) -> Function:
        """Return its function in a graph."""
        return FUNCTIONS[self.function]

    def of_each(self, change: Callable[[Expression], Expression]) -> Call:
        """The same function of operands that were changed."""
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
    """A tensor of one dimension whose coordinate is split in two, c = outer * factor + inner."""

    operand: Access
    factor: int

    def __str__(self) -> str:
        """Return the text as a user writes it."""
        return f"split({self.operand}, {self.factor})"


Expression: TypeAlias = Access | Number | Scalar | Operation | Take | Call | Sum | Split


@dataclass(frozen=True)
class Equation:
    """One Einsum: the output at a point, and what it is there.

    Args:
        output: plain or affine indices; what the expression has and the output has not is reduced.
        expression: the right-hand side.
        text: as written.
    """

    output: Access
    expression: Expression
    text: str


@dataclass(frozen=True)
class Alias:
    """``P1 = P0``: another name for the tensor as it is at this place of the cascade; nothing is moved."""

    output: str
    source: str
    text: str


Statement: TypeAlias = Equation | Alias


def accesses(expression: Expression) -> Iterator[Access]:
    """The tensors of an expression, from left to right."""
    return (part for part in parts_of(expression) if isinstance(part, Access))


def scalars(expression: Expression) -> Iterator[Scalar]:
    """Return the names of numbers, from left to right."""
    return (part for part in parts_of(expression) if isinstance(part, Scalar))


def operators_of(expression: Expression) -> Iterator[str]:
    """The operators and the names of the functions that it applies, each as often, from the outside in."""
    for part in parts_of(expression):
        if isinstance(part, Operation):
            yield from [part.operator] * max(1, len(part.operands) - 1)
        elif isinstance(part, Call):
            yield part.function


def parts_of(expression: Expression) -> Iterator[Expression]:
    """An expression and all within it, from the outside in and from left to right."""
    yield expression
    if isinstance(expression, Sum | Split):
        yield from parts_of(expression.operand)
    elif isinstance(expression, Operation | Take | Call):
        for operand in expression.operands:
            yield from parts_of(operand)
