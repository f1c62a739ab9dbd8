"""Check the tensors and index variables of an assignment before its compilation; complete its formats."""

from __future__ import annotations

from collections.abc import Mapping

from fiberscope.base.errors import InputError
from fiberscope.models.graphs.compiler.language import refuse_at
from fiberscope.models.graphs.expression import Assignment
from fiberscope.models.graphs.formats import Format, dense
from fiberscope.workloads.errors import suggest
from fiberscope.workloads.expressions.expression import Access, accesses


def check_assignment(assignment: Assignment) -> None:
    """Check an assignment for consistent tensors and index variables.

    Raises:
        InputError: the right side has no tensor, accesses of a tensor differ in their number of variables, an
            access has a variable twice, a tensor and a variable have the same name, or a variable occurs only
            on the left. If the assignment has a source text, the error has the column, except if the right
            side has no tensor.
    """
    operands = list(accesses(assignment.expression))
    first: dict[str, Access] = {}
    for access in (assignment.result, *operands):
        _check_repeated(access)
        _check_dimensions(access, first.setdefault(access.tensor, access))
    if not operands:
        raise InputError("expression: the right side has no tensor")
    # a second pass: only now ``first`` has the names of all tensors
    for access in (assignment.result, *operands):
        _check_names(access, first)
    _check_left(assignment.result, {v for access in operands for v in access.variables})


def complete_formats(assignment: Assignment, formats: Mapping[str, Format]) -> dict[str, Format]:
    """Return the formats of all tensors, the result first; a tensor without a format is dense in all levels.

    Args:
        assignment: an assignment that ``check_assignment`` accepts.
        formats: formats by tensor, for some of its tensors.

    Raises:
        InputError: a format has an unknown tensor or a wrong number of levels.
    """
    defaults = {
        a.tensor: dense(len(a.variables)) for a in (assignment.result, *accesses(assignment.expression))
    }
    for tensor, format in formats.items():
        if tensor not in defaults:
            advice = suggest(tensor, defaults)
            raise InputError(f"format {tensor}:{format.letters}: the expression has no {tensor}; {advice}")
        levels = len(defaults[tensor].letters)
        if len(format.letters) != levels:
            raise InputError(
                f"format {tensor}:{format.letters}: {tensor} has {_format_variables(levels)}, "
                "and so as many letters"
            )
    return {tensor: formats.get(tensor, default) for tensor, default in defaults.items()}


def _check_repeated(access: Access) -> None:
    for number, variable in enumerate(access.variables):
        if variable in access.variables[:number]:
            refuse_at(
                access,
                1 + number,  # part 0 of an access is the tensor's name, part n its n-th variable
                f"{variable} occurs twice in {access}; no block reads a diagonal: use two variables",
            )


def _check_dimensions(access: Access, first_access: Access) -> None:
    count, first_count = len(access.variables), len(first_access.variables)
    if count != first_count:
        refuse_at(
            access,
            0,
            f"{access} has {_format_variables(count)}, and {first_access} has "
            f"{_format_variables(first_count)}; a tensor has one number of them",
        )


def _check_names(access: Access, tensors: Mapping[str, Access]) -> None:
    for number, variable in enumerate(access.variables, 1):
        if variable in tensors:
            refuse_at(
                access, number, f"{variable} is the name of a tensor too; give the variable another one"
            )


def _check_left(result: Access, variables: set[str]) -> None:
    for number, variable in enumerate(result.variables, 1):
        if variable not in variables:
            refuse_at(
                result,
                number,
                f"{variable} occurs only on the left; a tensor on the right must determine its size",
            )


def _format_variables(count: int) -> str:
    return f"{count} variable{'s' * (count != 1)}"
