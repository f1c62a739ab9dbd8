"""The reset of a module: of its control and of nothing else."""

import re

import pyrtl
import pytest

from fiberscope.hw.rtl.catalogue import BLOCKS
from fiberscope.hw.rtl.kit.twin import DataRegister
from fiberscope.hw.rtl.kit.wrapper import ComposedBlock

ASSIGNED = re.compile(r"^ +(\w+) <=", re.MULTILINE)
RESET = re.compile(r"if \(rst\) begin\n(.*?)end else", re.DOTALL)
SINGLE = [block for block in BLOCKS.values() if not isinstance(block, ComposedBlock)]


@pytest.mark.parametrize("block", SINGLE, ids=lambda block: block.name)
def test_data_has_no_reset_and_all_else_has(block):
    parameters = block.parameters()
    registers = block.twin(parameters).block.wirevector_subset(pyrtl.Register)
    control = {register.name for register in registers if not isinstance(register, DataRegister)}
    text = block.verilog(parameters)
    reset = {name for part in RESET.findall(text) for name in ASSIGNED.findall(part)}
    assert reset == control
    assert set(ASSIGNED.findall(text)) >= {register.name for register in registers}


def test_most_flip_flops_of_a_merger_have_no_reset():
    block = BLOCKS["merger"]
    registers = block.twin(block.parameters()).block.wirevector_subset(pyrtl.Register)
    data = sum(len(register) for register in registers if isinstance(register, DataRegister))
    assert data > 0.98 * sum(map(len, registers))
