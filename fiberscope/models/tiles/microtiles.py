"""Choice of the shape of a machine's tiles for its operands."""

from __future__ import annotations

from collections.abc import Sequence

from fiberscope.accelerators.machine import TileRoom
from fiberscope.base.errors import InputError
from fiberscope.models.tiles.base import choose_base_shape
from fiberscope.models.tiles.kernel import Kernel
from fiberscope.models.tiles.options import Options
from fiberscope.models.tiles.plan import Methods, plan
from fiberscope.workloads.canonical import CsrArray
from fiberscope.workloads.tensor import SparseTensor

# Options of a tiling in addition to the paper's: count common tiles of A and B, let summed indices grow, and
# count further reads of partial results.
_TILING_OPTIONS = {"d2t2-counted": {"model": "counted", "grow": "contracted", "merge": "read"}}


def choose_microtiles(room: TileRoom, matrices: Sequence[CsrArray]) -> dict[str, int]:
    """Return the shape of tiles that a method chooses for matrices, in microtiles by index.

    The side of the base tile, in microtiles, is the largest power of two that fits if tiles are dense.
    Microtiles stay whole.

    Args:
        room: the kernel, the method, the words of an operand's tile, and the side of a microtile.
        matrices: the operands, in the order of the kernel.

    Raises:
        InputError: a dense microtile does not fit, or the operands do not match the kernel.
    """
    kernel = Kernel.read(room.kernel, room.order)
    tensors = [SparseTensor.from_matrix(matrix).without_zeros() for matrix in matrices]
    operands = dict(zip(kernel.inputs, tensors, strict=True))
    base, side = _choose_base_side(kernel, room), room.microtile
    options = Options.model_validate({"base": base, "least": side, **_TILING_OPTIONS.get(room.tiling, {})})
    method = room.tiling.partition("-")[0]
    tile_plan = plan(kernel, operands, room.words, options, Methods([method], step=side))
    extents = kernel.determine_extents({name: tensor.shape for name, tensor in operands.items()})
    shape = tile_plan.schemes[method].shape
    return {index: _count_microtiles(shape[index], extent, side) for index, extent in extents.items()}


def _count_microtiles(size: int, extent: int, side: int) -> int:
    """Return the microtiles of a side of a tile: whole ones, at least one, or all of the extent."""
    return -(-extent // side) if size >= extent else max(1, size // side)


def _choose_base_side(kernel: Kernel, room: TileRoom) -> int:
    """Return the side of the base tile, in coordinates."""
    unbounded = dict.fromkeys(kernel.order, room.words)
    largest = max(choose_base_shape(kernel, unbounded, room.words).values())
    if largest < room.microtile:
        raise InputError(
            f"tiling {room.tiling}: a tile of each operand has room for {room.words} words, a dense one of "
            f"{largest} x {largest}; it should hold a microtile of {room.microtile} x {room.microtile}"
        )
    return room.microtile << (largest // room.microtile).bit_length() - 1
