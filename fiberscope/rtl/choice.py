"""What the commands of ``fiberscope rtl`` share: which block is meant, and mistakes in one line."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fiberscope.errors import InputError

if TYPE_CHECKING:
    from hw.rtl.kit.block import RtlBlock

__all__ = ["in_one_line", "known", "named", "one_line"]


def in_one_line(error: InputError) -> InputError:
    """The same error in its first line, the others (ports, a compiler's complaints) being said before it."""
    first, *others = str(error).splitlines()
    for line in others:
        print(line, file=sys.stderr)
    return InputError(first.removesuffix(":") + (", see above" if others else ""))


@contextmanager
def one_line() -> Iterator[None]:
    """Parameters that a block refuses are the user's to mend."""
    try:
        yield
    except ValueError as error:
        raise InputError(str(error)) from error


def named(name: str) -> RtlBlock:
    """The block of this name.

    Raises:
        InputError: with the nearest name, if there is none.
    """
    from workloads.errors import nearest

    blocks = known()
    if name not in blocks:
        raise InputError(f"no block {name} exists as RTL; {nearest(name, blocks)}")
    return blocks[name]


def known() -> Mapping[str, RtlBlock]:
    """The catalogue; once it is there, so is all that RTL needs.

    Raises:
        InputError: the extra that it needs is not installed.
    """
    try:
        from hw.rtl.catalogue import BLOCKS
    except ModuleNotFoundError as error:
        raise InputError(
            f"{error.name} is not installed, which RTL needs: pip install 'fiberscope[rtl]'"
        ) from error
    return BLOCKS
