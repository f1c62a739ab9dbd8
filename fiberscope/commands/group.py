"""A group of commands that refuse an option which is given twice and may not be: the last one would win."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand

__all__ = ["Group"]


class _Command(TyperCommand):
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401  (click's own, or typer's)
        if not ctx.resilient_parsing:
            _values, _rest, given = self.make_parser(ctx).parse_args(list(args))
            for option, count in Counter(map(_once, given)).items():
                if option and count > 1:
                    ctx.fail(f"{option} is given {'twice' if count == 2 else f'{count} times'}; give it once")
        return super().parse_args(ctx, args)


def _once(parameter: Any) -> str:  # noqa: ANN401
    """The name of an option that takes one value; a switch says the same again."""
    takes_one = parameter.param_type_name == "option" and not parameter.multiple and not parameter.is_flag
    return str(parameter.opts[0]) if takes_one else ""


class Group(typer.Typer):
    """A ``typer.Typer`` of such commands."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401  (those of typer)
        super().__init__(rich_markup_mode=None, **options)

    def command(self, name: str | None = None, **options: Any) -> Callable[[Any], Any]:  # noqa: ANN401
        """As of ``typer.Typer``."""
        return super().command(name, cls=_Command, **options)
