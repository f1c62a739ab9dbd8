"""Tensors that are bound to DRAM and move nothing: named, with the reason, and counted in the minimum."""

import json
from itertools import combinations
from pathlib import Path

import pytest
import yaml

import fiberscope

EXAMPLES = Path(__file__).parents[4] / "examples" / "specifications"
SMALL = "uniform:rows=30,cols=30,nonzeros=150"
OPERANDS = {
    "row_wise": {"A": SMALL, "B": f"{SMALL},seed=1"},
    "outer": {"A": SMALL, "B": f"{SMALL},seed=1"},
    "spmv": {"A": SMALL, "x": "tensor:shape=30,nonzeros=30"},
    "layer": {
        "A": SMALL,
        "X": "uniform:rows=30,cols=20,nonzeros=90",
        "W": "uniform:rows=20,cols=8,nonzeros=60",
    },
    "mttkrp": {
        "T": "tensor:shape=12x10x8,nonzeros=120",
        "B": "uniform:rows=10,cols=8,nonzeros=60",
        "C": "uniform:rows=8,cols=8,nonzeros=40",
    },
}
RESULTS = {"row_wise": "Z", "outer": "Z", "spmv": "y", "layer": "Z", "mttkrp": "Z"}
FEW = ("layer", "spmv")  # that the default run simulates; both models name tensors alike
ONLY = "bound to DRAM only"


def specification(name):
    return yaml.safe_load((EXAMPLES / f"{name}.yaml").read_text())


def without(document, is_dropped):
    """The document without the bindings of a store other than DRAM for which ``is_dropped`` says so."""
    for sections in document["bindings"].values():
        for section in sections:
            if section.get("component") not in (None, "Memory"):
                section["bindings"] = [each for each in section["bindings"] if not is_dropped(each)]
    return document


def write(folder, document):
    path = folder / "dropped.yaml"
    path.write_text(yaml.safe_dump(document))
    return str(path)


def whole_names(report):
    return [name for name in report.unmoved if "." not in name]


@pytest.mark.parametrize(
    ("model", "name"),
    [
        *((fiberscope.model, name) for name in OPERANDS),
        *(
            pytest.param(fiberscope.simulate, name, marks=() if name in FEW else pytest.mark.slow)
            for name in OPERANDS
        ),
    ],
)
def test_each_tensor_that_is_bound_to_dram_only_is_named(name, model, tmp_path):
    tensors = [*OPERANDS[name], RESULTS[name]]
    full = model(str(EXAMPLES / f"{name}.yaml"), tensors=OPERANDS[name])
    assert whole_names(full) == []
    for dropped in (subset for count in (1, len(tensors)) for subset in combinations(tensors, count)):
        document = without(specification(name), lambda bound, names=dropped: bound.get("tensor") in names)
        report = model(write(tmp_path, document), tensors=OPERANDS[name])
        assert whole_names(report) == sorted(dropped)
        assert {report.unmoved[tensor] for tensor in dropped} == {ONLY}
        assert not set(dropped) & report.traffic.keys()
        assert report.traffic_minimum_bytes == full.traffic_minimum_bytes
        assert f"Not moved   {', '.join(sorted(dropped))} ({ONLY})" in report.summary(400)


@pytest.mark.parametrize("name", OPERANDS)
def test_the_minimum_has_each_operand_and_each_result_once(name):
    """Interleaved elements of 64 bits, and 32 bits for each row of a rank that is stored whole."""
    report = fiberscope.simulate(str(EXAMPLES / f"{name}.yaml"), tensors=OPERANDS[name])
    ideal = fiberscope.simulate(
        str(EXAMPLES / f"{name}.yaml"), settings={"timing.memory": "ideal"}, tensors=OPERANDS[name]
    )
    nonzeros = report.product.nonzeros
    expected = {
        "row_wise": 2 * (150 * 8 + 30 * 4) + nonzeros * 8 + 30 * 4,
        "outer": 2 * (150 * 8 + 30 * 4) + nonzeros * 8 + 30 * 4,
        "spmv": 150 * 8 + 30 * 4 + 30 * 4 + nonzeros * 4,
        "layer": (150 + 90 + 60 + nonzeros) * 8 + (30 + 30 + 20 + 30) * 4,
    }
    assert report.traffic_minimum_bytes == expected.get(name, report.traffic_minimum_bytes)
    assert ideal.traffic_minimum_bytes == report.traffic_minimum_bytes > 0
    assert set(ideal.unmoved.values()) == {"timing.memory=ideal"}
    assert set(whole_names(ideal)) >= {*OPERANDS[name], RESULTS[name]}


def test_a_rank_and_an_einsum_are_named_where_the_rest_of_a_tensor_moves(tmp_path):
    row_pointers = without(
        specification("row_wise"), lambda bound: bound.get("tensor") == "A" and bound["rank"] == "M"
    )
    report = fiberscope.simulate(write(tmp_path, row_pointers), tensors=OPERANDS["row_wise"])
    assert report.unmoved == {"A.M": ONLY}
    layer = specification("layer")
    first = without({"bindings": {"Y": layer["bindings"]["Y"]}}, lambda bound: bound.get("tensor") == "Y")
    layer["bindings"]["Y"] = first["bindings"]["Y"]
    for model in (fiberscope.simulate, fiberscope.model):
        assert model(write(tmp_path, layer), tensors=OPERANDS["layer"]).unmoved == {"Y in Y": ONLY}


def test_a_tensor_in_another_order_than_its_format_is_named(tmp_path):
    document = specification("row_wise")
    swapped = document["format"]["B"]["default"]
    swapped["rank-order"] = ["N", "K"]
    path = write(tmp_path, document)
    for model in (fiberscope.simulate, fiberscope.model):
        report = model(path, tensors=OPERANDS["row_wise"])
        assert report.unmoved == {"B": "its ranks are in another order than its format's"}
        assert "B" not in report.traffic


def test_a_tensor_that_no_store_has_is_named(tmp_path):
    document = specification("row_wise")
    for section in document["bindings"]["Z"]:
        if "bindings" in section:
            section["bindings"] = [bound for bound in section["bindings"] if bound.get("tensor") != "B"]
    report = fiberscope.simulate(write(tmp_path, document), tensors=OPERANDS["row_wise"])
    assert report.unmoved == {"B": "bound to no memory"}


def test_a_report_in_a_file_keeps_what_is_not_moved(tmp_path, printed):
    document = without(specification("row_wise"), lambda bound: bound.get("tensor") in ("A", "Z"))
    path = write(tmp_path, document)
    operands = [f"{name}={text}" for name, text in OPERANDS["row_wise"].items()]
    out = printed("sim", path, *operands, "--json", str(tmp_path / "report.json"))
    assert f"Not moved   A, Z ({ONLY})" in out
    assert json.loads((tmp_path / "report.json").read_text())["unmoved"] == {"A": ONLY, "Z": ONLY}
    assert f"Not moved   A, Z ({ONLY})" in printed("report", str(tmp_path / "report.json"))


def test_a_machine_warns_of_what_is_bound_to_dram_only(tmp_path, recwarn):
    fiberscope.simulate(str(EXAMPLES / "row_wise.yaml"), tensors=OPERANDS["row_wise"])
    assert [str(warning.message) for warning in recwarn if ONLY in str(warning.message)] == []
    document = without(specification("row_wise"), lambda bound: bound.get("tensor") in ("A", "Z"))
    with pytest.warns(UserWarning, match=f"A, Z are {ONLY}, which costs no time and no traffic"):
        fiberscope.simulate(write(tmp_path, document), tensors=OPERANDS["row_wise"])
