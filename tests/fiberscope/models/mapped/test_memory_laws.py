"""Machines from random specifications move what the trace says that their buffers take."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from drawn_flattened import flattening
from drawn_storage import stored_merging, stored_programs
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from mapped_runs import MOST_EQUAL, bits_of_the_trace, compare, ran
from scipy.sparse import csr_array

import fiberscope
from fiberscope.hw.dram.trace_file import read_trace
from fiberscope.hw.memory.protocol import READ

EXAMPLES = Path(__file__).parents[4] / "examples" / "specifications"
ANYHOW = settings(suppress_health_check=list(HealthCheck))


def held(program):
    """Hold what a machine reads to what the trace says of it."""
    specification, trees = program
    machine, _cycles = ran(program, line="0 B", dispatch="static")
    compare(program, machine)
    assume(machine.stages[0].cut.empty == 0)  # of tasks that are passed over nothing is read
    traffic = machine.traffic()
    # With an empty tensor there may be no task at all, and nothing is read of the others.
    is_empty = any(len(tree.values) == 0 for tree in trees.values())
    for name, bits in bits_of_the_trace(specification, trees).items():
        read = 8 * traffic[name].read_bytes if name in traffic else 0
        assert read <= bits
        assert read == bits or is_empty or not all_is_used(specification, machine, name)


def all_is_used(specification, machine, name):
    """Whether something comes of all that a tensor has at a loop: no other lacks it at a later one."""
    (einsum,) = specification.einsums
    last = machine.stages[0].graph.orders[name][-1]
    if any(node.type == "seek" for node in machine.stages[0].graph.graph.nodes.values()):
        return False  # what is not found of one is not read of the others
    return len(einsum.inputs) <= MOST_EQUAL and last == einsum.loop_order[-1]


@pytest.mark.parametrize("kind", ["mappings", "lookups"])
@ANYHOW
@given(data=st.data())
def test_what_comes_from_memory_is_what_the_trace_says_that_buffers_take(kind, data):
    held(data.draw(stored_programs(flattening()) if kind == "lookups" else stored_programs()))


@pytest.mark.slow
@settings(ANYHOW, max_examples=2000)
@given(stored_programs() | stored_programs(flattening()))
def test_two_thousand_machines_with_memory(program):
    held(program)


def lines_of_rows(program, line):
    """Lines of B, of so many bytes, that hold what rows of A select: pointers, coordinates and values.

    Where B's rows are looked up, the pointers of those that are empty too.
    """
    specification, trees = program
    width = 8  # bytes of a row of entries, which each fiber begins
    a, b = trees["A"].swizzle(("K", "M")), trees["B"].swizzle(("K", "N"))
    selected = {int(k) for k in a.columns()[0]}
    counts = Counter(int(k) for k in b.columns()[0])
    if not specification.tensors["B"].uncompressed:
        selected &= counts.keys()
    touched = {("pointer", k * 4 // width * width // line) for k in selected}
    for entry, what in ((4, "coordinate"), (8, "value")):
        begin = 0
        for k in sorted(counts):
            rows = -(-counts[k] * entry // width)
            if k in selected:
                touched |= {(what, (begin + row) * width // line) for row in range(rows)}
            begin += rows
    return len(touched)


@settings(ANYHOW, max_examples=40)
@given(stored_merging(), st.sampled_from([8, 16, 64]), st.sampled_from([1, 3]))
def test_a_cache_brings_each_line_that_a_merger_reads_once_and_all_is_written(program, line, ahead):
    machine, _cycles = ran(program, line=f"{line} B", ahead=ahead)
    compare(program, machine)
    traffic = machine.traffic()
    if machine.stages[0].cut.dealt:
        assert traffic["B"].read_bytes == line * lines_of_rows(program, line)
    written = machine.result().outputs["Z"].nonzeros
    assert traffic["Z"].write_bytes >= written * 12


@settings(ANYHOW, max_examples=25)
@given(stored_merging())
def test_a_memory_that_costs_nothing_gives_the_same_sooner(program):
    machine, cycles = ran(program)
    ideal, sooner = ran(program, memory="ideal")
    assert str(ideal.result().outputs["Z"]) == str(machine.result().outputs["Z"])
    assert (ideal.traffic(), ideal.memory()) == ({}, None)
    assert sooner <= cycles


ROWS_OF_B = """\
einsum:
  declaration: {A: [M, K], B: [K, N], Z: [M, N]}
  expressions: ["Z[m, n] = A[m, k] * B[k, n]"]
mapping:
  loop-order: {Z: [M, K, N]}
  spacetime: {Z: {space: [M], time: [K, N]}}
format:
  B: {rows: {rank-order: [K, N], N: {format: C, pbits: 64}}}
architecture:
  Chip:
    - name: Chip
      attributes: {clock_frequency: 1 GHz}
      local: [{name: Memory, class: DRAM, attributes: {bandwidth: 16 GB/s}}]
      subtree:
        - name: PE[1]
          local:
            - {name: Buffer, class: Buffet, attributes: {width: 64}}
            - {name: Multiplier, class: Compute, attributes: {type: mul}}
bindings:
  Z:
    - config: Chip
    - {component: Memory, bindings: [{tensor: B, rank: N, type: payload, format: rows}]}
    - {component: Buffer, bindings: [{tensor: B, rank: N, type: payload, format: rows, evict-on: LOOP}]}
    - {component: Multiplier, bindings: [{op: mul}]}
"""


@pytest.mark.parametrize(("loop", "lines"), [("N", 12), ("K", 6), ("M", 3), ("root", 1)])
def test_a_buffer_lets_go_when_a_loop_within_a_task_moves_on(tmp_path, loop, lines):
    """Three rows of A, full, times two of B, full, whose four values lie in one line of 64 bytes."""
    path = tmp_path / "rows.yaml"
    path.write_text(ROWS_OF_B.replace("LOOP", loop))
    tensors = {"A": np.ones((3, 2)), "B": np.ones((2, 2))}
    run = fiberscope.simulate(str(path), tensors={name: csr_array(one) for name, one in tensors.items()})
    assert run.traffic["B"].read_bytes == 64 * lines


def test_what_finds_no_room_in_a_buffer_comes_again(tmp_path):
    """The inner product of one row of 20 elements with 5 columns, in a buffer of one line of 64 bytes.

    An element is a word of 64 bits, so that the row is three lines. The first has the room; the two others
    come for each column. The row's pointer comes in front of the cut.
    """
    text = (EXAMPLES / "inner.yaml").read_text()
    a, b = np.ones((1, 20)), np.ones((20, 5))
    moved, overflows = [], []
    for depth in ("inf", 48, 8):
        path = tmp_path / f"depth_{depth}.yaml"
        path.write_text(text.replace("attributes: {width: 64}", f"attributes: {{width: 64, depth: {depth}}}"))
        report = fiberscope.simulate(str(path), a, b, settings={"PES": 1})
        assert report.result.toarray().tolist() == [[20.0] * 5]
        moved.append(report.traffic["A"].read_bytes // 64)
        overflows.append(sum(one.counters.get("overflows", 0) for one in report.components.values()))
    assert moved == [1 + 3, 1 + 3, 1 + 1 + 2 * 5]
    assert overflows == [0, 0, 2 * 5]


@pytest.mark.parametrize("page", [64, 128, 1024])
@pytest.mark.parametrize("specification", ["spec:gamma", "spec:extensor"])
def test_instances_write_to_disjoint_addresses(specification, page, tmp_path):
    """Each line of the product is written once, whichever instance writes it."""
    path = tmp_path / "run.trace"
    matrix = "uniform:rows=60,cols=60,nonzeros=700,seed=3"
    report = fiberscope.simulate(
        specification, matrix, settings={"timing.page": page, "memory.model": "dram"}, memory_trace=path
    )
    lines = Counter(address for _cycle, operation, address in read_trace(path) if operation != READ)
    assert max(lines.values()) == 1
    assert report.traffic["Z"].write_bytes == 64 * len(lines)
    assert len(lines) > 32, "more lines than instances, so that pages take turns"
