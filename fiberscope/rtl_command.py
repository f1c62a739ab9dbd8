"""``fiberscope rtl``: the blocks as RTL, listed and exported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

from fiberscope.errors import InputError
from workloads.errors import nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hw.rtl.catalogue import RtlBlock
    from hw.rtl.parameters import Parameters

__all__ = ["export", "show_blocks"]


def show_blocks() -> None:
    """Print every block with its parameters and their defaults."""
    for block in _blocks().values():
        print(f"{block.name:<12} {block.summary}")
        defaults = (f"{field.name}={field.default}" for field in fields(block.parameters))
        print(f"{'':<12} {' '.join(defaults)}")


def export(name: str, settings: Sequence[str], folder: Path) -> None:
    """Write a block as Verilog and say where.

    Raises:
        InputError: for an unknown block or parameter, or a folder that cannot be written to.
    """
    block = _block(name)
    from hw.rtl.twin import write_text  # noqa: PLC0415  (_block has made sure that it can be)

    text = block.verilog(_parameters(block, settings))
    path = folder / f"{block.name}.v"
    try:
        write_text(path, text)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error
    print(f"Verilog: {path}")


def _parameters(block: RtlBlock, settings: Sequence[str]) -> Parameters:
    from hw.rtl.parameters import parse  # noqa: PLC0415  (as above)

    try:
        return parse(block.name, block.parameters, settings)
    except ValueError as error:
        raise InputError(str(error)) from error


def _block(name: str) -> RtlBlock:
    blocks = _blocks()
    if name not in blocks:
        raise InputError(f"no block {name} exists as RTL; {nearest(name, blocks)}")
    return blocks[name]


def _blocks() -> Mapping[str, RtlBlock]:
    try:
        from hw.rtl.catalogue import BLOCKS  # noqa: PLC0415  (an optional extra)
    except ModuleNotFoundError as error:
        raise InputError(
            f"{error.name} is not installed, which RTL needs: pip install 'fiberscope[rtl]'"
        ) from error
    return BLOCKS
