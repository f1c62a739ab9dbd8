"""What a point is found by: what it is of, however it is written."""

import json
from pathlib import Path

import pytest
from one_line import one_line

import fiberscope
from fiberscope.accelerators import ConfigurationError
from fiberscope.base.errors import InputError
from fiberscope.explore.sweeps import plan
from fiberscope.explore.sweeps.plan import Task, plan_tasks
from fiberscope.explore.sweeps.point import Point, build_request
from fiberscope.explore.sweeps.study import read_study
from fiberscope.workloads import WorkloadError

MATRIX = "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1.0\n2 2 {}\n"
ROOT = Path(__file__).parents[3]
SMALL = "uniform:rows=20,cols=20,nonzeros=60"


def task(workload: str = SMALL, accelerator: str = "gamma", **settings: object) -> Task:
    return plan_tasks([Point("sim", accelerator, workload, settings)])[0]


def test_a_default_that_is_written_out_is_the_default() -> None:
    assert task().digest == task(**{"pe.count": 32}).digest == task(**{"fibercache.size": "3 MiB"}).digest
    assert task().digest != task(**{"pe.count": 31}).digest
    assert task(**{"fibercache.size": "3MiB"}).parameters == {"fibercache.size": 3 << 20}


def test_a_point_without_operands_has_a_size_too_so_that_others_tell_what_it_takes() -> None:
    assert plan_tasks([Point("analyze", "matmul", "")])[0].size == 1


@pytest.mark.parametrize(("command", "times"), [("sim", 1), ("analyze", 2)])
def test_only_a_design_is_settled_for_each_workload(
    command: str, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    settled: list[str] = []

    def note(_settling: object, point: Point) -> plan.ResolvedPoint:
        settled.append(point.workload)
        return plan.ResolvedPoint({}, "", "")

    monkeypatch.setattr(plan.ParameterResolver, "_resolve", note)
    settle = plan.ParameterResolver()
    for workload in ("one", "two", "one"):
        settle(Point(command, "design", workload), "{}")
    assert settled == ["one", "two"][:times]


def test_a_generator_is_what_it_draws_and_seeds_differ() -> None:
    assert task().digest == task(f"{SMALL},seed=0").digest != task(f"{SMALL},seed=1").digest


def test_a_file_is_its_content(tmp_path: Path) -> None:
    one, same, other = (tmp_path / name for name in ("a.mtx", "b.mtx", "c.mtx"))
    for file, value in ((one, 1), (same, 1), (other, 2)):
        file.write_text(MATRIX.format(value))
    assert task(str(one)).digest == task(str(same)).digest != task(str(other)).digest
    one.write_text(MATRIX.format(2.5))  # between two sweeps of one Python process
    assert task(str(one)).digest != task(str(same)).digest


def test_another_version_is_the_same_point_and_another_schema_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = task().digest
    monkeypatch.setattr("fiberscope.explore.sweeps.plan.__version__", "99")
    assert task().digest == before
    monkeypatch.setattr("fiberscope.explore.sweeps.plan.SCHEMA", "fiberscope-report-9")
    assert task().digest != before


def test_a_machine_of_ones_own_is_its_file_and_what_that_imports(
    tmp_path: Path, toy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    mine, rules = tmp_path / "mine.py", tmp_path / "rules_of_mine.py"
    (tmp_path / "config.yaml").write_text((Path(toy).parent / "config.yaml").read_text())
    mine.write_text(Path(toy).read_text())
    rules.write_text("BYTES = 1\n")
    found = [task(accelerator=str(mine)).row]
    mine.write_text(Path(toy).read_text() + "\nimport rules_of_mine\n")
    found.append(task(accelerator=str(mine)).row)
    rules.write_text("BYTES = 20\n")
    found.append(task(accelerator=str(mine)).row)
    assert len({row["digest"] for row in found}) == len({row["source"] for row in found}) == 3
    assert task(accelerator=str(mine)).row == found[2]


@pytest.mark.parametrize(
    "point",
    [
        Point("sim", "gamma", SMALL),
        Point("sim", "extensor", SMALL, {"tiling": "d2t2", "memory.format.A": "coo"}),
        Point("model", "gamma", SMALL),
        Point("analyze", "matmul", ""),
        Point("analyze", "extensor-energy", SMALL),
        Point("convert", "csr csc", SMALL),
        Point("graph", str(ROOT / "examples" / "graphs" / "fig14_identity.gv"), f"B={SMALL}"),
    ],
    ids=str,
)
def test_a_run_says_the_sources_that_its_point_is_found_by(point: Point) -> None:
    planned_ = plan_tasks([point])[0]
    assert build_request(point).run().source.digest == planned_.row["source"]


def test_the_same_point_twice_is_run_once() -> None:
    assert len(plan_tasks([Point("sim", "gamma", SMALL, {"pe.count": count}) for count in (8, 32, 8)])) == 2


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("sim", "gamma", SMALL, {"pe.cuont": 3}), "settings: gamma has no parameter pe.cuont; did you mean"),
        (("sim", "gamma", SMALL, {"pe.count": 0}), "settings: pe.count is 0; it should be greater than or"),
        (("sim", "gama", SMALL, {}), "no accelerator is called gama; did you mean gamma or"),
        (("sim", "gamma", "wiki-Vot", {}), "'wiki-Vot' is not a file, a generator or a known matrix"),
        (
            ("sim", "gamma", "unifrom:rows=3", {}),
            "unifrom:rows=3: no generator 'unifrom'; did you mean uniform?",
        ),
        (("sim", "gamma", "none/a.mtx", {}), "none/a.mtx: no such file or directory"),
        (("sim", "gamma", "", {}), "gamma needs a workload to run on, as in wiki-Vote"),
        (("smi", "gamma", SMALL, {}), "no command smi ends in a report; did you mean sim?"),
        (("convert", "csr csc", "", {}), "convert needs a workload to run on, as in wiki-Vote"),
        (("graph", "none.gv", "B=2 B=3", {}), "B is given twice; leave one out"),
        (("graph", "none.gv", "B=", {}), "B= names no tensor; write B=TENSOR, as in B=wiki-Vote"),
        (("convert", "csr", SMALL, {}), "csr: a conversion has two formats, as in 'csr csc'"),
        (("sim", "gamma", "'a", {}), "'a: no closing quotation; quote names with blanks"),
        (
            ("graph", "none.gv", "B=2", {"depht": 3}),
            "settings: graph has no parameter depht; did you mean depth?",
        ),
        (("model", "gamma", SMALL, {"semantics": "x"}), "settings: semantics is x; it should be"),
        (("analyze", "matmul", "", {"mode": "x"}), "settings: mode is x; it should be 'exact' or"),
    ],
)
def test_what_can_never_be_is_refused_before_anything_runs(
    given: tuple[str, str, str, dict], message: str
) -> None:
    with pytest.raises((ConfigurationError, InputError, WorkloadError)) as raised:
        plan_tasks([Point(*given)])
    assert str(raised.value).startswith(message)


def test_values_at_odds_are_a_point_that_is_refused(toy: str) -> None:
    refused = task(accelerator=toy, **{"lane.count": 7})
    assert refused.refused
    assert "does not divide into lane.count (7)" in refused.row["reason"]


def test_refusals_for_two_reasons_are_two_points(toy: str, tmp_path: Path) -> None:
    files = [tmp_path / f"{count}.yaml" for count in (7, 9)]
    for file in files:
        file.write_text(f"lane: {{count: {file.stem}}}\n")
    refused = plan_tasks([Point("sim", toy, SMALL, {}, str(file)) for file in files])
    assert all(
        f"lane.count ({file.stem})" in task.row["reason"] for task, file in zip(refused, files, strict=True)
    )


@pytest.mark.parametrize(
    ("command", "size", "refused"),
    [("sim", 2048, True), ("sim", 1536, False), ("model", 1536, False), ("analyze", 2048, True)],
)
def test_a_parameter_is_a_number_whatever_becomes_of_the_row(command: str, size: int, refused: bool) -> None:
    workload = f"{SMALL} {SMALL}" if command == "analyze" else SMALL
    found = plan_tasks([Point(command, "gamma", workload, {"fibercache.size": f"{size}KiB"})])[0]
    assert found.refused == refused
    assert found.parameters["fibercache.size"] == size << 10
    assert json.loads(found.row["config"])["fibercache.size"] == size << 10
    assert json.loads(found.row["settings"])["fibercache.size"] == f"{size}KiB"


def test_a_model_whose_plain_numbers_count_bits_is_not_found_by_another_ones_bytes() -> None:
    points = [Point("model", "gamma", SMALL, {"memory.bandwidth": value}) for value in ("8 GB/s", 8 * 10**9)]
    assert len(plan_tasks(points)) == 2


STUDY = """accelerator: gamma
workloads: [a, b]
settings: {memory.channels: 8}
grid: {pe.count: [8, 16]}
points:
  - {fibercache.size: 1MiB}
  - {fibercache.size: 2MiB}
random: {count: 3, over: {pe.radix: {from: 2, to: 64}}}
timeout: 3
memory: 1GiB
"""


def test_a_study_is_read(tmp_path: Path) -> None:
    file = tmp_path / "study.yaml"
    file.write_text(STUDY)
    study = read_study(file)
    points = list(study.sweep())
    assert len(points) == 2 * 2 * 2 * 3
    assert points[0].settings.keys() == {"memory.channels", "pe.count", "fibercache.size", "pe.radix"}
    assert (study.timeout, study.memory) == (3, 1 << 30)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("grid:", "girds:", "study.yaml:4:1: there is no girds; did you mean grid?"),
        ("[8, 16]", "8", "study.yaml:4:18: grid.pe.count is 8; it should be a valid list"),
        ("to: 64", "to: 1", "study.yaml:8:37: random.over.pe.radix: no number lies between 2 and 1"),
        ("accelerator: gamma", "accelerator: 3", "study.yaml:1:14: accelerator is 3; it should be"),
        ("accelerator: gamma\n", "", "study.yaml: accelerator is missing"),
        ("timeout: 3", "timeout: 0", "study.yaml:9:10: timeout is 0; it should be greater than 0"),
        ("timeout: 3", "timeout: 1e9", "study.yaml:9:10: timeout is 1000000000.0; it should be less"),
        ("[8, 16]", "[]", "study.yaml:4:18: grid.pe.count is a list; it should have one entry or more"),
        ("[a, b]", "[a, b", "study.yaml:3:"),
    ],
)
def test_a_fault_of_a_study_costs_a_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    file = tmp_path / "study.yaml"
    file.write_text(STUDY.replace(old, new))
    with one_line(ConfigurationError, message):
        read_study(file)


WHOLE = f"""accelerator: [gamma, extensor]
workloads: ['{SMALL}', '{SMALL},seed=1']
settings: {{memory.channels: 8}}
points:
  - {{}}
  - {{memory.bandwidth: 1 GiB/s}}
grid: {{memory.model: [dram, simple]}}
random: {{count: 2, over: {{pe.count: [8, 16]}}}}
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("extensor", "extnsor", "1:22: no accelerator is called extnsor; did you mean extensor?"),
        ("[gamma, extensor]", "[]", "1:14: accelerator is an empty list; name one or more"),
        (",seed=1", ",sed=1", "2:53: uniform:rows=20,cols=20,nonzeros=60,sed=1: "),
        ("channels: 8", "chanels: 8", "3:28: gamma has no parameter memory.chanels; did you mean"),
        ("GiB/s", "XiB/s", "6:24: memory.bandwidth is 1 XiB/s; it should be a bandwidth, such as"),
        ("simple]", "smiple]", "7:29: memory.model is smiple; it should be"),
        ("[8, 16]", "[8, {}]", "8:37: pe.count is {}; it should be"),
        ("settings:", "command: smi\nsettings:", "3:10: no command smi ends in a report; did you mean sim?"),
        ("settings:", "config: no.yaml\nsettings:", "3:9: no.yaml: cannot read the configuration: No such"),
    ],
)
def test_what_a_study_names_and_cannot_be_is_told_with_its_place(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    file, store = tmp_path / "study.yaml", tmp_path / "store"
    assert old in WHOLE
    file.write_text(WHOLE.replace(old, new))
    with pytest.raises((ConfigurationError, InputError)) as raised:
        fiberscope.sweep(str(file), store=store, progress=False)
    assert str(raised.value).startswith(f"{file}:{message}")
    assert not store.exists()


@pytest.mark.parametrize(
    ("point", "message"),
    [
        (Point("convert", "csr cscc", SMALL), "no format is called 'cscc'"),
        (Point("graph", "none.gv", "B=2"), "none.gv: there is no such file; name that of a graph"),
    ],
)
def test_a_format_or_a_graph_that_is_not_there_is_refused_before_anything_runs(
    point: Point, message: str
) -> None:
    with pytest.raises((InputError, WorkloadError), match=message):
        plan_tasks([point])


def test_the_function_is_public_though_a_package_has_nearly_its_name() -> None:
    assert callable(fiberscope.sweep)


@pytest.mark.parametrize("command", ["sim", "model"])
def test_the_file_of_parameters_is_one_of_the_point_whatever_runs_it(command: str, tmp_path: Path) -> None:
    few = tmp_path / "few.yaml"
    few.write_text("pe: {count: 8}\n")
    points = [Point(command, "gamma", SMALL, {}, config) for config in (None, str(few))]
    plain, given = plan_tasks(points)
    assert (json.loads(given.row["config"])["pe.count"], given.digest == plain.digest) == (8, False)
    counts = [build_request(point).run().config["pe"]["count"] for point in points]
    assert counts == [32, 8]


@pytest.mark.parametrize(
    ("point", "reason"),
    [
        (Point("convert", "bsr2 coo", SMALL), "no recipe converts bsr2 to coo; bsr2 goes to bsr"),
        (Point("sim", "gamma", SMALL, {"memory.format.A": "bsr2"}), "no recipe converts bsr2 to csr"),
    ],
    ids=str,
)
def test_formats_without_a_recipe_cost_their_own_point(point: Point, reason: str) -> None:
    refused, beside = plan_tasks([point, Point("convert", "csr csc", SMALL)])
    assert (refused.refused, beside.refused) == (True, False)
    assert refused.row["reason"].startswith(reason)


@pytest.mark.parametrize("grid", [("pe.count=8", "pe.count=16"), ("pe.count=8", " pe.count =16")])
def test_a_parameter_of_a_grid_is_given_once(grid: tuple[str, str], refusal) -> None:
    error = refusal("sweep", "gamma", SMALL, *(f"--grid={text}" for text in grid))
    assert "--grid pe.count is given twice; write all values in one" in error
