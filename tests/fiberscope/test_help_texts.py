"""The help of every command begins with a verb, and each option has a phrase that stands for itself."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import typer

from fiberscope.commands.command_line import app

VERBS = {
    *(
        "Check",
        "Choose",
        "Compare",
        "Compile",
        "Count",
        "Create",
        "Draw",
        "Estimate",
        "List",
        "Measure",
        "Open",
    ),
    *(
        "Predict",
        "Print",
        "Prove",
        "Repeat",
        "Replay",
        "Rewrite",
        "Run",
        "Search",
        "Show",
        "Simulate",
        "Write",
    ),
}
# Beginnings of a phrase whose subject is elsewhere.
FRAGMENTS = (
    "Of ",
    "As ",
    "What ",
    "That ",
    "Likewise",
    "Whose ",
    "With ",
    "For ",
    "Which ",
    "To ",
    "The same",
)


def walk(command: Any, path: str = "fiberscope") -> Iterator[tuple[str, Any]]:
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from walk(inner, f"{path} {name}")


def find_faults(path: str, command: Any) -> list[str]:
    summary = command.help.strip().splitlines()[0]
    texts = {parameter.name: getattr(parameter, "help", None) or "" for parameter in command.params}
    faults = [] if summary.split()[0].rstrip(",") in VERBS else [f"{path}: {summary}"]
    return faults + [
        f"{path} {name}: {text}"
        for name, text in texts.items()
        if not text or not text[0].isupper() or text.startswith(FRAGMENTS)
    ]


def test_every_help_begins_with_a_verb_and_explains_each_option() -> None:
    commands = list(walk(typer.main.get_command(app)))
    assert len(commands) > 40
    assert [fault for path, command in commands for fault in find_faults(path, command)] == []


@pytest.mark.parametrize(
    ("summary", "option"),
    [("The blocks as RTL.", "Set a parameter."), ("Run it.", "Of every value."), ("Run it.", "")],
)
def test_planted_fragments_are_found(summary: str, option: str) -> None:
    command = SimpleNamespace(help=summary, params=[SimpleNamespace(name="planted", help=option)])
    assert len(find_faults("planted", command)) == 1
