"""The FuseSoC core file of an exported block (CAPI 2), so that other designs can depend on it by name."""

from __future__ import annotations

__all__ = ["core_file"]

VENDOR = "fiberscope:rtl"


def core_file(module: str, summary: str, source: str, version: str) -> str:
    """The text of ``<module>.core``.

    Args:
        module: the top of the source.
        summary: of the block, in one line.
        source: the Verilog file, beside the core file.
        version: of what wrote it, as in ``1.2.3``.
    """
    return f"""CAPI=2:
name: {VENDOR}:{module}:{version}
description: "{summary}"
filesets:
  rtl:
    files: [{source}]
    file_type: systemVerilogSource
targets:
  default: &default
    filesets: [rtl]
    toplevel: {module}
  lint:
    <<: *default
    default_tool: verilator
    tools:
      verilator:
        mode: lint-only
"""
