"""Parameters of blocks as settings: whatever a block allows can be written on the command line."""

from dataclasses import asdict

import pytest

from fiberscope.hw.rtl.catalogue import BLOCKS
from fiberscope.hw.rtl.kit.parameters import least, parse


@pytest.mark.parametrize("name", BLOCKS)
def test_settings_with_default_and_with_least_parameters_are_read_back(name: str) -> None:
    kind = BLOCKS[name].parameters
    for parameters in (kind(), least(kind)):
        settings = [f"{parameter}={value}" for parameter, value in asdict(parameters).items()]
        assert parse(name, kind, settings) == parameters


def test_negative_numbers_are_read_where_a_block_allows_them() -> None:
    block = BLOCKS["projection"]
    parsed = parse("projection", block.parameters, ["factor0=-2", "constant=-7"])
    assert parsed == block.parameters(factor0=-2, constant=-7)
    with pytest.raises(ValueError, match="radix must be from 2 to 64, not -3"):
        parse("merger", BLOCKS["merger"].parameters, ["radix=-3"])
    with pytest.raises(ValueError, match="write name=number"):
        parse("merger", BLOCKS["merger"].parameters, ["radix=--3"])
