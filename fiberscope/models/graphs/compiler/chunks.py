"""Splits loops: every variable that is split becomes two, everywhere, and tensors are stored in chunks.

``x(i) = B(i,j) * c(j)`` with i in chunks is ``x(i_0,i_1) = B(i_0,i_1,j) * c(j)``, an assignment like any
other, which is lowered so. Levels of its tensors that have a part follow the loops, so that these may go
through whole chunks; how a level is stored, both of its parts are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from fiberscope.errors import InputError
from fiberscope.models.graphs.compiler.sums import accesses
from fiberscope.models.graphs.expression import Access, Assignment, Expression, Operation, Sum
from fiberscope.models.graphs.formats import Format
from fiberscope.models.graphs.splits import Splits, cut_variables, parts

__all__ = ["check_splits", "cut_assignment", "cut_formats"]


def check_splits(assignment: Assignment, splits: Splits) -> None:
    """Refuse splits that an assignment cannot have.

    Raises:
        InputError: there is no such variable, one has the name of a part, or a tensor is read in chunks and
            otherwise.
    """
    every = (assignment.result, *accesses(assignment.expression))
    variables = list(dict.fromkeys(variable for access in every for variable in access.variables))
    for variable, chunk in splits.items():
        named = f"split {variable}:{chunk}"
        if variable not in variables:
            raise InputError(
                f"{named}: the expression has no {variable}; it has {','.join(variables) or 'none'}"
            )
        for part in set(parts(variable)) & set(variables):
            raise InputError(f"{named}: {part} is a variable already; give {variable} another name")
    first: dict[str, Access] = {}
    for access in every:
        _check_alike(first.setdefault(access.tensor, access), access, splits)


def _check_alike(before: Access, access: Access, splits: Splits) -> None:
    """Refuse a tensor that would have to be stored in two ways."""
    for one, other in zip(before.variables, access.variables, strict=True):
        if splits.get(one) != splits.get(other):
            raise InputError(
                f"split: {before.tensor} is read as {before} and as {access}; "
                f"split {one} and {other} alike, or none of them"
            )


def cut_assignment(assignment: Assignment, splits: Splits) -> Assignment:
    """An assignment in parts of its variables.

    Args:
        assignment: in whole ones.
        splits: of a variable the coordinates of a chunk.
    """
    result = _cut(assignment.result, splits)
    assert isinstance(result, Access)
    return Assignment(result, _cut(assignment.expression, splits))


def _cut(expression: Expression, splits: Splits) -> Expression:
    if isinstance(expression, Access):
        tensor, *places = expression.places or (0,)
        both = [
            place
            for variable, place in zip(expression.variables, places, strict=False)
            for place in [place] * (1 + (variable in splits))
        ]
        variables = cut_variables(expression.variables, splits)
        return replace(expression, variables=variables, places=(tensor, *both) if places else ())
    if isinstance(expression, Operation):
        return expression.of_each(lambda one: _cut(one, splits))
    if isinstance(expression, Sum):
        return Sum(cut_variables(expression.variables, splits), _cut(expression.operand, splits))
    return expression


def cut_formats(
    assignment: Assignment, formats: Mapping[str, Format], splits: Splits, loops: Sequence[str]
) -> dict[str, Format]:
    """The formats of an assignment's tensors in chunks; a tensor that has none keeps its own.

    Args:
        assignment: as it was, in whole variables.
        formats: of its tensors, and perhaps of more.
        splits: of a variable the coordinates of a chunk.
        loops: all of them, in parts.
    """
    every = {one.tensor: one for one in (assignment.result, *accesses(assignment.expression))}
    return {tensor: _cut_format(one, formats[tensor], splits, loops) for tensor, one in every.items()}


def _cut_format(access: Access, stored: Format, splits: Splits, loops: Sequence[str]) -> Format:
    if not splits.keys() & set(access.variables):
        return stored
    letters = {access.variables[d]: letter for d, letter in zip(stored.order, stored.letters, strict=True)}
    by_dimension = [(part, letters[v]) for v in access.variables for part in cut_variables([v], splits)]
    places = {variable: place for place, variable in enumerate(loops)}
    order = sorted(range(len(by_dimension)), key=lambda d: places.get(by_dimension[d][0], len(places)))
    return Format("".join(by_dimension[dimension][1] for dimension in order), tuple(order))
