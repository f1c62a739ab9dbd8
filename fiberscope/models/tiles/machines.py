"""Choice of tiles for a machine, as whole microtiles, before the machine is built."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from fiberscope.accelerators.configuration import Configuration
from fiberscope.accelerators.machine import Accelerator
from fiberscope.workloads.canonical import CsrArray

AnyConfiguration = TypeVar("AnyConfiguration", bound=Configuration)


def set_tiles(
    accelerator: Accelerator[AnyConfiguration], configured: AnyConfiguration, operands: Sequence[CsrArray]
) -> AnyConfiguration:
    """Return a machine's parameters with chosen tiles; unchanged if the parameters do not ask for a choice.

    Args:
        configured: parameters of the machine.
        operands: operands of the problem.

    Raises:
        InputError: a dense microtile of each operand does not fit.
    """
    room = accelerator.tile_room(configured)
    if room is None:
        return configured
    from fiberscope.models.tiles.microtiles import choose_microtiles  # noqa: PLC0415  (heavy, and seldom asked for)

    configuration: AnyConfiguration = accelerator.tiled(configured, choose_microtiles(room, operands))
    return configuration
