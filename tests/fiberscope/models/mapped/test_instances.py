"""Instances of a machine: copies in the architecture, or places of the loops in space."""

import re

import pytest

import fiberscope
from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.results.report.summary import as_text

SMALL = "uniform:rows=40,cols=40,nonzeros=200"
PRODUCT = """\
einsum:
  declaration: {{A: [M, K], B: [K, N], Z: [M, N]}}
  expressions: ["Z[m, n] = A[m, k] * B[k, n]"]
mapping:
  partitioning: {{Z: {partitioning}}}
  loop-order: {{Z: [{loops}]}}
  spacetime: {{Z: {{space: [{space}], time: [{time}]}}}}
"""
ROWS = {"partitioning": "{}", "loops": "M, K, N", "space": "M", "time": "K, N"}
PIECES = {
    "partitioning": "{M: [uniform_shape(32)]}",
    "loops": "M1, M0, K, N",
    "space": "M0",
    "time": "M1, K, N",
}
CHIP = """\
format:
  A: {default: {rank-order: [M, K], K: {layout: interleaved, cbits: 32, pbits: 32}}}
architecture:
  Chip:
    - name: Chip
      attributes: {clock_frequency: 1 GHz}
      local: [{name: Memory, class: DRAM, attributes: {bandwidth: 16 GB/s}}]
      subtree:
        - name: Tile[3]
          local: [{name: Buffer, class: Buffet, attributes: {width: 64}}]
bindings:
  Z:
    - config: Chip
    - {component: Memory, bindings: [{tensor: A, rank: K, type: elem, format: default}]}
    - {component: Buffer, bindings: [{tensor: A, rank: K, type: elem, format: default, evict-on: M}]}
"""


def run(tmp_path, mapping, rest="", operand=SMALL, **settings):
    path = tmp_path / "own.yaml"
    path.write_text(PRODUCT.format(**mapping) + rest)
    return fiberscope.simulate(str(path), operand, settings=settings)


def instances_in(report):
    return sum(name.endswith("task_end") for name in report.components)


@pytest.mark.parametrize(
    ("mapping", "said"),
    [
        (ROWS, "40 instances: places of M"),
        (PIECES, "32 instances: places of M0"),
        ({**PIECES, "space": "M1", "time": "M0, K, N"}, "2 instances: places of M1"),
        ({**PIECES, "space": "M1, M0", "time": "K, N"}, "64 instances: places of M1 x M0"),
        ({**PIECES, "partitioning": "{M: [uniform_shape(64)]}"}, "40 instances: places of M0"),
        ({**PIECES, "partitioning": "{M: [nway_shape(6)]}"}, "7 instances: places of M0"),
        ({**PIECES, "partitioning": "{M: [uniform_occupancy(A.5)]}"}, "5 instances: places of M0"),
        (
            {**PIECES, "partitioning": "{M: [uniform_shape(16), uniform_shape(5)]}"}
            | {"loops": "M2, M1, M0, K, N", "space": "M1", "time": "M2, M0, K, N"},
            "4 instances: places of M1",
        ),
    ],
)
def test_a_file_without_an_architecture_has_an_instance_for_each_place_in_space(tmp_path, mapping, said):
    report = run(tmp_path, mapping)
    assert report.verification.passed
    assert report.chosen == (said,)
    assert instances_in(report) == int(said.split()[0])
    assert said in as_text(report)


def test_without_a_loop_in_space_there_is_one_instance_and_no_choice(tmp_path):
    report = run(tmp_path, {**ROWS, "space": "", "time": "M, K, N"})
    assert (instances_in(report), report.chosen) == (1, ())


def test_places_are_bounded(tmp_path):
    report = run(tmp_path, ROWS, **{"timing.places": 7})
    assert report.verification.passed
    assert report.chosen == ("7 instances: 40 places of M, more than timing.places",)
    assert instances_in(report) == 7


def test_more_instances_take_less_time(tmp_path):
    cycles = [run(tmp_path, ROWS, **{"timing.places": places}).cycles for places in (1, 4, 40)]
    assert cycles[0] > 3 * cycles[1] > 3 * cycles[2]


def test_a_file_that_binds_no_unit_has_the_widest_level_that_it_binds(tmp_path):
    report = run(tmp_path, ROWS, CHIP)
    assert report.verification.passed
    assert report.chosen == ("3 instances: Tile, the widest level of a bound component",)
    levels = {name.split(".")[1] for name in report.components if "task_end" in name}
    assert levels == {"tile00", "tile01", "tile02"}
    with pytest.raises(ConfigurationError, match=re.escape("it has 3 instances of tile; timing.most is 2")):
        run(tmp_path, ROWS, CHIP, **{"timing.most": 2})


def test_each_stage_says_its_own_instances(tmp_path):
    path = tmp_path / "layers.yaml"
    path.write_text("""\
einsum:
  declaration: {A: [M, K], H: [M], x: [K], Z: [K]}
  expressions: ["H[m] = A[m, k] * x[k]", "Z[k] = A[m, k] * H[m]"]
mapping:
  spacetime: {H: {space: [M], time: [K]}, Z: {space: [K], time: [M]}}
  loop-order: {H: [M, K], Z: [K, M]}
""")
    operands = {"A": "uniform:rows=5,cols=9,nonzeros=30", "x": "uniform:rows=9,cols=1,nonzeros=6"}
    report = fiberscope.simulate(str(path), tensors=operands)
    assert report.verification.passed
    assert report.chosen == ("H: 5 instances: places of M", "Z: 9 instances: places of K")


def test_a_trace_without_an_architecture_has_no_bound_and_says_so(tmp_path, printed):
    path = tmp_path / "own.yaml"
    path.write_text(PRODUCT.format(**ROWS))
    out = printed("model", str(path), SMALL)
    assert "Cycles      no bound: the specification binds no component that takes time" in out
    assert "0 (0 ns)" not in out
    text = printed("check", str(path), SMALL, "-q")
    assert re.search(r"[\d,]+ ns by components, no bound by the trace", text)


FLATTENED = """\
einsum:
  declaration: {A: [K, M], B: [K, N], Z: [M, N]}
  expressions: ["Z[m, n] = A[k, m] * B[k, n]"]
mapping:
  rank-order: {A: [K, M], B: [K, N], Z: [M, N]}
  partitioning:
    Z:
      K: [uniform_shape(4)]
      %s
  loop-order: {Z: [%s]}
  spacetime: {Z: {space: [%s], time: [%s]}}
"""


@pytest.mark.parametrize(
    ("cut", "loops", "said"),
    [
        (
            "(K1, M): [flatten()]\n      K1M: [uniform_occupancy(A.6)]",
            "K1M1, K1M0, K0, N",
            "67 instances: places of K1M1",
        ),
        (
            "M: [uniform_shape(4)]\n      (M0, K0): [flatten()]",
            "K1, M1, M0K0, N",
            "16 instances: places of M0K0",
        ),
    ],
)
def test_pieces_that_are_flattened_have_the_places_of_their_product(tmp_path, cut, loops, said):
    """Of K1M 10 x 40 coordinates in pieces of 6; of M0K0 4 x 4."""
    path = tmp_path / "own.yaml"
    space = said.split()[-1]
    time = ", ".join(loop for loop in loops.split(", ") if loop != space)
    path.write_text(FLATTENED % (cut, loops, space, time))
    run, trace = fiberscope.simulate(str(path), SMALL), fiberscope.model(str(path), SMALL)
    assert run.verification.passed
    assert trace.verification.passed
    assert run.chosen == (said,)
    assert run.operations["multiply"] == trace.operations["multiply"]
    assert run.operations["add"] == trace.operations["add"]
