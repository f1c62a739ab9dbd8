"""Wires without a name of their own are called in the Verilog as what made them."""

import re

import pyrtl
import pytest
from scenarios import SCENARIOS

from fiberscope.hw.rtl.catalogue import BLOCKS
from fiberscope.hw.rtl.kit.interface import Interface, Stream
from fiberscope.hw.rtl.kit.twin import build, verilog

DECLARED = re.compile(r"^ +(?:wire|reg)\s*(?:\[\d+:0\])?\s*(\w+)", re.MULTILINE)
NUMBERED = re.compile(r"(tmp|_ver_out)\w*\d+")
MOST_NUMBERED = 0.1
TOKENS = {"coordinate": 4}
PORTS = Interface(
    "adder", (Stream("in", "in", "input", TOKENS), Stream("out", "out", "output", TOKENS)), ("odd",)
)


def advanced(count, steps):
    return (count + steps)[:4]


class Total:
    def __init__(self, word):
        self.count = pyrtl.Register(4, "count")
        self.count.next <<= advanced(self.count, word + word[0])


def adder(between):
    source, sink = between.inputs["in"], between.outputs["out"]
    source.accept(sink.ready)
    total = Total(source.fields["coordinate"])
    double: pyrtl.WireVector = total.count + total.count
    several = [double[i] ^ double[i + 1] for i in range(4)]
    sink.send(source.valid, {"coordinate": pyrtl.concat_list(several)})
    between.show("odd", several[0])


def declared(text):
    return DECLARED.findall(text)


def test_by_its_function_and_by_what_the_statement_assigns():
    names = declared(verilog(build(PORTS, adder), "adder"))
    assert set(names) == {
        "count",
        "advanced_term0",
        "total_next_count_term0",
        "adder_double_term0",
        "adder_several_term0",
    }


@pytest.mark.parametrize("name", BLOCKS)
def test_few_wires_of_a_block_are_mere_numbers(name):
    text = BLOCKS[name].verilog(SCENARIOS[name].drawn(0))
    for module in text.split("endmodule")[:-1]:
        names = declared(module)
        numbered = [one for one in names if NUMBERED.fullmatch(one)]
        assert len(numbered) <= MOST_NUMBERED * len(names)
        assert len(names) == len(set(names))
