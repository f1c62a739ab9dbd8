"""Where all but one component cost nothing, a machine takes the time that the trace says of that one."""

import numpy as np
import pytest
from scipy import sparse

import fiberscope

PARTS = """
architecture:
  Chip:
    - name: Chip
      attributes: {clock_frequency: 1 GHz}
      local:
        - {name: DRAM, class: DRAM, attributes: {bandwidth: 8000000000}}
      subtree:
        - name: PE[${PES}]
          local:
            - {name: Multiplier, class: Compute, attributes: {type: mul}}
            - {name: Intersect, class: Intersector, attributes: {type: two-finger}}
            - {name: Buffer, class: Buffet, attributes: {width: 64}}
            - name: Merger
              class: Merger
              attributes:
                inputs: ${RADIX}
                comparator_radix: ${RADIX}
                order: fifo
                reduce: false
"""
PRODUCTS_OF_ROWS = """
symbols: {PES: 1, RADIX: 2}
einsum:
  declaration: {A: [M, K], x: [K], Z: [M]}
  expressions: ["Z[m] = A[m, k] * x[k]"]
mapping:
  rank-order: {A: [M, K], x: [K], Z: [M]}
  uncompressed: {x: [K]}
  loop-order: {Z: [M, K]}
  spacetime: {Z: {space: [M], time: [K]}}
bindings:
  Z:
    - config: Chip
    - {component: Multiplier, bindings: [{op: mul}]}
"""
READ = """
format:
  A:
    default:
      rank-order: [M, K]
      M: {format: C, cbits: 32, pbits: 32}
      K: {format: C, cbits: 32, pbits: 64}
"""
READ_BINDINGS = """
    - component: DRAM
      bindings:
        - {tensor: A, rank: M, type: payload, format: default}
        - {tensor: A, rank: K, type: coord, format: default}
        - {tensor: A, rank: K, type: payload, format: default}
    - component: Buffer
      bindings:
        - {tensor: A, rank: M, type: payload, format: default, evict-on: root}
        - {tensor: A, rank: K, type: coord, format: default, evict-on: M}
        - {tensor: A, rank: K, type: payload, format: default, evict-on: M}
"""
INTERSECTIONS = PRODUCTS_OF_ROWS.replace("  uncompressed: {x: [K]}\n", "").replace(
    "    - {component: Multiplier, bindings: [{op: mul}]}",
    "    - {component: Intersect, bindings: [{rank: K}]}",
)
MERGES = """
symbols: {PES: 1, RADIX: 2}
einsum:
  declaration: {A: [M, K], B: [K, N], T: [M, K, N], Z: [M, N]}
  expressions: ["T[m, k, n] = take(A[m, k], B[k, n], 1)", "Z[m, n] = T[m, k, n] * A[m, k]"]
mapping:
  rank-order: {A: [M, K], B: [K, N], T: [M, K, N], Z: [M, N]}
  loop-order: {T: [M, K, N], Z: [M, N, K]}
  spacetime: {T: {space: [M], time: [K, N]}, Z: {space: [M], time: [N, K]}}
bindings:
  T: [{config: Chip}]
  Z:
    - config: Chip
    - component: Merger
      bindings: [{tensor: T, init-ranks: [M, K, N], final-ranks: [M, N, K]}]
"""


def close(cycles, wanted):
    """Within 2 % and 200 cycles, which it takes to begin and to end."""
    return abs(cycles - wanted) <= 0.02 * wanted + 200


def matrix(seed, rows, columns, density):
    """A matrix without an empty row."""
    drawn = np.random.default_rng(seed).random((rows, columns))
    drawn[:, 0] = 0.5
    drawn[:, 1:] *= drawn[:, 1:] < density
    return sparse.csr_array(drawn)


def ones(size):
    """A full vector."""
    return sparse.csr_array(np.ones((size, 1)))


STORES = (".points", ".fibers")  # blocks behind a merger that store partial fibers


def check_partial_fibers(components):
    """Each element of a partial fiber that is stored goes through the merger again, once."""
    stored = [part.counters["stored"] for name, part in components.items() if name.endswith(STORES)]
    sent_again = [part.counters["partial"] for name, part in components.items() if name.endswith(".ways")]
    assert sum(stored) == sum(sent_again)


def machine_and_trace(tmp_path, text, settings, *, reduces=False, **tensors):
    """Cycles, and seconds by component of the trace."""
    path = tmp_path / "machine.yaml"
    path.write_text(text + PARTS.replace("reduce: false", f"reduce: {str(reduces).lower()}"))
    run = fiberscope.simulate(str(path), tensors=tensors, settings={**settings, "timing.dispatch": "static"})
    told = fiberscope.model(str(path), tensors=tensors, settings=settings).teaal.by_einsum["Z"]
    check_partial_fibers(run.components)
    return run.cycles, {name: 1e9 * one["time"] for name, one in told.items()}


@pytest.mark.parametrize("seed", range(4))
def test_the_time_of_a_multiplier_is_its_multiplications(tmp_path, seed):
    a = matrix(seed, 2 + 5 * seed, 500, 0.9)
    cycles, told = machine_and_trace(tmp_path, PRODUCTS_OF_ROWS, {}, A=a, x=ones(500))
    assert told["Multiplier"] == pytest.approx(a.nnz)
    assert close(cycles, told["Multiplier"])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("count", [2, 5])
def test_several_take_the_time_of_the_one_with_the_most(tmp_path, seed, count):
    a = matrix(seed, 3 + 5 * seed, 700, 0.5 + seed / 8)
    cycles, _told = machine_and_trace(tmp_path, PRODUCTS_OF_ROWS, {"PES": count}, A=a, x=ones(700))
    lengths = np.diff(a.indptr)
    assert close(cycles, max(lengths[first::count].sum() for first in range(count)))


ELEMENTS = {  # by what their tasks, of an element, compute
    "product": ("A: [M], B: [M], Z: [M]", "Z[m] = A[m] * B[m]", "[M]", "[M]"),
    "sum": ("A: [M], B: [M], Z: [M]", "Z[m] = 2 * A[m] + B[m]", "[M]", "[M]"),
    "sum of tasks": ("A: [M], B: [M], Z: []", "Z[] = A[m] * B[m]", "[M]", "[M]"),
    "two loops": ("A: [M, K], B: [K], Z: [M]", "Z[m] = A[m, k] * B[k]", "[K, M]", "[K, M]"),
}
ELEMENT_TASKS = """
einsum:
  declaration: {%s}
  expressions: ["%s"]
mapping:
  loop-order: {Z: %s}
  spacetime: {Z: {space: %s, time: []}}
bindings:
  Z: [{config: Chip}, {component: Multiplier, bindings: [{op: mul}]}]
"""
ENOUGH = {"timing.walk": 64, "timing.tasks": 64, "timing.sums": 16}


@pytest.mark.parametrize("count", [1, 3, 8])
@pytest.mark.parametrize("kind", ELEMENTS)
def test_tasks_of_an_element_take_a_cycle_each(tmp_path, kind, count):
    """Of the instance with the most, and a few cycles to begin and to end."""
    path = tmp_path / "machine.yaml"
    path.write_text("symbols: {PES: 1, RADIX: 2}" + ELEMENT_TASKS % ELEMENTS[kind] + PARTS)
    tensors = {"A": matrix(count, 40, 40, 0.3) if kind == "two loops" else ones(400)}
    tensors["B"] = ones(40) if kind == "two loops" else ones(400)
    run = fiberscope.simulate(str(path), tensors=tensors, settings={"PES": count, **ENOUGH})
    assert run.verification.passed
    tasks = tensors["A"].nnz
    assert -(-tasks // count) <= run.cycles <= tasks / count + 40


@pytest.mark.parametrize("count", [3, 8])
@pytest.mark.parametrize("seed", range(2))
def test_tasks_by_coordinate_take_the_time_of_the_instance_with_the_most(tmp_path, seed, count):
    """Coordinates c of instance c mod n, of a vector with elements at some of them."""
    path = tmp_path / "machine.yaml"
    path.write_text("symbols: {PES: 1, RADIX: 2}" + ELEMENT_TASKS % ELEMENTS["product"] + PARTS)
    present = np.random.default_rng(seed).random(900) < np.linspace(0.2, 1, count)[np.arange(900) % count]
    a = sparse.csr_array(present[:, None].astype(float))
    settings = {"PES": count, **ENOUGH, "timing.tasks": 1000, "timing.dispatch": "coordinate"}
    run = fiberscope.simulate(str(path), tensors={"A": a, "B": ones(900)}, settings=settings)
    most = np.bincount(np.flatnonzero(present) % count).max()
    assert most <= run.cycles <= most + 40
    assert run.verification.passed


@pytest.mark.parametrize("count", [1, 3, 8])
def test_what_tasks_read_by_coordinate_lies_in_banks_of_whole_requests(tmp_path, count):
    """Elements of 8 bytes: of 100 coordinates each instance reads its own, in requests of 64 bytes."""
    stored = "format: {A: {one: {rank-order: [M], M: {format: U, pbits: 64}}}}\n"
    bound = """\
    - {component: DRAM, bindings: [{tensor: A, rank: M, type: payload, format: one}]}
    - {component: Buffer, bindings: [{tensor: A, rank: M, type: payload, format: one, evict-on: root}]}
"""
    text = ELEMENT_TASKS % ELEMENTS["product"]
    text = text.replace("Z: [{config: Chip}, ", "Z:\n    - {config: Chip}\n    - ").replace("]}]\n", "]}\n")
    path = tmp_path / "machine.yaml"
    path.write_text("symbols: {PES: 1, RADIX: 2}" + text + bound + stored + PARTS)
    read = {}
    for dispatch in ("coordinate", "static"):
        settings = {"PES": count, "timing.dispatch": dispatch}
        run = fiberscope.simulate(str(path), tensors={"A": ones(100), "B": ones(100)}, settings=settings)
        assert run.verification.passed
        read[dispatch] = run.traffic["A"].read_bytes
    own = [len(range(bank, 100, count)) for bank in range(count)]
    assert read["coordinate"] == sum(-(-coordinates // 8) for coordinates in own) * 64
    fetched = {(place % count, place // 8) for place in range(100)}  # lines, by instance
    assert read["static"] == len(fetched) * 64


@pytest.mark.parametrize("seed", range(4))
def test_the_time_of_an_intersector_is_its_steps(tmp_path, seed):
    a, x = matrix(seed, 1 + seed, 2000, 0.3), matrix(seed + 9, 1, 2000, 0.4)
    cycles, told = machine_and_trace(tmp_path, INTERSECTIONS, {}, A=a, x=sparse.csr_array(x.T))
    assert told["Intersect"] > a.nnz
    assert close(cycles, told["Intersect"])


@pytest.mark.parametrize("reduces", [False, True])
@pytest.mark.parametrize("radix", [2, 4, 8])
@pytest.mark.parametrize("seed", range(3))
def test_the_time_of_a_merger_is_the_elements_that_pass_it(tmp_path, seed, radix, reduces):
    """The trace has a step for each list too; rounds of what has been added up are shorter."""
    a, b = matrix(seed, 1 + seed, 8, 0.9), matrix(seed + 9, 8, 300, 0.9)
    cycles, told = machine_and_trace(tmp_path, MERGES, {"RADIX": radix}, A=a, B=b, reduces=reduces)
    rounds = {2: 3, 4: 2, 8: 1}[radix]
    products = (a != 0).astype(int).dot((b != 0).astype(int)).sum()
    assert products <= told["Merger"] - a.nnz <= products * (1 + (rounds - 1) / (1 + reduces)) + a.nnz
    assert close(cycles, told["Merger"] - rounds * a.nnz)


@pytest.mark.parametrize(("seed", "count"), [(0, 1), (1, 1), (2, 3), (3, 3)])
def test_the_time_of_a_memory_is_that_of_its_bits(tmp_path, seed, count):
    """A byte a cycle; the last lines are on their way for 60 ns."""
    text = READ + PRODUCTS_OF_ROWS + READ_BINDINGS.lstrip("\n")
    a = matrix(seed, 30, 400, 0.2 + seed / 8)
    given = {"PES": count}
    path = tmp_path / "machine.yaml"
    path.write_text(text + PARTS)
    tensors = {"A": a, "x": ones(400)}
    enough = {"timing.ahead": 64, "timing.window": 64, "timing.tasks": 16}  # to hide how long each line takes
    settings = {**given, **enough, "timing.dispatch": "static", "timing.line": "0 B"}
    run = fiberscope.simulate(str(path), tensors=tensors, settings=settings)
    told = fiberscope.model(str(path), tensors=tensors, settings={**given, "instances": True})
    assert run.traffic["A"].read_bytes == told.traffic["A"].read_bytes
    assert close(run.cycles, run.traffic["A"].read_bytes)
