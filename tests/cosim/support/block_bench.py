"""A bench for the Verilog of a block, beside its component."""

from dataclasses import asdict

from hw.rtl.catalogue import BLOCKS
from hw.rtl.hdl import Bench


def bench(block, parameters, folder, seeds, *, spoil=lambda text: text):
    """The Verilog of a block in a folder, to be run with the streams of these seeds; ``spoil`` breaks it."""
    path = folder / f"{block}.v"
    path.write_text(spoil(BLOCKS[block].verilog(parameters)))
    order = {"block": block, "parameters": asdict(parameters), "seeds": list(seeds)}
    return Bench((path,), BLOCKS[block].interface(parameters), "pair_bench", order, folder / "bench")
