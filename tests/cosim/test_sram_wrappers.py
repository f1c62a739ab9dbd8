"""Exported blocks whose memories are modules of their own: cycle by cycle the component, as without."""

from dataclasses import asdict
from functools import partial

import pytest
from scenarios import SCENARIOS

from fiberscope import cli
from fiberscope.hw.rtl.catalogue import BLOCKS
from fiberscope.hw.rtl.kit.sram import REGISTERED
from fiberscope.hw.rtl.tools.hdl import Bench, HdlError, run
from fiberscope.rtl.sram_wrappers import wrap_memories

MEMORIES = {"array": 1, "compressed_scanner": 3, "bank": 5}  # modules of their own


def parameters_of(block):
    """Return parameters of a block with registered memories."""
    seeds = range(20)
    drawn = (SCENARIOS[block].drawn(seed) for seed in seeds)
    return next(given for given in drawn if getattr(given, "memory", REGISTERED) == REGISTERED)


def bench(block, folder, spoil=lambda text: text):
    """Return a bench of a block and the modules of its memories, which ``spoil`` may break."""
    parameters = parameters_of(block)
    text, wrappers = wrap_memories(partial(BLOCKS[block].verilog, parameters))
    assert len(wrappers) == MEMORIES[block]
    texts = {f"{block}.v": text} | {file: spoil(wrapper) for file, wrapper in wrappers.items()}
    for file, content in texts.items():
        (folder / file).write_text(content)
    interface = BLOCKS[block].interface(parameters)
    order = {"blocks": {block: asdict(parameters)}, "seeds": [0], "prefixes": {}, "large": False}
    sources = tuple(folder / file for file in texts)
    return Bench(sources, interface.module, (interface,), "pair_bench", order, folder / "bench")


@pytest.mark.parametrize(
    "block",
    ["array", *(pytest.param(block, marks=pytest.mark.slow) for block in MEMORIES if block != "array")],
)
def test_wrapped_memories_change_no_cycle(block, simulator, tmp_path):
    assert run(bench(block, tmp_path), simulator) == 1


@pytest.mark.slow
@pytest.mark.parametrize("simulator", ["icarus"], indirect=True)
def test_planted_a_macro_that_reads_without_being_enabled_is_found(simulator, tmp_path):
    spoilt = bench("array", tmp_path, lambda text: text.replace("if (read_enable) ", ""))
    with pytest.raises(HdlError):
        run(spoilt, simulator)


def test_the_folder_lists_the_modules_of_memories(tmp_path):
    words = ["rtl", "export", "array", "--set", "memory=registered", "--sram-wrappers", "-o", str(tmp_path)]
    assert cli.run(words) == 0
    assert (tmp_path / "array.f").read_text() == "array.v\narray_words.v\n"
    assert "array_words.v" in (tmp_path / "array.core").read_text()
    assert "`array_words.v`" in (tmp_path / "README.md").read_text()
    assert "module array_words(" in (tmp_path / "array_words.v").read_text()
