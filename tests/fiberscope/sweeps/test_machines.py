"""Machines of a study with a name, settings and parts of their own, and what they run."""

from pathlib import Path

import pytest
from one_line import one_line

import fiberscope
from fiberscope.accelerators import ConfigurationError
from fiberscope.base.errors import InputError
from fiberscope.explore.sweeps.machines import NamedMachine, parse_machine
from fiberscope.explore.sweeps.plan import plan_tasks
from fiberscope.explore.sweeps.point import Point
from fiberscope.explore.sweeps.study import make_study, read_study
from fiberscope.hw.fibers.merge import HighRadixMerger
from fiberscope.results.store.columns import FIXED, Row, tabulate_rows, unify_schemas, widen_table

SMALL = "uniform:rows=20,cols=20,nonzeros=60"
MERGER = """
from fiberscope.hw.fibers.merge import HighRadixMerger

class Mine(HighRadixMerger):
    pass

class Other(HighRadixMerger):
    pass
"""


@pytest.fixture(autouse=True)
def folder(here: Path) -> Path:
    Path("blocks.py").write_text(MERGER)
    return here


@pytest.mark.parametrize(
    ("text", "machine"),
    [
        ("gamma", NamedMachine(name="gamma", accelerator="gamma")),
        ("a=gamma", NamedMachine(name="a", accelerator="gamma")),
        ("a=gamma:pe.count=8", NamedMachine(name="a", accelerator="gamma", set={"pe.count": 8})),
        ("s=spec:gamma:PES=4", NamedMachine(name="s", accelerator="spec:gamma", set={"PES": 4})),
        ("s=spec:gamma", NamedMachine(name="s", accelerator="spec:gamma")),
        (
            "m-1=./mine:cache.size=1 MiB,format=a:b,c,reorder=none",
            NamedMachine(
                name="m-1",
                accelerator="./mine",
                set={"cache.size": "1 MiB", "format": "a:b,c", "reorder": "none"},
            ),
        ),
        (
            "p=gamma:part.merger=blocks.py:Mine,pe.count=8",
            NamedMachine(
                name="p", accelerator="gamma", set={"pe.count": 8}, parts={"merger": "blocks.py:Mine"}
            ),
        ),
    ],
)
def test_a_machine_is_written_as_a_text(text: str, machine: NamedMachine) -> None:
    assert parse_machine(text) == machine
    assert parse_machine(machine.model_dump()) == machine


def test_a_path_with_a_sign_is_no_name(folder: Path) -> None:
    assert parse_machine("./a=b/machine.py").accelerator == "./a=b/machine.py"
    assert parse_machine("spec:gamma").distinct_name == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gamma:pe.count=8", "gamma:pe.count=8: a machine with settings needs a name; write it as NAME="),
        ("a=", "a=: a has no machine"),
        ("a=gamma:pe.count=8,pe.count=9", "pe.count is given twice"),
        ("a=gamma:part.bank=b.py:B,part.bank=b.py:C", "part.bank is given twice"),
        ("a=gamma:pe.count=", "pe.count has no value"),
        ({"name": "a", "acelerator": "gamma"}, "machine a: accelerator: field required"),
        ({"name": "a b", "accelerator": "gamma"}, "machine a b: name: string should match"),
    ],
)
def test_a_machine_that_is_none_costs_a_line(text: str, message: str) -> None:
    with one_line(InputError, message):
        parse_machine(text)


@pytest.mark.parametrize("text", ["a=./mine:part.bank=b.py:B,bank=3", "a=./mine:bank=3,part.bank=b.py:B"])
def test_a_part_and_a_parameter_may_have_one_name(text: str) -> None:
    machine = parse_machine(text)
    assert (machine.set, machine.parts) == ({"bank": 3}, {"bank": "b.py:B"})


STUDY = f"""machines:
  - {{name: gamma-8, accelerator: gamma, set: {{pe.count: 8}}}}
  - {{name: mine, accelerator: gamma, parts: {{merger: blocks.py:Mine}}}}
workloads: ['{SMALL}']
settings: {{pe.radix: 8}}
grid: {{memory.channels: [4, 8]}}
"""


def test_a_study_has_machines_with_settings_and_parts_of_their_own(folder: Path) -> None:
    (folder / "study.yaml").write_text(STUDY)
    points = list(read_study(folder / "study.yaml").sweep())
    assert [(point.machine, point.accelerator, dict(point.parts)) for point in points] == [
        *[("gamma-8", "gamma", {})] * 2,
        *[("mine", "gamma", {"merger": "blocks.py:Mine"})] * 2,
    ]
    assert points[0].settings == {"pe.radix": 8, "pe.count": 8, "memory.channels": 4}
    assert len({task.digest for task in plan_tasks(points)}) == 4


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("pe.count: 8}", "pe.cout: 8}", "gamma has no parameter pe.cout; did you mean"),
        ("name: mine", "name: gamma-8", "study.yaml:3:5: two machines are called gamma-8"),
        ("name: mine, ", "", "study.yaml:3:5: machines.1.name is missing"),
        ("parts", "part", "study.yaml:3:38: there is no machines.1.part; did you mean parts?"),
        ("merger:", "mergr:", "study.yaml:3:5: gamma has no part mergr to replace; did you mean merger?"),
        ("memory.channels: [4", "pe.count: [4", "study.yaml:6:19: pe.count is swept over, and gamma-8 sets"),
        ("workloads", "accelerator: gamma\nworkloads", "machines and accelerator are both given"),
    ],
)
def test_a_fault_of_a_machine_of_a_study_has_its_place(
    folder: Path, old: str, new: str, message: str
) -> None:
    assert old in STUDY
    (folder / "study.yaml").write_text(STUDY.replace(old, new))
    with one_line((InputError, ConfigurationError), message):
        plan_tasks(read_study(folder / "study.yaml").sweep())


def test_a_row_is_found_by_the_name_the_parts_and_their_sources() -> None:
    def digest(**options: object) -> str:
        return plan_tasks([Point("sim", "gamma", SMALL, **options)])[0].digest  # type: ignore[arg-type]

    plain, mine = digest(), digest(parts={"merger": "blocks.py:Mine"})
    assert len({plain, mine, digest(parts={"merger": "blocks.py:Other"}), digest(name="a")}) == 4
    Path("blocks.py").write_text(MERGER + "\nSIZE = 3\n")
    assert digest(parts={"merger": "blocks.py:Mine"}) != mine
    assert digest() == plain


def test_a_class_of_a_module_is_a_part_and_other_commands_take_none() -> None:
    study = make_study({"accelerator": "gamma", "workloads": [SMALL], "parts": {"merger": HighRadixMerger}})
    (point,) = study.sweep()
    assert point.parts == {"merger": "fiberscope.hw.fibers.merge:HighRadixMerger"}
    with pytest.raises(InputError, match="model takes no parts; sim and convert do"):
        plan_tasks([Point("model", "gamma", SMALL, parts=point.parts)])


def test_a_row_of_an_older_release_has_the_name_of_its_accelerator() -> None:
    row = tabulate_rows([Row({"digest": "a", "accelerator": "gamma"}, {})])
    older = row.drop_columns(["machine", "parts"])
    widened = widen_table(older, unify_schemas([older.schema]))
    assert widened.column_names == list(FIXED)
    assert widened["machine"].to_pylist() == ["gamma"]


@pytest.mark.usefixtures("sweeps_here")
def test_a_suite_shows_names_runs_parts_and_takes_equal_workloads_twice() -> None:
    mine = {"name": "mine", "accelerator": "gamma", "parts": {"merger": "blocks.py:Mine"}}
    suite = fiberscope.suite(
        ["gamma", "gamma-2=gamma:pe.count=2", mine],
        {SMALL: "", f"{SMALL},seed=0": "same"},
        store="s",
        workers=1,
        progress=False,
    )
    assert list(suite.machines) == ["gamma", "gamma-2", "mine"]
    cycles = [suite.runs[SMALL, machine].cycles for machine in suite.machines]
    assert cycles[0] == cycles[2] != cycles[1]
    assert all(suite.runs[SMALL, name] == suite.runs[f"{SMALL},seed=0", name] for name in suite.machines)
    rows = fiberscope.sweep([mine], [SMALL], store="s", workers=1, progress=False)
    assert list(rows["machine"]) == ["mine"]
    assert list(rows["parts"]) == ['{"merger": "blocks.py:Mine"}']
    with pytest.raises(InputError, match="two machines are called gamma;"):
        fiberscope.suite(["gamma", "gamma"], [SMALL])
