"""The shape of a machine's tiles, chosen for its operands."""

from __future__ import annotations

from collections.abc import Sequence

from fiberscope.accelerators.machine import TileRoom
from fiberscope.base.errors import InputError
from fiberscope.models.tiles.base import base_shape
from fiberscope.models.tiles.kernel import Kernel
from fiberscope.models.tiles.options import Options
from fiberscope.models.tiles.plan import Methods, plan
from fiberscope.workloads.canonical import CsrArray
from fiberscope.workloads.tensor import SparseTensor

__all__ = ["microtiles"]

# What a tiling's name adds to the readings of the paper: to count what A and B share, to let summed indices
# grow, and to count that a machine reads partial results again.
_BEYOND = {"d2t2-counted": {"model": "counted", "grow": "contracted", "merge": "read"}}


def microtiles(room: TileRoom, matrices: Sequence[CsrArray]) -> dict[str, int]:
    """The shape of tiles, in microtiles by index, that a method chooses for matrices.

    The base tile is as many microtiles long as the largest power of two that is sure to fit; none is cut.
    """
    kernel = Kernel.read(room.kernel, room.order)
    tensors = [SparseTensor.from_matrix(matrix).without_zeros() for matrix in matrices]
    operands = dict(zip(kernel.inputs, tensors, strict=True))
    base, side = _base(kernel, room), room.microtile
    options = Options.model_validate({"base": base, "least": side, **_BEYOND.get(room.tiling, {})})
    method = room.tiling.partition("-")[0]
    tile_plan = plan(kernel, operands, room.words, options, Methods([method], step=side))
    extents = kernel.extents({name: tensor.shape for name, tensor in operands.items()})
    shape = tile_plan.schemes[method].shape
    return {index: _whole(shape[index], extent, side) for index, extent in extents.items()}


def _whole(size: int, extent: int, side: int) -> int:
    """Microtiles of a side of a tile: as many as are whole, at least one, or all."""
    return -(-extent // side) if size >= extent else max(1, size // side)


def _base(kernel: Kernel, room: TileRoom) -> int:
    """The side of the base tile, in coordinates."""
    unbounded = dict.fromkeys(kernel.order, room.words)
    largest = max(base_shape(kernel, unbounded, room.words).values())
    if largest < room.microtile:
        raise InputError(
            f"tiling {room.tiling}: a tile of each operand has room for {room.words} words, a dense one of "
            f"{largest} x {largest}; it should hold a microtile of {room.microtile} x {room.microtile}"
        )
    return room.microtile << (largest // room.microtile).bit_length() - 1
