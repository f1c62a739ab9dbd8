"""Benches for the Verilog of blocks, each beside its component."""

from dataclasses import asdict

from fiberscope.hw.rtl.catalogue import BLOCKS
from fiberscope.hw.rtl.tools.harness import harness, prefix
from fiberscope.hw.rtl.tools.hdl import Bench


def bench(block, parameters, folder, seeds, *, spoil=lambda text: text):
    """The Verilog of a block in a folder, to be run with the streams of these seeds; ``spoil`` breaks it."""
    path = folder / f"{block}.v"
    path.write_text(spoil(BLOCKS[block].verilog(parameters)))
    interface = BLOCKS[block].interface(parameters)
    order = _order({block: parameters}, seeds)
    return Bench((path,), interface.module, (interface,), "pair_bench", order, folder / "bench")


def benches(drawn, folder, seeds, *, large=False):
    """The Verilog of several blocks side by side, each a test of its own, given its parameters by block."""
    texts = {block: BLOCKS[block].verilog(parameters) for block, parameters in drawn.items()}
    placed = {block: BLOCKS[block].interface(parameters) for block, parameters in drawn.items()}
    texts["side_by_side"] = harness("side_by_side", placed)
    for name, text in texts.items():
        (folder / f"{name}.v").write_text(text)
    order = _order(drawn, seeds) | {"prefixes": {block: prefix(block) for block in drawn}, "large": large}
    sources = tuple(folder / f"{name}.v" for name in texts)
    return Bench(sources, "side_by_side", (), "pair_bench", order, folder / "bench")


def _order(drawn, seeds):
    return {
        "blocks": {block: asdict(parameters) for block, parameters in drawn.items()},
        "seeds": list(seeds),
        "prefixes": {},
        "large": False,
    }
