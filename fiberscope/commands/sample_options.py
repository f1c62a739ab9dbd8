"""Options of commands that estimate cycles from sampled windows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from fiberscope.base.errors import InputError
from fiberscope.commands.option_groups import Options, flag

if TYPE_CHECKING:
    from fiberscope.accelerators.sampling import Sample


class WindowOptions(Options):
    """Options of sampled windows without a seed, for a command whose own ``--seed`` also selects them."""

    sample: Annotated[
        str | None,
        typer.Option(metavar="[WIDTH]", help="Estimate the cycles from windows, to within 3% or this width."),
    ] = None
    windows: Annotated[int | None, typer.Option(min=5, metavar="N", help="Windows to simulate.")] = None
    window_cycles: Annotated[
        int | None, typer.Option(min=100, metavar="N", help="Cycles of a window, about.")
    ] = None

    def request(self, seed: int | None) -> Sample | None:
        """Return the request of a sampled run; None for a full run.

        Args:
            seed: the seed that selects the windows; 0 if None.

        Raises:
            InputError: the width is invalid, or an option needs ``--sample``.
        """
        from fiberscope.accelerators.sampling import Sample
        from fiberscope.run.sampled import parse_width

        if self.sample is not None:
            return Sample(parse_width(self.sample), self.windows, self.window_cycles, seed or 0)
        for name, value in vars(self).items():
            if value is not None:
                raise InputError(f"{flag(name)} needs --sample, because it is an option of sampled runs")
        return None


class SampleOptions(WindowOptions):
    """Options of sampled windows, and the seed that selects them."""

    seed: Annotated[int | None, typer.Option(min=0, metavar="N", help="Seed that chooses the windows.")] = (
        None
    )
