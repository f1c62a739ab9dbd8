"""Tables of a suite for a paper: columns, units, means, LaTeX, and the resources of the machines."""

import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from fiberscope.accelerators import find, names
from fiberscope.accelerators.configuration import load, values
from fiberscope.base.errors import InputError
from fiberscope.explore.sweeps.evaluation import Evaluation
from fiberscope.explore.sweeps.resources import Resources, list_resource_warnings, read_resources
from fiberscope.explore.sweeps.scaling import read_scaling
from fiberscope.explore.sweeps.suite import Suite, SuiteResult
from fiberscope.explore.sweeps.suite_columns import COLUMNS, MEANS, check_choices
from fiberscope.explore.sweeps.suite_views import (
    build_resource_table,
    format_evaluation_latex,
    format_suite_latex,
    note_lines,
    suite_table,
)
from fiberscope.results.report.latex import escape_latex, format_latex_tabular

SMALL = "uniform:rows=20,cols=20,nonzeros=60"


def suite_of(machines: int = 2, interval: tuple[int, int] | None = None) -> Suite:
    """Machine ``m_0`` takes 1 and 4 us, ``m_1`` half of that, ``m_2`` a third, and so on."""
    names = [f"m_{number}" for number in range(machines)]
    numbers = {
        "traffic_bytes": 2000.0,
        "energy_pj": 3e6,
        "energy_upper": 4.5e6,
        "edp": 1.5e-12,
        "area_um2": 30.61e6,
        "utilization": 0.5,
        "memory_utilization": 0.25,
    }
    runs = {
        (workload, name): SuiteResult("done", "", 1000, seconds / place, "real", interval, numbers)
        for workload, seconds in {"x%y": 1e-6, "z": 4e-6}.items()
        for place, name in enumerate(names, start=1)
    }
    resources = {
        name: Resources(10.0 * place, 1e9 * place, 2048.0, None, 1e9)
        for place, name in enumerate(names, start=1)
    }
    return Suite(names, ["x%y", "z"], "m_0", runs, {}, resources)


def test_every_column_has_one_unit_and_three_digits() -> None:
    table = suite_table(suite_of(), list(COLUMNS), ["arithmetic"])
    assert list(table.columns[1:10]) == [
        "m_0, cycles",
        "time [us]",
        "speedup",
        "traffic [kB]",
        "energy [uJ]",
        "EDP [J s]",
        "area [mm2]",
        "utilization [%]",
        "bandwidth [% of peak]",
    ]
    first = ["1,000", "1.00", "1.00", "2.00", "3.00 to 4.50", "1.50e-12 to 4.50e-12", "30.6+", "50.0", "25.0"]
    assert table.rows[0][1:10] == first
    assert table.rows[1][10:13] == ["1,000", "2.00", "2.00"]


@pytest.mark.parametrize(
    ("mean", "time", "half"),
    [("arithmetic", "2.50", "1.25"), ("geometric", "2.00", "1.00"), ("harmonic", "1.60", "0.800")],
)
def test_means_are_as_asked(mean: str, time: str, half: str) -> None:
    table = suite_table(suite_of(), ["time", "speedup"], [mean])
    assert table.rows[-1] == [f"{mean} mean of 2", time, "1.00", half, "2.00"]


def test_a_mean_of_estimates_has_an_interval() -> None:
    table = suite_table(suite_of(interval=(900, 1100)), ["time", "speedup"], ["geometric", "arithmetic"])
    assert table.rows[0][1] == "1.00 +- 10%"
    assert table.rows[2][1] == "2.00 +- 7.07%"  # 10 % / sqrt 2
    assert table.rows[3][1] == "2.50 +- 8.25%"  # sqrt(1 + 16) / 5 of 10 %


def test_costs_are_intervals_or_lower_bounds_in_rows_and_means() -> None:
    runs = dict(suite_of().runs)
    bare = {"energy_pj": 3e6, "area_um2": 30.61e6}
    runs["z", "m_1"] = SuiteResult("done", "", 1000, 1e-6, numbers=bare)
    runs["x%y", "m_1"] = SuiteResult("done", "", 1000, 1e-6, numbers=bare | {"energy_upper": 3e6})
    table = suite_table(Suite(["m_0", "m_1"], ["x%y", "z"], "m_0", runs), ["energy"], ["geometric"])
    assert [row[2] for row in table.rows] == ["3.00", "3.00+", "3.00+"]
    several = suite_of()
    known = replace(several, resources={"m_0": Resources(1, 1, 1, 2e6, 1e9, 3e6)})
    assert build_resource_table(known).rows[0][4] == "2 to 3"
    assert not any("lower bound" in line for line in note_lines(known))
    bound = replace(several, resources={"m_0": Resources(1, 1, 1, 2e6, 1e9)})
    assert build_resource_table(bound).rows[0][4] == "2+"
    assert any("lower bound" in line and "m_0" in line for line in note_lines(bound))


@pytest.mark.parametrize(
    ("columns", "numbers", "is_marked"),
    [
        (["energy"], {"energy_pj": 3e6}, True),
        (["energy"], {"energy_pj": 3e6, "energy_upper": 4e6}, False),
        (["edp"], {"edp": 3e-6}, True),
        (["area"], {"area_um2": 3e6}, True),
        (["cycles"], {"energy_pj": 3e6, "area_um2": 3e6}, False),
    ],
)
def test_a_lower_bound_in_any_column_has_its_note(
    columns: list[str], numbers: dict[str, float], is_marked: bool
) -> None:
    runs = {("x", "m"): SuiteResult("done", "", 1000, 1e-6, numbers=numbers)}
    suite = Suite(["m"], ["x"], "m", runs, evaluation=Evaluation(columns=columns))
    assert any("+" in cell for cell in suite_table(suite, columns).rows[0]) == is_marked
    assert any("lower bound" in line for line in note_lines(suite)) == is_marked


def test_a_value_that_is_missing_leaves_the_mean_empty() -> None:
    runs = {**suite_of().runs, ("z", "m_1"): SuiteResult("done", "", 1000, 1e-6)}
    table = suite_table(Suite(["m_0", "m_1"], ["x%y", "z"], "m_0", runs), ["energy"], ["arithmetic"])
    assert [row[1:] for row in table.rows] == [
        ["3.00 to 4.50"] * 2,
        ["3.00 to 4.50", ""],
        ["3.00 to 4.50", ""],
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cycles,speedip", "--columns cycles,speedip: there is no speedip; did you mean speedup"),
        ("", "--columns : there is no empty name; "),
        ("time,time", "--columns time,time: time appears twice"),
    ],
)
def test_a_column_that_is_none_costs_a_line(text: str, message: str) -> None:
    with pytest.raises(InputError) as raised:
        check_choices("--columns", text, COLUMNS)
    assert str(raised.value).startswith(message)


def faults(latex: str) -> list[str]:
    """What LaTeX would refuse: braces, environments and numbers of cells that do not fit, bare signs."""
    text = "\n".join(line for line in latex.splitlines() if not line.startswith("%"))
    bare = re.sub(r"\\[&%$#_{}\\]", "", text)
    wrong = [] if bare.count("{") == bare.count("}") else ["braces"]
    opened: list[str] = []
    for what, name in re.findall(r"\\(begin|end)\{(\w+)\}", text):
        if what == "begin":
            opened.append(name)
        elif not opened or opened.pop() != name:
            wrong.append(f"end of {name}")
    wrong += [f"{name} is open" for name in opened]
    outside = re.sub(r"\$[^$]*\$", "", bare)
    wrong += [f"bare {sign}" for sign in "_^#%$~<>†±" if sign in outside]
    for tabular in re.findall(r"\\begin\{tabular\}\{(l?r*)\}(.*?)\\end\{tabular\}", text, flags=re.DOTALL):
        wrong += [row for row in rows_of(tabular[1]) if cells_of(row) != len(tabular[0])]
    return wrong


def rows_of(body: str) -> list[str]:
    return [line for line in body.splitlines() if line.endswith(r"\\")]


def cells_of(row: str) -> int:
    spanned = [int(count) for count in re.findall(r"\\multicolumn\{(\d+)\}", row)]
    return len(re.findall(r"(?<!\\)&", row)) + 1 - len(spanned) + sum(spanned)


@pytest.mark.parametrize("machines", [1, 2, 5])
@pytest.mark.parametrize("columns", [["speedup"], ["cycles", "speedup"], list(COLUMNS)])
def test_latex_has_no_fault(machines: int, columns: list[str]) -> None:
    latex = format_suite_latex(suite_of(machines, (900, 1100)), columns, list(MEANS))
    assert faults(latex) == []
    assert r"x\%y" in latex
    assert r"m\_0" in latex
    widest = max(len(spec) for spec in re.findall(r"\\begin\{tabular\}\{(\w+)\}", latex))
    assert widest <= 9


@pytest.mark.parametrize(
    ("planted", "wrong"),
    [
        (r"\begin{table}", ["table is open"]),
        ("a_b", ["bare _"]),
        (r"\textbf{a", ["braces"]),
        ("\\begin{tabular}{lrr}\na & b \\\\\n\\end{tabular}", [r"a & b \\"]),
    ],
)
def test_planted_faults_of_latex_are_found(planted: str, wrong: list[str]) -> None:
    assert faults(planted) == wrong


def test_text_is_escaped() -> None:
    assert escape_latex("a_b & 5% of {x} ~ #1^2 \\ $") == (
        r"a\_b \& 5\% of \{x\} \textasciitilde{} \#1\textasciicircum{}2 \textbackslash{} \$"
    )
    assert escape_latex("1.56e-11") == r"$1.56 \times 10^{-11}$"
    assert escape_latex("time [us]") == r"time [$\mu$s]"
    assert escape_latex("1.00 +- 10%") == r"1.00 $\pm$ 10\%"
    assert format_latex_tabular(["a", "b"], [("t", [["1", "2"]])]).splitlines()[4] == (
        r"\multicolumn{2}{l}{\textit{t}} \\"
    )


def test_machines_that_differ_by_more_than_two_times_are_named() -> None:
    assert list_resource_warnings(suite_of(2).resources) == []
    assert note_lines(suite_of(3)) == [
        "Unequal machines: m_2 has 3 times the multipliers of m_0",
        "Unequal machines: m_2 has 3 times the bandwidth of m_0",
    ]
    assert build_resource_table(suite_of(1)).rows == [("m_0", "10", "1", "2", "", "1")]
    backwards = dict(reversed(suite_of(3).resources.items()))
    assert list_resource_warnings(backwards) == note_lines(suite_of(3))


@pytest.mark.parametrize("machine", names())
def test_every_machine_says_its_multipliers(machine: str) -> None:
    accelerator = find(machine)
    configured = values(load(accelerator.configuration, accelerator.folder / "config.yaml", name=machine))
    multipliers = read_scaling(accelerator.folder).compute_amount("multipliers", configured)
    assert multipliers == {
        "gamma": 32,
        "extensor": 128,
        "outerspace": 256,
        "sigma": 16384,
        "weight_stationary": 16384,
        "graphicionado": 8,
    }.get(machine, multipliers)
    assert multipliers


@pytest.mark.usefixtures("sweeps_here")
def test_the_command_writes_latex_and_resources(here: Path, printed) -> None:
    Path("list.txt").write_text(f"{SMALL}\n")
    words = ["suite", "gamma", "a_2=gamma:pe.count=2", "--workloads", "list.txt", "--workers", "1", "--quiet"]
    shown = printed(*words, "--latex", "t.tex", "--csv", "t.csv")
    assert "Unequal machines: gamma has 16 times the multipliers of a_2" in shown
    assert re.search(r"gamma +32 +137\.4 +3,\d\d\d ", shown)
    assert faults(Path("t.tex").read_text()) == []
    head = Path("t.csv").read_text().splitlines()[0]
    assert head.endswith("multipliers,peak_bytes_per_second,sram_bytes,hertz")
    assert faults(printed(*words, "--latex", "-")) == []


def test_a_fault_of_the_file_is_a_line_below_the_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "scaling.yaml").write_text("multipliers: pe.cuont\n")
    folder = SimpleNamespace(folder=tmp_path, costs_file=tmp_path / "costs.yaml")
    monkeypatch.setattr("fiberscope.explore.sweeps.resources._find_machine", lambda _row: folder)
    resources = read_resources({"config": '{"pe.count": 2}', "seconds": 1e-6, "cycles": 1000})
    assert resources.multipliers is None
    assert list_resource_warnings({"mine": resources}) == [
        "mine: scaling.yaml: there is no pe.cuont; did you mean pe.count?"
    ]


def test_a_machine_that_is_gone_is_a_line_below_the_tables(tmp_path: Path) -> None:
    row = {"command": "sim", "accelerator": str(tmp_path / "gone.py"), "config": "{}", "seconds": 1e-6}
    resources = read_resources({**row, "cycles": 1000, "area_um2": 7.0})
    assert (resources.multipliers, resources.sram_bytes) == (None, None)
    assert (resources.area_um2, resources.hertz) == (7.0, 1e9)
    (line,) = list_resource_warnings({"mine": resources})
    assert "there is no such file" in line


@pytest.mark.parametrize(
    ("kinds", "size"), [('{"fibercache.bank": {"count": 48}}', 48), ('{"pe": {"count": 1}}', None)]
)
def test_srams_are_those_of_the_components_of_a_run(kinds: str, size: int | None) -> None:
    accelerator = find("gamma")
    config = values(load(accelerator.configuration, accelerator.folder / "config.yaml", name="gamma"))
    row = {"command": "sim", "accelerator": "gamma", "config": json.dumps(config), "kinds": kinds}
    sram = read_resources({**row, "seconds": 1e-6, "cycles": 1000}).sram_bytes
    lines = 3 * (1 << 20) // 64  # of the FiberCache, each with 51 bits of tag and state
    assert sram == (size and pytest.approx((3 << 20) + lines * 51 / 8))


def test_a_run_of_another_command_has_no_multipliers() -> None:
    row = {"command": "model", "accelerator": "gamma", "config": "{}", "seconds": 1e-6, "cycles": 1000}
    assert read_resources(row) == Resources(None, None, None, None, 1e9)


def test_notes_stand_below_the_first_table_of_several() -> None:
    suite = suite_of().replace_evaluation({})
    tables = Evaluation.model_validate({"tables": ["cycles", "speedup"]})
    text = format_evaluation_latex(replace(suite, scaled=("m_1 has 7 multipliers",), evaluation=tables))
    assert text.count(r"\begin{table") == 2
    assert text.count("has 7 multipliers") == 1
    assert text.index("has 7 multipliers") < text.rindex(r"\begin{table")


def test_sizes_are_in_units_of_1024_bytes() -> None:
    own = replace(suite_of(), resources={"m_0": Resources(10, 2e9, 3 << 20, 2e6, 1.5e9, 2e6)})
    assert list(build_resource_table(own).rows[0][1:]) == ["10", "2", "3,072", "2", "1.5"]
