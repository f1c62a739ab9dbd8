"""Graphs with memories of tiles: the same results, later; bytes of tiles, restarts and refusals."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from fiberscope.accelerators.configuration import ConfigurationError
from fiberscope.base.errors import InputError
from fiberscope.commands.command_line import execute
from fiberscope.hw.rtl.tools.sram_table import estimate as estimate_sram
from fiberscope.models.graphs.compiler.compile import compile_expression
from fiberscope.models.graphs.cost import estimate_graph
from fiberscope.models.graphs.cost.tile_memories import build_memories_table
from fiberscope.models.graphs.execution import graph_settings, prepare, run
from fiberscope.models.graphs.tiles import tile_sizes
from fiberscope.models.graphs.verilog import build_machine
from fiberscope.page.drawing import draw_report

SIDE = 3  # coordinates per side of a tile
LOOPS = {"tiles.loops": "a,b,c"}
UNLIMITED = {**LOOPS, "tiles.capacity": 10**6}
EXPRESSION = "X(a,b,c,i,j) = B(a,b,i,k) * C(b,c,k,j)"


def tiled(formats="X:sssss,B:ssss,C:ssss"):
    return compile_expression(EXPRESSION, formats, "a,b,c,i,k,j").graph


def drawn(tiles, seed, density=0.2):
    """A square matrix of tiles as an array of four ranks, and as a matrix."""
    draws = np.random.default_rng(seed)
    matrix = draws.integers(1, 9, (tiles * SIDE,) * 2) * (draws.random((tiles * SIDE,) * 2) < density)
    matrix[0, 0] = 1  # no operand is empty
    return in_tiles(matrix, tiles), matrix


def in_tiles(matrix, tiles):
    return matrix.reshape(tiles, SIDE, tiles, SIDE).transpose(0, 2, 1, 3)


def operands(tiles=3, seed=1, density=0.2):
    return {"B": drawn(tiles, seed, density)[0], "C": drawn(tiles, seed + 1, density)[0]}


def one_element(tiles):
    """Each tile has one element, at its first row and column, so that all products of tiles are equal."""
    matrix = np.zeros((tiles * SIDE,) * 2)
    matrix[::SIDE, ::SIDE] = 1
    return {name: in_tiles(matrix, tiles) for name in "BC"}


def memories(report):
    return {
        name: part.counters for name, part in report.components.items() if name.startswith("graph.tiles_")
    }


def bytes_of_tile(tile, coordinate=4, value=8):
    """Two segments of rows, the rows, their segments, the columns, and the values."""
    rows, nonzeros = int((tile != 0).any(axis=1).sum()), int((tile != 0).sum())
    return (2 + rows + rows + 1 + nonzeros) * coordinate + nonzeros * value


@pytest.mark.parametrize("timing", ["machine", "sam"])
@pytest.mark.parametrize("seed", range(4))
def test_without_limits_a_memory_of_tiles_costs_the_cycle_of_its_channel(timing, seed):
    given_operands = operands(seed=10 * seed, density=0.15 + 0.1 * seed)
    today = run(tiled(), given_operands, {"timing": timing})
    report = run(tiled(), given_operands, {"timing": timing, **UNLIMITED})
    assert report.verification.passed
    assert report.cycles == today.cycles + 1
    assert not memories(today) | today.traffic
    assert "tiles" not in today.config


def test_the_bytes_of_a_tile_are_those_of_its_levels_and_values():
    matrix = np.zeros((2 * SIDE, 2 * SIDE))
    matrix[[0, 0, 2, 4], [0, 2, 1, 5]] = 1  # tile (0, 0) has two rows of 2 and 1, tile (1, 1) one element
    tensor = prepare(tiled(), {"B": in_tiles(matrix, 2), "C": in_tiles(matrix, 2)}).operands["B"].stored
    sizes = graph_settings({"tiles.coordinate_bytes": 2, "tiles.value_bytes": 1}).tiles
    assert list(tile_sizes(tensor, 2, sizes)) == [(2 + 2 + 3 + 3) * 2 + 3, (2 + 1 + 2 + 1) * 2 + 1]
    assert list(tile_sizes(tensor, 0, sizes)) == [((2 + 2) + (3 + 2) + (3 + 3) + (4 + 4)) * 2 + 4]


@pytest.mark.parametrize(
    ("letters", "expected"),
    [
        ("ssdd", 9 * 8),  # a dense tile has no coordinates
        ("ssds", (3 + 1 + 3) * 4 + 3 * 8),  # segments of three rows
        ("ssbb", 1 * 8 + 2 * 8 + 3 * 8),  # a word of rows, a word for each of two rows
    ],
)
def test_the_format_determines_the_bytes_of_a_tile(letters, expected):
    matrix = np.zeros((SIDE, SIDE))
    matrix[[0, 0, 2], [0, 2, 1]] = 1
    graph = compile_expression("X(a,b,i,k) = B(a,b,i,k)", f"X:{letters},B:{letters}", "a,b,i,k").graph
    tensor = prepare(graph, {"B": in_tiles(matrix, 1)}).operands["B"].stored
    assert list(tile_sizes(tensor, 2, graph_settings({}).tiles)) == [expected]


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 999),
    tiles=st.integers(1, 4),
    bandwidth=st.sampled_from([0, 0.5, 7, 68.256]),
    latency=st.integers(0, 40),
    ahead=st.integers(1, 6),
    restart=st.integers(0, 3),
    timing=st.sampled_from(["machine", "sam"]),
    share=st.floats(0, 1),
)
def test_the_product_is_that_of_scipy_and_each_needed_tile_is_loaded(
    seed, tiles, bandwidth, latency, ahead, restart, timing, share
):
    (b_tiles, b), (c_tiles, c) = drawn(tiles, seed), drawn(tiles, seed + 1)
    sizes = [bytes_of_tile(tile) for operand in (b_tiles, c_tiles) for row in operand for tile in row]
    least = sum(sorted(sizes)[-2:])
    values = {"bandwidth": bandwidth, "latency": latency, "ahead": ahead, "restart": restart}
    chosen = {f"tiles.{key}": value for key, value in values.items()} | LOOPS
    chosen["tiles.capacity"] = least + int(share * (sum(sizes) - least))
    report = run(tiled(), {"B": b_tiles, "C": c_tiles}, {"timing": timing, **chosen})
    assert report.verification.passed
    assert report.cycles > run(tiled(), {"B": b_tiles, "C": c_tiles}, {"timing": timing}).cycles
    products = np.zeros(report.result.shape)
    products[report.result.coordinates] = report.result.values
    whole = np.einsum("abcij->aicj", products).reshape(b.shape)
    assert (whole == (scipy.sparse.csr_array(b) @ scipy.sparse.csr_array(c)).toarray()).all()
    used_b, used_c = (operand.any(axis=(2, 3)) for operand in (b_tiles, c_tiles))
    needed = {
        "B": [(n, m) for n, m in np.argwhere(used_b) if used_c[m].any()],
        "C": [(n, m) for n, m in np.argwhere(used_c) if used_b[:, n].any()],
    }
    least_bytes = {
        name: sum(bytes_of_tile(operand[place]) for place in map(tuple, needed[name]))
        for name, operand in (("B", b_tiles), ("C", c_tiles))
    }
    assert report.traffic_minimum_bytes == sum(least_bytes.values())
    for name, moved in report.traffic.items():
        assert moved.read_bytes >= least_bytes[name]
    counts = memories(report).values()
    assert sum(moved.read_bytes for moved in report.traffic.values()) == sum(c["read_bytes"] for c in counts)


def test_a_tile_is_waited_for_once_if_it_fits_and_again_if_it_does_not():
    """Rows of tiles of B meet all tiles of C: each C is loaded once, or once for each row."""
    operand, size = one_element(3), bytes_of_tile(np.eye(1))
    roomy = run(tiled(), operand, UNLIMITED)
    tight = run(tiled(), operand, {**UNLIMITED, "tiles.capacity": 2 * size, "tiles.ahead": 1})
    assert {name: moved.read_bytes for name, moved in roomy.traffic.items()} == {"B": 9 * size, "C": 9 * size}
    assert {name: moved.read_bytes for name, moved in tight.traffic.items()} == {
        "B": 9 * size,
        "C": 27 * size,
    }
    assert tight.traffic_minimum_bytes == roomy.traffic_minimum_bytes == 18 * size


@pytest.mark.parametrize("timing", ["machine", "sam"])
def test_one_tile_waits_for_its_latency_and_its_transfer(timing):
    operand, size = one_element(1), bytes_of_tile(np.eye(1))
    today = run(tiled(), operand, {"timing": timing}).cycles
    slow = {**UNLIMITED, "timing": timing, "tiles.latency": 100, "tiles.bandwidth": 3}
    report = run(tiled(), operand, slow)
    transfer = -(-size // 3)
    assert report.cycles == today + 1 + 100 + transfer
    assert [counts["late_cycles"] for counts in memories(report).values()] == [100 + transfer] * 2


def test_tiles_ahead_hide_latency_and_bandwidth_limits_the_rest():
    far = {**UNLIMITED, "tiles.latency": 100}
    one, many = (run(tiled(), operands(4), {**far, "tiles.ahead": ahead}).cycles for ahead in (1, 16))
    assert one > many
    report = run(tiled(), operands(4), {**UNLIMITED, "tiles.bandwidth": 0.25, "tiles.ahead": 16})
    assert report.cycles >= 4 * max(moved.read_bytes for moved in report.traffic.values())


@pytest.mark.parametrize("timing", ["machine", "sam"])
@pytest.mark.parametrize("restart", [1, 2, 5])
def test_each_product_of_tiles_costs_a_restart(timing, restart):
    """Equal products of tiles follow one another at the pace of the slowest block: 8, and then 27 of them."""
    cycles = {}
    for tiles in (2, 3):
        for number in (0, restart):
            report = run(tiled(), one_element(tiles), {"timing": timing, **LOOPS, "tiles.restart": number})
            assert report.verification.passed
            cycles[tiles, number] = report.cycles
    added = {tiles: cycles[tiles, restart] - cycles[tiles, 0] for tiles in (2, 3)}
    assert added[3] - added[2] == restart * (27 - 8)
    counters = {name: part.counters for name, part in report.components.items()}
    assert counters["graph.intersect_k"]["restart_cycles"] == restart * 27
    assert counters["graph.fiberlookup_B2_i"]["restart_cycles"] == restart * 27
    assert "restart_cycles" not in counters["graph.intersect_b"]


def test_the_drawing_of_a_run_has_a_box_for_each_memory_of_tiles():
    drawing, reason = draw_report(run(tiled(), operands(), {**UNLIMITED, "tiles.latency": 9}))
    assert not reason
    assert all(f">tiles_{name}_" in drawing for name in "BC")
    assert "tiles_" not in draw_report(run(tiled(), operands(), {**LOOPS, "tiles.restart": 2}))[0]


def test_the_loops_over_chunks_are_the_loops_over_tiles_of_a_split_graph():
    graph = compile_expression(
        "X(i,j) = B(i,k) * C(k,j)", "X:ss,B:ss,C:ss", "i_0,k_0,j,i_1,k_1", split="i:4,k:3"
    ).graph
    draws = np.random.default_rng(3)
    matrices = {name: draws.integers(0, 2, (9, 9)).astype(float) for name in "BC"}
    report = run(graph, matrices, {"tiles.capacity": "64 KiB", "tiles.latency": 30})
    assert report.verification.passed
    assert set(report.traffic) == {"B", "C"}
    assert report.cycles > run(graph, matrices).cycles


@pytest.mark.parametrize(
    ("chosen", "says"),
    [
        ({"tiles.loops": "a,q"}, "the graph has no loop q; its loops are "),
        ({"tiles.loops": "i,k"}, "i,k should be the outermost loops; a stream has the loops a"),
        ({"tiles.loops": "auto"}, "tiles.loops is auto, and the graph has no split loops"),
        (
            {"tiles.capacity": 9},
            r"tiles.capacity is 9 B; it should be at least [\d,]+ B, for the two largest",
        ),
    ],
)
def test_tiles_that_cannot_be_are_refused_in_one_line(chosen, says):
    with pytest.raises(InputError, match=says) as refusal:
        run(tiled(), operands(), {**UNLIMITED, **chosen})
    assert "\n" not in str(refusal.value)


def test_tiles_of_a_parallelized_loop_are_refused_in_one_line():
    graph = compile_expression(
        "X(i,j) = B(i,k) * C(k,j)", "X:ss,B:ss,C:ss", split="i:4", parallelize="i_0:2"
    ).graph
    matrices = {name: np.eye(9) for name in "BC"}
    assert run(graph, matrices).verification.passed
    with pytest.raises(InputError, match=r"divides references to tiles .*; compile without --parallelize"):
        run(graph, matrices, {"tiles.capacity": "64 KiB"})


def test_tiles_and_a_scratchpad_are_not_both_the_memory_of_a_graph():
    with pytest.raises(ConfigurationError, match=r"latency is 4; it should be 0 with tiles\.capacity"):
        run(tiled(), operands(), {**UNLIMITED, "scratchpad.latency": 4})


@pytest.mark.parametrize("chosen", [UNLIMITED, {**LOOPS, "tiles.restart": 2}])
def test_there_is_no_verilog_of_tiles(chosen):
    with pytest.raises(InputError, match=r"no RTL of tiles; leave tiles\.capacity and tiles\.restart at 0"):
        build_machine(prepare(tiled(), operands()), graph_settings(chosen))


def expected(graph, given_operands, chosen):
    parameters = graph_settings(chosen)
    return estimate_graph(prepare(graph, given_operands).with_timing(parameters.timing), parameters)


@pytest.mark.parametrize("order", ["i_0,k_0,j_0", "i_0,j_0,k_0", "k_0,j_0,i_0"])
@pytest.mark.parametrize(
    "chosen",
    [
        {"capacity": "64 KiB", "bandwidth": 16, "latency": 100},
        {"capacity": 1400, "bandwidth": 16, "latency": 100, "restart": 2},
        {"capacity": 1400, "bandwidth": 0.5},
        {"capacity": "64 KiB", "latency": 100, "ahead": 1},
    ],
)
def test_an_estimate_loads_the_tiles_of_the_run_in_about_its_cycles(order, chosen):
    sides = {"B": "uniform:rows=80,cols=80,nonzeros=600", "C": "uniform:rows=80,cols=80,nonzeros=600,seed=1"}
    graph = compile_expression(
        "X(i,j) = B(i,k) * C(k,j)", "X:ss,B:ss,C:ss", f"{order},i_1,k_1,j_1", split="i:16,k:16,j:16"
    ).graph
    chosen = {f"tiles.{key}": value for key, value in chosen.items()} | {"timing": "sam"}
    report, estimate = run(graph, sides, chosen), expected(graph, sides, chosen)
    loads = {name.removeprefix("graph."): counters["loads"] for name, counters in memories(report).items()}
    assert {memory.name: round(memory.loads) for memory in estimate.tiles.memories.values()} == loads
    assert estimate.cycles == pytest.approx(report.cycles, rel=0.06)
    sram = estimate_sram(graph_settings(chosen).tiles.capacity, 64)
    for name, _loads, loaded, reads, *_costs in build_memories_table(
        estimate.tiles, estimate.streams, 1e-6
    ).rows:
        energy = {key: float(text.replace(",", "")) for key, text in (("reads", reads), ("loaded", loaded))}
        charged = report.energy.by_component[name]
        assert charged["word_reads"] == pytest.approx(energy["reads"] * sram.read_pj, rel=0.01)
        assert charged["word_writes"] == pytest.approx(energy["loaded"] / 8 * sram.write_pj, rel=0.01)


def test_a_run_has_the_energy_and_area_of_its_memories_and_names_what_has_none():
    """As below: 40 reads of each memory, and four tiles that are loaded once."""
    report, sram = run(tiled(), one_element(2), UNLIMITED), estimate_sram(10**6, 64)
    words = 4 * bytes_of_tile(np.eye(1)) / 8
    for name in memories(report):
        parts = {part.action: part for part in report.energy.parts if f"graph.{part.component}" == name}
        assert parts["word_reads"].known == pytest.approx(8 * 5 * sram.read_pj)
        assert parts["word_writes"].known == pytest.approx(words * sram.write_pj)
        assert parts["leakage"].known == pytest.approx(sram.leakage_uw * report.seconds * 1e6)
        assert {part.basis for part in parts.values()} == {"law"}
        assert parts["word_reads"].upper == 2 * parts["word_reads"].known
    assert report.area_um2 == pytest.approx(2 * sram.area_um2)
    assert {"blocks", "memory.channel"} <= {*report.energy.without}
    assert report.area.without == ("blocks",)
    assert run(tiled(), one_element(2), LOOPS).energy is None


def test_memories_of_one_tensor_share_its_reads():
    """B times itself: the reads of both readers, divided by two memories, are those of each."""
    square = compile_expression(
        "X(i,j) = B(i,k) * B(k,j)", "X:ss,B:ss", "i_0,k_0,j_0,i_1,k_1,j_1", split="i:4,k:4,j:4"
    ).graph
    product = compile_expression(
        "X(i,j) = B(i,k) * C(k,j)", "X:ss,B:ss,C:ss", "i_0,k_0,j_0,i_1,k_1,j_1", split="i:4,k:4,j:4"
    ).graph
    text, chosen = "uniform:rows=12,cols=12,nonzeros=40", {"tiles.capacity": 4096}
    reads = [
        [actions["word_reads"] for actions in report.energy.by_component.values()]
        for report in (run(square, {"B": text}, chosen), run(product, {"B": text, "C": text}, chosen))
    ]
    assert reads[0] == pytest.approx([sum(reads[1]) / 2] * 2)


def test_each_coordinate_segment_and_value_of_a_tile_is_a_read():
    """Eight products of tiles with one element: two references, two coordinates and a value each."""
    estimate = expected(tiled(), one_element(2), UNLIMITED)
    rows = build_memories_table(estimate.tiles, estimate.streams, 1e-6).rows
    assert [row[3] for row in rows] == [str(8 * 5)] * 2
    sram = estimate_sram(10**6, 64)
    row = rows[0]
    words = 4 * bytes_of_tile(np.eye(1)) / 8
    nanojoules = 1e-3 * (words * sram.write_pj + 8 * 5 * sram.read_pj)
    assert row[4] == f"{nanojoules:,.1f} to {2 * nanojoules:,.1f}"
    assert row[5].startswith(f"{sram.leakage_uw * 1e-3:,.1f} to ")
    assert row[6] == f"{sram.area_um2:,.0f} to {1.55 * sram.area_um2:,.0f}"


def test_graph_cost_lists_memories_of_tiles_and_refuses_settings_without_effect(capsys):
    arguments = ["graph", "cost", "X(i,j) = B(i,j)", "--format", "X:ss,B:ss", "B=ones:shape=4x4", "--set"]
    assert execute([*arguments, "tiles.loops=i", "--set", "tiles.capacity=1KiB"]) == 0
    assert "tiles_B_" in capsys.readouterr().out
    assert execute([*arguments, "depth=4"]) == 2
    assert "depth is no setting of an estimate, which takes tiles.*, timing" in capsys.readouterr().err


@pytest.mark.parametrize(("settings", "boxes"), [([], 0), (["--set", "tiles.capacity=1KiB"], 1)])
def test_graph_draw_has_the_memories_of_tiles_of_a_run(settings, boxes, tmp_path):
    arguments = ["graph", "draw", "X(i,j) = B(i,j)", "--format", "X:ss,B:ss", "--set", "tiles.loops=i"]
    assert execute([*arguments, *settings, "-o", str(tmp_path / "g.svg")]) == 0
    assert (">tiles_B_" in (tmp_path / "g.svg").read_text()) == boxes
