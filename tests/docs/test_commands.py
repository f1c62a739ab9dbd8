"""Every command block of the documentation runs, every link leads somewhere, captures are true.

Commands of ``fiberscope`` are run, where they name real matrices on small ones, targets of ``make`` are
looked up, and the few others are named here.
"""

import io
import os
import re
import shlex
import subprocess
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from optional_programs import is_tried, missing
from small_data import small_data

from fiberscope import cli

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINKED = sorted(
    {*PAGES, *ROOT.glob("*.md"), *(ROOT / "fiberscope").rglob("*.md"), *(ROOT / "tests").rglob("*.md")}
)
BLOCK = re.compile(r"^```sh\n(?P<code>.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?P<target>[^)\s]+)\)")
CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (?P<text>.*)$", re.MULTILINE)
CAPTURE = re.compile(r"^```text\n\$ (?P<command>fiberscope .*)\n(?P<shown>(?:.*\n)*?)```\n", re.MULTILINE)
OMITTED = "..."  # a line of an abridged capture that stands for any lines
NOT_RUN_HERE = (
    "source .venv/bin/activate",  # changes the reader's shell
    "FIBERSCOPE_UNCOMPILED=1 .venv/bin/python -m pytest",  # the tests of the engine do it themselves
    "python published/",
    "python benchmarks/",  # measurements take minutes
    "yowasp-sby ",  # comes with the extra of an FPGA flow
    *(("fiberscope rtl area", "fiberscope rtl prove") if missing("yosys") else ()),
)
# By page, commands of seconds that only the slow run has: other default tests run the same on less.
HEAVY = {
    "docs/cosim.md": ("fiberscope rtl loop bank gamma uniform:rows=16,cols=16,nonzeros=60",),
    "docs/energy.md": ("fiberscope search",),
    "docs/extensor.md": ("fiberscope ablate",),
    "docs/mapped_accuracy.md": ("fiberscope check examples/specifications/layer.yaml",),
    "docs/mint.md": ("fiberscope convert rlc coo",),
    "docs/plots.md": (
        "fiberscope results suite --plot energy.pdf",
        "fiberscope results suite --plot roofline.svg",
    ),
    "docs/results.md": ("fiberscope suite", "fiberscope sweep", "fiberscope page study"),
    "docs/rtl.md": ("fiberscope rtl export merger --set", "fiberscope rtl area merger --set radix=2"),
    "docs/rtl_machine.md": ("fiberscope rtl export gamma",),
    "docs/sampling.md": ("fiberscope sweep", "fiberscope results"),
    "docs/suites.md": ("fiberscope suite gamma outerspace", "fiberscope suite gamma extensor"),
    "docs/sweep.md": (
        "fiberscope search gamma uniform:rows=300,cols=300,nonzeros=2000 --minimise cycles --minimise",
        "fiberscope sweep examples/specifications/row_wise.yaml",
        "fiberscope sweep gamma uniform:rows=300,cols=300,nonzeros=2000 --command model",
        "fiberscope sweep spec:gamma",
    ),
    "docs/teaal.md": ("fiberscope check",),
}


def lines_of_blocks(text: str) -> list[str]:
    """The lines of all command blocks of a page."""
    return [line for block in BLOCK.finditer(text) for line in block["code"].splitlines() if line.strip()]


def commands(text: str) -> list[str]:
    """The lines of all command blocks of a page, but for what is not run here."""
    lines = [line for line in lines_of_blocks(text) if not line.startswith(("#", *NOT_RUN_HERE))]
    return [line for line in lines if "--line-coverage" not in line or not missing("verilator")]


def check(command: str) -> None:
    """Run a command of the documentation, as far as a test can."""
    words = shlex.split(command, comments=True)
    if words[0] == "make":
        subprocess.run(["make", "-n", *words[1:]], cwd=ROOT, check=True, capture_output=True)
        return
    assert words[0] == "fiberscope", f"a command that no test knows how to run: {command}"
    assert cli.run(words[1:]) == 0


def page_name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def light_commands(page: Path) -> list[str]:
    """The commands of a page without the heavy ones."""
    lines = commands(page.read_text(encoding="utf-8"))
    return [line for line in lines if not line.startswith(HEAVY.get(page_name(page), ()))]


TRIED = [page for page in PAGES if is_tried("\n".join(commands(page.read_text(encoding="utf-8"))))]


@pytest.fixture
def _folder_of_a_reader(here: Path, monkeypatch: pytest.MonkeyPatch, sweeps_here: None) -> None:
    """A working directory beside the examples, with small matrices under the names of real ones."""
    (here / "examples").symlink_to(ROOT / "examples")
    monkeypatch.setenv("FIBERSCOPE_DATA", small_data(here / "data"))
    monkeypatch.setenv("FIBERSCOPE_OFFLINE", "1")
    monkeypatch.setattr("sys.stdin", io.StringIO())  # the prompt of the debugger ends at once


@pytest.mark.usefixtures("_folder_of_a_reader")
@pytest.mark.parametrize("page", TRIED, ids=page_name)
def test_the_commands_of_the_page_work(page: Path) -> None:
    for command in light_commands(page):
        check(command)


@pytest.mark.slow
@pytest.mark.usefixtures("_folder_of_a_reader")
@pytest.mark.parametrize("page", [page for page in TRIED if page_name(page) in HEAVY], ids=page_name)
def test_so_do_all_of_a_page_with_heavy_ones(page: Path) -> None:
    for command in commands(page.read_text(encoding="utf-8")):
        check(command)


@pytest.mark.parametrize("page", HEAVY)
def test_every_heavy_command_is_of_its_page_which_has_light_ones(page: str) -> None:
    lines = lines_of_blocks((ROOT / page).read_text(encoding="utf-8"))
    assert [heavy for heavy in HEAVY[page] if not any(line.startswith(heavy) for line in lines)] == []
    assert light_commands(ROOT / page)


@pytest.mark.parametrize(
    "command", ["make nonsense", "fiberscope nonsense", "fiberscope info nonsense", "rm x"]
)
def test_a_planted_command_that_does_not_work_is_found(command: str) -> None:
    with pytest.raises((AssertionError, subprocess.CalledProcessError)):
        check(command)


@pytest.mark.parametrize("page", LINKED, ids=page_name)
def test_the_links_of_the_page_lead_somewhere(page: Path) -> None:
    assert broken_links(page, page.read_text(encoding="utf-8")) == []


def test_planted_broken_links_are_found() -> None:
    text = "[a](none.md) [b](README.md#no-such-heading) [c](LICENSE)"
    assert broken_links(PAGES[0], text) == ["none.md", "README.md#no-such-heading"]


def broken_links(page: Path, text: str) -> list[str]:
    """The relative links of a page to no file, or to no heading of it."""
    targets = [link["target"] for link in LINK.finditer(text)]
    return [target for target in targets if "://" not in target and not _leads_somewhere(page, target)]


def _leads_somewhere(page: Path, target: str) -> bool:
    name, _, anchor = target.partition("#")
    path = page.parent / name if name else page
    if not path.exists() or not anchor:
        return path.exists()
    text = CODE.sub("", path.read_text(encoding="utf-8"))
    return anchor in map(_anchor, HEADING.findall(text))


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("README.md", marks=[pytest.mark.slow, pytest.mark.real]),
        "docs/gamma.md",
        "docs/graph.md",
        "docs/mapped.md",
        "docs/sage.md",
        "docs/teaal.md",
        "docs/tour.md",
    ],
)
def test_the_captures_of_the_page_are_what_one_sees(
    name: str, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Set FIBERSCOPE_UPDATE_DOCS=1 to write what is seen now into the page, where a capture is whole."""
    page = ROOT / name
    text = page.read_text(encoding="utf-8")
    (here / "examples").symlink_to(ROOT / "examples")
    monkeypatch.setenv("FIBERSCOPE_OFFLINE", "1")
    monkeypatch.setenv("COLUMNS", "100")
    captures = list(CAPTURE.finditer(text))
    seen = [see(capture["command"]) for capture in captures]
    if any("surrogate" in output for output in seen):
        pytest.skip("the real matrix is not on FIBERSCOPE_DATA")
    if os.environ.get("FIBERSCOPE_UPDATE_DOCS"):
        for capture, output in reversed(list(zip(captures, seen, strict=True))):
            if OMITTED not in capture["shown"].splitlines():
                text = text[: capture.start("shown")] + output + text[capture.end("shown") :]
        page.write_text(text, encoding="utf-8")
        return
    assert captures
    for capture, output in zip(captures, seen, strict=True):
        shown, lines = _without_host(capture["shown"]), _without_host(output)
        if OMITTED in shown:
            assert missing_lines(shown, lines) == []
        else:
            assert lines == shown


def see(command: str) -> str:
    """Run a command of ``fiberscope`` and return what it prints, without blanks at the ends of lines."""
    with redirect_stdout(io.StringIO()) as shown:
        assert cli.run(shlex.split(command)[1:]) == 0
    return "".join(f"{line.rstrip()}\n" for line in shown.getvalue().splitlines())


def missing_lines(shown: list[str], lines: list[str]) -> list[str]:
    """Return the lines of an abridged capture that the output does not have in this order."""
    rest = iter(lines)
    wanted = [line for line in shown if line and line != OMITTED]
    return [line for line in wanted if line not in rest]


def test_planted_lines_that_a_command_does_not_print_are_found() -> None:
    assert missing_lines(["a", OMITTED, "", "c"], ["a", "b", "", "c"]) == []
    assert missing_lines(["c", OMITTED, "a"], ["a", "b", "c"]) == ["a"]
    assert missing_lines(["a 1", OMITTED], ["a 2", "b"]) == ["a 1"]


@pytest.mark.parametrize(
    ("name", "command"),
    [
        (
            "docs/cosim.md",
            "rtl loop merger gamma uniform:rows=40,cols=40,nonzeros=200 --set pe.count=2 --set pe.radix=8",
        ),
        (
            "docs/rtl_machine.md",
            "rtl loop pe gamma examples/worked_tiles.mtx --set pe.count=2 --set pe.radix=4"
            " --set fibercache.banks=2 --set value=float32",
        ),
    ],
)
def test_the_run_with_rtl_is_what_the_page_shows(name: str, command: str, here: Path) -> None:
    (here / "examples").symlink_to(ROOT / "examples")
    with redirect_stdout(io.StringIO()) as shown:
        assert cli.run(shlex.split(command)) == 0
    page = (ROOT / name).read_text(encoding="utf-8").splitlines()
    seen = re.sub(r"RTL in (verilator|pyrtl) at", "RTL in icarus at", shown.getvalue())
    assert [line for line in seen.splitlines() if f"    {line}" not in page] == []


def _without_host(text: str) -> list[str]:
    """Lines that do not depend on the machine; the last digits of rounding errors may."""
    lines = [line for line in text.splitlines() if not line.startswith("Host")]
    return [re.sub(r"(?<=relative error )[\d.]+e-\d+", "rounding", line) for line in lines]
