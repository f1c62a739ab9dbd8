"""Inputs as the projects of Timeloop and Sparseloop write them: containers, constraints, front-end marks."""

from pathlib import Path
from typing import Any

import pytest
from changed_designs import design
from row_stationary import MACHINE, MAPPING, PROBLEM, PROCESSED

from fiberscope import analyze
from fiberscope.models.analytic.mapper.api import find
from fiberscope.models.analytic.mapper.search import Limits


@pytest.fixture
def raw(tmp_path: Path) -> list[Path]:
    return [
        _written(tmp_path / name, text)
        for name, text in (("machine", MACHINE), ("problem", PROBLEM), ("mapping", MAPPING))
    ]


def _written(path: Path, text: str) -> Path:
    path = path.with_suffix(".yaml")
    path.write_text(text)
    return path


def _levels(report: Any) -> dict[str, Any]:
    return {name: level.tensors for name, level in report.levels.items()}


def test_containers_are_targets_of_spatial_loops(raw: list[Path]) -> None:
    report = analyze(*raw)
    assert report.analytical.compute.units == 4 * 3 * 2
    assert report.analytical.compute.algorithmic == 4 * 8 * 3 * 8
    assert report.cycles == 4 * 8 * 3 * 8 // 24
    assert list(report.levels) == ["Memory", "Buffer", "InputPad", "WeightPad", "SumPad"]
    assert list(report.levels["InputPad"].tensors) == ["Inputs"]
    assert list(report.levels["Buffer"].tensors) == ["Inputs", "Outputs"]
    assert report.levels["WeightPad"].tensors["Weights"].reads.gated > 0


def test_a_processed_input_is_the_same_case(raw: list[Path], tmp_path: Path) -> None:
    """Its mapping is empty: its constraints leave but one."""
    ours, processed = analyze(*raw), analyze(_written(tmp_path / "processed", PROCESSED))
    assert processed.cycles == ours.cycles
    assert _levels(processed) == _levels(ours)
    assert any(
        "its loops are those that the constraints leave" in note for note in processed.analytical.notes
    )


def test_a_written_mapping_names_processed_levels_and_containers_alike(
    raw: list[Path], tmp_path: Path
) -> None:
    renamed = MAPPING.replace("target: Column", "target: inter_Column_spatial")
    machine, problem, mapping = raw
    mapped = analyze(machine, problem, _written(tmp_path / "renamed", renamed))
    both = analyze(_written(tmp_path / "processed", PROCESSED), mapping)
    assert _levels(mapped) == _levels(both) == _levels(analyze(*raw))


def test_attributes_and_sizes_that_nothing_uses_are_notes(raw: list[Path]) -> None:
    notes = "\n".join(analyze(*raw).analytical.notes)
    assert (
        "attributes that the model does not use: adder_width, metadata_counter_width, multiplier_width"
        in notes
    )
    assert "problem.yaml: instance has names that the shape does not use: Padding" in notes
    assert "numbers with a leading 0 are octal, as YAML 1.1 has them: 010 is 8" in notes


def test_only_an_output_is_read_before_its_first_update(tmp_path: Path) -> None:
    line = "{target: Buffer, type: dataspace, keep: [B, Z], bypass: [A]}"
    note = "rmw_first_update of B has no effect: it is never updated"
    for first, reads, notes in (("", (512, 448), ()), ("B", (512, 448), (note,)), ("Z", (512, 512), ())):
        report = analyze(design(tmp_path, "matmul", line, f"{line[:-1]}, rmw_first_update: [{first}]}}"))
        tensors = _levels(report)["Buffer"]
        assert tuple(tensors[name].reads.algorithmic for name in "BZ") == reads
        assert report.analytical is not None
        assert tuple(report.analytical.notes) == notes


def test_a_misspelt_attribute_is_noted_with_the_nearest(tmp_path: Path, raw: list[Path]) -> None:
    raw[0].write_text(MACHINE.replace("read_bandwidth: 2", "read_bandwith: 2"))
    notes = "\n".join(analyze(*raw).analytical.notes)
    assert "the model does not know the attribute read_bandwith; did you mean read_bandwidth?" in notes


@pytest.mark.parametrize("written", ["8", '"8"', "'010'", "010", "0x8", '"+8"', "0_10", "0b1000"])
def test_numbers_as_yaml_11_has_them(written: str, raw: list[Path]) -> None:
    raw[1].write_text(PROBLEM.replace("P: 010", f"P: {written}"))
    assert analyze(*raw).analytical.compute.algorithmic == 768


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("depth: 32", "depth: many", r"attributes.depth is many; it should be a number"),
        ("depth: 32", "depth: 089", r"depth is 089; a leading 0 means octal in YAML 1.1, which has"),
        ("depth: 32", "depth: -1", r"attributes.depth is -1; it should be greater than or equal to 0"),
        ("meshY: 6", "meshY: six", r"spatial.meshY is six; it should be a number"),
        (
            "dataspace: {keep: [Inputs]}",
            "dataspaces: {keep: [Inputs]}",
            r"there is no constraint dataspaces; ",
        ),
        ("meshY: 6", "meshY: 5", r"more instances than there are"),
    ],
)
def test_wrong_values_of_known_keys_are_refused(
    old: str, new: str, said: str, raw: list[Path], refusal
) -> None:
    assert old in MACHINE
    raw[0].write_text(MACHINE.replace(old, new))
    assert said in refusal("analyze", *map(str, raw))


@pytest.mark.parametrize("bound", ["eight", "08", '" 08"', '"08 "', "0_8", "-09", "1.5", "[8]", "0"])
def test_a_bad_bound_is_refused(bound: str, raw: list[Path], refusal) -> None:
    raw[1].write_text(PROBLEM.replace("P: 010", f"P: {bound}"))
    assert "problem.yaml:13:" in refusal("analyze", *map(str, raw))


def test_a_container_keeps_nothing_and_has_no_loops_in_time(raw: list[Path], refusal) -> None:
    for entry, said in (
        ("{target: Column, type: dataspace, keep: [Inputs]}", "Column stores nothing; leave keep out"),
        ("{target: Column, type: temporal, factors: [M=2]}", "Column stores nothing, so its loops are"),
        (
            "{target: Column, type: temporal, factors: [M=0]}",  # all iterations that remain
            "Column stores nothing, so its loops are",
        ),
    ):
        raw[2].write_text(f"{MAPPING}  - {entry}\n")
        assert said in refusal("analyze", *map(str, raw))


def test_empty_sections_are_as_if_absent(raw: list[Path], tmp_path: Path) -> None:
    raw[0].write_text(f"{MACHINE}\nsparse_optimizations:\nERT: ~\nconstraints: {{targets: }}\n")
    assert analyze(*raw).cycles == 32


@pytest.mark.parametrize("text", [MACHINE + PROBLEM, PROCESSED.replace("P=0", "P=2")])
def test_a_search_keeps_to_the_mesh(text: str, tmp_path: Path) -> None:
    """Loops go along X and Y so that they fit, and what is written is read back with the same result."""
    path = _written(tmp_path / "case", text)
    best = find([path], limits=Limits(points=200))
    report = best.report()
    again = analyze(path, _written(tmp_path / "best", best.mapping()))
    assert again.cycles == report.cycles
    assert _levels(again) == _levels(report)


def test_constraints_that_leave_several_mappings_are_searched(tmp_path: Path, refusal) -> None:
    error = refusal("analyze", str(_written(tmp_path / "case", MACHINE + PROBLEM)))
    assert "there is no section mapping; add one, or search: fiberscope map" in error
