"""Export of a block as files: its Verilog, foreign parts, and a FuseSoC core file (CAPI 2).

The core file lets other designs depend on the block by name.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from fiberscope.hw.rtl.kit.block import RtlBlock
from fiberscope.hw.rtl.kit.parameters import Parameters

VENDOR = "fiberscope:rtl"
# A template for ``str.format``, hence the double braces
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
    """Write a block and its parts into a folder; return the paths, the core file last.

    Files of the same names are overwritten.

    Args:
        block: the block, written with its status outputs.
        parameters: parameters of the block.
        folder: the folder, created if necessary.
        version: version of Fiberscope.
    """
    folder.mkdir(parents=True, exist_ok=True)
    sources = [part.source for part in block.foreign(parameters)]
    texts = {source.name: source.read_text(encoding="utf-8") for source in sources}
    texts[f"{block.name}.v"] = block.verilog(parameters)
    # The core file is added last, so that it does not list itself.
    texts[f"{block.name}.core"] = core_file(block.name, block.summary, list(texts), version)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in texts]


def core_file(
    name: str, summary: str, sources: Sequence[str], version: str, *, top: str = "", bench: str = ""
) -> str:
    """Return the text of ``<name>.core``.

    Args:
        name: name of the core.
        summary: description of the block, in one line.
        sources: the Verilog files, beside the core file.
        version: version of the writer, as in ``1.2.3``. The part after a ``+``, which FuseSoC refuses, is
            omitted.
        top: the top module, if its name differs from the core's.
        bench: the top module of a test bench, in ``<bench>.v`` with its vectors in ``<bench>.hex``.
    """
    fileset = _BENCH_FILES.format(bench=bench) if bench else ""
    target = _BENCH_TARGET.format(bench=bench) if bench else ""
    return f"""CAPI=2:
name: {VENDOR}:{name}:{version.partition("+")[0]}
description: {json.dumps(summary, ensure_ascii=False)}
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
