"""A block as files: its Verilog, those of foreign parts, and a FuseSoC core file (CAPI 2) that lists them.

By the core file other designs can depend on it by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fiberscope.hw.rtl.kit.block import RtlBlock
from fiberscope.hw.rtl.kit.parameters import Parameters

__all__ = ["core_file", "write_files"]

VENDOR = "fiberscope:rtl"
_BENCH_FILES = """\
  bench:
    files:
      - {bench}.v: {{file_type: systemVerilogSource}}
      - {bench}.hex: {{file_type: user, copyto: {bench}.hex}}
"""
_BENCH_TARGET = """\
  sim:
    filesets: [rtl, bench]
    toplevel: {bench}
    flow: sim
    flow_options:
      tool: icarus
      iverilog_options: [-g2012]
"""


def write_files(block: RtlBlock, parameters: Parameters, folder: Path, version: str) -> list[Path]:
    """Write a block and what it is made of into a folder; gives the paths, the core file's last.

    Args:
        block: what is written, with its status outputs.
        parameters: those of the block.
        folder: where; made if need be.
        version: the version of Fiberscope.
    """
    folder.mkdir(parents=True, exist_ok=True)
    sources = [part.source for part in block.foreign(parameters)]
    texts = {source.name: source.read_text(encoding="utf-8") for source in sources}
    texts[f"{block.name}.v"] = block.verilog(parameters)
    texts[f"{block.name}.core"] = core_file(block.name, block.summary, list(texts), version)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in texts]


def core_file(
    name: str, summary: str, sources: Sequence[str], version: str, *, top: str = "", bench: str = ""
) -> str:
    """The text of ``<name>.core``.

    Args:
        name: of the core.
        summary: the summary of the block, in one line.
        sources: the Verilog files, beside the core file.
        version: of what wrote it, as in ``1.2.3``; what follows a ``+``, which FuseSoC refuses, is left out.
        top: the top module, if it is not called as the core.
        bench: the top module of a test bench, in ``<bench>.v`` with its vectors in ``<bench>.hex``.
    """
    fileset = _BENCH_FILES.format(bench=bench) if bench else ""
    target = _BENCH_TARGET.format(bench=bench) if bench else ""
    return f"""CAPI=2:
name: {VENDOR}:{name}:{version.partition("+")[0]}
description: "{summary}"
filesets:
  rtl:
    files: [{", ".join(sources)}]
    file_type: systemVerilogSource
{fileset}targets:
  default: &default
    filesets: [rtl]
    toplevel: {top or name}
  lint:
    <<: *default
    flow: lint
    flow_options:
      tool: verilator
{target}"""
