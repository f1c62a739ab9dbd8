"""Names of operands with ranks: ``A[m, k]`` or ``A_MK`` for a tensor A with rows M and columns K."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import permutations

from fiberscope.workloads.errors import WorkloadError

BRACKETS = re.compile(r"(?P<name>\w+)\[(?P<ranks>[\w\s,]*)\]")


def split_ranks(name: str, declared: Mapping[str, Sequence[str]]) -> tuple[str, tuple[str, ...]]:
    """Return the tensor of a name, and its ranks in the order of the operand's dimensions.

    Args:
        name: ``A``, ``A[m, k]`` or ``A_MK``; an unknown name is returned unchanged.
        declared: ranks of each tensor.

    Returns:
        The ranks are empty for a name without ranks.

    Raises:
        WorkloadError: ranks in brackets that are not the tensor's ranks.
    """
    if name in declared:
        return name, ()
    bracketed = BRACKETS.fullmatch(name)
    if bracketed is not None and bracketed["name"] in declared:
        tensor = bracketed["name"]
        ranks = tuple(rank.strip().upper() for rank in bracketed["ranks"].split(","))
        if sorted(ranks) != sorted(declared[tensor]):
            expected = f"{tensor}[{', '.join(declared[tensor]).lower()}]"
            raise WorkloadError(f"{name}: {tensor} has other ranks", fix=f"write {expected}, in any order")
        return tensor, ranks
    for tensor, tensor_ranks in declared.items():
        if tensor_ranks and name.startswith(f"{tensor}_"):
            for ranks in permutations(tensor_ranks):
                if name == f"{tensor}_{''.join(ranks)}":
                    return tensor, ranks
    return name, ()


def without_ranks(
    operands: Mapping[str, object], declared: Mapping[str, Sequence[str]]
) -> tuple[dict[str, object], dict[str, tuple[str, ...]]]:
    """Return operands by the names of their tensors, and the ranks of operands whose names have ranks.

    Raises:
        WorkloadError: a tensor that is given twice; or see ``split_ranks``.
    """
    plain: dict[str, object] = {}
    ranks_by_name: dict[str, tuple[str, ...]] = {}
    for name, operand in operands.items():
        tensor, ranks = split_ranks(name, declared)
        if tensor in plain:
            raise WorkloadError(f"{tensor} is given twice", fix="leave one out")
        plain[tensor] = operand
        ranks = ranks or getattr(operand, "ranks", ())
        if ranks:
            ranks_by_name[tensor] = ranks
    return plain, ranks_by_name
