"""A tensor that is appended to linked lists: nodes and heads move, and lists are walked node by node."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fiberscope
from fiberscope.models.from_spec.arrays import Rows, build_array, build_linked_array, number_nodes
from fiberscope.models.graphs.formats import Format
from fiberscope.models.graphs.storage import store
from fiberscope.workloads.tensor import SparseTensor

# Two matrices as outer products: rows of T are lists of products, one node for each k.
LISTS = """\
symbols: {PES: 3}
einsum:
  declaration: {A: [K, M], B: [K, N], T: [K, M, N], Z: [M, N]}
  expressions: ["T[k, m, n] = A[k, m] * B[k, n]", "Z[m, n] = T[k, m, n]"]
mapping:
  rank-order: {T: [M, K, N]}
  loop-order: {T: [K, M, N], Z: [M, K, N]}
  spacetime: {T: {space: [LOOP], time: [TIME]}, Z: {space: [M], time: [K, N]}}
format:
  T:
    lists:
      rank-order: [M, K, N]
      M: {format: U, pbits: 64}
      K: {format: L, layout: interleaved, cbits: 32, pbits: 32}
      N: {layout: interleaved, cbits: 32, pbits: 32}
architecture:
  Chip:
    - name: Chip
      attributes: {clock_frequency: 1 GHz}
      local:
        - {name: Memory, class: DRAM, attributes: {bandwidth: 16 GB/s}}
      subtree:
        - name: PE[${PES}]
          local:
            - {name: Buffer, class: Buffet, attributes: {width: 64}}
            - {name: Multiplier, class: Compute, attributes: {type: mul}}
            - {name: Adder, class: Compute, attributes: {type: add}}
bindings:
  T:
    - config: Chip
    - component: Memory
      bindings:
        - {tensor: T, rank: M, type: payload, format: lists}
        - {tensor: T, rank: K, type: elem, format: lists}
        - {tensor: T, rank: N, type: elem, format: lists}
    - component: Buffer
      bindings:
        - {tensor: T, rank: M, type: payload, format: lists, evict-on: M}
        - {tensor: T, rank: K, type: elem, format: lists, evict-on: M}
        - {tensor: T, rank: N, type: elem, format: lists, evict-on: M}
    - {component: Multiplier, bindings: [{op: mul}]}
  Z:
    - config: Chip
    - component: Memory
      bindings:
        - {tensor: T, rank: M, type: payload, format: lists}
        - {tensor: T, rank: K, type: elem, format: lists}
        - {tensor: T, rank: N, type: elem, format: lists}
    - component: Buffer
      bindings:
        - {tensor: T, rank: M, type: payload, format: lists, evict-on: M}
        - {tensor: T, rank: K, type: elem, format: lists, evict-on: M}
        - {tensor: T, rank: N, type: elem, format: lists, evict-on: M}
    - {component: Adder, bindings: [{op: add}]}
"""
OF_TASKS = LISTS.replace("[LOOP]", "[M]").replace("[TIME]", "[K, N]")  # a task makes one node
OF_COLUMNS = LISTS.replace("[LOOP]", "[K]").replace("[TIME]", "[M, N]")  # a task makes the nodes of one k
EXACT = {"timing.line": "0 B", "timing.dispatch": "static"}
WORD = 8  # bytes of a head, of a header and of an element
# K x M and K x N: column 1 of A has two elements, so T has nodes (m, k): (0, 0), (0, 1), (1, 1)
A, B = np.array([[1.0, 0], [2, 3]]), np.array([[1.0, 1, 0], [0, 1, 1]])


def file_of(folder, text):
    path = folder / "lists.yaml"
    path.write_text(text)
    return str(path)


def run_of(folder, text, a, b, **changed):
    """The run of a file on two matrices of K x M and K x N."""
    return fiberscope.simulate(file_of(folder, text), tensors={"A": a, "B": b}, settings=EXACT | changed)


def matrices(seed, shape):
    draws = np.random.default_rng(seed)
    return [
        np.where(draws.random(size) < 0.4, draws.integers(1, 9, size), 0).astype(float)
        for size in (shape, shape)
    ]


@pytest.mark.parametrize("text", [OF_TASKS, OF_COLUMNS])
def test_nodes_links_and_heads_are_counted_one_by_one(text, tmp_path):
    """Three nodes of two products each: an exchange reads and writes a head."""
    run = run_of(tmp_path, text, A, B)
    assert run.verification.passed
    written, heads_read = 3 * (1 + 1 + 2), 3  # head, header, products
    read = 2 + 3 + 6  # a head for each row of Z, headers and products
    assert run.traffic["T"].write_bytes == WORD * written
    assert run.traffic["T"].read_bytes == WORD * (heads_read + read)
    assert "T" not in run.unmoved


@settings(max_examples=15, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 99), shape=st.tuples(st.integers(1, 8), st.integers(1, 8)), columns=st.booleans())
def test_the_bytes_of_lists_are_those_of_the_trace(tmp_path, seed, shape, columns):
    a, b = matrices(seed, shape)
    text = OF_COLUMNS if columns else OF_TASKS
    run = run_of(tmp_path, text, a, b)
    file, every_instance = file_of(tmp_path, text), {"instances": True}
    counted = fiberscope.model(file, tensors={"A": a, "B": b}, settings=every_instance)
    assert run.verification.passed
    measured, expected = (report.traffic.get("T") for report in (run, counted))
    assert (measured is None) == (not (a.T @ b).any()) or expected.write_bytes == 0
    if measured is not None:
        assert (measured.read_bytes, measured.write_bytes) == (expected.read_bytes, expected.write_bytes)


def test_a_list_is_walked_a_node_at_a_time(tmp_path):
    """A row of 20 nodes: each link waits for memory. In compressed rows, the links are read ahead."""
    a, b = np.ones((20, 1)), np.ones((20, 3))
    lists = run_of(tmp_path, OF_TASKS, a, b)
    compressed = run_of(tmp_path, OF_TASKS.replace("format: L, layout", "layout"), a, b)
    assert lists.stages["Z"] > 2 * compressed.stages["Z"]
    assert compressed.traffic["T"].write_bytes == 0  # its ranks are made in another order


def test_nodes_lie_in_memory_in_the_order_in_which_they_were_made():
    """Nodes (m, k) of 2, 1, 1 and 2 products, made for k = 0 first; the rows of fibers follow the nodes."""
    m, k, n = np.array([[0, 0, 0, 1, 1, 1], [0, 0, 1, 0, 1, 1], [0, 1, 0, 0, 0, 1]])
    tensor = store(SparseTensor((2, 2, 2), (m, k, n), np.ones(6)), Format("sss", (0, 1, 2)))
    places = number_nodes(tensor, 1, [1, 0])
    assert places.tolist() == [0, 2, 1, 3]
    rows = Rows(1, 1, 8)
    assert build_linked_array(places, Rows(1, 2, 16)).lines.tolist() == [0, 1, 0, 1]
    array = build_array(tensor, 2, uncompressed=False, rows=rows, places=places)
    assert array.lines.tolist() == [0, 1, 3, 2, 4, 5]
    assert array.first.tolist() == [0, 3, 2, 4, 6]
    assert number_nodes(tensor, 2, [1, 0, 2]).tolist() == array.lines.tolist()


@pytest.mark.parametrize("rows", [Rows(4, 2, 64), Rows(3, 1, 16), Rows(1, 4, 32)])
def test_links_fill_their_requests_and_the_array_ends_with_the_last(rows):
    for count in range(30):
        array = build_linked_array(np.random.default_rng(count).permutation(count), rows)
        transfers = np.bincount(array.lines)
        assert array.size == len(transfers) * rows.line_bytes
        assert (transfers[:-1] == rows.entries * rows.rows).all()
        assert transfers.sum() == count


BUFFET = "{name: Buffer, class: Buffet, attributes: {width: 64}}"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "rank-order: [M, K, N]\n      M",
            "rank-order: [K, M, N]\n      M",
            "K is a linked list, and needs one rank",
        ),
        (
            "K: {format: L, layout: interleaved, cbits: 32, pbits: 32}",
            "K: {format: L}",
            "needs pbits for the links",
        ),
        (BUFFET, BUFFET.replace("Buffet", "Cache").replace("64}", "64, depth: 64}"), "Buffer is a cache"),
    ],
)
@pytest.mark.parametrize("command", ["model", "sim"])
def test_what_is_no_list_is_refused_in_a_line(command, old, new, said, tmp_path, refusal):
    assert old in OF_TASKS
    text = OF_TASKS.replace(old, new)
    text = text.replace(", evict-on: M", "") if "Cache" in new else text
    operands = [f"{name}=uniform:rows=8,cols=8,nonzeros=20" for name in "AB"]
    assert said in refusal(command, file_of(tmp_path, text), *operands)


def test_lists_to_which_tasks_add_are_refused_in_a_line(tmp_path, refusal):
    """K is summed and before the cut, so that several tasks give the same element of T."""
    text = OF_COLUMNS
    for old, new in (
        ("{A: [K, M], B: [K, N], T: [K, M, N], Z", "{A: [K, M, P], B: [K, N], T: [M, P, N], Z"),
        (
            '["T[k, m, n] = A[k, m] * B[k, n]", "Z[m, n] = T[k, m, n]"]',
            '["T[m, p, n] = A[k, m, p] * B[k, n]", "Z[m, n] = T[m, p, n]"]',
        ),
        ("rank-order: {T: [M, K, N]}", "rank-order: {T: [M, P, N]}"),
        ("{T: [K, M, N], Z: [M, K, N]}", "{T: [K, M, P, N], Z: [M, P, N]}"),
        ("time: [M, N]", "time: [M, P, N]"),
        ("time: [K, N]", "time: [P, N]"),
        ("rank-order: [M, K, N]", "rank-order: [M, P, N]"),
        ("K: {format: L", "P: {format: L"),
        ("rank: K", "rank: P"),
    ):
        text = text.replace(old, new)
    tensors = ["A=tensor:shape=4x5x3,nonzeros=20", "B=uniform:rows=4,cols=6,nonzeros=12"]
    message = refusal("sim", file_of(tmp_path, text), *tensors)
    assert message.endswith(
        "lists.yaml: rank P of T is a linked list, but several tasks add to an element of T; use another "
        "format, or 'fiberscope model'\n"
    )
