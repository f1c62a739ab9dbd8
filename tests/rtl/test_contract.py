"""An exported module states the contract of each of its ports, in comments; its logic is the same."""

import re
from itertools import groupby

import pytest

from fiberscope.cli import run
from fiberscope.hw.rtl.catalogue import BLOCKS
from fiberscope.hw.rtl.kit.block import RtlBlock
from fiberscope.hw.rtl.kit.contract import contract
from fiberscope.hw.rtl.kit.interface import MASK, Bundle
from fiberscope.rtl.units import units

UNITS = {name: units("gamma")[name] for name in units("gamma") if BLOCKS}
SMALL = {
    "accumulator": BLOCKS["accumulator"].parameters(),
    "channel": BLOCKS["channel"].parameters(capacity=2),
    "adder_network": BLOCKS["adder_network"].parameters(leaves=4),
}


def interface(block: RtlBlock):
    return block.interface(block.parameters())


def comments(text: str) -> str:
    """What the comments of Verilog say, in one line."""
    return " ".join(" ".join(line[2:] for line in text.splitlines() if line.startswith("//")).split())


@pytest.mark.parametrize("name", UNITS)
def test_each_stream_is_named_with_its_direction_and_fields(name):
    text = comments(contract(interface(UNITS[name]), registered=False))
    for _port, group in groupby(interface(UNITS[name]).streams, key=lambda stream: stream.port[0]):
        alike = [*group]
        first, last = alike[0].prefix, alike[-1].prefix
        names = rf" {first}\b[^:]*" + (rf"\b{last} " if last != first else "")
        stated = re.search(rf"{names}\({alike[0].direction}\):([^:]*)", text)
        assert stated, text
        widths = [item for stream in alike for item in stream.widths.items()]
        assert all(re.search(rf"\b{field} \w+ {bits}\b", stated[1]) for field, bits in widths)


@pytest.mark.parametrize("name", UNITS)
def test_lanes_of_a_port_are_said_to_be_one_stream(name):
    lanes = [stream for stream in interface(UNITS[name]).streams if stream.lane]
    text = comments(contract(interface(UNITS[name]), registered=False))
    assert text.count("lanes of one stream, not") == len(lanes)
    for stream in lanes:
        assert f"{stream.wire('ready')} for {stream.lane + 1}" in text


@pytest.mark.parametrize("name", UNITS)
def test_rows_are_said_to_move_together(name):
    bundles = [stream for stream in interface(UNITS[name]).streams if isinstance(stream, Bundle)]
    text = comments(contract(interface(UNITS[name]), registered=False))
    assert text.count("of a row, which move together") == len(bundles)
    masked = sum(MASK in stream.widths for stream in bundles)
    assert text.count("a lane whose bit of mask is 0 is empty") == masked


@pytest.mark.parametrize("block", SMALL)
@pytest.mark.parametrize("ports", ["plain", "registered", "checked"])
def test_an_exported_file_states_it_and_its_logic_is_what_it_was(block, ports, tmp_path):
    settings = [f"--set={name}={number}" for name, number in vars(SMALL[block]).items()]
    assert run(["rtl", "export", block, f"--ports={ports}", "-o", str(tmp_path), *settings]) == 0
    text = (tmp_path / f"{block}.v").read_text()
    said = comments(text)
    assert ("stays high, and its fields stay the same" in said) == (ports != "plain")
    assert ("ready must not wait for valid" in said) == (ports == "plain")
    assert ("lanes of one stream, not" in said) == (ports == "plain" and block == "accumulator")
    if ports == "plain":
        logic = BLOCKS[block].modules(SMALL[block], block, status=False)
        assert text.endswith(f"\n\n{logic}")
        assert "//" not in text.removesuffix(logic).split("\n\n")[-1]


def test_a_shell_states_it_too(tmp_path):
    assert run(["rtl", "shell", "accumulator", "-o", str(tmp_path)]) == 0
    text = (tmp_path / "accumulator.v").read_text()
    assert "stays high, and its fields stay the same" in comments(text)
