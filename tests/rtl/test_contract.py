"""An exported module states the contract of each of its ports, in comments; its logic is the same."""

import re
from itertools import groupby
from pathlib import Path

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

PORTS = ("plain", "registered", "checked", "axis")


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
        assert f"ready only if the lane before it is: {stream.wire('ready')} only if " in text


@pytest.mark.parametrize("name", UNITS)
def test_rows_are_said_to_move_together(name):
    bundles = [stream for stream in interface(UNITS[name]).streams if isinstance(stream, Bundle)]
    text = comments(contract(interface(UNITS[name]), registered=False))
    assert text.count("of a row, which move together") == len(bundles)
    masked = sum(MASK in stream.widths for stream in bundles)
    assert text.count("a lane whose bit of mask is 0 is empty") == masked


@pytest.mark.parametrize("block", SMALL)
@pytest.mark.parametrize("ports", PORTS[:3])
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


EXAMPLES = Path(__file__).parents[2] / "examples"
GAMMA = {
    "pe.count": 1,
    "pe.radix": 2,
    "fibercache.banks": 2,
    "fibercache.size": "4KiB",
    "memory.channels": 2,
    "format.element": 8,
    "format.value": 4,
    "format.dense": "none",
}
GRAPH = [str(EXAMPLES / "graphs/spmv.gv"), "B=sam-random:shape=5x4,sparsity=0.5", "c=ones:shape=4"]
LEAF = [str(EXAMPLES / "specifications/spmv.yaml"), "--level", "PE", "--set", "PES=2", "--sim", "pyrtl"]
EXPORTS = {
    **{f"{ports} ports": ["rtl", "export", "accumulator", "--ports", ports] for ports in PORTS},
    "status outputs": ["rtl", "export", "merge_tree", "--status"],
    "bundles": ["rtl", "export", "benes", "--ports", "axis"],
    "shell": ["rtl", "shell", "accumulator"],
    "graph": ["graph", "export", *GRAPH],
    "graph of floats": ["graph", "export", *GRAPH, "--set", "value=float32"],
    "leaf element": ["rtl", "export", *LEAF],
    "machine": ["rtl", "export", "gamma", *(f"--set={name}={value}" for name, value in GAMMA.items())],
}


def streams_of(text: str) -> dict[str, str]:
    """Each stream of the first module of Verilog with its direction, by its wire ``valid``."""
    ports = text[text.index("\nmodule ") :].partition(");")[0]
    valid = re.findall(r"(input|output) (?:\[\d+:0\] )?(\w+)_t?valid\b", ports)
    return {name: direction for direction, name in valid}


def stated_streams(text: str) -> dict[str, str]:
    """Each stream that the contract at the head of a file names, with its direction; arrays in full."""
    found = {}
    for names, direction in re.findall(r"^//   (\w[^:(]*?) \((input|output)\):", text, re.MULTILINE):
        first, _, last = (name.split(" and ") for name in names.partition(" to "))
        for name, end in zip(first, last if last != [""] else first, strict=True):
            digits = [re.findall(r"\d+", prefix) for prefix in (name, end)]
            place = next((i for i, (low, high) in enumerate(zip(*digits, strict=True)) if low != high), None)
            if place is None:
                found[name] = direction
                continue
            low, high = (numbers[place] for numbers in digits)
            before, behind = name.rsplit(low, 1) if place else name.split(low, 1)
            found |= {
                f"{before}{number:0{len(low)}}{behind}": direction
                for number in range(int(low), int(high) + 1)
            }
    return found


@pytest.mark.parametrize(
    "export", [pytest.param(name, marks=[pytest.mark.slow] * (name == "machine")) for name in EXPORTS]
)
def test_every_export_states_the_contract_of_each_of_its_ports(export, tmp_path):
    assert run([*EXPORTS[export], "-o", str(tmp_path)]) == 0
    (file,) = (path for path in tmp_path.glob("*.v") if not path.stem.endswith("_tb"))  # no test bench
    text = file.read_text()
    head, streams = comments(text.partition("\nmodule ")[0]), streams_of(text)
    assert streams
    assert stated_streams(text) == streams
    assert re.search(r"sampled at the rising edge of a?clk; (rst|aresetn) is synchronous and active", head)
    assert re.search(r"in a cycle in which t?valid and t?ready \D*are both high", head)
    assert re.search(r"of a stream keep their order; \D*different streams have no order", head)
    assert head.count("a lane is ready only if ") == head.count("lanes of one stream, not")
    for name in streams:
        if name.endswith("_load") and "graph" in export:
            assert "send all words before the first other token" in head
