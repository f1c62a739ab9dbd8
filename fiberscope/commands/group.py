"""Commands: found at first use, and refused with an option that is given twice and may not be.

The last one would win otherwise.
"""

from __future__ import annotations

import importlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from functools import cache, partial
from itertools import zip_longest
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from fiberscope.base.errors import InterruptedCommandError

__all__ = ["Group", "commands_at_first_use"]

OPTIONAL = {
    "--live": (r"\d+", "0"),
    "--sample": (r"[\d.]+%?", "3%"),
}  # options with a default value: its pattern, and the value
LEFT_OF_HELP = 4  # columns: a command is indented by two, and two stand before what it does


class _Command(TyperCommand):
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401  (click's own, or typer's)
        args = _with_values(args)
        if not ctx.resilient_parsing:
            _values, _rest, options = self.make_parser(ctx).parse_args(list(args))
            for option, count in Counter(map(_once, options)).items():
                if option and count > 1:
                    ctx.fail(f"{option} is given {'twice' if count == 2 else f'{count} times'}; give it once")
        return super().parse_args(ctx, args)


def _with_values(args: Sequence[str]) -> list[str]:
    """The words of a command, with its value behind each option that may stand without."""
    words: list[str] = []
    for word, behind in zip_longest(args, args[1:], fillvalue=""):
        words.append(word)
        if word in OPTIONAL:
            pattern, value = OPTIONAL[word]
            words += [] if re.fullmatch(pattern, behind) else [value]
    return words


def _once(parameter: Any) -> str:  # noqa: ANN401
    """The name of an option that takes one value; a switch says the same again."""
    takes_one = parameter.param_type_name == "option" and not parameter.multiple and not parameter.is_flag
    return str(parameter.opts[0]) if takes_one else ""


class Group(typer.Typer):
    """A ``typer.Typer`` of such commands."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401  (those of typer)
        super().__init__(rich_markup_mode=None, add_completion=False, **options)

    def command(self, name: str | None = None, **options: Any) -> Callable[[Any], Any]:  # noqa: ANN401
        """See ``typer.Typer``."""
        return super().command(name, cls=_Command, **options)


class _Commands(Mapping[str, Any]):
    """Commands by name, in their order, each made of its signature when it is first asked for."""

    def __init__(self, names: Sequence[str], make: Callable[[str], Any]) -> None:
        self._names, self._make = names, make

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401  (click's own, or typer's)
        if name not in self._names:
            raise KeyError(name)
        return self._make(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


@cache
def _command(name: str) -> Any:  # noqa: ANN401  (as above)
    """The command that a module of ``fiberscope.commands`` is of."""
    module = importlib.import_module(f"fiberscope.commands.{name}")
    attribute = getattr(module, name, None) or getattr(
        module, f"{name}_"
    )  # where Python has the name already
    if isinstance(attribute, Group):
        command = _group(attribute)
    else:
        alone = Group()
        alone.command(name)(attribute)
        command = typer.main.get_command(alone)
    command.name = name
    return command


def _group(subcommands: Group) -> Any:  # noqa: ANN401
    """The command of a group, without its commands; typer would make all of them."""
    within = {
        registered.name or registered.callback.__name__: registered
        for registered in subcommands.registered_commands
        if registered.callback
    }
    subcommands.registered_commands = []
    group: Any = typer.main.get_command(subcommands)
    make = partial(typer.main.get_command_from_info, pretty_exceptions_short=False, rich_markup_mode=None)
    group.commands = _Commands(list(within), cache(lambda name: make(within[name])))
    return group


@contextmanager
def _named_interrupts() -> Iterator[None]:
    """Turn Ctrl-C into an error of ours: typer would make an exit code of it, without a word."""
    try:
        yield
    except KeyboardInterrupt as error:
        raise InterruptedCommandError(*error.args) from error


def _similar_commands(word: str, names: Sequence[str]) -> str:
    """Return the question for commands like a word: ``; did you mean sim?``; empty if there is none.

    Commands that begin the word, or that the word begins, come before commands with a similar spelling.
    """
    prefixes = [name for name in names if word.startswith(name) or name.startswith(word)]
    similar = prefixes or get_close_matches(word, names)
    return f"; did you mean {' or '.join(similar)}?" if word and similar else ""


def commands_at_first_use(headings: Mapping[str, Sequence[str]]) -> type[TyperGroup]:
    """A group of commands, each imported when it is first asked for.

    Args:
        headings: the modules of ``fiberscope.commands`` that they are in, under what the help lists them by.
    """
    names = [name for under in headings.values() for name in under]

    class AtFirstUse(TyperGroup):
        def __init__(self, **options: Any) -> None:  # noqa: ANN401  (those of typer)
            super().__init__(**options)
            self.commands: Any = _Commands(names, _command)

        def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401  (click's own, or typer's)
            if not ctx.resilient_parsing and args[0][:1] != "-" and args[0] not in names:
                ctx.fail(f"No such command {args[0]!r}{_similar_commands(args[0], names)}")
            return super().resolve_command(ctx, args)

        def make_context(self, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401
            with _named_interrupts():
                return super().make_context(*arguments, **options)

        def invoke(self, ctx: Any) -> Any:  # noqa: ANN401  (click's own, or typer's)
            with _named_interrupts():
                return super().invoke(ctx)

        def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401  (click's own, or typer's)
            widest = max(map(len, names))
            limit = formatter.width - widest - LEFT_OF_HELP
            for heading, under in headings.items():
                with formatter.section(heading):
                    formatter.write_dl(
                        [(f"{name:{widest}}", _command(name).get_short_help_str(limit)) for name in under]
                    )

    return AtFirstUse
