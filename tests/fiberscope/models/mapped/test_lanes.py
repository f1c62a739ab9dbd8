"""Innermost loops in space run on lanes: the result and the counts stay, and a step takes whole cycles."""

import numpy as np
import pytest
from drawn_flattened import computed, flattening
from drawn_specifications import programs
from drawn_storage import plain
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from mapped_runs import compare, ran
from scipy import sparse

import fiberscope
from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.models.trace.evaluate import Attachment, run
from fiberscope.models.trace.recorder import Recorder

FILL = 20  # cycles
LANES = st.sampled_from([1, 2, 3, 8, 100])
ANYHOW = settings(suppress_health_check=list(HealthCheck))
STATIONARY = """\
einsum:
  declaration: {A: [M, K], B: [K, N], Z: [M, N]}
  expressions: ["Z[m, n] = A[m, k] * B[k, n]"]
mapping:
  rank-order: {A: [M, K], B: [N, K], Z: [N, M]}
  uncompressed: {B: [K]}
  loop-order: {Z: [N, M, K]}
  spacetime: {Z: {space: [M, K], time: [N]}}
"""


class Bodies(Recorder):
    """Iterations of a loop, one for each body of the innermost loop."""

    def __init__(self, evict_level):
        super().__init__(1, 1, evict_level)
        self.iterations = []

    def touch(self, fiber, position, write, group):
        self.iterations.append(group)
        return 0


def steps_of_the_trace(program, vectors):
    """Bodies of each step that has any, and of all steps; a read of an empty fiber looks like a body."""
    specification, trees = program
    recorders = []

    def observe(prepared):
        loops = prepared.einsum.loop_order
        level = prepared.levels[loops[-vectors - 1]] if vectors < len(loops) else 0
        tensor = next(name for name, tree in prepared.trees.items() if loops[-1] in tree.names)
        recorders.append(Bodies(level))
        return [Attachment(tensor, loops[-1], "payload", recorders[-1])]

    outcome = run(specification, trees, observe)
    _steps, bodies = np.unique(recorders[0].iterations, return_counts=True)
    return bodies, outcome.runs[-1].bodies[specification.einsums[-1].loop_order[-1]]


def lane_blocks(machine):
    return [block for block in machine.kernel.components if block.name.endswith(".lanes")]


@ANYHOW
@given(programs() | programs(nested=True) | programs(led=True) | flattening() | computed(), LANES)
def test_lanes_change_neither_the_result_nor_the_counts(program, lanes):
    try:
        machine, _cycles = ran(program, lanes=lanes)
    except ConfigurationError:
        return
    compare(program, machine)


@ANYHOW
@given(programs(), LANES)
def test_a_step_takes_whole_cycles_of_its_elements(program, lanes):
    """The trace tells the steps; those without an element are counted by the machine.

    Of what is visited whole the machine passes over more than the trace.
    """
    program = plain(program[0]), program[1]
    try:
        machine, cycles = ran(program, lanes=lanes)
    except ConfigurationError:
        return
    (stage,) = (built.stage for built in machine.stages)
    (einsum,) = program[0].einsums
    if not stage.lanes or len(einsum.spacetime.space) > stage.vectors:
        assert not stage.lanes or stage.lanes == lanes
        return
    (block,) = lane_blocks(machine)
    assume(all(tree.nonzeros for tree in program[1].values()))  # an empty tensor is read once
    bodies, total = steps_of_the_trace(program, stage.vectors)
    assert block.elements == total
    assume(bodies.sum() == total)
    wanted = (-(-bodies // stage.lanes)).sum()
    assert wanted <= cycles <= wanted + block.steps - len(bodies) + FILL


def product(seed, rows, density):
    generator = np.random.default_rng(seed)
    first = sparse.random_array((rows, rows), density=density, rng=generator, format="csr")
    return first, sparse.csr_array(generator.random((rows, rows)))


@pytest.mark.parametrize(
    ("lanes", "wanted"), [(1, 60 * 300), (16, 60 * 19), (128, 60 * 3), (300, 60), (1024, 60)]
)
def test_a_stationary_matrix_of_300_elements_takes_60_steps(tmp_path, lanes, wanted):
    path = tmp_path / "stationary.yaml"
    path.write_text(STATIONARY)
    a, b = product(0, 60, 1 / 12)
    assert a.nnz == 300
    ideal = {"timing.memory": "ideal", "timing.lanes": lanes}
    report = fiberscope.simulate(str(path), a, b, settings=ideal)
    assert report.verification.passed
    assert report.operations == {"multiply": 60 * 300, "add": 60 * (300 - len(np.unique(a.nonzero()[0])))}
    assert wanted <= report.cycles <= wanted + FILL


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("pieces", ["uniform_shape(7)", "uniform_occupancy(A.5)"])
def test_pieces_are_steps_of_their_own(tmp_path, seed, pieces):
    """A row of A and a column of B meet in pieces of K, each of which is a step."""
    text = STATIONARY.replace("  uncompressed: {B: [K]}\n", f"  partitioning: {{Z: {{K: ['{pieces}']}}}}\n")
    text = text.replace("[N, M, K]", "[M, K1, N, K0]").replace("space: [M, K]", "space: [K0]")
    path = tmp_path / "pieces.yaml"
    path.write_text(text.replace("time: [N]", "time: [M, K1, N]").replace("B: [N, K]", "B: [K, N]"))
    a, b = product(seed, 20 + seed, 0.3)
    lanes = 1 + seed
    ideal = {"timing.memory": "ideal", "timing.lanes": lanes}
    report = fiberscope.simulate(str(path), a, b, settings=ideal)
    if pieces.startswith("uniform_shape"):
        lengths = [((a.indices[a.indptr[m] : a.indptr[m + 1]]) // 7) for m in range(a.shape[0])]
        sizes = np.concatenate([np.unique(row, return_counts=True)[1] for row in lengths])
    else:
        sizes = np.concatenate([[5] * (row // 5) + [row % 5] for row in np.diff(a.indptr)])
    wanted = int((-(-sizes // lanes)).sum()) * b.shape[1]
    assert report.verification.passed
    assert wanted <= report.cycles <= wanted + FILL


REGISTERS = """
format:
  A: {rows: {rank-order: [M, K], M: {pbits: 32}, K: {cbits: 16, pbits: 16}}}
architecture:
  Chip:
    - name: Chip
      attributes: {clock_frequency: 1 GHz}
      local: [{name: Memory, class: DRAM, attributes: {bandwidth: 512 GB/s}}]
      subtree:
        - name: PE[2]
          local:
            - {name: Registers, class: Buffet, attributes: {width: 64}}
            - {name: Multiplier, class: Compute, attributes: {type: mul}}
bindings:
  Z:
    - config: Chip
    - component: Memory
      bindings: [{tensor: A, rank: K, type: payload, format: rows}]
    - component: Registers
      bindings: [{tensor: A, rank: K, type: payload, format: rows, evict-on: root}]
    - {component: Multiplier, bindings: [{op: mul}]}
"""


@pytest.mark.parametrize(
    ("said", "lanes"), [("", 8), ("timing: {PE: {lanes: 3}}\n", 6), ("timing: {lanes: 30}\n", 60)]
)
def test_a_register_file_says_how_many_lanes_there_are(tmp_path, said, lanes):
    """Its line of 64 bits has four values of 16, and there are two of them; the section timing is first."""
    path = tmp_path / "registers.yaml"
    path.write_text(said + STATIONARY + REGISTERS)
    a, b = product(1, 40, 0.1)
    ideal = fiberscope.simulate(str(path), a, b, settings={"timing.memory": "ideal"})
    wanted = 40 * -(-a.nnz // lanes)
    assert wanted <= ideal.cycles <= wanted + FILL
    report = fiberscope.simulate(str(path), a, b)
    assert report.verification.passed
    assert report.operations == ideal.operations
    assert report.cycles >= ideal.cycles
    lines = np.ceil(np.diff(a.indptr) / 4).sum() * 8
    assert lines <= report.traffic["A"].read_bytes <= lines + 64


def steps_of_sigma(a, b, lanes, slice_k=128):
    """Cycles of all steps of SIGMA: for each slice of k and column of B the fold's elements on lanes."""
    total = 0
    for first in range(0, a.shape[1], slice_k):
        fold = a[:, first : first + slice_k].nnz
        columns = len(np.unique(b[first : first + slice_k].nonzero()[1]))
        total += columns * -(-fold // lanes) if fold else 0
    return total


@pytest.mark.parametrize(("lanes", "seed"), [(128, 0), (1, 1), (0, 2)])
def test_a_step_of_sigma_takes_the_elements_of_its_fold(lanes, seed):
    """Elements that meet a zero of the column occupy their multipliers, too; 0: as the register files say."""
    a, _full = product(seed, 300, 0.01)
    b, _full = product(seed + 9, 300, 0.01)
    ideal = {"timing.memory": "ideal", "timing.lanes": lanes}
    report = fiberscope.simulate("spec:sigma", a, b, settings=ideal)
    wanted = steps_of_sigma(a, b, 128 * (lanes or 128))
    assert report.verification.passed
    assert wanted <= report.cycles <= wanted + FILL


def test_a_store_with_a_bandwidth_is_the_memory_of_a_machine_without_dram():
    """Each element of A comes once, and of B each column of a slice: 128 words. Z is bound to no store."""
    a, _full = product(1, 200, 0.02)
    report = fiberscope.simulate("spec:sigma", a, a)
    assert report.verification.passed
    columns = sum(len(np.unique(a[first : first + 128].nonzero()[1])) for first in (0, 128))
    assert report.traffic["B"].read_bytes == 4 * 128 * columns
    assert 4 * a.nnz <= report.traffic["A"].read_bytes <= 4 * a.nnz + 2 * 512
    assert report.memory.peak_bytes_per_second == pytest.approx(960 * 2**30, rel=0.01)
    assert list(report.unmoved) == ["Z"]
