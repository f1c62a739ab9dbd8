"""The commands of the debugger, as they are typed: each is said once, and calls a method of the session."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from fiberscope.base.errors import InputError
from fiberscope.results.report.document import Report
from fiberscope.run.debug.host import Names
from fiberscope.run.debug.session import Session
from fiberscope.run.debug.shown import Shown
from fiberscope.workloads.errors import nearest

__all__ = ["COMMANDS", "Quit", "completions", "execute"]


class Quit(Exception):  # noqa: N818  (a command, no error)
    """The session is to end."""


class _Command(NamedTuple):
    """A command.

    Args:
        words: its arguments, as the help has them; those in brackets may be left out.
        description: what it does.
        call: does it, with the session and the arguments.
        rest: whether all that follows is one argument.
    """

    words: str
    description: str
    call: Callable[..., Shown | Report]
    rest: bool = False


def _number(text: str) -> int:
    if not re.fullmatch(r"\d[\d_,]*", text, re.ASCII):
        raise InputError(f"{text} is no whole number")
    return int(re.sub("[_,]", "", text))


def _numbers(method: str) -> Callable[..., Any]:
    return lambda session, *texts: getattr(session, method)(*map(_number, texts))


def _texts(method: str) -> Callable[..., Any]:
    return lambda session, *texts: getattr(session, method)(*texts)


def _recording(method: str) -> Callable[..., Any]:
    return lambda session, path, *cycles: getattr(session, method)(path, *map(_number, cycles))


def _help(_session: Session, name: str = "") -> Shown:
    if name:
        command = _command(name)
        return Shown(f"{_usage(command)}: {command.description}")
    width = max(len(f"{name} {command.words}") for name, command in COMMANDS.items())
    lines = [
        f"{f'{name} {command.words}':{width}}  {command.description}" for name, command in COMMANDS.items()
    ]
    return Shown("\n".join(lines))


def _quit(_session: Session) -> Shown:
    raise Quit


COMMANDS: Mapping[str, _Command] = {
    "run": _Command("[CYCLE]", "run to the end, or to a cycle", _numbers("run")),
    "step": _Command("[N]", "run for N cycles", _numbers("step")),
    "until": _Command("CONDITION", "run until a condition holds", _texts("until"), rest=True),
    "break": _Command("CONDITION", "stop when a condition begins to hold", _texts("add_break"), rest=True),
    "breaks": _Command("", "list the breakpoints", _texts("breaks")),
    "delete": _Command("NUMBER", "delete a breakpoint", _numbers("delete")),
    "back": _Command("[N]", "go back by N cycles", _numbers("back")),
    "goto": _Command("CYCLE", "go to a cycle, earlier or later", _numbers("goto")),
    "show": _Command("NAME", "show a component; of a pattern, a table", _texts("show")),
    "queue": _Command("CHANNEL", "show the tokens in a channel", _texts("queue")),
    "why": _Command("NAME", "show the chain of waits from a component to its cause", _texts("why")),
    "watch": _Command("EXPRESSION", "show a quantity at every stop", _texts("watch"), rest=True),
    "wave": _Command("FILE [N]", "write a waveform of the next N cycles", _recording("wave")),
    "timeline": _Command("FILE [N]", "write a timeline of the next N cycles", _recording("timeline")),
    "report": _Command("", "show the report as far as the run has come", _texts("report")),
    "info": _Command("", "show the cycle, breakpoints and snapshots", _texts("info")),
    "help": _Command("[COMMAND]", "show the commands, or what a command does", _help),
    "quit": _Command("", "end the session", _quit),
}


def completions(names: Names, line: str) -> list[str]:
    """Return what the last word of a line may be continued to: a command, or a name that it takes."""
    *before, word = line.lstrip().split(" ") or [""]
    if not before:
        choices: Sequence[str] = list(COMMANDS)
    else:
        try:
            command = _command(before[0])
        except InputError:
            return []
        kinds = command.words.split()
        place = 0 if command.rest else len([text for text in before[1:] if text])
        kind = kinds[place] if place < len(kinds) else ""
        choices = _choices(names, kind, before[-1])
    return [choice for choice in choices if choice.startswith(word)]


def _choices(names: Names, kind: str, previous: str) -> Sequence[str]:
    """Return the possible values of an argument of a kind, after another word."""
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
    """Execute one line; None for an empty one, or a comment.

    A command may be cut short to what no other command begins with.

    Raises:
        InputError: it is no command, or says what cannot be.
        Quit: the session is to end.
    """
    word, _, rest = line.partition("#")[0].strip().partition(" ")
    if not word:
        return None
    command = _command(word)
    texts = [rest.strip()] if command.rest and rest.strip() else rest.split()
    needed = [argument for argument in command.words.split() if not argument.startswith("[")]
    if not len(needed) <= len(texts) <= len(command.words.split()):
        raise InputError(f"{line.strip()}: write it as {_usage(command)}")
    answer: Shown | Report = command.call(session, *texts)
    return answer


def _command(word: str) -> _Command:
    names: Sequence[str] = (
        [word] if word in COMMANDS else [name for name in COMMANDS if name.startswith(word)]
    )
    if len(names) != 1:
        advice = f"it may be {' or '.join(names)}" if names else nearest(word, COMMANDS)
        raise InputError(f"{word} is no command; {advice}")
    return COMMANDS[names[0]]


def _usage(command: _Command) -> str:
    name = next(name for name, entry in COMMANDS.items() if entry is command)
    return f"{name} {command.words}".strip()
