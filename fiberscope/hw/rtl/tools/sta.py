"""OpenSTA: the clock frequency that a netlist allows, and the power of a run's toggles."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fiberscope.hw.rtl.tools.activity import Activity
from fiberscope.hw.rtl.tools.area import LIBERTY
from fiberscope.hw.rtl.tools.netlist import Netlist
from fiberscope.hw.rtl.tools.programs import first_error, run_program
from fiberscope.hw.rtl.tools.simulator import HdlError

PROGRAM = "sta"
SERIES = "2.0."  # version prefix, as the commands for activities are undocumented
STAND_IN = "input_"  # prefix of the registers that replace inputs
RUN = "run:"  # separates the two power reports
PERIOD_NS = 10.0  # clock period of the computation, which affects only leakage energy

_CLOCK = """\
read_liberty {liberty}
read_verilog netlist.v
link_design {module}
create_clock -name clk -period {period} [get_ports clk]
"""
_TIMING = (
    _CLOCK
    + """\
set inputs [list]
foreach port [all_inputs] {{ if {{[get_property $port full_name] ne "clk"}} {{ lappend inputs $port }} }}
set_input_delay 0 -clock clk $inputs
set_output_delay 0 -clock clk [all_outputs]
report_checks -path_delay max -format full -digits 6
"""
)
_POWER = (
    _CLOCK
    + f"""\
source idle.tcl
report_power -digits 9
report_power -instances [get_cells {STAND_IN}*] -digits 9
puts {RUN}
source run.tcl
report_power -digits 9
report_power -instances [get_cells {STAND_IN}*] -digits 9
"""
)
_SLACK = re.compile(r"^ +(?P<ns>-?[0-9.]+)   slack", re.MULTILINE)
_ROW = re.compile(  # of a report of power, in W
    rf"^(?:Total| ) *\S+ +\S+ +(?P<leakage>\S+) +(?P<total>\S+) +(?P<name>100\.0%|{STAND_IN}\d+)",
    re.MULTILINE,
)
_HEAD = re.compile(r"module \w+\([^;]*\);\n|^ *(?:in|out)put \w+;\n", re.MULTILINE)


@dataclass(frozen=True)
class Power:
    """Power of a module in a library's cells, without wires and memories.

    Args:
        path_ns: minimum clock period, in ns: the longest path between inputs, registers and outputs, with the
            delays of the registers; 0 if there is no path.
        idle_pj: energy of a cycle in which only the clock toggles, in pJ.
        run_pj: mean energy of a cycle of the run, in pJ.
        leakage_uw: leakage power within both, in uW.
    """

    path_ns: float
    idle_pj: float
    run_pj: float
    leakage_uw: float


def require() -> None:
    """Check that OpenSTA is installed.

    Raises:
        HdlError: with the command that installs it, or if it is of another series.
    """
    if shutil.which(PROGRAM) is None:
        raise HdlError("OpenSTA is not installed, which power needs (on Debian: apt install opensta)")
    if not version().startswith(SERIES):
        raise HdlError(f"OpenSTA {version()} takes activities in another way than {SERIES}x, that of Debian")


def version() -> str:
    """Return the version of OpenSTA."""
    return run_program([PROGRAM, "-version"]).stdout.strip()


def power_of(netlist: Netlist, activity: Activity, liberty: Path) -> Power:
    """Return the minimum clock period of a module, and the energy of a run.

    Args:
        netlist: the module in cells.
        activity: the activity of its nets in the run, of at least one cycle.
        liberty: the cell library, a Liberty file.

    Raises:
        HdlError: OpenSTA is missing or does not accept the cells, or the module has no register.
    """
    require()
    if not netlist.registers:
        raise HdlError(f"{netlist.module} has no register, without which OpenSTA knows no activity")
    fields = {"liberty": LIBERTY, "module": netlist.module, "period": PERIOD_NS}
    # An idle cycle: no net toggles, and each net has the high share of the run, which determines leakage.
    quiescent = Activity(activity.cycles, dict.fromkeys(activity.toggles, 0), activity.high)
    files = {
        name: "".join(_activities(netlist, toggles))
        for name, toggles in (("idle", quiescent), ("run", activity))
    }
    timing = _run_script(netlist, _TIMING.format(**fields), {"netlist.v": netlist.verilog}, liberty)
    slack = _SLACK.search(timing)
    power = _run_script(
        netlist,
        _POWER.format(**fields),
        {"netlist.v": _cut(netlist), **{f"{name}.tcl": text for name, text in files.items()}},
        liberty,
    )
    (idle, _), (run, leakage) = (_sum(report, netlist) for report in power.split(RUN))
    return Power(PERIOD_NS - float(slack["ns"]) if slack else 0.0, idle, run, leakage)


def _run_script(netlist: Netlist, script: str, files: Mapping[str, str], liberty: Path) -> str:
    """Run a script in OpenSTA; return its output."""
    with tempfile.TemporaryDirectory(prefix="fiberscope-power-") as name:
        for file, text in {**files, "script.tcl": script}.items():
            (Path(name) / file).write_text(text, encoding="utf-8")
        (Path(name) / LIBERTY).symlink_to(liberty.resolve())
        command = [PROGRAM, "-exit", "-no_splash", "script.tcl"]
        outcome = run_program(command, Path(name))
    complaint = first_error(outcome)
    if outcome.returncode or complaint is not None:
        raise HdlError(
            f"OpenSTA does not accept module {netlist.module} with the cells of {liberty}: "
            f"{complaint or outcome.returncode}"
        )
    return outcome.stdout + outcome.stderr


def _cut(netlist: Netlist) -> str:
    """Return the netlist with a register in place of each input.

    OpenSTA estimates the activity of logic between inputs and registers itself, even if pin activities are
    given. The power of the additional registers is subtracted later.
    """
    kind = netlist.registers[0].kind
    pins = f".{kind.data}({{0}}), .{kind.outputs[0]}({{0}})"
    stand_ins = "".join(
        f"  {kind.name} {STAND_IN}{i} (.{kind.clock}(clk), {pins.format(name)});\n"
        for i, name in enumerate(netlist.inputs)
    )
    body = _HEAD.sub("", netlist.verilog)
    head = f"module {netlist.module}(clk);\n  input clk;\n"
    start = body.index("  ")
    return head + body[start:].replace("endmodule", f"{stand_ins}endmodule")


def _activities(netlist: Netlist, activity: Activity) -> Iterator[str]:
    """Yield commands that set toggles a cycle, and the share of high cycles, of every pin except clocks."""
    cycles = activity.cycles
    numbers = {
        net: f"{toggles / cycles:.9f} {activity.high[net] / cycles:.9f}"
        for net, toggles in activity.toggles.items()
    }
    kind = netlist.registers[0].kind
    for i, net in enumerate(netlist.inputs.values()):
        for pin in (kind.data, kind.outputs[0]):
            yield f"sta::set_power_pin_activity [get_pins {STAND_IN}{i}/{pin}] {numbers[net]}\n"
    for cell in (*netlist.registers, *netlist.logic):
        for pin, net in cell.nets.items():
            if net in numbers:
                yield f"sta::set_power_pin_activity [get_pins {cell.name}/{pin}] {numbers[net]}\n"


def _sum(report: str, netlist: Netlist) -> tuple[float, float]:
    """Return energy of a cycle in pJ and leakage in uW, without the additional registers.

    The report has a row for the whole module, which counts, and one for each register of ``_cut``, which is
    subtracted.
    """
    rows = list(_ROW.finditer(report))
    if len(rows) != 1 + len(netlist.inputs):
        raise HdlError(f"OpenSTA reports no power of module {netlist.module}")
    signs = [1 if row["name"].startswith("100") else -1 for row in rows]
    total, leakage = (
        sum(sign * float(row[name]) for sign, row in zip(signs, rows, strict=True))
        for name in ("total", "leakage")
    )
    return total * PERIOD_NS * 1e3, leakage * 1e6  # W times ns is nJ
