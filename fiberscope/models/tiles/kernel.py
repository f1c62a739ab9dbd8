"""A kernel: what is computed, ``C[i,j] = A[i,k] * B[k,j]``, and the order of its loops.

The outer loops, over tiles, stand in that order, then the inner ones, inside of a tile, in the same. Every
tensor is stored with its indices in the order of the loops, whatever the order they are written in.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from fiberscope.base.errors import InputError
from fiberscope.workloads.expressions.expression import (
    Access,
    Equation,
    Expression,
    Operation,
    accesses,
    operators_of,
)
from fiberscope.workloads.expressions.grammar import UnreadableTextError, parse_statement

__all__ = ["Kernel"]

_EXAMPLE = "C[i,j]=A[i,k]*B[k,j]"


@dataclass(frozen=True)
class Kernel:
    """Products and sums of tensors, each at plain indices; an index that the result has not is summed over.

    Args:
        result: name of the tensor that is computed.
        indices: the indices of every tensor by name, the result's among them, as written.
        expression: what the result is; the tensors in it have their indices written large.
        order: the order of the loops, the outermost first: every index once.
    """

    result: str
    indices: Mapping[str, tuple[str, ...]]
    expression: Expression
    order: tuple[str, ...]

    @classmethod
    def read(cls, text: str, order: str | Sequence[str]) -> Kernel:
        """The kernel that a text says.

        Args:
            text: ``C[i,j] = A[i,k] * B[k,j]``; ``*``, ``+``, ``-`` and parentheses over tensors.
            order: the order of the loops: ``ikj``, ``i,k,j`` or a sequence of indices.

        Raises:
            InputError: the text cannot be read, or says what is no such kernel, or the order is not one of
                its indices.
        """
        equation = _parsed(text)
        _check_expression(equation.expression, text)
        inputs = list(accesses(equation.expression))
        indices = {access.tensor: _plain(access, text) for access in (*inputs, equation.output)}
        _check_indices(indices, inputs, equation.output, text)
        return cls(equation.output.tensor, indices, equation.expression, _ordered(order, indices))

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the tensors that are read, from left to right."""
        return tuple(access.tensor for access in accesses(self.expression))

    @property
    def contracted(self) -> tuple[str, ...]:
        """The indices that are summed over, in the order of the loops."""
        return tuple(index for index in self.order if index not in self.indices[self.result])

    @property
    def is_product(self) -> bool:
        """Return whether it is one product of tensors, or a tensor alone."""
        return set(operators_of(self.expression)) <= {"*"}

    def stored(self, tensor: str) -> tuple[str, ...]:
        """A tensor's indices in the order in which it is stored: that of the loops."""
        return tuple(index for index in self.order if index in self.indices[tensor])

    def storage(self, tensor: str) -> tuple[int, ...]:
        """Return the tensor's rank for each stored rank."""
        return tuple(self.indices[tensor].index(index) for index in self.stored(tensor))

    def depth(self, tensor: str) -> int:
        """The place in the order of the loop that binds the last of a tensor's indices."""
        return max((self.order.index(index) for index in self.indices[tensor]), default=-1)

    def carriers(self, index: str) -> tuple[str, ...]:
        """The inputs that have an index, from left to right."""
        return tuple(name for name in self.inputs if index in self.indices[name])

    def extents(self, shapes: Mapping[str, Sequence[int]]) -> dict[str, int]:
        """The extent of every index, by the shapes of the inputs with their ranks as written.

        Raises:
            InputError: a tensor is missing or has another number of ranks, or two disagree.
        """
        extents: dict[str, tuple[int, str]] = {}
        for name in self.inputs:
            shape = shapes.get(name)
            if shape is None or len(shape) != len(self.indices[name]):
                reason = "none is given" if shape is None else f"the one given has {len(shape)}"
                raise InputError(f"{name} is a tensor of {len(self.indices[name])} ranks; {reason}")
            for index, extent in zip(self.indices[name], map(int, shape), strict=True):
                extent_before, by = extents.setdefault(index, (extent, name))
                if extent_before != extent:
                    raise InputError(
                        f"{index} has extent {extent_before} in {by} and {extent} in {name}; make them equal"
                    )
        return {index: extents[index][0] for index in self.order}

    def __str__(self) -> str:
        """Return the text as a user writes it, with the order."""
        left = f"{self.result}[{','.join(self.indices[self.result])}]"
        return f"{left} = {self._written(self.expression)}, {' '.join(self.order)}"

    def _written(self, part: Expression) -> str:
        if isinstance(part, Access):
            return f"{part.tensor}[{','.join(self.indices[part.tensor])}]"
        assert isinstance(part, Operation)
        texts = [
            f"({self._written(operand)})" if isinstance(operand, Operation) else self._written(operand)
            for operand in part.operands
        ]
        return f" {part.operator} ".join(texts)


def _parsed(text: str) -> Equation:
    try:
        statement = parse_statement(text)
    except UnreadableTextError as error:
        raise InputError(
            f"kernel {text!r}, column {error.column + 1}: {error}; write it as {_EXAMPLE}"
        ) from error
    if not isinstance(statement, Equation):
        raise InputError(f"kernel {text!r}: that renames a tensor; write a product or a sum, as {_EXAMPLE}")
    return statement


def _check_expression(part: Expression, text: str) -> None:
    """Refuse what is no sum or product of tensors."""
    if isinstance(part, Operation) and len(part.operands) > 1:
        for operand in part.operands:
            _check_expression(operand, text)
    elif not isinstance(part, Access):
        raise InputError(f"kernel {text!r}: only sums, differences and products of tensors, as {_EXAMPLE}")


def _plain(access: Access, text: str) -> tuple[str, ...]:
    names = []
    for index in access.indices:
        if index.rank is None:
            raise InputError(
                f"kernel {text!r}: an index of {access.tensor} is computed; only plain ones, as i"
            )
        names.append(index.rank.lower())
    if twice := [index for index, other in pairwise(sorted(names)) if index == other]:
        raise InputError(f"kernel {text!r}: {access.tensor} has {twice[0]} twice; each index once")
    return tuple(names)


def _check_indices(
    indices: Mapping[str, tuple[str, ...]], inputs: list[Access], result: Access, text: str
) -> None:
    names = sorted(access.tensor for access in (*inputs, result))
    if twice := [name for name, other in pairwise(names) if name == other]:
        raise InputError(f"kernel {text!r}: {twice[0]} stands twice; give each operand a name of its own")
    input_indices = {index for access in inputs for index in indices[access.tensor]}
    if free := [index for index in indices[result.tensor] if index not in input_indices]:
        raise InputError(f"kernel {text!r}: {free[0]} of {result.tensor} is in no operand")


def _ordered(order: str | Sequence[str], indices: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    all_indices = list(
        dict.fromkeys(index for access_indices in indices.values() for index in access_indices)
    )
    ordered = _split(order, all_indices) if isinstance(order, str) else tuple(order)
    if sorted(ordered) != sorted(all_indices):
        order_text = "".join(ordered) if all(len(index) == 1 for index in ordered) else ",".join(ordered)
        raise InputError(
            f"order {order_text}: it must be a permutation of the kernel's indices {', '.join(all_indices)}"
        )
    return ordered


def _split(order: str, indices: Sequence[str]) -> tuple[str, ...]:
    """``ikj`` letter by letter, unless an index has more letters, which commas or spaces part."""
    parts = tuple(re.split(r"[,\s]+", order.strip().lower()))
    return parts if len(parts) > 1 or parts[0] in indices else tuple(parts[0])
