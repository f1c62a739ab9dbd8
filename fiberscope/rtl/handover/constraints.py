"""Timing constraints of a module: a clock, and the delays of the logic outside of each port.

Both formats share the commands: SDC for synthesis and static timing, XDC for Vivado, whose unit is always the
nanosecond.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from fiberscope.hw.rtl.kit.interface import Wire

OUTSIDE_SHARE = 0.3  # share of a clock period for the logic outside of a port, on either side: our choice


def sdc(module: str, ports: Sequence[Wire], clock: str, period: float) -> str:
    """Return the constraints of a module as SDC (Synopsys Design Constraints).

    Args:
        module: name of the module.
        ports: all ports of the module.
        clock: name of its clock port.
        period: clock period in nanoseconds.
    """
    return "\n".join([*_head(module), "set_units -time ns", *_commands(ports, clock, period), ""])


def xdc(module: str, ports: Sequence[Wire], clock: str, period: float) -> str:
    """Return the same constraints as XDC (Xilinx Design Constraints), for Vivado; see ``sdc``."""
    return "\n".join([*_head(module), *_commands(ports, clock, period), ""])


def _head(module: str) -> list[str]:
    share = f"{OUTSIDE_SHARE:.0%}".replace("%", " %")
    return [
        f"# Timing constraints of the module {module}, for use as the top of a design.",
        f"# The logic outside of a port has {share} of the clock period: change the delays to what is there.",
        "# Within a design, a port is no pin: keep create_clock at the source of the clock alone.",
    ]


def _commands(ports: Sequence[Wire], clock: str, period: float) -> Iterator[str]:
    yield f"create_clock -name {clock} -period {period:.3f} [get_ports {{{clock}}}]"
    delay = f"{period * OUTSIDE_SHARE:.3f}"
    sorted_ports = sorted((port for port in ports if port.name != clock), key=lambda port: port.direction)
    for direction, group in groupby(sorted_ports, key=lambda port: port.direction):
        for port in group:
            bits = "[*]" if port.width > 1 else ""
            for bound, nanoseconds in (("-max", delay), ("-min", "0.000")):
                target = f"[get_ports {{{port.name}{bits}}}]"
                yield f"set_{direction}_delay {bound} {nanoseconds} -clock [get_clocks {{{clock}}}] {target}"
