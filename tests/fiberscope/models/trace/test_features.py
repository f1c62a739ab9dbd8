"""Convolutions cut with halos, functions of a file's own, tensors without ranks: against dense arrays."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import signal, sparse

import fiberscope
from fiberscope.base.errors import InputError
from fiberscope.models.trace.evaluate import Attachment, run
from fiberscope.models.trace.load import load
from fiberscope.models.trace.model import Model
from fiberscope.models.trace.recorder import EagerBuffet
from fiberscope.models.trace.storage import count_lines_below
from fiberscope.workloads import WorkloadError
from fiberscope.workloads.fibertree import FiberTree

CHIP = """\
architecture:
  Chip:
    - name: Chip
      attributes: {clock_frequency: 1 GHz}
      local:
        - {name: Memory, class: DRAM, attributes: {bandwidth: 16 GB/s}}
        - {name: Buffer, class: Buffet, attributes: {width: 64}}
        - {name: Multiplier, class: Compute, attributes: {type: mul}}
bindings:
  O:
    - config: Chip
    - {component: Multiplier, bindings: [{op: mul}]}
"""
LINE = """\
einsum:
  declaration: {I: [W], F: [S], O: [Q]}
  expressions: ["O[q] = I[q + s] * F[s]"]
mapping:
  partitioning: {O: {Q: [CUT], W: [follow(Q)]}}
  loop-order: {O: [Q1, Q0, S]}
format:
  I: {default: {rank-order: [W1, W0], W0: {cbits: 32, pbits: 64}}}
"""
HELD = """\
    - {component: Memory, bindings: [{tensor: I, rank: W0, type: payload, format: default}]}
    - component: Buffer
      bindings: [{tensor: I, rank: W0, type: payload, format: default, evict-on: Q1}]
"""
PLANE = """\
einsum:
  declaration: {I: [H, W], F: [R, S], O: [P, Q]}
  expressions: ["O[p, q] = I[p + r, q + s] * F[r, s]"]
mapping:
  partitioning:
    O:
      P: [uniform_shape(6), uniform_shape(2)]
      Q: [nway_shape(3)]
      H: [follow(P)]
      W: [follow(Q)]
  loop-order: {O: [Q1, P2, P1, P0, R, Q0, S]}
"""


def tree(names, array):
    """The nonzeros of a dense array."""
    points = np.nonzero(array)
    return FiberTree.from_coo(dict(zip(names, array.shape, strict=True)), points, array[points])


def dense(found):
    array = np.zeros([rank.shape for rank in found.ranks])
    array[tuple(found.columns())] = found.values
    return array


def numbers(draw, shape):
    """A dense array of small whole numbers, most of them 0 or few."""
    values = draw(st.lists(st.sampled_from((0, 0, 1, 2, -3)), min_size=1, max_size=7))
    return np.resize(np.array(values, float), shape)


def measured(specification, tensors):
    model = Model(specification)
    outcome = run(specification, tensors, model.observe)
    assert outcome.wrong is None
    return dense(outcome.tensors["O"]), model.metrics(outcome)["O"]


@pytest.fixture(scope="module")
def line(tmp_path_factory):
    """By directive, the convolution of one rank that is cut by it."""
    folder, known = tmp_path_factory.mktemp("line"), {}

    def of(cut):
        if cut not in known:
            (folder / "line.yaml").write_text(LINE.replace("CUT", cut) + CHIP + HELD)
            known[cut] = load(str(folder / "line.yaml"), {})
        return known[cut]

    return of


@given(st.data())
def test_a_convolution_reads_each_piece_with_its_halo(line, data):
    taps = data.draw(st.integers(1, 4))
    outputs, count = data.draw(st.integers(1, 30)), data.draw(st.integers(1, 9))
    ways = data.draw(st.booleans())
    size = -(-outputs // count) if ways else count
    image, filtered = (numbers(data.draw, length) for length in (outputs + taps - 1, taps))
    tensors = {"I": tree("W", image), "F": tree("S", filtered)}
    specification = line(f"{'nway' if ways else 'uniform'}_shape({count})")
    found, counted = measured(specification, tensors)
    products = [
        (q, q + s) for q in range(outputs) for s in range(taps) if image[q + s] != 0 and filtered[s] != 0
    ]
    assert np.array_equal(found, np.correlate(image, filtered, "valid"))
    assert counted["Multiplier"]["mul"] == len(products)
    read = 64 * len({(q // size, w) for q, w in products})  # an element once a piece
    assert counted.get("Memory", {"I": {"read": 0}})["I"]["read"] == read


@settings(max_examples=15)
@given(st.data())
def test_a_convolution_of_two_ranks_cut_with_halos(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "plane.yaml"
    path.write_text(PLANE + CHIP)
    shape = data.draw(st.integers(1, 14)), data.draw(st.integers(1, 14))
    taps = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3))
    image = numbers(data.draw, (shape[0] + taps[0] - 1, shape[1] + taps[1] - 1))
    filtered = numbers(data.draw, taps)
    tensors = {"I": tree("HW", image), "F": tree("RS", filtered)}
    found, counted = measured(load(str(path), {}), tensors)
    assert np.array_equal(found, signal.correlate(image, filtered, "valid", "direct"))
    there = signal.correlate((image != 0) * 1.0, (filtered != 0) * 1.0, "valid", "direct")
    assert counted["Multiplier"]["mul"] == there.sum()


OWN = """\
einsum:
  declaration: {A: [I], B: [I], O: [I]}
  expressions: ["O[i] = relu(A[i] - B[i])"]
  functions: {"twice(x)": "2 * x", "relu(x)": "max(twice(x), 0)"}
"""


def test_functions_of_the_file_s_own(tmp_path):
    (tmp_path / "own.yaml").write_text(OWN)
    a, b = np.array([0.0, 1, 2, 3, 0]), np.array([0.0, 4, 1, 0, 2])
    outcome = run(load(str(tmp_path / "own.yaml"), {}), {"A": tree("I", a), "B": tree("I", b)})
    assert outcome.wrong is None
    assert np.array_equal(dense(outcome.tensors["O"]), np.maximum(2 * (a - b), 0))


SCALARS = """\
einsum:
  declaration: {A: [I], F: [], S: [], O: [I]}
  expressions: ["S[] = A[i] * A[i]", "O[i] = F[] * S[] * A[i]"]
"""


def scaled(path, factor):
    path.write_text(SCALARS)
    tensors = {"A": sparse.csr_array([[0.0, 1, 2]]), "F": sparse.csr_array(factor)}
    return fiberscope.model(str(path), tensors=tensors)


def test_tensors_without_ranks_are_read(tmp_path):
    made = scaled(tmp_path / "scalars.yaml", [[3.0]])
    assert made.operations["multiply"] == 2 + 2 * 2
    specification = load(str(tmp_path / "scalars.yaml"), {})
    three = FiberTree((), (), (), np.array([3.0]))
    outcome = run(specification, {"A": tree("I", np.array([0.0, 1, 2])), "F": three})
    assert outcome.wrong is None
    assert dense(outcome.tensors["O"]).tolist() == [0, 15, 30]


def test_a_specification_that_reads_no_tensor_is_refused(tmp_path, refusal):
    path = tmp_path / "constant.yaml"
    path.write_text('einsum: {declaration: {A: []}, expressions: ["A[] = b"]}\n')
    for command in ("model", "sim"):
        refusal(command, str(path), "b=2")
    with pytest.raises(InputError, match=r"constant\.yaml reads no tensor, so there is nothing to count"):
        fiberscope.model(str(path), settings={"b": 2})


def test_a_tensor_without_ranks_is_one_number(tmp_path):
    with pytest.raises(WorkloadError, match="F: a single number is asked for, and F is 1 x 2"):
        scaled(tmp_path / "scalars.yaml", [[3.0, 1.0]])


@pytest.mark.parametrize("operation", ["+", "*"])
@pytest.mark.parametrize("root", ["M", "K", "N"])
@given(st.integers(0, 2**32))
@settings(max_examples=20)
def test_an_eager_buffet_reads_only_subtrees_that_are_there(tmp_path_factory, operation, root, seed) -> None:
    """Where B alone has a row, the loops inside run without A, and read nothing of it."""
    draw = np.random.default_rng(seed)
    a, b = (draw.random((4, 3, 5)) < draw.random() for _ in range(2))
    a[0, 0, 0] = b[3, 2, 4] = True  # a factor without elements is begun all the same
    path = tmp_path_factory.mktemp("eager") / "two.yaml"
    path.write_text(
        "einsum:\n  declaration: {A: [M, K, N], B: [M, K, N], Z: [M, K, N]}\n"
        f'  expressions: ["Z[m, k, n] = A[m, k, n] {operation} B[m, k, n]"]\n'
        "mapping:\n  loop-order: {Z: [M, K, N]}\n"
    )
    tree_a, depth = tree("MKN", a), "MKN".index(root)
    buffet = EagerBuffet(count_lines_below(tree_a, root, "N", 2), depth)  # empty in each iteration outside
    run(
        load(str(path)),
        {"A": tree_a, "B": tree("MKN", b)},
        lambda _prepared: [Attachment("A", "N", "payload", buffet, root)],
    )
    # A subtree is read when both or either have something at the point above it
    met = b.any(axis=tuple(range(depth, 3))) if operation == "*" else np.ones(a.shape[:depth], bool)
    lines = np.ceil(a.sum(axis=2) / 2) * met.reshape(*met.shape, *[1] * (2 - depth))
    assert buffet.lines_read == lines.sum()


@pytest.mark.parametrize("part", ["M", "K", "N"])
@pytest.mark.parametrize("steps", ["(M, K)|(MK, N)", "(K, N)|(M, KN)", "(M, K, N)"])
def test_a_flattened_rank_may_be_flattened_again(tmp_path, steps: str, part: str) -> None:
    """The loop computes the coordinates of all parts, for the operand and for the result."""
    draw = np.random.default_rng(5)
    a, b = (draw.random((4, 3, 5)) < 0.4).astype(float), draw.random({"M": 4, "K": 3, "N": 5}[part])
    index, order = part.lower(), "".join(name for name in "MKN" if name != part)
    flatten = "\n".join(f"      {step}: [flatten()]" for step in steps.split("|"))
    path = tmp_path / "flat.yaml"
    path.write_text(
        f"einsum:\n  declaration: {{A: [M, K, N], B: [{part}], Z: [{', '.join(order)}]}}\n"
        f'  expressions: ["Z[{", ".join(order.lower())}] = A[m, k, n] * B[{index}]"]\n'
        f"mapping:\n  partitioning:\n    Z:\n{flatten}\n  loop-order: {{Z: [MKN]}}\n"
    )
    trees = {"A": tree("MKN", a), "B": tree(part, b)}
    expected = np.einsum(f"mkn,{index}->{order.lower()}", a, b)
    assert np.allclose(dense(run(load(str(path)), trees).tensors["Z"]), expected)


@pytest.mark.parametrize("inner", ["nway_shape(1)", "uniform_occupancy(A.2)"])
@pytest.mark.parametrize("outer", ["nway_shape(1)", "uniform_shape(2)", "uniform_occupancy(A.3)"])
@pytest.mark.parametrize("loops", ["J2 I1 J1 I0 J0", "J2 J1 I1 I0 J0", "I1 J2 J1 I0 J0", "J2 I1 I0 J1 J0"])
def test_a_cut_by_occupancy_is_of_the_fibers_in_outer_loops(
    tmp_path, loops: str, outer: str, inner: str
) -> None:
    """Also where a larger piece of the rank is the outermost loop, and the rank between them is cut too."""
    path = tmp_path / "cut.yaml"
    path.write_text(
        "einsum:\n  declaration: {A: [I, J], B: [J], Z: [I]}\n"
        '  expressions: ["Z[i] = A[i, j] * B[j]"]\n'
        "mapping:\n  partitioning:\n    Z:\n"
        f"      I: [{inner}]\n      J: [{outer}, uniform_occupancy(A.2)]\n"
        f"  loop-order: {{Z: [{', '.join(loops.split())}]}}\n"
    )
    for seed in range(5):
        generator = np.random.default_rng(seed)
        a, b = (generator.random((4, 6)) < 0.5).astype(float), generator.random(6)
        trees = {"A": tree("IJ", a), "B": tree("J", b)}
        assert np.allclose(dense(run(load(str(path)), trees).tensors["Z"]), a @ b)
