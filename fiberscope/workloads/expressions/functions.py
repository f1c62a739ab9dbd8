"""The functions of expressions, defined once for parsing, evaluation and lowering."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Function:
    """A function of one or two values.

    ``adds`` and ``of_both`` describe the functions that are lowered, and are False for the others. The others
    are evaluated where any operand exists; in a graph, where ``where`` of the call says (``all`` or ``any``).

    Args:
        name: name of its operation and of the ALU that computes it.
        apply: the function of numbers or arrays. Tensors are divided without it: x / 0 is then 0.
        sign: its infix operator, if any.
        adds: whether the result may be nonzero if only one operand is.
        of_both: whether the result is 0 if either operand is.
        multiplies: whether the result is a product of the operands, or of -1 and the operand.
        divides: whether the second operand is a divisor.
        lowered: whether the compiler creates blocks for it without ``where``.
    """

    name: str
    apply: Callable[..., Any]
    sign: str = ""
    adds: bool = False
    of_both: bool = False
    multiplies: bool = False
    divides: bool = False
    lowered: bool = True


def _wrap_numpy(name: str) -> Callable[..., Any]:
    """Return a function of numpy, which is imported at the first evaluation."""

    def apply(*operands: Any) -> Any:  # noqa: ANN401  (numbers or arrays)
        return getattr(import_module("numpy"), name)(*operands)

    return apply


def _wrap_predicate(name: str) -> Callable[..., Any]:
    """Return a predicate of numpy with the results 1 and 0."""

    def apply(*operands: Any) -> Any:  # noqa: ANN401  (numbers or arrays)
        return getattr(import_module("numpy"), name)(*operands) * 1.0

    return apply


_ALL = (
    Function("add", operator.add, "+", adds=True),
    Function("sub", operator.sub, "-", adds=True),
    Function("mul", operator.mul, "*", of_both=True, multiplies=True),
    Function("div", operator.truediv, "/", of_both=True, divides=True),
    Function("take", lambda _one, other: other, of_both=True),
    Function("neg", operator.neg, multiplies=True),
    Function("min", _wrap_numpy("minimum"), lowered=False),
    Function("max", _wrap_numpy("maximum"), lowered=False),
    Function("or", _wrap_predicate("logical_or"), lowered=False),
    Function("and", _wrap_predicate("logical_and"), lowered=False),
    Function("first", lambda left, _right: left, lowered=False),
    Function("second", lambda _left, right: right, lowered=False),
    Function("differs", _wrap_predicate("not_equal"), lowered=False),
    Function("less", _wrap_predicate("less"), lowered=False),
    Function("exp", _wrap_numpy("exp"), lowered=False),
    Function("sqrt", _wrap_numpy("sqrt"), lowered=False),
    Function("abs", _wrap_numpy("abs"), lowered=False),
)
FUNCTIONS: Mapping[str, Function] = {function.name: function for function in _ALL}
