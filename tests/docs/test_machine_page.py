"""The page of machines shows lines of the template, and its first change has the effect that it says."""

import re
import textwrap
from pathlib import Path

import pytest

import fiberscope
from fiberscope import cli

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how_to_add_a_machine.md").read_text(encoding="utf-8")
EXCERPT = re.compile(r"<!-- template -->\n<!-- no-run -->\n```python\n(.*?)```", re.DOTALL)
CACHE = re.compile(
    r"^ *<!-- cache -->\n(?: *<!-- no-run -->\n)? *```\w+\n(.*?)^ *```", re.MULTILINE | re.DOTALL
)
STEP = re.compile(r"^\d\. In `([\w.]+)`.*$", re.MULTILINE)
OPERANDS = "uniform:rows=60,cols=60,nonzeros=300"


def squeeze(text: str) -> str:
    return " ".join(text.split())


def test_the_excerpts_are_lines_that_the_command_writes(machine: Path) -> None:
    sources = [(machine / name).read_text(encoding="utf-8") for name in ("machine.py", "parts.py")]
    lines = {squeeze(line) for source in sources for line in source.splitlines()}
    # The page leaves out the type of a class variable.
    lines |= {re.sub(r"ClassVar\[.*\] =", "ClassVar =", line) for line in lines}
    shown = [squeeze(line) for excerpt in EXCERPT.findall(PAGE) for line in excerpt.splitlines()]
    assert len(shown) > 20
    assert [line for line in shown if line not in lines] == []


def test_the_files_of_the_template_are_on_the_page_and_the_others_are_marked(machine: Path) -> None:
    files = {file.name for file in machine.iterdir()}
    rows = PAGE.split("| file | in the template |", 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    cells = [[cell.strip() for cell in row.split("|")[1:3]] for row in rows]
    shown = {file: mark for names, mark in cells for file in re.findall(r"`([\w.]+)`", names)}
    assert set(shown.values()) == {"yes", "no"}
    assert {file for file, mark in shown.items() if mark == "yes"} == files


def test_the_example_of_checks_is_one_that_the_command_takes(machine: Path, printed) -> None:
    (example,) = re.findall(r"```yaml\n(counts:.*?)```", PAGE, re.DOTALL)
    (machine / "check.yaml").write_text(example, encoding="utf-8")
    out = squeeze(printed("check", "./mine", OPERANDS))
    (shown,) = re.findall(r"```text\n(.* works, on average\n.*?)```", PAGE, re.DOTALL)
    assert all(squeeze(line) in out for line in shown.splitlines())
    (pe,) = re.findall(r"```yaml\n(pe:.*?)```", PAGE, re.DOTALL)
    assert pe in (machine / "config.yaml").read_text(encoding="utf-8")


def test_the_files_of_the_example_have_the_lines_of_the_page() -> None:
    shown = re.findall(r"`(\w+\.\w+)` (\d+)", PAGE.split("| part of the work |", 1)[1].split("\n\n", 1)[0])
    assert len(shown) == 7
    for name, lines in shown:
        text = (ROOT / "examples" / "matraptor" / name).read_text(encoding="utf-8")
        assert len(text.splitlines()) == int(lines), name


@pytest.fixture
def machine(here: Path) -> Path:
    assert cli.run(["new", "machine", "mine"]) == 0
    return here / "mine"


def change(file: Path, before: str, after: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert text.count(before) == 1
    file.write_text(text.replace(before, after), encoding="utf-8")


def test_the_first_change_takes_the_cycles_that_the_page_says(machine: Path) -> None:
    assert f"Cycles      {fiberscope.simulate('./mine', OPERANDS).cycles:,} " in PAGE
    field, call, drain = "drain: int = Field(ge=1, le=100)", "pe.element, pe.drain)", "self.drain * len(row)"
    change(machine / "config.yaml", "  rows: 4 ", "  drain: 4  # cycles for each element [ours]\n  rows: 4 ")
    change(machine / "machine.py", "    rows: int", f"    {field}\n    rows: int")
    change(machine / "machine.py", "self.shares[i], pe.element)", f"self.shares[i], {call}")
    change(machine / "parts.py", "element_bytes: int\n", "element_bytes: int, drain: int\n")
    change(machine / "parts.py", "self.rows = rows", "self.rows = rows\n        self.drain = drain")
    change(machine / "parts.py", "now + 1 + len(row)", f"now + 1 + {drain}")
    steps = squeeze(" ".join(step[0] for step in STEP.finditer(PAGE)))
    assert [part for part in ("drain: 4 ", field, call, drain) if part not in steps] == []
    assert f"now takes {fiberscope.simulate('./mine', OPERANDS).cycles:,} cycles" in PAGE


def test_the_shared_cache_runs_as_the_page_says(machine: Path) -> None:
    steps = [textwrap.dedent(step) for step in CACHE.findall(PAGE)]
    section, imports, parameters, cache, users, port, costs = steps
    before = fiberscope.simulate("./mine", OPERANDS)
    change(machine / "config.yaml", "network:\n", f"{section}network:\n")
    text = (machine / "machine.py").read_text(encoding="utf-8")
    (old_parameters,) = re.findall(r"class MineParameters.*?ProcessingElements\n", text, re.DOTALL)
    (old_port,) = re.findall(r"    def _port\(.*?return [^\n]*\n", text, re.DOTALL)
    change(
        machine / "machine.py",
        "from fiberscope.hw.memory.protocol",
        f"{imports}from fiberscope.hw.memory.protocol",
    )
    change(machine / "machine.py", old_parameters, parameters)
    change(machine / "machine.py", '"sums": RowSums,', '"sums": RowSums,\n        "bank": FiberCacheBank,')
    change(
        machine / "machine.py",
        "        self.add_memory(",
        "        self._add_cache()\n        self.add_memory(",
    )
    change(machine / "machine.py", old_port, textwrap.indent(f"{port}\n{cache}", "    "))
    change(
        machine / "machine.py",
        'yield from ((reader, "requests", "replies") for reader in self.readers)',
        users.strip(),
    )
    with (machine / "costs.yaml").open("a", encoding="utf-8") as file:
        file.write(textwrap.indent(costs, "  "))
    after = fiberscope.simulate("./mine", OPERANDS, checked=True)
    assert after.energy.by_component["cache.bank"]["read_misses"] > 0
    cells = [f"{before.cycles:,} | {after.cycles:,}"]
    cells += [
        f"{before.traffic['B'].read_bytes / 1024:.2f} KiB | {after.traffic['B'].read_bytes / 1024:.2f} KiB"
    ]
    assert [cell for cell in cells if cell not in PAGE] == []
    assert cli.run(["check", "./mine", OPERANDS]) == 0
