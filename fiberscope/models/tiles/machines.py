"""Tiles for a machine that takes them from outside, as whole microtiles, chosen before it is built."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from fiberscope.accelerators.configuration import Configuration
from fiberscope.accelerators.machine import Accelerator
from fiberscope.workloads.canonical import CsrArray

__all__ = ["with_tiles"]

AnyConfiguration = TypeVar("AnyConfiguration", bound=Configuration)


def with_tiles(
    accelerator: Accelerator[AnyConfiguration], configured: AnyConfiguration, operands: Sequence[CsrArray]
) -> AnyConfiguration:
    """A machine's parameters with the tiles that they ask to be chosen; as they are, if they ask for none.

    Args:
        accelerator: the accelerator.
        configured: parameters of the machine.
        operands: operands of the problem.

    Raises:
        InputError: not even one dense microtile of each operand fits.
    """
    room = accelerator.tile_room(configured)
    if room is None:
        return configured
    from fiberscope.models.tiles.microtiles import microtiles  # noqa: PLC0415  (heavy, and seldom asked for)

    configuration: AnyConfiguration = accelerator.tiled(configured, microtiles(room, operands))
    return configuration
