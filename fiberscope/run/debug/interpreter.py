"""Interpreter of the debugger's commands."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from fiberscope.base.errors import InputError
from fiberscope.results.report.document import Report
from fiberscope.run.debug.host import Names
from fiberscope.run.debug.session import Session
from fiberscope.run.debug.shown import Shown
from fiberscope.workloads.errors import suggest


class Quit(Exception):  # noqa: N818  (no error)
    """The user ends the session; whoever calls ``execute`` closes it."""


class _Command(NamedTuple):
    """A command.

    Args:
        arguments: the arguments for the help; optional arguments are in brackets.
        description: the effect.
        call: a function of the session and the arguments.
        takes_line: whether the remaining line is one argument.
    """

    arguments: str
    description: str
    call: Callable[..., Shown | Report]
    takes_line: bool = False


def _parse_number(text: str) -> int:
    """Parse a whole number, which may have separators as in printed cycles: ``12,000`` or ``12_000``.

    Raises:
        InputError: the text is no such number.
    """
    if not re.fullmatch(r"\d[\d_,]*", text, re.ASCII):
        raise InputError(f"{text} is no whole number")
    return int(re.sub("[_,]", "", text))


def _call_with_numbers(method: str) -> Callable[..., Any]:
    return lambda session, *texts: getattr(session, method)(*map(_parse_number, texts))


def _call_with_texts(method: str) -> Callable[..., Any]:
    return lambda session, *texts: getattr(session, method)(*texts)


def _call_with_path(method: str) -> Callable[..., Any]:
    return lambda session, path, *cycles: getattr(session, method)(path, *map(_parse_number, cycles))


def _show_help(_session: Session, name: str = "") -> Shown:
    if name:
        command = _find_command(name)
        return Shown(f"{_format_usage(command)}: {command.description}")
    width = max(len(f"{name} {command.arguments}") for name, command in COMMANDS.items())
    lines = [
        f"{f'{name} {command.arguments}':{width}}  {command.description}"
        for name, command in COMMANDS.items()
    ]
    return Shown("\n".join(lines))


def _end_session(_session: Session) -> Shown:
    raise Quit


# In the order of ``help``. The key is what the user types, the text in the call a method of ``Session``.
COMMANDS: Mapping[str, _Command] = {
    "run": _Command("[CYCLE]", "run to the end, or to a cycle", _call_with_numbers("run")),
    "step": _Command("[N]", "run for N cycles", _call_with_numbers("step")),
    "until": _Command("CONDITION", "run until a condition holds", _call_with_texts("until"), takes_line=True),
    "break": _Command(
        "CONDITION", "stop when a condition begins to hold", _call_with_texts("add_break"), takes_line=True
    ),
    "breaks": _Command("", "list the breakpoints", _call_with_texts("breaks")),
    "delete": _Command("NUMBER", "delete a breakpoint", _call_with_numbers("delete")),
    "back": _Command("[N]", "go back by N cycles", _call_with_numbers("back")),
    "goto": _Command("CYCLE", "go to a cycle, earlier or later", _call_with_numbers("goto")),
    "show": _Command("NAME", "show a component; of a pattern, a table", _call_with_texts("show")),
    "queue": _Command("CHANNEL", "show the tokens in a channel", _call_with_texts("queue")),
    "why": _Command("NAME", "show the chain of waits from a component to its cause", _call_with_texts("why")),
    "watch": _Command(
        "EXPRESSION", "show a quantity at every stop", _call_with_texts("watch"), takes_line=True
    ),
    "wave": _Command("FILE [N]", "write a waveform of the next N cycles", _call_with_path("wave")),
    "timeline": _Command("FILE [N]", "write a timeline of the next N cycles", _call_with_path("timeline")),
    "report": _Command("", "show the report as far as the run has come", _call_with_texts("report")),
    "info": _Command("", "show the cycle, breakpoints and snapshots", _call_with_texts("info")),
    "help": _Command("[COMMAND]", "show the commands, or what a command does", _show_help),
    "quit": _Command("", "end the session", _end_session),
}


def completions(names: Names, line: str) -> list[str]:
    """Return the completions of the last word of a line: commands, or names that the command accepts.

    Args:
        names: the names of the machine.
        line: the line up to the cursor. After a blank, the last word is empty, and every name completes it.
    """
    *preceding, word = line.lstrip().split(" ") or [""]
    if not preceding:
        choices: Sequence[str] = list(COMMANDS)
    else:
        try:
            command = _find_command(preceding[0])
        except InputError:
            return []
        kinds = command.arguments.split()
        # A condition or expression is one argument of several words; blanks may be repeated.
        index = 0 if command.takes_line else len([text for text in preceding[1:] if text])
        kind = kinds[index] if index < len(kinds) else ""
        choices = _list_choices(names, kind, preceding[-1])
    return [choice for choice in choices if choice.startswith(word)]


def _list_choices(names: Names, kind: str, previous: str) -> Sequence[str]:
    """Return the possible values of an argument.

    Args:
        names: the names of the machine.
        kind: the argument in ``_Command.arguments``, such as ``NAME``; empty beyond the last argument.
        previous: the word before, which may be the component of a quantity.
    """
    if kind == "NAME":
        return names.components
    if kind == "CHANNEL":
        return names.channels
    if kind not in {"CONDITION", "EXPRESSION"}:
        return ()
    if previous in names.quantities:
        return [name for name in names.quantities[previous] if "[" not in name]
    qualified = (f"{component}.{name}" for component, members in names.quantities.items() for name in members)
    return ["cycle", "and", "or", *names.components, *qualified]


def execute(session: Session, line: str) -> Shown | Report | None:
    """Execute one line; return None for an empty line or a comment.

    A command may be abbreviated to a unique prefix. A ``#`` begins a comment, also within a word or a path.

    Raises:
        InputError: the command or its arguments are invalid.
        Quit: the session ends.
    """
    word, _, remainder = line.partition("#")[0].strip().partition(" ")
    if not word:
        return None
    command = _find_command(word)
    texts = [remainder.strip()] if command.takes_line and remainder.strip() else remainder.split()
    # A line that is one argument counts as one text; without a text, a required argument is missing.
    required = [argument for argument in command.arguments.split() if not argument.startswith("[")]
    if not len(required) <= len(texts) <= len(command.arguments.split()):
        raise InputError(f"{line.strip()}: write it as {_format_usage(command)}")
    answer: Shown | Report = command.call(session, *texts)
    return answer


def _find_command(word: str) -> _Command:
    """Return the command of this name or unique prefix; a whole name wins, as ``break`` over ``breaks``.

    Raises:
        InputError: there is no such command, or several begin with the word.
    """
    names: Sequence[str] = (
        [word] if word in COMMANDS else [name for name in COMMANDS if name.startswith(word)]
    )
    if len(names) != 1:
        advice = f"it may be {' or '.join(names)}" if names else suggest(word, COMMANDS)
        raise InputError(f"{word} is no command; {advice}")
    return COMMANDS[names[0]]


def _format_usage(command: _Command) -> str:
    """Return the full name of a command and its arguments."""
    name = next(name for name, entry in COMMANDS.items() if entry is command)
    return f"{name} {command.arguments}".strip()
