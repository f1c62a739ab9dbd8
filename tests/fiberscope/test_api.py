"""Simulating from Python: operands, endings, and the report that each leaves."""

import html
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from scipy import sparse

import fiberscope
from fiberscope import Waveform, accelerators
from fiberscope.accelerators.configuration import ConfigurationError
from fiberscope.results.report.document import Report
from fiberscope.results.report.parts import CIRCUMSTANCES
from fiberscope.workloads import from_scipy

SMALL = "uniform:rows=30,cols=30,nonzeros=90,seed=5"


def test_a_run_gives_a_complete_verified_report(toy: str) -> None:
    report = fiberscope.simulate(toy, SMALL)
    assert report.complete
    assert report.ending == "done"
    assert report.verification.passed
    assert report.cycles > 0
    assert report.seconds == pytest.approx(report.cycles * 1e-9)
    assert report.workload.source == "generated"


def test_operands_may_be_matrices_in_memory(toy: str) -> None:
    a, b = np.array([[1.0, 0.0, 2.0]]), sparse.coo_matrix(np.array([[1.0], [5.0], [3.0]]))
    report = fiberscope.simulate(toy, a, b)
    assert report.operations == {"multiply": 2, "add": 1}
    assert report.product is not None
    assert report.product.shape == (1, 1)
    assert report.workload.source == "memory"
    assert report.workload.b is not None
    assert report.workload.b.shape == (3, 1)
    assert report.workload.more == ()


def test_the_accounting_of_every_component_adds_up(toy: str) -> None:
    report = fiberscope.simulate(toy, SMALL, settings={"lane.count": 4, "lane.pause": 3})
    assert len(report.components) == 8
    for part in report.components.values():
        assert part.busy + part.input_stall + part.output_stall + part.idle == part.cycles
        assert sum(part.input_stall_by_port.values()) == part.input_stall


def test_two_runs_differ_in_the_host_alone(toy: str) -> None:
    documents = [json.loads(fiberscope.simulate(toy, SMALL).to_json()) for _ in range(2)]
    for document in documents:
        host = document.pop("host")
        assert host["seconds"] > host["simulation_seconds"] > 0
    assert json.dumps(documents[0]) == json.dumps(documents[1])


def test_settings_and_file_reach_the_machine_and_the_report(toy: str, tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("lane: {count: 8, pause: 2}\n")
    report = fiberscope.simulate(toy, SMALL, config=mine, settings={"lane.pause": 4})
    assert report.config["lane"] == {"count": 8, "pause": 4}
    assert report.config_digest != fiberscope.simulate(toy, SMALL).config_digest


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("wrong", "the machine's product is wrong: relative error 0.001, 0 entries missing, 0 too many"),
        ("missing", "the machine's product is wrong: relative error 0, 1 entries missing, 0 too many"),
    ],
)
def test_a_wrong_product_is_an_error_with_its_report(toy: str, fault: str, message: str) -> None:
    with pytest.raises(fiberscope.VerificationError) as raised:
        fiberscope.simulate(toy, SMALL, settings={"fault": fault})
    assert str(raised.value) == message
    assert raised.value.report.verification.passed is False


def test_a_deadlock_is_an_error_with_its_report(toy: str) -> None:
    with pytest.raises(fiberscope.DeadlockedRunError, match="waits for a token at in") as raised:
        fiberscope.simulate(toy, SMALL, settings={"fault": "deadlock"})
    report = raised.value.report
    assert (report.complete, report.ending, report.verification.passed) == (False, "deadlock", None)


def test_a_cycle_limit_ends_in_an_incomplete_unverified_report(toy: str) -> None:
    report = fiberscope.simulate(toy, SMALL, cycle_limit=10)
    assert (report.complete, report.ending, report.cycles) == (False, "cycle limit", 10)
    assert report.verification.passed is None
    assert report.product is None


def test_an_empty_matrix_is_a_product_like_any_other(toy: str) -> None:
    report = fiberscope.simulate(toy, sparse.csr_array((4, 4)))
    assert report.verification.passed
    assert report.cycles == 0
    assert report.bottleneck == "There was nothing to do."


def test_shapes_that_do_not_match(toy: str) -> None:
    with pytest.raises(fiberscope.WorkloadError) as raised:
        fiberscope.simulate(toy, np.ones((2, 3)))
    assert str(raised.value) == "A is 2 x 3, so A times A does not exist; give a second matrix"
    with pytest.raises(fiberscope.WorkloadError) as raised:
        fiberscope.simulate(toy, np.ones((2, 3)), np.ones((4, 5)))
    assert str(raised.value) == "A (A) is 2 x 3 and B (B) is 4 x 5: B should have 3 rows"


def test_progress_names_the_stages(toy: str) -> None:
    told: list[tuple[str, int, int]] = []
    fiberscope.simulate(toy, SMALL, progress=lambda *step: told.append(step))
    stages = list(dict.fromkeys(stage for stage, _done, _total in told))
    assert stages == ["simulating", "cycles", "verifying"]
    done, total = next((done, total) for stage, done, total in reversed(told) if stage == "simulating")
    assert done == total > 0


def test_public_names_are_there_and_others_are_not() -> None:
    for name in fiberscope.__all__:
        assert getattr(fiberscope, name) is not None
    assert dir(fiberscope) == sorted(fiberscope.__all__)
    with pytest.raises(AttributeError, match="has no attribute simulte"):
        fiberscope.simulte  # noqa: B018


def test_reports_are_read_back(toy: str, tmp_path: Path) -> None:
    report = fiberscope.simulate(toy, SMALL)
    report.write(tmp_path / "out.json")
    assert Report.read(tmp_path / "out.json") == report


def test_settings_may_be_keywords(toy: str) -> None:
    report = fiberscope.simulate(toy, SMALL, lane__count=4, fault="none", settings={"lane.pause": 2})
    assert report.config["lane"] == {"count": 4, "pause": 2}
    assert report == _circumstances_apart(
        report, fiberscope.simulate(toy, SMALL, settings=report_settings(report))
    )


def report_settings(report: Report) -> dict[str, object]:
    return {"lane.count": report.config["lane"]["count"], "lane.pause": report.config["lane"]["pause"]}


def _circumstances_apart(like: Report, other: Report) -> Report:
    return other.model_copy(update={part: getattr(like, part) for part in CIRCUMSTANCES})


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        (
            {"lane__cuont": 3},
            "settings: toy has no parameter lane.cuont; did you mean lane.count or lane.pause?",
        ),
        ({"lane__count": 0}, "settings: lane.count is 0; it should be greater than or equal to 1"),
        (
            {"cycle_limt": 3},
            "cycle_limt is no argument of simulate and no parameter of toy; did you mean cycle_limit?",
        ),
        (
            {"lane_count": 3},
            "lane_count is no argument of simulate and no parameter of toy; "
            "did you mean lane__count or lane__pause?",
        ),
        ({"parts": {"merger": object}}, "toy has no part merger to replace; it has none"),
    ],
)
def test_a_mistaken_keyword_costs_one_line(toy: str, keywords: dict[str, object], message: str) -> None:
    with pytest.raises((fiberscope.ConfigurationError, fiberscope.InputError)) as raised:
        fiberscope.simulate(toy, SMALL, **keywords)
    assert str(raised.value) == message


def test_a_waveform_may_be_a_path(toy: str, tmp_path: Path) -> None:
    fiberscope.simulate(toy, SMALL, waveform=tmp_path / "out.vcd", cycle_limit=30)
    assert (tmp_path / "out.vcd").read_text().startswith("$")


def test_a_report_prints_as_its_summary(toy: str) -> None:
    report = fiberscope.simulate(toy, SMALL)
    assert str(report) == report.summary()
    assert report.summary().startswith(f"toy on {report.workload.name}, A times A: 30 x 30, 90 nonzeros")
    assert f"Cycles      {report.cycles:,} (" in report.summary()
    assert max(map(len, report.summary(width=70).splitlines())) <= 70
    assert repr(report) == f"<Report: toy on {report.workload.name}, {report.cycles:,} cycles, verified>"
    assert repr(fiberscope.simulate(toy, SMALL, cycle_limit=9)).endswith(", 9 cycles, cycle limit>")


def test_a_report_shows_itself_to_rich_and_to_a_notebook(toy: str) -> None:
    report = fiberscope.simulate(toy, np.eye(2))
    console = Console(file=io.StringIO(), width=100, highlight=False)
    with console.capture() as captured:
        console.print(report)
    assert [line.rstrip() for line in captured.get().splitlines()] == report.summary().splitlines()
    shown = report._repr_html_()
    assert shown.startswith("<pre style=")
    text = html.unescape(re.sub(r"<[^>]*>", "", shown))
    assert [line.rstrip() for line in text.splitlines()] == report.summary().splitlines()


def test_a_surrogate_that_a_machine_refuses_is_called_one() -> None:
    real = from_scipy(sparse.eye_array(3).tocsr(), name="eye")
    for workload, end in ((real, "bytes"), (replace(real, source="surrogate"), "may do)")):
        with pytest.raises(ConfigurationError, match=r"^extensor: pe\.buffer is 1 bytes; ") as raised:
            fiberscope.simulate("extensor", workload, pe__buffer=1)
        assert str(raised.value).endswith(end)


@pytest.mark.parametrize(
    ("families", "message"),
    [
        (
            {"workers": "lane.mutliplier"},
            "toy: no component is of the kind lane.mutliplier, which workers names; "
            "did you mean lane.multiplier or lane.feeder?",
        ),
        (
            {"limits": ("lane.feeder", "cache")},
            "toy: no component is of the kind cache, which limits names; known: lane.feeder, lane.multiplier",
        ),
        (
            {"channels": "memory.channel"},
            "toy: no component is of the kind memory.channel, which channels names; "
            "known: lane.feeder, lane.multiplier",
        ),
    ],
)
def test_a_family_without_components_is_refused_before_the_run(
    toy: str, families: dict[str, Any], message: str
) -> None:
    machine = replace(accelerators.find(toy), **families)
    with pytest.raises(ConfigurationError) as raised:
        fiberscope.simulate(machine, SMALL, settings={"fault": "deadlock"})
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("argument", "wanted"),
    [
        ({"cycle_limit": -1}, "cycle_limit=-1: it should be a whole number of cycles from 1 on"),
        ({"cycle_limit": 0}, "cycle_limit=0: it should be a whole number of cycles from 1 on"),
        ({"cycle_limit": 1.5}, "cycle_limit=1.5: it should be a whole number of cycles from 1 on"),
        ({"cycle_limit": True}, "cycle_limit=True: it should be a whole number of cycles from 1 on"),
        ({"waveform": 5}, "waveform=5: it should be a path or a fiberscope.Waveform"),
        ({"waveform": Waveform(5)}, "waveform.path=5: it should be the path of a file to write"),
        *(
            (
                {"waveform": Waveform(Path("x.vcd"), window=window)},
                f"waveform.window={window}: it should be the first cycle and the one it ends before, "
                "as in (100, 600)",
            )
            for window in (5, (5,), (1.5, 3))
        ),
        (
            {"waveform": Waveform(Path("x.vcd"), scopes="pe00")},
            "waveform.scopes='pe00': it should be a list of patterns, as in [\"pe0[0-3]\"]",
        ),
        (
            {"waveform": Waveform(Path("x.vcd"), trigger=5)},
            'waveform.trigger=5: it should be a condition, as in "pe07 input_stall > 100"',
        ),
        (
            {"waveform": Waveform(Path("x.vcd"), cycles=1.5)},
            "waveform.cycles=1.5: it should be a whole number of cycles from 1 on",
        ),
        ({"waveform": "a\0b"}, r"'a\x00b': a null character is part of no file's name"),
        (
            {"settings": ["lane.count=3"]},
            "settings=['lane.count=3']: it should be a dict of parameters by dotted key, "
            'as in {"pe.count": 64}',
        ),
        (
            {"progress": 5},
            "progress=5: it should be a function of stage, work done and work in all, or False",
        ),
        ({"exact": "no"}, "exact='no': it should be True or False"),
        ({"histograms": 1}, "histograms=1: it should be True or False"),
        ({"config": 3}, "config=3: it should be the path of a YAML file"),
        (
            {"parts": {"merger": 3}},
            "parts={'merger': 3}: it should be a dict of classes by the name of the part, "
            'as in {"merger": MyMerger}',
        ),
        (
            {"settings": {"lane.count": 3}, "lane__count": 4},
            "lane.count is given twice, in settings and as lane__count; leave one out",
        ),
    ],
)
def test_an_argument_that_cannot_be_is_refused_at_once(
    toy: str, argument: dict[str, Any], wanted: str
) -> None:
    with pytest.raises(fiberscope.InputError) as raised:
        fiberscope.simulate(toy, SMALL, **argument)
    assert str(raised.value) == wanted


@pytest.mark.parametrize("accelerator", [None, 5])
def test_what_is_no_accelerator_is_refused(accelerator: Any) -> None:
    for call in (fiberscope.simulate, fiberscope.ablate):
        with pytest.raises(fiberscope.InputError, match="it should be a name or an Accelerator"):
            call(accelerator, SMALL)
    with pytest.raises(fiberscope.InputError, match="it should be a name or an Accelerator"):
        fiberscope.compare(accelerator)


def test_the_arguments_of_the_studies_are_checked_too(toy: str) -> None:
    with pytest.raises(fiberscope.InputError, match="settings=5: it should be a dict"):
        fiberscope.ablate(toy, SMALL, settings=5)  # type: ignore[arg-type]
    with pytest.raises(fiberscope.InputError, match="matrices='wiki-Vote': it should be a list of names"):
        fiberscope.compare("gamma", "wiki-Vote")


def test_a_waveform_may_be_named_by_a_string(toy: str, tmp_path: Path) -> None:
    path = str(tmp_path / "x.vcd")
    fiberscope.simulate(toy, SMALL, waveform=Waveform(path))  # type: ignore[arg-type]
    assert Path(path).stat().st_size


@pytest.mark.parametrize("factors", [{"a": SMALL}, {"b": SMALL}])
def test_operands_are_in_order_or_by_name(toy: str, factors: dict[str, str]) -> None:
    with pytest.raises(fiberscope.InputError, match="give operands in order or by name, not both"):
        fiberscope.simulate(toy, **factors, A=SMALL)  # type: ignore[arg-type]


def test_standard_input_is_one_matrix_at_the_most(toy: str) -> None:
    with pytest.raises(fiberscope.InputError, match="standard input can be A or B, not both"):
        fiberscope.simulate(toy, "-", "-")


def test_a_null_character_in_the_name_of_a_file_of_parameters_is_refused(toy: str) -> None:
    with pytest.raises(fiberscope.ConfigurationError, match="embedded null byte"):
        fiberscope.simulate(toy, SMALL, config="a\0b")


def test_a_limit_may_be_a_numpy_integer(toy: str) -> None:
    assert fiberscope.simulate(toy, SMALL, cycle_limit=np.int64(10)).cycles == 10
