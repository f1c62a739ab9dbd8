"""Every example in a help text or a docstring works; tried on small matrices, as it is about the line."""

import ast
import io
import re
import shlex
import shutil
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import pytest
import typer
from kept import check_kept_section
from optional_programs import is_tried, require
from small_data import MATRIX, small_data
from studies import study

import fiberscope
from fiberscope import accelerators, cli
from fiberscope.accelerators import configuration
from fiberscope.commands.command_line import app

ROOT = Path(__file__).parents[2]
GAMMA = accelerators.find("gamma")
CELLS = Path("/usr/share/qflow/tech/osu018/osu018_stdcells.lib")  # as Debian has them


def commands(command: object, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Every command with its help text, those within others too."""
    yield path, getattr(command, "help", "") or ""
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, (*path, name))


def examples(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip().startswith("fiberscope ")]


HELP = dict(commands(typer.main.get_command(app)))
EXAMPLES = list(dict.fromkeys(line for text in HELP.values() for line in examples(text)))


def test_every_command_has_an_example() -> None:
    without = [" ".join(path) for path, text in HELP.items() if not examples(text)]
    assert without == ["rtl list"]  # which takes nothing
    assert len(EXAMPLES) > 20


@pytest.mark.parametrize("path", [(), ("rtl",), ("graph",), ("memory",), ("new",)], ids=" ".join)
def test_what_a_command_does_is_told_whole_in_80_columns(
    path: tuple[str, ...], printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    told = printed(*path, "--help")
    listed = re.findall(r"^  (\w+) +(\S.*)$", told.rpartition("Show this message and exit.")[2], re.MULTILINE)
    assert [name for name, _ in listed] == [name[-1] for name in HELP if name and name[:-1] == path]
    assert all(len(line) <= 80 for line in told.splitlines())
    assert [what for _, what in listed if not re.fullmatch(r"[A-Z].*[^.]\.", what)] == []


@pytest.fixture(scope="module")
def report() -> tuple[str, str]:
    """A report, and another with more PEs."""
    operand, run = "uniform:rows=40,cols=40,nonzeros=80", fiberscope.simulate
    few, more = (run("gamma", operand, histograms=True, pe__count=pes, pe__radix=4) for pes in (2, 4))
    return few.to_json(), more.to_json()


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("profile") / "mine.json"
    assert cli.run(["profile", "uniform:rows=40,cols=40,nonzeros=80", "--json", str(path)]) == 0
    return path.read_text()


SPECIFICATION = """\
symbols: {K1: }
einsum:
  declaration: {A: [K, M], B: [K, N], Z: [M, N]}
  expressions: ["Z[m, n] = A[k, m] * B[k, n]"]
mapping:
  partitioning: {Z: {K: [uniform_shape(K1)]}}
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Those of a sweep."""
    folder: Path = tmp_path_factory.mktemp("results") / "study"
    study(folder)
    return folder


@pytest.fixture
def folder(
    report: tuple[str, str], profile: str, results: Path, here: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """All files that examples name, small."""
    monkeypatch.setenv("FIBERSCOPE_DATA", small_data(here / "data"))
    monkeypatch.setenv("FIBERSCOPE_OFFLINE", "1")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("sys.stdin", io.StringIO())
    for name in ("my_matrix", "a", "b", "my", "mine", "large"):
        (here / f"{name}.mtx").write_text(MATRIX)
    (here / "my_tensor.tns").write_text("1 1 1 2\n3 2 1 1\n")
    (here / "my.yaml").write_text(SPECIFICATION)
    design = (ROOT / "fiberscope" / "models" / "analytic" / "designs" / "matmul.yaml").read_text()
    for name, key in (("arch", "architecture"), ("problem", "problem"), ("mapping", "mapping")):
        section = re.search(rf"^{key}:\n(?: .*\n|\n)*", design, re.MULTILINE)
        (here / f"{name}.yaml").write_text(section[0])
    (here / "docs").mkdir()
    page = "<!-- compare gamma: begin -->\n<!-- compare gamma: end -->\n"
    (here / "docs" / "accuracy.md").write_text(page)
    for name in ("out", "before", "after", "other"):
        (here / f"{name}.json").write_text(report[name == "other"])
    (here / "mine.json").write_text(profile)
    (here / "out.trace").write_text("1 R 0\n2 W 40\n")
    (here / "examples").symlink_to(ROOT / "examples")
    shutil.copy(ROOT / "examples" / "own_component" / "slow_merger.py", here / "my_blocks.py")
    shutil.copytree(ROOT / "examples" / "inner_product", here / "my_machine")
    shutil.copytree(results, here / "study")
    (here / "study.yaml").write_text("accelerator: gamma\nworkloads: wiki-Vote\ngrid: {pe.count: [1, 2]}\n")
    (here / "list.txt").write_text("wiki-Vote\n")
    (here / "matrices").mkdir()
    (here / "machines").mkdir()
    (here / "matrices" / "m.mtx").write_text(MATRIX)
    (here / "search.yaml").write_text("pe.count: [1, 2]\nfibercache.size: [1536KiB, 3MiB]\n")
    (here / "my_cells.lib").symlink_to(CELLS)
    return here


def shrunk(example: str) -> list[str]:
    """Its arguments, with a small generated matrix, and a machine of few words of Verilog."""
    arguments = [_smaller(word) for word in shlex.split(example)[1:]]
    if "--window" in arguments:  # a small matrix has no seven windows
        arguments[arguments.index("large.mtx")] = "uniform:rows=3000,cols=3000,nonzeros=24000"
        arguments += ["--set=pe.count=4", "--window-cycles=1000"]
    return arguments + ["--set=pe.radix=4"] * (arguments[:3] == ["rtl", "export", "gamma"])


def _smaller(word: str) -> str:
    return re.sub(r"nonzeros=\d+", "nonzeros=80", re.sub(r"(rows|cols)=\d+", r"\1=40", word))


# Options that no help text has an example of.
ALSO = (
    "fiberscope results study",
    'fiberscope results study --sql "SELECT status, count(*) AS n FROM runs GROUP BY 1 ORDER BY 1" --json -',
    "fiberscope results study --columns workload,cycles,edp --latex -",
    "fiberscope results study --compare --mean arithmetic --markdown",
    "fiberscope formats my_tensor.tns --markdown --bits 8",
    "fiberscope info my_matrix.mtx --json -",
    "fiberscope diff before.json other.json",
    "fiberscope diff before.json other.json --json -",
    "fiberscope rtl export merger --set radix=4 --ports registered --clock-ns 2",
    "fiberscope graph check examples/graphs/spmv.gv",
)
SLOW = (
    *(f"fiberscope rtl {name}" for name in ("loop", "area", "power", "bench")),
    "fiberscope ablate",
    "fiberscope build",
    "fiberscope compare",
    "fiberscope graph rtl",
    "fiberscope rtl export gamma",  # as a page does
    "fiberscope rtl prove",  # as a page does
    "fiberscope rerun study.zip",
    "fiberscope sweep",
    "fiberscope search",
    "fiberscope suite gamma",  # as a page does
    "fiberscope suite study.yaml",
)


def marked(example: str) -> object:
    """What runs an HDL simulator, Yosys, a compiler, a cluster or a machine many times is slow."""
    slow = example.startswith(SLOW)
    return pytest.param(example, marks=pytest.mark.slow if slow else ())


@pytest.mark.usefixtures("sweeps_here")
@pytest.mark.parametrize("example", [marked(example) for example in [*EXAMPLES, *ALSO] if is_tried(example)])
def test_an_example_of_a_help_text_works(
    example: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = shrunk(example)
    _skip_what_is_missing(arguments)
    if "study.zip" in arguments:
        sweep = ["sweep", "gamma", "a.mtx", "--grid=pe.count=1,2", "--store=done", "--quiet"]
        assert cli.run(sweep) == cli.run(["results", "done", "--archive", "study.zip"]) == 0
    if arguments[:2] == ["suite", "study.yaml"]:
        Path("study.yaml").write_text(
            "machines: [gamma]\nworkloads: wiki-Vote\nevaluation: {figures: [traffic]}\n"
        )
    files = set(Path().rglob("*"))
    code = cli.run(arguments)
    shown = capsys.readouterr()
    assert code == 0 or (arguments[0] == "wave" and _is_about_the_viewer(shown.err))
    if not example.startswith((*SLOW, *VARYING)):
        written = [path for path in sorted(set(Path().rglob("*")) - files) if path.suffix in TEXTS]
        texts = [f"-- {path}\n{path.read_text(encoding='utf-8')}" for path in written]
        check_kept_section(OUTPUTS, example, _without_what_varies(shown.out + shown.err + "".join(texts)))


OUTPUTS = Path(__file__).parent / "outputs_of_examples.txt"
TEXTS = (".csv", ".gv", ".tex", ".txt")  # kinds of small files that are kept too
# Depend on the programs of a machine, on free ports or on the time.
VARYING = (
    "fiberscope wave",
    "fiberscope plot",
    "fiberscope debug gamma wiki-Vote --live",
    "fiberscope results study --archive",
)
LONGEST = 6000  # characters of an output that are kept


def _without_what_varies(text: str) -> str:
    """Return the text without folders, digests, versions, times and speeds."""
    text = text.replace(str(Path().resolve()), ".").replace(str(ROOT), "ROOT")
    text = re.sub(r"fiberscope: warning: (Port .*\n.*\n.*|overflow encountered .*)\n", "", text)
    text = re.sub(r"^Host .*\n( {12}.*\n)*", "", text, flags=re.MULTILINE)  # with a note if not compiled
    text = re.sub(r"\d+\.\d+\.\d+\+\w+", "1.2.3", text)
    text = re.sub(r"\b(?=\d*[a-f])[0-9a-f]{8,64}\b", "digest", text)
    return re.sub(r"\b\d+(\.\d+)? s\b", "1 s", text)[:LONGEST]


def test_each_kept_output_is_of_an_example() -> None:
    titles = re.findall(r"^==== (.*)$", OUTPUTS.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(titles) - {*EXAMPLES, *ALSO} == set()


NEEDED = {
    ("rtl", "area"): ("yosys", "cells"),
    ("rtl", "bench"): ("hdl",),
    ("rtl", "netlists"): ("yosys", "cells"),
    ("rtl", "power"): ("yosys", "cells", "sta"),
    ("rtl", "prove"): ("yosys",),
    ("graph", "rtl"): ("hdl", "lint"),
}


def _skip_what_is_missing(arguments: list[str]) -> None:
    if "--verilog" in arguments:
        pytest.skip("the Verilog is the user's")
    if arguments[:2] == ["rtl", "netlists"]:
        pytest.skip("Yosys takes minutes for the prefetcher; tests/fiberscope/costs measures small blocks")
    if arguments[0] == "rtl" and not (find_spec("pyrtl") and find_spec("cocotb")):
        pytest.skip("needs the extra rtl")
    require(*NEEDED.get(tuple(arguments[:2]), ()))
    if "--liberty" in arguments:
        require("cells")
    if arguments[0] == "plot" and not find_spec("matplotlib"):
        pytest.skip("needs matplotlib")
    if ".fst" in " ".join(arguments):
        require("vcd2fst")


def _is_about_the_viewer(err: str) -> bool:
    return "GTKWave is not installed" in err or "no display" in err or "no such waveform" in err


SETTINGS = re.compile(r"--set ([a-z_.]+=[^\s'`\"]+)")
DICT = re.compile(r"\{\"[a-z_]+\.[a-z_]+\": [^{}]*\}")


def said_settings() -> Iterator[tuple[str, dict[str, object]]]:
    """Parameters of Gamma in docstrings and comments of ours, by where they stand."""
    for path in [*ROOT.glob("fiberscope/**/*.py"), *ROOT.glob("accelerators/*.py"), ROOT / "Makefile"]:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            where = f"{path.relative_to(ROOT)}:{number}"
            for found in DICT.findall(line):
                with suppress(ValueError):  # an expression of the code's own
                    yield where, ast.literal_eval(found)
            for found in SETTINGS.findall(line) + re.findall(r'SET="([^"$]+)"', line):
                settings = configuration.parse_settings(found.split())
                yield where, {key: entry.value for key, entry in settings.items()}


def test_values_in_docstrings_are_values_that_gamma_takes() -> None:
    keys = set(configuration.leaf_keys(GAMMA.configuration))
    checked = 0
    for where, settings in said_settings():
        ours = {key: value for key, value in settings.items() if key in keys and not isinstance(value, list)}
        if ours:
            checked += 1
            try:
                configuration.load(GAMMA.configuration, GAMMA.shipped, name="gamma", settings=ours)
            except configuration.ConfigurationError as error:
                pytest.fail(f"{where}: {error}")
    assert checked >= 5


def test_a_planted_value_that_gamma_refuses_is_found() -> None:
    settings = ast.literal_eval(DICT.findall('as in ``{"pe.count": 64, "fibercache.size": "1 MB"}``')[0])
    with pytest.raises(configuration.ConfigurationError):
        configuration.load(GAMMA.configuration, GAMMA.shipped, name="gamma", settings=settings)
