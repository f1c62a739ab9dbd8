"""The page's table of options is what the commands declare; FIBERSCOPE_UPDATE_DOCS=1 writes it."""

import os
import re
from functools import cache
from pathlib import Path

import pytest
import typer

from fiberscope.commands.command_line import app
from fiberscope.commands.option_groups import Needs, flag, list_declared_options
from fiberscope.commands.run_options import ReportOptions, SimulationOptions

PAGE = Path(__file__).parents[2] / "docs" / "options.md"
START = "<!-- options: written by tests/docs/test_options.py -->\n"
END = "<!-- end of options -->\n"
COMMANDS = ("sim", "convert", "graph run", "model", "analyze")


@cache
def commands():
    return typer.main.get_command(app)


def found(words: str):
    """The command of these words, as click has it."""
    command = commands()
    for word in words.split():
        command = command.commands[word]
    return command


def told(command: str, option: str) -> str:
    taken = found(command).callback.__wrapped__
    options = {parameter.name: parameter.opts for parameter in found(command).params}
    if option not in options:
        return ""
    return "refused" if option in taken.unsupported else "yes"


def needed(option: str) -> str:
    needs = [
        one for one in list_declared_options(SimulationOptions)[option].__metadata__ if isinstance(one, Needs)
    ]
    return f" (with `{flag(needs[0].option)}`)" if needs else ""


def written(option: str) -> str:
    return next(one.opts[0] for one in found("sim").params if one.name == option)


def table() -> str:
    lines = [" | ".join(["| option", *(f"`{command}`" for command in COMMANDS)]) + " |", "| --- " * 6 + "|"]
    for option in list_declared_options(SimulationOptions):
        cells = [told(command, option) for command in COMMANDS]
        lines.append(" | ".join([f"| `{written(option)}`{needed(option)}", *cells]) + " |")
    return "\n" + "\n".join(lines) + "\n\n"


def test_the_page_has_what_the_commands_declare():
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(START)
    shown, after = rest.split(END)
    if os.environ.get("FIBERSCOPE_UPDATE_DOCS"):
        PAGE.write_text(f"{before}{START}{table()}{END}{after}", encoding="utf-8")
        shown = table()
    assert shown == table()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_has_every_option_of_its_group_and_says_why_it_refuses_one(command):
    taken = found(command).callback.__wrapped__
    group = ReportOptions if command in ("model", "analyze") else SimulationOptions
    assert group in taken.groups.values()
    assert list_declared_options(group).keys() <= {parameter.name for parameter in found(command).params}
    assert taken.unsupported.keys() <= list_declared_options(group).keys()


def test_the_table_tells_what_is_refused_and_what_is_needed():
    rows = {name: line for line in table().splitlines() if (name := "".join(re.findall(r"`(--\S+)`", line)))}
    assert rows["--part"] == "| `--part` | yes | yes | refused |  |  |"
    assert "--vcd-cycles--vcd" in rows
