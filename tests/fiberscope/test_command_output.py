"""What commands print and pass on, from outcomes put in their place: no tool runs and no machine."""

from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fiberscope import cli
from fiberscope.base.errors import InputError
from fiberscope.commands import debug, memory, rtl, rtl_bench, rtl_outcome, run_options, search
from fiberscope.commands import list as list_command
from fiberscope.commands.sweep import ExecutorOptions
from fiberscope.hw.dram.replay import ReplayResult
from fiberscope.models.graphs.compiler import cascades

FILES = {"Waveform": Path("loop.vcd"), "Log": Path("loop.log")}


def outcome(differences: int = 0, first: str | None = None, **others: Any) -> Any:
    """A comparison of RTL that took as many cycles as the component."""
    run = SimpleNamespace(cycles=1234, components={})
    lines = [f"entry {number}" for number in range(differences)]
    fields = {"component": run, "rtl": run, "exercised": {}, "violation": None, "input_difference": None}
    methods = {"missing_counters": list, "differences": lambda: lines, "entries": lambda: 2000}
    return SimpleNamespace(**{**fields, **methods, "first_difference": first, "files": FILES, **others})


CYCLES = ["cycles with the component         1,234", "cycles with RTL                   1,234"]
SHOWN = "Waveform: loop.vcd (open it: fiberscope wave loop.vcd)"
MISSING = "NOT compared: pe.stalls, for which the module has no status output"
AT_PORTS = "DIFFERENT at its ports, though in no entry of the report"
IDENTICAL = "identical in all 2,000 entries of the report, and at every output in every cycle"


@pytest.mark.parametrize(
    ("result", "code", "lines"),
    [
        (outcome(), 0, [IDENTICAL, SHOWN]),
        (outcome(missing_counters=lambda: ["pe.stalls"]), 0, [MISSING, IDENTICAL, SHOWN]),
        (
            outcome(2, input_difference="cycle 3"),
            0,
            [
                "note: inputs are taken in other cycles; cycle 3",
                "note: as inputs are taken in other cycles, 2 of 2,000 entries of the report differ:",
                "  entry 0",
                "  entry 1",
                "identical at every output in every cycle",
                SHOWN,
            ],
        ),
        (
            outcome(12, "out, token 3"),
            3,
            [
                "DIFFERENT in 12 of 2,000 entries of the report:",
                *(f"  entry {number}" for number in range(10)),
                "where that begins: out, token 3",
                SHOWN,
                "Log: loop.log",
            ],
        ),
        (outcome(0, "out"), 3, [AT_PORTS, "where that begins: out", SHOWN, "Log: loop.log"]),
        (outcome(violation="x"), 3, ["PROTOCOL VIOLATION: x", IDENTICAL, SHOWN, "Log: loop.log"]),
    ],
    ids=["identical", "no output", "inputs", "different", "at the ports", "protocol"],
)
def test_a_comparison_of_rtl_is_told_whole(
    result: Any, code: int, lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert rtl_outcome.print_outcome(result) == code
    assert capsys.readouterr().out.splitlines() == [*CYCLES, *lines]


@pytest.mark.parametrize(
    ("fields", "code", "lines"),
    [
        ({}, 0, ["4,000 tokens moved, the same in every cycle"]),
        ({"transcripts": {"rtl": 1}}, 0, ["4,000 tokens moved"]),
        ({"differences": lambda: iter(["a", "b"])}, 3, ["DIFFERENT in a", "DIFFERENT in b"]),
        ({"violations": ["v"]}, 3, ["4,000 tokens moved, the same in every cycle", "PROTOCOL VIOLATION: v"]),
        ({"fault": "f"}, 3, ["4,000 tokens moved, the same in every cycle", "WRONG: f"]),
    ],
)
def test_an_outcome_of_a_bench_is_told_whole(
    fields: dict[str, Any], code: int, lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    fixed: dict[str, Any] = {
        "tests": 3,
        "transcripts": {"rtl": 1, "model": 2},
        "differences": lambda: iter(()),
    }
    fixed |= {"count_transfers": lambda: 4000, "violations": [], "fault": None, "bins": {}}
    result: Any = SimpleNamespace(**{**fixed, **fields})
    assert rtl_bench._print_outcome(Path("x/my_bench.py"), "merger", result, None) == code
    devices = " and ".join(result.transcripts)
    head = f"3 tests of my_bench.py passed on {devices} of merger"
    assert capsys.readouterr().out.splitlines() == [head, *lines]


def test_a_table_of_memory_has_a_row_for_each_channel_and_one_of_all() -> None:
    def replayed(requests: int, reads: int, last: int, latency: int, rate: float) -> ReplayResult:
        names = ("row_hits", "row_misses", "row_conflicts")
        counters = dict(zip(names, (requests - 3, 2, 1), strict=True)) | {"read_latency": latency}
        statistics: Any = None
        return ReplayResult(requests, reads, last, latency / reads, rate, counters, statistics, (), ())

    first, second = replayed(10, 4, 2000, 100, 2**30), replayed(1030, 6, 1000, 240, 2**31)
    assert [list(row) for row in memory._table([first]).rows] == [
        ["0", "10", "4", "2,000", "25.0", "7", "2", "1", "1.00"]
    ]
    table = memory._table([first, second])
    assert [list(row) for row in table.rows] == [
        ["0", "10", "4", "2,000", "25.0", "7", "2", "1", "1.00"],
        ["1", "1,030", "6", "1,000", "40.0", "1,027", "2", "1", "2.00"],
        ["all", "1,040", "10", "2,000", "34.0", "1,034", "4", "2", "2.00"],
    ]
    assert table.title == "1,040 requests"


def test_a_search_prints_each_parameter_and_measure_of_its_front(capsys: pytest.CaptureFixture[str]) -> None:
    goals = [SimpleNamespace(measure="cycles"), SimpleNamespace(measure="area")]
    best = [
        ({"pe.count": 4, "pe.radix": 64}, [123456.0, 0.5]),
        ({"pe.count": 8, "pe.radix": 32}, [99.0, 1.25]),
    ]
    study: Any = SimpleNamespace(
        goals=goals,
        distributions={"pe.count": 0, "pe.radix": 0},
        find_best=lambda: best,
        list_spreads=lambda: spreads,
    )
    spreads = [0.0, 0.0]
    search._show(study)
    head, _rule, *rows = [line.split() for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert head == ["pe.count", "pe.radix", "cycles", "area"]
    assert rows == [["4", "64", "123,456", "0.5"], ["8", "32", "99", "1.25"]]
    spreads[:] = 0.01, 0.05
    search._show(study)
    assert "5%" in capsys.readouterr().out.splitlines()[-1]
    for limits, words in (([1], "No design was done that keeps all limits\n"), ([], "No design was done\n")):
        none: Any = SimpleNamespace(find_best=list, limits=limits)
        search._show(none)
        assert capsys.readouterr().out == words


def test_a_listed_matrix_has_its_shape_nonzeros_and_place(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from fiberscope.run.catalogue import list_matrix_entries
    from fiberscope.workloads import cache

    (entry,) = (entry for entry in list_matrix_entries() if entry.name == "wiki-Vote")
    monkeypatch.setattr(cache, "find_location", lambda _entry: "here")
    list_command._show({"gamma": "a machine"}, [entry])
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["gamma", "a", "machine"] in lines
    (row,) = (line for line in lines if line[:1] == ["wiki-Vote"])
    assert row[1:6] == ["8,297", "x", "8,297", "103,689", "here"]


def test_the_title_of_a_page_has_the_machine_and_all_operands() -> None:
    def run(machine: object, factors: tuple[object, ...], **tensors: object) -> Any:
        return SimpleNamespace(machine=machine, factors=factors, tensors=tensors)

    assert run_options.format_page_title(run("gamma", ("a.mtx", None))) == "gamma on a.mtx"
    assert run_options.format_page_title(run("gamma", ("a.mtx", "b.mtx"))) == "gamma on a.mtx, b.mtx"
    graph = SimpleNamespace(name="spmv.gv")
    assert run_options.format_page_title(run(graph, (), B="b.mtx", c="ones")) == "spmv.gv on B=b.mtx, c=ones"


def test_a_window_is_two_numbers_in_order() -> None:
    assert run_options._parse_window("--vcd-window", None) is None
    assert run_options._parse_window("--vcd-window", "0:1") == (0, 1)
    for text in ("5:5", "6:5", "5", ":5", "5:", "-1:5", "a:b", "1.5:2"):
        with pytest.raises(InputError, match=f"^--vcd-window {text}: write it as START:END in cycles"):
            run_options._parse_window("--vcd-window", text)


def test_a_page_of_a_sweep_is_shown_on_request_only(monkeypatch: pytest.MonkeyPatch) -> None:
    from fiberscope.page.live import sweep

    monkeypatch.setattr(sweep, "open_live_sweep", lambda port, title: (port, title))
    assert isinstance(ExecutorOptions({}).open_live_page("x"), nullcontext)
    assert ExecutorOptions({"live": ""}).open_live_page("x") == ("", "x")
    assert ExecutorOptions({"live": "8000"}).open_live_page("x") == ("8000", "x")


def test_all_that_a_graph_of_a_cascade_leaves_out_is_told(
    here: Path, monkeypatch: pytest.MonkeyPatch, printed
) -> None:
    whole = cascades.build_cascade_graph

    def graph_of_cascade(outline: Any) -> Any:
        graph = whole(outline)
        return SimpleNamespace(graph=graph.graph, orders=graph.orders, left_out=("one thing", "another"))

    monkeypatch.setattr(cascades, "build_cascade_graph", graph_of_cascade)
    lines = printed("graph", "cascade", "gamma").splitlines()
    assert lines[0] == "T: loops m,k,n"
    assert lines[-3:] == ["Left out: one thing", "Left out: another", "Written: gamma.gv"]


def test_a_session_of_the_debugger_writes_its_report_and_its_exit_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from fiberscope.commands import report_output

    written: list[Any] = []

    @contextmanager
    def report_delivery(path: Path, quiet: bool) -> Any:
        assert (path, quiet) == (Path("out.json"), True)
        yield written.append

    monkeypatch.setattr(report_output, "report_delivery", report_delivery)
    monkeypatch.setattr(debug, "_run_script", lambda *_arguments: None)
    for ending, code in (("interrupted", 130), ("done", 0)):
        report = SimpleNamespace(ending=ending)
        session: Any = SimpleNamespace(report=lambda report=report: report)
        assert debug.run_session(session, Path("out.json"), Path("x"), []) == code
        assert written.pop() is report
        assert debug.run_session(session, None, Path("x"), []) == 0
    assert written == []


def test_what_is_exported_gets_the_options_of_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: dict[str, tuple[Any, ...]] = {}

    def record(name: str) -> Any:
        return lambda *arguments, **options: calls.update({name: (arguments, options)}) or 0

    for name in ("export_machine", "export_instance", "export_block"):
        monkeypatch.setattr(rtl, name, record(name))
    assert (
        cli.run(["rtl", "export", "gamma", "my.mtx", "--set", "pe.count=2", "-o", "there", "--clock-ns", "2"])
        == 0
    )
    assert calls.pop("export_machine") == (
        ("gamma", ["my.mtx"], ["pe.count=2"], Path("there")),
        {"period": 2.0},
    )
    assert cli.run(["rtl", "export", "spec:gamma", "--level", "pe", "--stage", "Z", "-o", "there"]) == 0
    arguments, options = calls.pop("export_instance")
    assert arguments == ("spec:gamma", "pe", "Z", None, None, "pyrtl", Path("there"))
    assert options["value_bits"] == 32
    assert cli.run(["rtl", "export", "merger", "--set", "radix=4", "--status", "--ports", "axis"]) == 0
    (block, settings, _folder, ports), options = calls.pop("export_block")
    assert (block.name, settings, ports) == ("merger", ["radix=4"], "axis")
    assert (options["status"], options["formal"], options["sram_wrappers"]) == (True, False, False)
    assert calls == {}


def test_the_shell_of_a_block_states_that_its_outputs_are_stable(here: Path) -> None:
    assert cli.run(["rtl", "shell", "merger", "--set", "radix=4", "-o", "there"]) == 0
    text = Path("there", "merger.v").read_text()
    assert "// valid of an output stays high, and its fields stay the same, until the token is taken." in text
    assert "module merger" in text


def test_a_bench_prints_and_writes_what_its_ports_saw(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from fiberscope.rtl import coverage

    written: list[Any] = []

    def write_coverage(modules: Any, file: Path) -> list[str]:
        written.append(({name: covered.ports for name, covered in modules.items()}, file))
        return ["first line", "second line"]

    monkeypatch.setattr(coverage, "write_coverage", write_coverage)
    fields: dict[str, Any] = {
        "tests": 1,
        "transcripts": {"rtl": 1},
        "differences": list,
        "count_transfers": lambda: 5,
    }
    result: Any = SimpleNamespace(**fields, violations=[], fault=None, bins={"rtl": {"port": 3}})
    assert rtl_bench._print_outcome(Path("b.py"), "merger", result, tmp_path / "c.json") == 0
    assert capsys.readouterr().out.splitlines()[1:] == ["5 tokens moved", "first line", "second line"]
    assert written == [({"rtl": {"port": 3}}, tmp_path / "c.json")]


def test_the_power_of_a_block_that_does_not_exist_is_that_of_no_machine(refusal) -> None:
    assert "no block mergr exists as RTL; did you mean merger" in refusal("rtl", "power", "mergr")
    assert "--json" in refusal("rtl", "power", "merger", "gamma", "a.mtx", "--json", "x")


def test_a_comparison_tells_how_each_module_was_exercised(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from fiberscope.rtl import exercise_coverage

    def exercise_lines(place: str, exercise: str, component: str) -> list[str]:
        return [f"{place}: {exercise}", f"{place}: {component}"]

    monkeypatch.setattr(exercise_coverage, "exercise_lines", exercise_lines)
    run = SimpleNamespace(cycles=1234, components={"pe0": "many", "pe1": "few"})
    exercised = {"pe0": "busy", "pe1": "idle"}
    assert rtl_outcome.print_outcome(outcome(rtl=run, exercised=exercised)) == 0
    lines = ["pe0: busy", "pe0: many", "pe1: idle", "pe1: few"]
    assert capsys.readouterr().out.splitlines() == [*CYCLES, *lines, IDENTICAL, SHOWN]
