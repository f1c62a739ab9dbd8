"""Every number of the public tool's reference runs, to the last bit."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from fiberscope.models.trace.evaluate import run
from fiberscope.models.trace.load import load
from fiberscope.models.trace.model import Model
from fiberscope.workloads import load as load_matrix
from fiberscope.workloads.fibertree import FiberTree

ORACLES = Path(__file__).parents[3] / "oracles" / "teaal"
CASES = {path.stem: path for path in sorted(ORACLES.glob("*.json"))}
TILES = ("K1", "K0", "M1", "M0", "N1", "N0")


def tensor(file, ranks, transposed):
    """The tensor in a file, whose rows are the first rank, or, transposed, the second."""
    matrix = load_matrix(str(ORACLES / f"{file}.gz")).matrix.tocoo()
    columns, shape = (matrix.row, matrix.col), matrix.shape
    if transposed:
        columns, shape = columns[::-1], shape[::-1]
    return FiberTree.from_coo(dict(zip(ranks, shape, strict=True)), columns, matrix.data)


def measured(case, change=lambda specification: specification):
    symbols = {name: size for name, size in (case["tiles"] or {}).items() if name in TILES}
    specification = change(load(case["accelerator"], symbols))
    ranks = {name: specification.tensors[name].ranks for name in "AB"}
    model = Model(specification)
    tensors = {
        "A": tensor(case["A"], ranks["A"], case["A_rows_are"] != ranks["A"][0]),
        "B": tensor(case["B"], ranks["B"], False),
    }
    return model.metrics(run(specification, tensors, model.observe))


@pytest.mark.parametrize("name", CASES)
def test_every_number_is_that_of_the_public_tool(name):
    case = json.loads(CASES[name].read_text(encoding="utf-8"))
    assert measured(case) == case["metrics"]


def test_there_are_references_of_all_machines():
    assert len(CASES) == 10


def test_planted_a_clock_that_is_off_by_a_bit_is_found():
    case = json.loads(CASES["gamma.tiny"].read_text(encoding="utf-8"))

    def faster(specification):
        (name, of), *rest = specification.configurations.items()
        changed = replace(of, clock_frequency=of.clock_frequency * (1 + 2**-52))
        return replace(specification, configurations={name: changed, **dict(rest)})

    assert measured(case, faster) != case["metrics"]
