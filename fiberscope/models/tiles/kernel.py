"""Kernel: an expression, ``C[i,j] = A[i,k] * B[k,j]``, and the order of its loops.

The outer loops, over tiles, have this order, and so have the inner loops, within a tile. Statistics have the
ranks of a tensor in loop order. The sizes of tiles are of ranks in the order of the expression.
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
    iterate_operators,
)
from fiberscope.workloads.expressions.grammar import UnreadableTextError, parse_statement

RESERVED = ("O", "total", "fetches", "nonzeros", "visits", "iterations")  # keys beside those of the operands
_EXAMPLE = "C[i,j]=A[i,k]*B[k,j]"


@dataclass(frozen=True)
class Kernel:
    """Products and sums of tensors at plain indices; indices that the result lacks are summed over.

    Args:
        result: name of the computed tensor.
        indices: the indices of every tensor by name, the result included: in lower case, in the order of the
            text.
        expression: the right-hand side, with indices in upper case.
        order: the order of the loops, outermost first: every index once.
    """

    result: str
    indices: Mapping[str, tuple[str, ...]]
    expression: Expression
    order: tuple[str, ...]

    @classmethod
    def read(cls, text: str, order: str | Sequence[str]) -> Kernel:
        """Parse a kernel.

        Args:
            text: ``C[i,j] = A[i,k] * B[k,j]``; ``*``, ``+``, ``-`` and parentheses over tensors.
            order: the order of the loops: ``ikj``, ``i,k,j`` or a sequence of indices in lower case.

        Raises:
            InputError: the text is malformed or not such a kernel, or the order is no permutation of its
                indices.
        """
        equation = _parse(text)
        _check_expression(equation.expression, text)
        inputs = list(accesses(equation.expression))
        for access in inputs:
            if access.tensor in RESERVED:
                raise InputError(f"{text}: {access.tensor} is a word of the report; rename the tensor")
        indices = {access.tensor: _read_plain_indices(access, text) for access in (*inputs, equation.output)}
        _check_indices(indices, inputs, equation.output, text)
        return cls(equation.output.tensor, indices, equation.expression, _parse_order(order, indices))

    @property
    def inputs(self) -> tuple[str, ...]:
        """Return the names of the tensors that are read, from left to right."""
        return tuple(access.tensor for access in accesses(self.expression))

    @property
    def contracted(self) -> tuple[str, ...]:
        """Return the summed indices in loop order."""
        return tuple(index for index in self.order if index not in self.indices[self.result])

    @property
    def is_product(self) -> bool:
        """Return whether the expression is a product of tensors or a single tensor."""
        return set(iterate_operators(self.expression)) <= {"*"}

    def list_stored_indices(self, tensor: str) -> tuple[str, ...]:
        """Return a tensor's indices in loop order, which is its order of storage."""
        return tuple(index for index in self.order if index in self.indices[tensor])

    def rank_order(self, tensor: str) -> tuple[int, ...]:
        """Return for each of ``list_stored_indices`` the number of its rank as written, from 0."""
        return tuple(self.indices[tensor].index(index) for index in self.list_stored_indices(tensor))

    def depth(self, tensor: str) -> int:
        """Return the position of the innermost loop over an index of a tensor; -1 for a scalar."""
        return max((self.order.index(index) for index in self.indices[tensor]), default=-1)

    def list_loops_outside(self, tensor: str) -> tuple[str, ...]:
        """Return the loops outside of the innermost loop over an index of a tensor; none for a scalar."""
        return tuple(self.order[: max(self.depth(tensor), 0)])

    def list_carriers(self, index: str) -> tuple[str, ...]:
        """Return the inputs with an index, from left to right."""
        return tuple(name for name in self.inputs if index in self.indices[name])

    def determine_extents(self, shapes: Mapping[str, Sequence[int]]) -> dict[str, int]:
        """Return the extent of every index from the shapes of the inputs, with their ranks as written.

        Raises:
            InputError: a tensor is missing or has a wrong number of ranks, or extents disagree.
        """
        extents: dict[str, tuple[int, str]] = {}
        for name in self.inputs:
            shape = shapes.get(name)
            if shape is None or len(shape) != len(self.indices[name]):
                reason = "none is given" if shape is None else f"the one given has {len(shape)}"
                raise InputError(f"{name} is a tensor of {len(self.indices[name])} ranks; {reason}")
            for index, extent in zip(self.indices[name], map(int, shape), strict=True):
                # the first tensor with an index sets its extent; the others must agree
                earlier, source = extents.setdefault(index, (extent, name))
                if earlier != extent:
                    raise InputError(
                        f"{index} has extent {earlier} in {source} and {extent} in {name}; make them equal"
                    )
        return {index: extents[index][0] for index in self.order}

    def __str__(self) -> str:
        """Return the kernel and its order: ``C[i,j] = A[i,k] * B[k,j], i k j``."""
        result = f"{self.result}[{','.join(self.indices[self.result])}]"
        return f"{result} = {self._format(self.expression)}, {' '.join(self.order)}"

    def _format(self, expression: Expression) -> str:
        if isinstance(expression, Access):
            return f"{expression.tensor}[{','.join(self.indices[expression.tensor])}]"
        assert isinstance(expression, Operation)
        texts = [
            f"({self._format(operand)})" if isinstance(operand, Operation) else self._format(operand)
            for operand in expression.operands
        ]
        return f" {expression.operator} ".join(texts)


def _parse(text: str) -> Equation:
    try:
        statement = parse_statement(text)
    except UnreadableTextError as error:
        raise InputError(
            f"kernel {text!r}, column {error.column + 1}: {error}; write it as {_EXAMPLE}"
        ) from error
    if not isinstance(statement, Equation):
        raise InputError(f"kernel {text!r}: that renames a tensor; write a product or a sum, as {_EXAMPLE}")
    return statement


def _check_expression(expression: Expression, text: str) -> None:
    """Refuse expressions other than sums and products of tensors."""
    if isinstance(expression, Operation) and len(expression.operands) > 1:  # one operand: a negation
        for operand in expression.operands:
            _check_expression(operand, text)
    elif not isinstance(expression, Access):
        raise InputError(f"kernel {text!r}: only sums, differences and products of tensors, as {_EXAMPLE}")


def _read_plain_indices(access: Access, text: str) -> tuple[str, ...]:
    """Return the indices of an access in lower case; refuse computed and repeated indices."""
    names = []
    for index in access.indices:
        if index.rank is None:
            raise InputError(
                f"kernel {text!r}: an index of {access.tensor} is computed; only plain ones, as i"
            )
        names.append(index.rank.lower())
    if duplicates := [index for index, successor in pairwise(sorted(names)) if index == successor]:
        raise InputError(f"kernel {text!r}: {access.tensor} has {duplicates[0]} twice; each index once")
    return tuple(names)


def _check_indices(
    indices: Mapping[str, tuple[str, ...]], inputs: list[Access], result: Access, text: str
) -> None:
    """Refuse repeated tensors, a kernel without indices, and indices that only the result has."""
    # indices and statistics are kept by the name of the tensor, so that each tensor may occur only once
    names = sorted(access.tensor for access in (*inputs, result))
    if duplicates := [name for name, successor in pairwise(names) if name == successor]:
        raise InputError(
            f"kernel {text!r}: {duplicates[0]} appears twice; give each operand a name of its own"
        )
    input_indices = {index for access in inputs for index in indices[access.tensor]}
    if not input_indices:
        raise InputError(f"kernel {text!r}: no operand has an index, so that there is nothing to partition")
    if free := [index for index in indices[result.tensor] if index not in input_indices]:
        raise InputError(f"kernel {text!r}: {free[0]} of {result.tensor} is in no operand")


def _parse_order(order: str | Sequence[str], indices: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return the loops in order; refuse an order that is no permutation of all indices of the kernel."""
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
    """Split an order at commas or spaces; without them, into letters, unless it is a single index."""
    tokens = tuple(re.split(r"[,\s]+", order.strip().lower()))
    return tokens if len(tokens) > 1 or tokens[0] in indices else tuple(tokens[0])
