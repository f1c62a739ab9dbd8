"""Commands: found at first use, and refused with an option that is given twice and may not be.

The last one would win otherwise.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

__all__ = ["Group", "commands_at_first_use"]


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
        super().__init__(rich_markup_mode=None, add_completion=False, **options)

    def command(self, name: str | None = None, **options: Any) -> Callable[[Any], Any]:  # noqa: ANN401
        """As of ``typer.Typer``."""
        return super().command(name, cls=_Command, **options)


class _Commands(Mapping[str, Any]):
    """Commands by name, in their order."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401  (click's own, or typer's)
        if name not in self._names:
            raise KeyError(name)
        return _command(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


@cache
def _command(name: str) -> Any:  # noqa: ANN401  (as above)
    """The command that a module of ``fiberscope.commands`` is of, made of its signature."""
    module = importlib.import_module(f"fiberscope.commands.{name}")
    made = getattr(module, name, None) or getattr(module, f"{name}_")  # where Python has the name already
    if not isinstance(made, Group):
        alone = Group()
        alone.command(name)(made)
        made = alone
    command = typer.main.get_command(made)
    command.name = name
    return command


def commands_at_first_use(names: Sequence[str]) -> type[TyperGroup]:
    """A group of commands, each imported when it is first asked for.

    Args:
        names: the modules of ``fiberscope.commands`` that they are in.
    """

    class AtFirstUse(TyperGroup):
        def __init__(self, **options: Any) -> None:  # noqa: ANN401  (those of typer)
            super().__init__(**options)
            self.commands: Any = _Commands(names)

    return AtFirstUse
