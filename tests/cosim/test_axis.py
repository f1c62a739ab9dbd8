"""Blocks with ports of AXI4-Stream, driven by the bus models that others use."""

import pytest

from fiberscope import cli
from fiberscope.hw.rtl.catalogue import BLOCKS
from fiberscope.hw.rtl.kit.interface import MASK, Interface
from fiberscope.hw.rtl.tools.hdl import Bench, FailedBenchError, find, run

RADIX = 4
BY_DEFAULT = ("benes", "channel", "fiber_intersect", "merger", "packer", "values_writer")  # of each kind


def exported(folder, *options, block="merger"):
    assert cli.run(["rtl", "export", block, *options, "--ports", "axis", "-o", str(folder)]) == 0
    return folder / f"{block}.v"


def bench(source, folder):
    return Bench((source,), "merger", (), "axis_bench", {"radix": RADIX}, folder / "bench")


def test_a_bus_model_merges_fibers_as_packets(simulator, tmp_path):
    pytest.importorskip("cocotbext.axi")
    assert run(bench(exported(tmp_path, "--set", f"radix={RADIX}"), tmp_path), simulator) == 1


def test_planted_packets_without_an_end_are_found(simulator, tmp_path):
    pytest.importorskip("cocotbext.axi")
    source = exported(tmp_path, "--set", f"radix={RADIX}")
    text = source.read_text()
    source.write_text(
        text.replace("assign merged_tlast = merged_control", "assign merged_tlast = 1 | merged_control")
    )
    assert source.read_text() != text
    with pytest.raises(FailedBenchError, match="1 of 1 tests"):
        run(bench(source, tmp_path), simulator)


@pytest.mark.parametrize(
    "block", [pytest.param(name, marks=() if name in BY_DEFAULT else pytest.mark.slow) for name in BLOCKS]
)
def test_every_block_has_such_ports(block, simulator, tmp_path):
    source = exported(tmp_path, block=block)
    interface: Interface = BLOCKS[block].interface(BLOCKS[block].parameters())
    ports = {wire.name: wire for wire in find(simulator).ports([source], interface.module, tmp_path)}
    for stream in interface.streams:
        if not stream.lane:
            assert ports[f"{stream.prefix}_tvalid"].direction == stream.direction
            bits = sum(width for field, width in stream.widths.items() if field != MASK)  # that is in tkeep
            lane = -(-bits // 8) * 8
            assert ports[f"{stream.prefix}_tdata"].width == lane * len(stream.ports)
    assert {"aclk", "aresetn"} <= ports.keys()


def test_ports_of_no_kind_are_refused(tmp_path, refusal):
    error = refusal("rtl", "export", "merger", "--ports", "axi", "-o", str(tmp_path))
    assert error == "fiberscope: no ports axi; did you mean axis or plain?\n"
