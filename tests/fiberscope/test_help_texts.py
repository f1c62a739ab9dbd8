"""The help of every command begins with a verb, and each option has a phrase that stands for itself."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer
from kept import check_kept_text

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


def describe_parameter(parameter: Any) -> str:
    """Return a line with all that a user can give, and its help."""
    kind = getattr(parameter, "type", parameter)  # typer before 0.26 has the limits there
    fields = {name: getattr(kind, name, None) for name in ("min", "max")}
    fields |= {
        name: getattr(parameter, name, None)
        for name in ("metavar", "nargs", "default", "required", "multiple", "is_flag", "hidden")
    }
    names = " ".join([*parameter.opts, *parameter.secondary_opts])
    described = " ".join(
        f"{name}={value}"
        for name, value in fields.items()
        if value or (isinstance(value, int) and value is not False)
    )
    return f"  {names} {described}: {getattr(parameter, 'help', None)}"


def test_names_defaults_and_texts_of_every_option_are_as_kept() -> None:
    lines = []
    for path, command in walk(typer.main.get_command(app)):
        lines += [
            path,
            command.help or "",
            *(describe_parameter(one) for one in command.params if "completion" not in one.name),
        ]
    check_kept_text(Path(__file__).parent / "options_of_commands.txt", "\n".join(lines) + "\n")


@pytest.mark.parametrize(
    ("summary", "option"),
    [("The blocks as RTL.", "Set a parameter."), ("Run it.", "Of every value."), ("Run it.", "")],
)
def test_planted_fragments_are_found(summary: str, option: str) -> None:
    command = SimpleNamespace(help=summary, params=[SimpleNamespace(name="planted", help=option)])
    assert len(find_faults("planted", command)) == 1
