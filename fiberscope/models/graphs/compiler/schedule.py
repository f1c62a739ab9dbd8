"""Schedules of loops: reordered loops, split index variables and parallel loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fiberscope.base.errors import InputError
from fiberscope.base.whole_numbers import read_whole_number
from fiberscope.models.graphs.expression import Assignment
from fiberscope.models.graphs.formats import Format
from fiberscope.models.graphs.splits import Splits, name_parts, split_variables
from fiberscope.workloads.expressions.expression import Access, Call, Expression, Sum, accesses

MAX_COPIES = 64  # a graph of some thousand blocks
LARGEST_CHUNK = 2**31 - 1  # the largest dimension of a tensor


def parse_variables(text: str, option: str) -> tuple[str, ...]:
    """Return the variables of a comma-separated text, as in ``i,k,j``.

    Raises:
        InputError: a variable is empty.
    """
    variables = tuple(entry.strip() for entry in text.split(","))
    if not all(variables):
        raise InputError(f"{option} {text!r}: write variables with commas between them, as in i,k,j")
    return variables


def reorder_loops(order: Sequence[str], loops: Sequence[str]) -> tuple[str, ...]:
    """Return an order in which some loops exchange their positions.

    Args:
        order: all loops, outermost first.
        loops: the loops that exchange their positions. They follow one another as listed here.

    Raises:
        InputError: a variable is no loop, or occurs twice.
    """
    prefix = f"reorder {','.join(loops)}"
    for number, variable in enumerate(loops):
        if variable not in order:
            raise InputError(f"{prefix}: there is no loop {variable}; there are {','.join(order) or 'none'}")
        if variable in loops[:number]:
            raise InputError(f"{prefix}: {variable} occurs twice; remove one")
    # the positions stay; the listed loops fill them in the listed order
    following = iter(loops)
    return tuple(next(following) if variable in loops else variable for variable in order)


def parse_splits(text: str) -> dict[str, int]:
    """Return the coordinates of a chunk by index variable, from a text as in ``i:4,k:8``.

    Raises:
        InputError: the text is invalid, or a variable occurs twice.
    """
    splits: dict[str, int] = {}
    for entry in text.split(","):
        variable, _colon, number = (field.strip() for field in entry.partition(":"))
        chunk = read_whole_number(number)
        if not variable or chunk is None or not 1 <= chunk <= LARGEST_CHUNK:
            raise InputError(f"split {text!r}: write variables and the coordinates of a chunk, as in i:4,k:8")
        if variable in splits:
            raise InputError(f"split {text!r}: {variable} occurs twice; a variable is split once")
        splits[variable] = chunk
    return splits


def parse_copies(text: str) -> tuple[str, int]:
    """Return a loop and its number of copies, from a text as in ``i:4``.

    Raises:
        InputError: the text is invalid.
    """
    variable, _colon, number = (field.strip() for field in text.partition(":"))
    copies = read_whole_number(number)
    if not variable or copies is None or not 1 <= copies <= MAX_COPIES:
        raise InputError(
            f"parallelize {text!r}: write a loop and a number of copies from 1 to {MAX_COPIES}, as in i:4"
        )
    return variable, copies


def check_splits(assignment: Assignment, splits: Splits) -> None:
    """Refuse splits that do not fit an assignment.

    Raises:
        InputError: a variable is unknown, a part has the name of a variable, or two accesses of a tensor
            split a dimension differently.
    """
    tensor_accesses = (assignment.result, *accesses(assignment.expression))
    variables = list(dict.fromkeys(variable for access in tensor_accesses for variable in access.variables))
    for variable, chunk in splits.items():
        prefix = f"split {variable}:{chunk}"
        if variable not in variables:
            raise InputError(
                f"{prefix}: the expression has no {variable}; it has {','.join(variables) or 'none'}"
            )
        for part in set(name_parts(variable)) & set(variables):
            raise InputError(f"{prefix}: {part} is a variable already; give {variable} another name")
    first: dict[str, Access] = {}
    for access in tensor_accesses:
        _check_consistent(first.setdefault(access.tensor, access), access, splits)


def _check_consistent(first_access: Access, access: Access, splits: Splits) -> None:
    """Refuse two accesses of a tensor that need different formats."""
    for variable, other in zip(first_access.variables, access.variables, strict=True):
        if splits.get(variable) != splits.get(other):
            raise InputError(
                f"split: {first_access.tensor} is read as {first_access} and as {access}; "
                f"split {variable} and {other} alike, or none of them"
            )


def split_assignment(assignment: Assignment, splits: Splits) -> Assignment:
    """Return an assignment with the parts of split variables.

    Args:
        assignment: an assignment in undivided variables.
        splits: coordinates of a chunk, by index variable.
    """
    result = _split(assignment.result, splits)
    assert isinstance(result, Access)
    return Assignment(result, _split(assignment.expression, splits))


def _split(expression: Expression, splits: Splits) -> Expression:
    """Replace each split variable in accesses and sums by its two parts."""
    if isinstance(expression, Access):
        # both parts of a variable have its column in the text, for messages; without a text, no columns
        tensor, *positions = expression.text_columns or (0,)
        split_positions = [
            position
            for variable, position in zip(expression.variables, positions, strict=False)
            for position in [position] * (1 + (variable in splits))
        ]
        variables = split_variables(expression.variables, splits)
        return Access.plain(expression.tensor, variables, (tensor, *split_positions) if positions else ())
    if isinstance(expression, Call):
        return expression.map_operands(lambda term: _split(term, splits))
    if isinstance(expression, Sum):
        return Sum(split_variables(expression.variables, splits), _split(expression.operand, splits))
    return expression


def split_formats(
    assignment: Assignment, formats: Mapping[str, Format], splits: Splits, loops: Sequence[str]
) -> dict[str, Format]:
    """Return the formats of an assignment's tensors in chunks; unsplit tensors keep their formats.

    Args:
        assignment: the assignment in undivided variables.
        formats: formats of its tensors; further tensors are ignored.
        splits: coordinates of a chunk, by index variable.
        loops: all loops, with parts of split variables.
    """
    by_tensor = {access.tensor: access for access in (assignment.result, *accesses(assignment.expression))}
    return {
        tensor: _split_format(access, formats[tensor], splits, loops) for tensor, access in by_tensor.items()
    }


def _split_format(access: Access, tensor_format: Format, splits: Splits, loops: Sequence[str]) -> Format:
    """Return a tensor's format in chunks; both parts of a split level have the level's letter."""
    if not splits.keys() & set(access.variables):
        return tensor_format
    letters = {
        access.variables[d]: letter
        for d, letter in zip(tensor_format.order, tensor_format.letters, strict=True)
    }
    by_dimension = [(part, letters[v]) for v in access.variables for part in split_variables([v], splits)]
    depths = {variable: depth for depth, variable in enumerate(loops)}
    # the levels follow the loops, as a scanner needs an outer level first; levels without a loop go last
    order = sorted(range(len(by_dimension)), key=lambda d: depths.get(by_dimension[d][0], len(depths)))
    return Format("".join(by_dimension[dimension][1] for dimension in order), tuple(order))
