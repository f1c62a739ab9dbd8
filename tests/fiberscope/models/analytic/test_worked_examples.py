"""Examples worked by hand, number by number; they agree with what the public tool and its artifact give."""

from math import comb

import numpy as np
import pytest
from changed_designs import UNIFORM, design, skipped

from fiberscope.base.errors import InputError
from fiberscope.models.analytic.api import analyze
from fiberscope.models.analytic.distributions import build_density
from fiberscope.models.analytic.evaluate import evaluate_many
from fiberscope.models.analytic.formats import compute_bits
from fiberscope.models.analytic.inputs import read_case
from fiberscope.models.analytic.safs import RankFormat


def counts(access):
    return access.algorithmic, access.actual, access.gated, access.skipped


@pytest.fixture(scope="module")
def dot_product():
    return analyze("dot_product")


def test_a_dot_product_skips_where_a_is_zero(dot_product):
    buffer = dot_product.levels["Buffer"].tensors
    assert counts(buffer["A"].reads) == (16, 4, 0, 0)
    assert buffer["A"].format_reads.actual == ((4, 0),)
    assert counts(buffer["B"].reads) == (16, 4, 0, 12)
    assert counts(buffer["Z"].updates) == (16, 4, 0, 12)
    assert counts(buffer["Z"].reads) == (15, 3, 0, 12)
    assert dot_product.analytical.compute.actual == 4
    assert dot_product.cycles == 4


@pytest.fixture(scope="module")
def matmul():
    return analyze("matmul")


def test_a_multiplication_intersects_at_the_buffer(matmul):
    buffer = matmul.levels["Buffer"].tensors
    assert counts(buffer["B"].reads) == (512, 64, 0, 192)
    assert counts(buffer["B"].fills) == (64, 32, 0, 0)
    assert counts(buffer["Z"].updates) == (512, 64, 0, 448)
    assert counts(buffer["Z"].reads) == (448, 56, 0, 392)
    assert counts(matmul.levels["BackingStore"].tensors["A"].reads) == (512, 64, 0, 64)


def test_its_metadata(matmul):
    reads = matmul.levels["Buffer"].tensors["B"].format_reads
    assert (reads.actual, reads.skipped) == (((64, 0), (0, 18)), ((192, 0), (0, 54)))


def test_its_computes(matmul):
    told = matmul.analytical.compute
    assert (told.algorithmic, told.actual, told.gated, told.skipped) == (512, 64, 0, 0)
    assert matmul.cycles == 64


@pytest.fixture(scope="module")
def coordinates():
    return analyze("coordinate_list", settings={"first_fill": "charge"})


def test_coordinate_lists_at_a_tenth(coordinates):
    buffer, register = coordinates.levels["Buffer"].tensors, coordinates.levels["Reg"].tensors["Z"]
    assert counts(buffer["A"].fills)[:2] == (2_097_152, 212_992)
    assert counts(buffer["B"].fills)[:2] == (16_384, 1_664)
    for name in "AB":
        assert counts(buffer[name].reads) == (2_097_152, 21_632, 0, 191_360)
    assert counts(register.updates) == (2_097_152, 21_632, 0, 2_075_520)
    assert counts(register.reads) == (2_080_768, 21_463, 0, 2_059_305)


def test_what_coordinate_lists_take(coordinates):
    assert coordinates.cycles == 295_152
    assert coordinates.levels["BackingStorage"].cycles == 73_788
    assert coordinates.levels["Reg"].cycles == 38_016
    assert coordinates.bottleneck.startswith("the bandwidth of Buffer set the 295,152 cycles; next Backing")


def test_levels_without_a_bandwidth_are_named(coordinates):
    """Of ExTensor as published none has one: 56 MiB in 68 cycles are no rate of a memory."""
    told = analyze("extensor")
    assert told.bottleneck == (
        "the computes set the 68 cycles; nothing else limits it; no bandwidth is given of DRAM, "
        "LastLevelBuffer, ElementBuffer: however much they move takes no cycle"
    )
    assert "bandwidth is given" not in coordinates.bottleneck


@pytest.mark.parametrize("kind", ["read_bandwidth", "write_bandwidth", "shared_bandwidth"])
def test_a_level_with_any_bandwidth_is_not_named(tmp_path, kind):
    path = design(tmp_path, "dot_product", "8, depth: 64", f"8, depth: 64, {kind}: 4")
    assert "no bandwidth is given of DRAM:" in analyze(path).bottleneck


def test_the_speed_of_the_host_counts_what_is_computed_and_no_zeros():
    host = analyze("extensor").host
    assert host.multiplies_per_second * host.simulation_seconds == pytest.approx(1_075)


LISTS = "{format: CP, metadata_word_bits: 8}"
OF_DRAM = f"{LISTS}]}}]}}\n    - !Component\n      name: Buffer"
TILED = (  # four tiles of four: of A 0, 1, 2 ... nonzeros with chances 495, 880, 396 ... of 1,820
    *(OF_DRAM, f"{LISTS}, {OF_DRAM}"),
    *("densities: {A: 0.25}", f"densities: {{A: {UNIFORM}}}"),
    *("factors: [K=1]", "factors: [K=4]", "factors: [K=16]", "factors: [K=4]"),
)
LIMIT = ("      name: Buffer", "      name: Buffer\n      constraints: {max_overbooked_proportion: 0.25}")


def tiled_dot_product(folder, depth, overbooked):
    room = "8" if depth is None else f"8, depth: {depth}"
    room += ", allow_overbooking: true" * overbooked
    limit = LIMIT if overbooked else ()
    path = design(folder, "dot_product", *TILED, "8, depth: 64", room, *limit)
    return analyze(path).levels["Buffer"].tensors["A"]


def test_what_overbooking_costs(tmp_path):
    """6 fills and 6 reads of 8 bits, and as much metadata, take 30 pJ at 0.15625 pJ a bit, if a tile has any.

    A quarter of it is not spent; instead a quarter of the 6 reads, of 8 bits, goes to memory, at 8 pJ a bit.
    """
    comes = 1 - 495 / 1820
    assert tiled_dot_product(tmp_path, 64, overbooked=False).energy_pj == pytest.approx(30 * comes)
    found = tiled_dot_product(tmp_path, 64, overbooked=True)
    assert found.energy_pj == pytest.approx((0.75 * 30 + 0.25 * 6 * 8 * 8) * comes)


def test_no_tile_exceeds_a_level_without_a_limit(tmp_path):
    unlimited = (tiled_dot_product(tmp_path, None, overbooked=overbooked) for overbooked in (True, False))
    assert len({level.energy_pj for level in unlimited}) == 1


def test_what_overbooking_saves(tmp_path):
    """Four words of B and one of Z; of A up to four, and one in three tiles of four (1,375 of 1,820)."""
    for overbooked, words in ((False, 4 + 4 + 1), (True, 1 + 4 + 1)):
        tiled_dot_product(tmp_path, words, overbooked)
        with pytest.raises(InputError, match="Buffer: data does not fit"):
            tiled_dot_product(tmp_path, words - 1, overbooked)


@pytest.mark.parametrize("share", [0.01171875, 0.1015625, 0.80078125])
def test_bitmasks_take_as_long_at_every_density(tmp_path, share):
    path = design(tmp_path, "bitmask", "0.1015625", str(share))
    assert analyze(path, settings={"first_fill": "charge"}).cycles == 128**3 + 128**2


def test_a_leader_is_one_scalar_where_the_shared_loop_is_innermost(tmp_path):
    assert skipped(tmp_path, "[K, M, N]", latched=True) == (48, 64)


def test_a_leader_is_a_column_where_the_follower_is_latched(tmp_path):
    left_out, reads = skipped(tmp_path, "[M, K, N]", latched=True)
    assert (left_out, reads) == (int(16 * comb(12, 4) / comb(16, 4)), 16)


def test_a_leader_is_one_scalar_without_the_latch(tmp_path):
    assert skipped(tmp_path, "[M, K, N]", latched=False) == (48, 64)


def test_no_column_of_a_structured_leader_is_empty(tmp_path):
    assert skipped(tmp_path, "[M, K, N]", latched=True, density="0.25") == (0, 16)


def test_a_band_leaves_more_pieces_empty():
    piece = [np.int64(4), np.int64(1)]
    banded = build_density({"distribution": "banded", "band_width": 1}, (16, 16))
    uniform = build_density({"distribution": "hypergeometric", "density": 46 / 256}, (16, 16))
    assert float(banded.probability_empty(piece)) == pytest.approx(42 / 64, rel=1e-12)
    assert float(uniform.probability_empty(piece)) == pytest.approx(comb(210, 4) / comb(256, 4), rel=1e-12)


@pytest.mark.parametrize(("mode", "coordinates"), [("exact", 16), ("timeloop", 14.6359)])
def test_units_of_compressed_rows(tmp_path, mode, coordinates):
    path = design(tmp_path, "matmul", "densities: {A: 0.25,", f"densities: {{A: {UNIFORM},")
    case = read_case([path], {"format.mode": mode})
    stored = evaluate_many(case.design, case.mapping.batch()).counts.stored_tiles[0, 0]
    assert stored.units.payload[0, 1] == pytest.approx(9, rel=1e-9)
    assert stored.units.metadata[0, 0] == pytest.approx(coordinates, rel=1e-5)


LISTED_SUMS = """
problem:
  version: 0.4
  shape:
    name: MatrixVector
    dimensions: [M, K]
    data_spaces:
      - {name: A, projection: [[[M]], [[K]]]}
      - {name: B, projection: [[[K]]]}
      - {name: Z, projection: [[[M]]], read_write: true}
  instance: {M: 4, K: 4, densities: {A: 0.125}}
architecture:
  version: 0.4
  nodes:
    - !Component
      name: Buffer
      class: storage
      attributes: {datawidth: 8, width: 8, metadata_storage_width: 8}
      sparse_optimizations: LISTED
    - !Component
      name: Register
      class: regfile
      attributes: {datawidth: 8, width: 8, metadata_storage_width: 8}
      sparse_optimizations: LISTED
    - !Component {name: MAC, class: compute, attributes: {datawidth: 8}}
mapping:
  - {target: Buffer, type: temporal, factors: [M=4, K=4], permutation: [K, M]}
  - {target: Register, type: dataspace, keep: [Z], bypass: [A, B]}
"""
LISTED = (
    "{representation_format: {data_spaces: [{name: Z, ranks: [{format: CP, metadata_word_bits: 8}]}]}, "
    "action_optimization: [{type: skipping, options: [{target: Z, condition_on: [A]}]}]}"
)


@pytest.mark.parametrize(("mode", "metadata"), [("exact", (2, 6)), ("timeloop", (4, 12))])
def test_the_tool_forgets_that_metadata_of_sums_left_out_further_out_is_gone(tmp_path, mode, metadata):
    """Half of the rows are empty, and 7/8 of the scalars: 8 of 16 sums come, 6 are skipped."""
    path = tmp_path / "sums.yaml"
    path.write_text(LISTED_SUMS.replace("LISTED", LISTED))
    sums = analyze(path, settings={"mode": mode}).levels["Register"].tensors["Z"]
    assert (sums.updates.actual, sums.updates.skipped) == (2, 6)
    updates = sums.format_updates
    assert (updates.actual[0][0], updates.skipped[0][0]) == metadata


@pytest.mark.parametrize(
    ("bits", "width", "rounded"),
    [(3, 8, 4), (5, 8, 8), (8, 8, 8), (8, 4, 8), (9, 4, 12), (5, 0, 5), (0, 4, 0)],
)
def test_words_of_metadata_fill_rows(bits: int, width: int, rounded: int) -> None:
    """A word takes a divisor of the row, or whole rows if it is wider than one."""
    rank = RankFormat("CP", metadata_bits=bits, payload_bits=bits)
    assert compute_bits(rank, 8, width) == (rounded, rounded)
