"""A bench for the Verilog of a block, beside its component."""

from dataclasses import asdict

from fiberscope.hw.rtl.catalogue import BLOCKS
from fiberscope.hw.rtl.tools.hdl import Bench


def bench(block, parameters, folder, seeds, *, large=False, spoil=lambda text: text):
    """The Verilog of a block in a folder, to be run with the small or large streams of these seeds.

    ``spoil`` breaks it.
    """
    path = folder / f"{block}.v"
    path.write_text(spoil(BLOCKS[block].verilog(parameters)))
    order = {"block": block, "parameters": asdict(parameters), "seeds": list(seeds), "large": large}
    interface = BLOCKS[block].interface(parameters)
    return Bench((path,), interface.module, (interface,), "pair_bench", order, folder / "bench")
