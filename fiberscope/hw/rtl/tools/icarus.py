"""Icarus Verilog: a four-valued simulator that compiles quickly."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from fiberscope.hw.rtl.kit.interface import Wire
from fiberscope.hw.rtl.tools.simulator import (
    DIRECTIONS,
    Simulator,
    include_folders,
    require_programs,
    run_compiler,
)

_MODULE = re.compile(r'\.scope module, "(?P<name>[^"]+)"')
_PORT = re.compile(r'\.port_info \d+ /(?P<direction>\w+) (?P<width>\d+) "(?P<name>[^"]+)"')


class Icarus(Simulator):
    """Icarus Verilog: ``iverilog`` and ``vvp`` on the PATH."""

    name = "icarus"

    def require(self) -> None:
        """See ``Simulator``."""
        require_programs(self.name, {"iverilog": "iverilog", "vvp": "iverilog"})

    def _ports(self, sources: Sequence[Path], module: str, folder: Path) -> list[Wire]:
        output = folder / f"{module}.vvp"
        includes = [f"-I{place}" for place in include_folders(sources)]
        command = ["iverilog", "-g2012", *includes, "-s", module, "-o", str(output), *map(str, sources)]
        run_compiler(command, module, os.environ)
        return _top_ports(output.read_text(encoding="utf-8", errors="replace"), module)


def _top_ports(text: str, module: str) -> list[Wire]:
    """Return the ports after the module's scope in a compiled file."""
    ports: list[Wire] = []
    inside = False
    for line in text.splitlines():
        scope = _MODULE.search(line)
        if scope or ".scope" in line:
            if inside:
                break
            inside = scope is not None and scope["name"] == module
        port = _PORT.search(line)
        if inside and port:
            ports.append(Wire(port["name"], DIRECTIONS[port["direction"]], int(port["width"])))
    return ports
