"""Parse the operands and graph arguments of a command line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from fiberscope.base.errors import InputError

_NAMED = re.compile(r"(?P<name>[A-Za-z_]\w*(\[[\w\s,]+\])?)=(?P<tensor>.*)", re.DOTALL)


def check_factors(factors: Sequence[object]) -> None:
    """Check that a product has at most two positional operands.

    Raises:
        InputError: there are more than two.
    """
    if len(factors) > 2:
        raise InputError(f"{len(factors)} operands in order; A and B are two, give more by name: C=c.mtx")


def select_a_and_b(arguments: Sequence[str]) -> tuple[str, str | None]:
    """Return the operands of a product, positional or named. B is None if the product is A times A.

    Raises:
        InputError: more than two positional operands, another name than A and B, no A, or see
            ``split_operands``.
    """
    a, *b = in_order(arguments, "AB")
    check_factors([a, *b])
    return a, b[0] if b else None


def in_order(arguments: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return operands, positional or named, in the order of ``names``; trailing operands are optional.

    Surplus positional operands are last, so that the caller can refuse them.

    Raises:
        InputError: an unknown name, an operand given twice or missing before others; see ``split_operands``.
    """
    factors, named = split_operands(arguments)
    operands = dict(zip(names, factors, strict=False))
    for name in named:
        if name not in names:
            raise InputError(f"{name}={named[name]}: the operands here are {' and '.join(names)}")
        if name in operands:
            raise InputError(f"{name} is given twice, in order and by name; leave one out")
    operands |= named
    # An operand is missing if a later one is there: the first names, as many as operands, must all be given.
    for name in names[: max(1, len(operands))]:
        if name not in operands:
            raise InputError(f"there is no {name}; give {name}=MATRIX")
    return [operands[name] for name in names if name in operands] + factors[len(names) :]


def find_graph_file(source: str) -> Path | None:
    """Return the file of a graph; None for an expression: a text with ``=`` that is no file's name."""
    path = Path(source)
    return None if "=" in source and not path.is_file() else path


def split_operands(operands: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Return the positional operands, and the named operands ``NAME=TENSOR`` or ``NAME[m,k]=TENSOR``.

    Raises:
        InputError: a name that is given twice or without a tensor.
    """
    positional, named = [], dict[str, str]()
    for operand in operands:
        match = _NAMED.fullmatch(operand)
        if match is None:
            positional.append(operand)
            continue
        if not match["tensor"]:
            raise InputError(f"{operand} names no tensor; write {operand}TENSOR, as in {operand}wiki-Vote")
        if match["name"] in named:
            raise InputError(f"{match['name']} is given twice; leave one out")
        named[match["name"]] = match["tensor"]
    return positional, named
