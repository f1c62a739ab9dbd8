"""Command groups with lazy imports.

A command rejects a repeated single-value option, which typer would silently resolve to the last value.
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

# Options with an optional value: the pattern of a value and the default value.
OPTIONAL_VALUES = {"--live": (r"\d+", "0"), "--sample": (r"[\d.]+%?", "3%")}
HELP_MARGIN = 4  # columns: two blanks before the name of a command, and two before its help


class _Command(TyperCommand):
    """A command that checks for repeated options before it parses them."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401  (a class of click or typer)
        """Insert default values of options, and refuse a single-value option that is given twice.

        An option ``--live=80`` is already complete and stays unchanged. Of ``--live 80``, the number is taken
        as the value of the option and not as an argument.
        """
        args = _insert_default_values(args)
        if not ctx.resilient_parsing:  # completion parses incomplete lines, and must not fail
            # A copy, as the parser consumes its list; ``options`` has an entry for each use of an option
            _values, _rest, options = self.make_parser(ctx).parse_args(list(args))
            for option, count in Counter(map(_single_value_option, options)).items():
                if option and count > 1:
                    ctx.fail(f"{option} is given {'twice' if count == 2 else f'{count} times'}; give it once")
        return super().parse_args(ctx, args)


def _insert_default_values(args: Sequence[str]) -> list[str]:
    """Insert the default value after each option of ``OPTIONAL_VALUES`` that lacks its value.

    The next argument is the value if it matches the pattern of the option.
    """
    completed: list[str] = []
    for argument, following in zip_longest(args, args[1:], fillvalue=""):
        completed.append(argument)
        if argument in OPTIONAL_VALUES:
            pattern, value = OPTIONAL_VALUES[argument]
            completed += [] if re.fullmatch(pattern, following) else [value]
    return completed


def _single_value_option(parameter: Any) -> str:  # noqa: ANN401
    """Return the name of an option with a single value; empty for a switch or an argument."""
    takes_one = parameter.param_type_name == "option" and not parameter.multiple and not parameter.is_flag
    return str(parameter.opts[0]) if takes_one else ""


class Group(typer.Typer):
    """A ``typer.Typer`` whose commands reject repeated options, with plain-text help."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401  (options of typer)
        super().__init__(rich_markup_mode=None, add_completion=False, **options)

    def command(self, name: str | None = None, **options: Any) -> Callable[[Any], Any]:  # noqa: ANN401
        """Return a decorator that adds a function as a command; see ``typer.Typer.command``."""
        return super().command(name, cls=_Command, **options)


class _Commands(Mapping[str, Any]):
    """Mapping from command names, in order, to commands that are built on access.

    Args:
        names: names of the commands.
        build: a function that builds the command of a name.
    """

    def __init__(self, names: Sequence[str], build: Callable[[str], Any]) -> None:
        self._names, self._build = names, build

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401  (a class of click or typer)
        if name not in self._names:
            raise KeyError(name)
        return self._build(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


@cache
def _load_command(name: str) -> Any:  # noqa: ANN401  (a class of click or typer)
    """Import the module of a command and return the command, which may be a group.

    Each command is imported and built once. A command named like a Python built-in, such as ``list``, is the
    function ``list_``.
    """
    module = importlib.import_module(f"fiberscope.commands.{name}")
    attribute = getattr(module, name, None) or getattr(module, f"{name}_")
    if isinstance(attribute, Group):
        command = _build_group(attribute)
    else:
        single = Group()
        single.command(name)(attribute)
        # Typer makes a plain command, and no group, of an application with a single command
        command = typer.main.get_command(single)
    command.name = name
    return command


def _build_group(subcommands: Group) -> Any:  # noqa: ANN401
    """Return a group whose subcommands are built on access, whereas typer would build all of them.

    ``subcommands`` has no commands afterwards: they are moved to the returned group.
    """
    functions = {
        registered.name or registered.callback.__name__: registered
        for registered in subcommands.registered_commands
        if registered.callback
    }
    subcommands.registered_commands = []
    group: Any = typer.main.get_command(subcommands)
    build = partial(typer.main.get_command_from_info, pretty_exceptions_short=False, rich_markup_mode=None)
    group.commands = _Commands(list(functions), cache(lambda name: build(functions[name])))
    return group


@contextmanager
def _named_interrupts() -> Iterator[None]:
    """Raise ``InterruptedCommandError`` for Ctrl-C, because typer would exit without a message."""
    try:
        yield
    except KeyboardInterrupt as error:
        raise InterruptedCommandError(*error.args) from error


def _similar_commands(unknown: str, names: Sequence[str]) -> str:
    """Return a suggestion such as ``; did you mean sim?``; empty without similar commands.

    Commands that share a prefix with the unknown name come before commands with a similar spelling.
    """
    prefixes = [name for name in names if unknown.startswith(name) or name.startswith(unknown)]
    similar = prefixes or get_close_matches(unknown, names)
    return f"; did you mean {' or '.join(similar)}?" if unknown and similar else ""


def lazy_group(headings: Mapping[str, Sequence[str]]) -> type[TyperGroup]:
    """Return the class of a group whose commands are imported at first use.

    The class turns Ctrl-C into ``InterruptedCommandError``, and an unknown command into an error that names
    similar commands. Only the help of the group imports all commands.

    Args:
        headings: names of the commands under each heading of the help; each command is in the module of its
            name in ``fiberscope.commands``.
    """
    names = [name for commands in headings.values() for name in commands]

    class LazyGroup(TyperGroup):
        def __init__(self, **options: Any) -> None:  # noqa: ANN401  (options of typer)
            super().__init__(**options)
            self.commands: Any = _Commands(names, _load_command)

        def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401  (a class of click or typer)
            """Return the command of the first argument; name similar commands if there is none."""
            if not ctx.resilient_parsing and args[0][:1] != "-" and args[0] not in names:
                ctx.fail(f"No such command {args[0]!r}{_similar_commands(args[0], names)}")
            return super().resolve_command(ctx, args)

        def make_context(self, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401
            with _named_interrupts():
                return super().make_context(*arguments, **options)

        def invoke(self, ctx: Any) -> Any:  # noqa: ANN401  (a class of click or typer)
            with _named_interrupts():
                return super().invoke(ctx)

        def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401  (a class of click or typer)
            """Write the help of all commands, which imports them, under their headings."""
            widest = max(map(len, names))
            limit = formatter.width - widest - HELP_MARGIN
            for heading, commands in headings.items():
                helps = [(name, _load_command(name).get_short_help_str(limit)) for name in commands]
                with formatter.section(heading):
                    formatter.write_dl([(f"{name:{widest}}", short_help) for name, short_help in helps])

    return LazyGroup
