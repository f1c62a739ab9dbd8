"""Stores above the instances: as many copies as their level has, and banks for the instances behind each."""

from pathlib import Path

import pytest

import fiberscope
from fiberscope.hw.memory.cache_geometry import LIMITS
from fiberscope.models.from_spec.memory import count_banks

ROOT = Path(__file__).parents[4]
TILED = """\
symbols: {{TILES: 3, PES: 2}}
einsum:
  declaration: {{A: [M, K], B: [K, N], Z: [M, N]}}
  expressions: ["Z[m, n] = A[m, k] * B[k, n]"]
mapping:
  loop-order: {{Z: [M, K, N]}}
  spacetime: {{Z: {{space: [M], time: [K, N]}}}}
  uncompressed: {{B: [K]}}
format:
  A: {{rows: {{rank-order: [M, K], K: {{layout: interleaved, cbits: 32, pbits: 32}}}}}}
  B: {{rows: {{rank-order: [K, N], N: {{layout: interleaved, cbits: 32, pbits: 32}}}}}}
architecture:
  Chip:
    - name: Chip
      attributes: {{clock_frequency: 1 GHz}}
      local: [{{name: Memory, class: DRAM, attributes: {{bandwidth: 16 GB/s}}}}]
      subtree:
        - name: Tile[${{TILES}}]
          local: [{{name: L0, class: {store}, attributes: {{width: 512, depth: {depth}}}}}]
          subtree:
            - name: PE[${{PES}}]
              local: [{{name: ALU, class: Compute, attributes: {{type: mul}}}}]
bindings:
  Z:
    - config: Chip
    - component: Memory
      bindings: [{{tensor: B, rank: N, type: elem, format: rows}}]
    - {{component: L0, bindings: [{{tensor: B, rank: N, type: elem, format: rows{evict}}}]}}
    - {{component: ALU, bindings: [{{op: mul}}]}}
"""
ROW = 64  # bytes of a row of B: eight elements of eight bytes
ROWS = 10  # of B
OPERANDS = {"A": "uniform:rows=24,cols=10,nonzeros=240", "B": "uniform:rows=10,cols=8,nonzeros=80"}


def run(tmp_path, store="Cache", depth=4096, **settings):
    path = tmp_path / "own.yaml"
    evict = ", evict-on: root" if store == "Buffet" else ""
    path.write_text(TILED.format(store=store, depth=depth, evict=evict))
    return fiberscope.simulate(str(path), tensors=OPERANDS, settings=settings)


def banks_of(report):
    """The banks of each copy of the store."""
    names = [name.split(".")[1] for name in report.components if ".bank" in name and "l0" in name]
    return {name: names.count(name) for name in names}


@pytest.mark.parametrize("store", ["Cache", "Buffet"])
@pytest.mark.parametrize("tiles", [1, 2, 3])
def test_a_store_is_built_as_often_as_its_level_and_serves_its_tile(tmp_path, store, tiles):
    """Each row of A is full, so that each tile reads all of B once."""
    report = run(tmp_path, store, TILES=tiles)
    assert report.verification.passed
    assert len(banks_of(report)) == tiles
    assert report.traffic["B"].read_bytes == tiles * ROWS * ROW


def test_a_store_of_each_instance_serves_it_alone(tmp_path):
    report = run(tmp_path, TILES=4, PES=1)
    assert report.verification.passed
    assert len(banks_of(report)) == 4
    assert report.traffic["B"].read_bytes == 4 * ROWS * ROW


def test_the_banks_of_a_copy_are_those_of_the_instances_behind_it(tmp_path):
    assert set(banks_of(run(tmp_path, TILES=2, PES=4)).values()) == {6}
    assert set(banks_of(run(tmp_path, TILES=1, PES=8)).values()) == {12}
    assert set(banks_of(run(tmp_path, TILES=2, PES=4, **{"timing.banks": 5})).values()) == {5}


def test_a_small_store_has_no_more_banks_than_sets(tmp_path):
    """A copy has 32 lines of 64 bytes, in sets of 16."""
    report = run(tmp_path, depth=32, TILES=2, PES=4)
    assert report.verification.passed
    assert set(banks_of(report).values()) == {2}


@pytest.mark.parametrize(
    ("instances", "sets", "banks"),
    [(1, None, 2), (2, None, 3), (32, None, 48), (4112, None, LIMITS["banks"][1]), (32, 7, 7), (32, 0, 1)],
)
def test_default_banks_follow_instances_within_what_a_cache_can_have(instances, sets, banks):
    assert count_banks(instances, sets) == banks


@pytest.mark.parametrize(
    ("file", "bandwidth", "shapes"),
    [
        ("examples/specifications/spmv.yaml", "256000000000", {"A": 40, "x": 1}),
        ("fiberscope/accelerators/sigma/spec.yaml", "960 GiB/s", {"A": 40, "B": 40}),
    ],
    ids=["DRAM", "a store as memory"],
)
def test_a_memory_of_less_than_a_byte_a_second_has_a_channel(tmp_path, file, bandwidth, shapes):
    text = (ROOT / file).read_text()
    assert bandwidth in text
    path = tmp_path / "slow.yaml"
    path.write_text(text.replace(bandwidth, "4"))
    given = {name: f"uniform:rows=40,cols={columns},nonzeros=40" for name, columns in shapes.items()}
    run = fiberscope.simulate(str(path), tensors=given)
    assert run.verification.passed
    assert sum(name.startswith("slow.memory.channel") for name in run.components) == 1
