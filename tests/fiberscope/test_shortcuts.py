"""What the package offers beside running a machine gives what the commands of the same names give."""

import json

import pytest
from pydantic import BaseModel
from scipy import sparse

import fiberscope
from fiberscope import cli
from fiberscope.base.errors import InputError
from fiberscope.models.analytic.mapper.search import Limits

SMALL = "uniform:rows=40,cols=40,nonzeros=200"
A = sparse.random(30, 30, density=0.1, random_state=1)


@pytest.fixture(scope="module")
def reports():
    return [fiberscope.simulate("gamma", SMALL, pe__count=count, pe__radix=4) for count in (2, 4)]


def of_command(path, *arguments):
    assert cli.run([*arguments, "-q", "--json", str(path)]) == 0
    return json.loads(path.read_text())


def test_convert(tmp_path):
    seen = of_command(tmp_path / "it.json", "convert", "csr", "csc", SMALL)
    made = fiberscope.convert("csr", "csc", SMALL)
    assert (made.cycles, made.operations) == (seen["cycles"], seen["operations"])
    assert fiberscope.convert("csr", "coo", A, settings={"problem.bits": 16}).verification.passed
    with pytest.raises(fiberscope.WorkloadError, match="nonsense"):
        fiberscope.convert("csr", "nonsense", A)


def test_graph(tmp_path):
    words = ["x(i) = B(i,j) * c(j)", "--format", "B:ss", f"B={SMALL}", "c=ones"]
    seen = of_command(tmp_path / "it.json", "graph", "run", *words)
    made = fiberscope.graph("x(i) = B(i,j) * c(j)", {"B": SMALL, "c": "ones"}, "B:ss")
    assert made.cycles == seen["cycles"]
    result = fiberscope.graph("x(i) = B(i,j) * c(j)", {"B": A, "c": "ones"}).result
    assert result.toarray().ravel() == pytest.approx(A.toarray().sum(axis=1))


def test_tiles_of_a_matrix_and_its_transpose():
    tall = "uniform:rows=40,cols=20,nonzeros=90"
    with pytest.raises(InputError):
        fiberscope.tile(tall, buffer=1024)
    extents = fiberscope.tile(tall, buffer=1024, transpose_b=True).schemes["d2t2"].shape
    assert (extents["i"] <= 40, extents["k"] <= 20, extents["j"] <= 40) == (True, True, True)


def test_tile_and_map(tmp_path):
    path = tmp_path / "it.json"
    assert cli.run(["tile", SMALL, "--buffer", "1KiB", "--json", str(path)]) == 0
    chosen = fiberscope.tile(SMALL, buffer=1024).schemes["d2t2"].shape
    assert chosen == json.loads(path.read_text())["schemes"]["d2t2"]["shape"]
    best = fiberscope.map("matmul", limits=Limits(2_000, None, None))
    assert best.outcome.evaluated == 2_000
    assert best.report().cycles > 0


def test_diff_and_plot_take_reports_and_their_files(reports, tmp_path):
    before, after = reports
    before.write(tmp_path / "before.json")
    (setting,) = fiberscope.diff(tmp_path / "before.json", after).settings
    assert (setting.name, setting.before, setting.after) == ("pe.count", 2, 4)
    fiberscope.plot(before, tmp_path / "one.svg")
    fiberscope.plot(str(tmp_path / "before.json"), tmp_path / "two.svg")
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_profile(tmp_path):
    path = tmp_path / "it.json"
    assert cli.run(["profile", SMALL, "--json", str(path)]) == 0
    assert fiberscope.profile(SMALL).model_dump_json() + "\n" == path.read_text()
    assert fiberscope.profile(A, "mine").name == "mine"


def test_sage(tmp_path):
    path = tmp_path / "it.json"
    assert cli.run(["sage", SMALL, "--mcf-a", "csr", "--json", str(path)]) == 0
    ranking = fiberscope.sage(SMALL, mcf_a="csr")
    assert json.loads(json.dumps(ranking.document())) == json.loads(path.read_text())
    frame = ranking.frame()
    assert frame["product"].is_monotonic_increasing
    assert frame["cycles"][0] == ranking.best.cycles
    assert "Why: the best pair" in ranking._repr_html_()
    assert fiberscope.sage(A.toarray()).problem.streamed.nonzeros == A.nnz


def test_check(tmp_path):
    seen = of_command(tmp_path / "it.json", "check", "gamma", SMALL, "--no-explain")
    checked = fiberscope.check("gamma", SMALL, explain=False)
    assert json.loads(json.dumps(checked.document())) == seen
    assert checked.is_consistent
    frame = checked.frame().set_index("name")
    assert frame.loc["multiply", ["kind", "event", "trace"]].tolist() == [
        "count",
        *[checked.counts[0].event] * 2,
    ]
    assert frame["kind"].tolist() == ["count"] * len(checked.counts) + ["bytes"] * len(checked.traffic)


def test_pages_take_reports_and_their_files(reports, tmp_path):
    before, after = reports
    before.write(tmp_path / "before.json")
    assert cli.run(["page", str(tmp_path / "before.json"), "-o", str(tmp_path / "one.html")]) == 0
    page = before.page(tmp_path / "two.html")
    assert (tmp_path / "one.html").read_text() == (tmp_path / "two.html").read_text() == page.html
    assert fiberscope.write_page(tmp_path / "before.json") == page
    assert page._repr_html_().startswith("<iframe")
    both = fiberscope.write_page([tmp_path / "before.json", after], title="both")
    assert both.title == "both"
    for options in ({"timeline": "t.json"}, {"run_sources": True}, {"all_sources": True}):
        with pytest.raises(fiberscope.InputError):
            fiberscope.write_page(reports, **options)


def test_a_run_is_a_row(reports):
    rows = [report.row() for report in reports]
    assert [row["pe.count"] for row in rows] == [2, 4]
    assert [row["cycles"] for row in rows] == [report.cycles for report in reports]
    assert rows[0]["operations_multiply"] == reports[0].operations["multiply"]
    assert list(rows[0])[:3] == ["accelerator", "workload", "fidelity"]


def test_a_report_offers_what_is_of_a_report(reports):
    offered = set(dir(reports[0]))
    assert {
        "cycles",
        "row",
        "summary",
        "write",
        "result",
        "to_json",
        "frame",
        "plot",
        "page",
        "diff",
    } <= offered
    assert not {name for name in offered & set(dir(BaseModel)) if not name.startswith("_")}
