"""A report is enough to run again what it is of; what is not the same is refused, and told by ``diff``."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import fiberscope
from fiberscope import accelerators, cli
from fiberscope.base.errors import InputError
from fiberscope.results.provenance.source_digest import list_given_settings
from fiberscope.results.report.difference import compare
from fiberscope.results.report.document import Report
from fiberscope.results.report.parts import CIRCUMSTANCES
from fiberscope.run.request import RunRequest
from fiberscope.run.rerun import check_same

SMALL = "uniform:rows=20,cols=20,nonzeros=60"
GRAPH = ["graph", "run", "x(i) = B(i,j) * c(j)", "--format", "x:s,B:ss,c:d", f"B={SMALL}", "c=ones"]


pytestmark = pytest.mark.usefixtures("here")


def run(*arguments: str) -> int:
    return cli.run([*arguments, "-q"])


def apart(report: Report) -> dict[str, object]:
    """What has to be equal."""
    return report.model_dump(exclude=set(CIRCUMSTANCES))


@pytest.mark.parametrize(
    "command",
    [
        ["sim", "gamma", SMALL, "--set", "pe.count=4"],
        ["sim", "gamma", SMALL, f"{SMALL},seed=1", "--cycle-limit", "100", "--histograms"],
        ["sim", "gamma", SMALL, "--part", "merger=fiberscope.hw.fibers.merge:HighRadixMerger"],
        ["sim", "extensor", SMALL, "--set", "tiling=d2t2", "--set", "memory.format.A=coo"],
        ["convert", "csr", "bsr4", SMALL, "--bits", "16"],
        ["model", "gamma", SMALL, f"{SMALL},seed=1", "--set", "fibercache.size=1536KiB"],
        ["model", "gamma", f"A={SMALL}", f"B={SMALL},seed=1"],
        ["analyze", "matmul"],
        ["analyze", "extensor-energy", SMALL],
        GRAPH,
    ],
    ids=lambda words: "-".join(words[:2]),
)
def test_a_run_again_is_the_same(command: list[str], run_command) -> None:
    assert run(*command, "--json", "out.json") == 0
    code, out, err = run_command("rerun", "out.json", "--json", "again.json")
    assert (code, err, out.splitlines()[-1]) == (0, "", "Nothing changed.")
    assert apart(Report.read("again.json")) == apart(Report.read("out.json"))
    assert Report.read("again.json").source == Report.read("out.json").source


def test_a_configuration_file_need_not_be_there_any_more() -> None:
    Path("mine.yaml").write_text("pe: {count: 8}\nfibercache: {size: 1536 KiB}\n")
    assert (
        run("sim", "gamma", SMALL, "--config", "mine.yaml", "--set", "pe.count=4", "--json", "out.json") == 0
    )
    Path("mine.yaml").unlink()
    assert run("rerun", "out.json", "--json", "again.json") == 0
    assert apart(Report.read("again.json")) == apart(Report.read("out.json"))


def test_other_sources_are_refused_and_named(toy: str, printed, refusal) -> None:
    Path("config.yaml").write_text((Path(toy).parent / "config.yaml").read_text())
    Path("mine.py").write_text(Path(toy).read_text())
    assert run("sim", "mine.py", SMALL, "--json", "out.json") == 0
    Path("mine.py").write_text(Path(toy).read_text() + "\n# changed\n")
    err = refusal("rerun", "out.json")
    assert err == "fiberscope: out.json: it was run with other sources: mine; --anyway ignores this\n"
    out = printed("rerun", "out.json", "--anyway")
    assert "source of mine" in out
    assert out.index("What it was made of") < out.index("Cycles: ")


def test_other_operands_are_refused_and_named(printed, refusal) -> None:
    text = "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1.0\n2 2 {}\n"
    Path("a.mtx").write_text(text.format(3))
    for command in (
        ["sim", "gamma", "a.mtx"],
        ["model", "gamma", "a.mtx"],
        [*GRAPH[:-2], "B=a.mtx", "c=ones"],
    ):
        Path("a.mtx").write_text(text.format(3))
        assert run(*command, "--json", "out.json") == 0
        Path("a.mtx").write_text(text.format(4))
        err = refusal("rerun", "out.json")
        assert err.startswith("fiberscope: out.json: operands have changed: ")
        out = printed("rerun", "out.json", "--anyway")
        assert "What it was made of" in out


def test_what_cannot_be_had_again_is_refused_in_a_line(run_command) -> None:
    from scipy import sparse

    fiberscope.simulate("gamma", sparse.eye_array(4).tocsr()).write("out.json")
    assert run_command("rerun", "out.json") == (
        2,
        "",
        "fiberscope: out.json: an operand was in memory; only a name or a file can be read again\n",
    )
    document = json.loads(Path("out.json").read_text())
    del document["source"], document["environment"]
    Path("old.json").write_text(json.dumps(document))
    code, _out, err = run_command("rerun", "old.json")
    assert (code, "which did not record the request" in err) == (2, True)
    assert cli.run(["report", "old.json"]) == cli.run(["diff", "old.json", "out.json"]) == 0


@pytest.mark.parametrize("name", [name for name in accelerators.names() if name != "graphicionado"])
def test_the_configuration_of_a_report_is_taken(name: str) -> None:
    first = fiberscope.simulate(name, SMALL)
    first.write("first.json")
    second = fiberscope.simulate(name, SMALL, config="first.json")
    assert (second.config, second.config_digest, second.cycles) == (
        first.config,
        first.config_digest,
        first.cycles,
    )


def test_a_report_of_another_machine_is_refused_as_configuration(refusal) -> None:
    fiberscope.simulate("gamma", SMALL).write("gamma.json")
    err = refusal("sim", "sigma", SMALL, "--config", "gamma.json")
    assert err.startswith("fiberscope: gamma.json: config: sigma has no parameter ")


def test_json_that_is_no_report_is_yaml_as_before(toy: str) -> None:
    Path("mine.json").write_text('{"lane": {"count": 4}}')
    assert fiberscope.simulate(toy, SMALL, config="mine.json").config["lane"]["count"] == 4


def test_what_else_differs_is_told_first(toy: str) -> None:
    before = fiberscope.simulate(toy, SMALL)
    environment = before.environment.model_copy(update={"numpy": "0.1"})
    source = before.source.model_copy(
        update={"digest": "f" * 64, "modules": {**before.source.modules, "toy": "x"}}
    )
    after = fiberscope.simulate(toy, f"{SMALL},seed=1").model_copy(
        update={"source": source, "environment": environment}
    )
    difference = compare(before, after)
    assert [one.name for one in difference.provenance] == ["source", "source of toy", "A", "numpy"]
    assert difference.settings == ()


def test_settings_go_before_those_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("pe: {count: 4, radix: 8}\n")
    kept = list_given_settings({"pe.count": 2}, tmp_path / "a.yaml")
    assert kept == {"pe.count": 2, "pe.radix": 8}
    assert (
        RunRequest("gamma", settings={"pe.count": 2}, config=tmp_path / "a.yaml").resolved_parameters()
        == kept
    )


def difference(modules: dict[str, str], digests: list[str]) -> str:
    """The message of a report of two modules and three operands, A of which is B too, that runs again."""
    operands = [SimpleNamespace(name=name, digest=digest) for name, digest in zip("ABC", "xxy", strict=True)]
    old = {"gamma": "0" * 12, "kernel": "1" * 12}
    before: Any = SimpleNamespace(
        source=SimpleNamespace(digest="d", modules=old), workload=SimpleNamespace(operands=operands)
    )
    sources: Any = SimpleNamespace(digest="d" if modules == old else "e", modules=modules)
    try:
        check_same(Path("out.json"), before, sources, digests)
    except InputError as error:
        return str(error)
    return ""


SAME = {"gamma": "0" * 12, "kernel": "1" * 12}


@pytest.mark.parametrize(
    ("modules", "digests", "message"),
    [
        (SAME, ["x", "x", "y"], ""),
        (SAME, ["x", "y"], ""),  # an operand that is used twice may be listed once
        (SAME, ["x"], "operands have changed: C; --anyway ignores this"),
        (SAME, ["y", "y", "x"], "operands have changed: A, B, C; --anyway ignores this"),
        (SAME, ["x", "x", "z"], "operands have changed: C; --anyway ignores this"),
        (SAME, ["z", "y"], "operands have changed: A, B; --anyway ignores this"),
        ({**SAME, "kernel": "2" * 12}, ["z"], "it was run with other sources: kernel; --anyway ignores this"),
        ({"gamma": "0" * 12}, ["x", "y"], "it was run with other sources: kernel; --anyway ignores this"),
        ({**SAME, "own": "3" * 12}, ["x", "y"], "it was run with other sources: own; --anyway ignores this"),
        (
            {f"m{number}": "4" * 12 for number in range(3)},
            ["x", "y"],
            "it was run with other sources: gamma, kernel, m0, m1, m2; --anyway ignores this",
        ),
        (
            {f"m{number}": "4" * 12 for number in range(5)},
            ["x", "y"],
            "it was run with other sources: gamma, kernel, m0, m1, m2 and 2 more; --anyway ignores this",
        ),
    ],
)
def test_the_first_difference_is_named(modules: dict[str, str], digests: list[str], message: str) -> None:
    assert difference(modules, digests) == (message and f"out.json: {message}")
