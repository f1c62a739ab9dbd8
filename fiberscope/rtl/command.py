"""``fiberscope rtl``: the blocks as RTL, listed, exported, measured, and in the loop of an accelerator."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fiberscope.errors import InputError
from fiberscope.report.document import write_text
from workloads.errors import nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hw.rtl.kit.block import RtlBlock
    from hw.rtl.kit.parameters import Parameters

__all__ = ["LoopRequest", "area", "export", "loop", "show_blocks"]

MACHINE_WRONG = 3  # exit code: RTL and component are not the same
MOST_SHOWN = 10  # entries of a report that differ


@dataclass(frozen=True)
class LoopRequest:
    """The command line of ``fiberscope rtl loop``; see ``fiberscope.rtl.loop.Loop``."""

    blocks: tuple[str, ...]
    accelerator: str
    a: str
    b: str | None
    settings: tuple[str, ...]
    at: tuple[str, ...]
    sources: tuple[str, ...]
    module: str | None
    simulator: str
    folder: Path


def show_blocks() -> None:
    """Print every block with its parameters and their defaults."""
    blocks = _blocks()
    from hw.rtl.kit.parameters import described  # noqa: PLC0415  (_blocks has made sure that it can be)

    for block in blocks.values():
        print(f"{block.name:<12} {block.summary}")
        for line in described(block.parameters):
            print(f"{'':<12} {line}")


def export(name: str, settings: Sequence[str], folder: Path) -> None:
    """Write a block as Verilog and say where.

    Raises:
        InputError: for an unknown block or parameter, or a folder that cannot be written to.
    """
    block = _block(name)
    text = block.verilog(_parameters(block, settings))
    path = folder / f"{block.name}.v"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise InputError(f"{folder}: is a file; give the name of a folder") from error
    except OSError as error:
        raise InputError(f"{folder}: cannot be made: {error.strerror}") from error
    write_text(path, text)
    print(f"Verilog: {path}")


def area(name: str | None, settings: Sequence[str], output: Path | None) -> None:
    """Say what a block becomes in gates, for every combination of settings, or every block with its defaults.

    Raises:
        InputError: for an unknown block or parameter, parameters of no block, if Yosys is missing, or for a
            file that cannot be written.
    """
    if name is None:
        if settings:
            raise InputError(f"--set {settings[0]}: say of which block, as in fiberscope rtl area merger")
        chosen = [(block, block.parameters()) for block in _blocks().values()]
    else:
        block = _block(name)
        chosen = [(block, parameters) for parameters in _combinations(block, settings)]
    from fiberscope.rtl import area as rtl_area  # noqa: PLC0415  (_blocks has made sure that it can be)

    rtl_area.show(chosen, output)


def loop(request: LoopRequest) -> int:
    """Run an accelerator with and without RTL in it, and say whether that makes a difference.

    Returns:
        The exit code: 3 if it does.

    Raises:
        InputError: for what the user can put right.
        FailedRunError: the accelerator itself went wrong.
    """
    for name in request.blocks:
        _block(name)
    from fiberscope.rtl import loop as rtl_loop  # noqa: PLC0415  (_block has made sure that it can be)

    given = asdict(request)
    simulator, folder = given.pop("simulator"), given.pop("folder")
    try:
        outcome = rtl_loop.compare(rtl_loop.Loop(**given), simulator, folder)
    except InputError as error:
        raise _in_one_line(error) from error
    at = ", ".join(outcome.at)
    print(f"{request.accelerator} on {outcome.component.workload.name}, RTL in {simulator} at {at}")
    print(f"cycles with the component  {outcome.component.cycles:>12,}")
    print(f"cycles with RTL            {outcome.rtl.cycles:>12,}")
    different = outcome.differences()
    if not different:
        print(f"identical in all {outcome.entries():,} entries of the report")
        return 0
    print(f"DIFFERENT in {len(different)} of {outcome.entries():,} entries of the report:")
    for line in different[:MOST_SHOWN]:
        print(f"  {line}")
    return MACHINE_WRONG


def _in_one_line(error: InputError) -> InputError:
    """The same error in its first line, the others (ports, a compiler's complaints) being said before it."""
    first, *others = str(error).splitlines()
    for line in others:
        print(line, file=sys.stderr)
    return InputError(first.removesuffix(":") + (", see above" if others else ""))


def _parameters(block: RtlBlock, settings: Sequence[str]) -> Parameters:
    from hw.rtl.kit.parameters import parse  # noqa: PLC0415  (as above)

    try:
        return parse(block.name, block.parameters, settings)
    except ValueError as error:
        raise InputError(str(error)) from error


def _combinations(block: RtlBlock, settings: Sequence[str]) -> list[Parameters]:
    from hw.rtl.kit.parameters import combinations  # noqa: PLC0415  (as above)

    try:
        return combinations(block.name, block.parameters, settings)
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
