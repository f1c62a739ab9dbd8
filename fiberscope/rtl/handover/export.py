"""The files beside exported Verilog: README, file list, timing constraints and FuseSoC core file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fiberscope.base.version import __version__
from fiberscope.hw.rtl.kit.core_file import core_file
from fiberscope.hw.rtl.kit.twin import Twin
from fiberscope.results.report.files import write_text
from fiberscope.rtl.handover.constraints import OUTSIDE_SHARE, sdc, xdc
from fiberscope.rtl.handover.module_text import contract_text, module_ports
from fiberscope.rtl.handover.readme import code, table, write_readme
from fiberscope.rtl.handover.structure import combinational_paths, memories
from fiberscope.rtl.handover.testbench import Testbench

PERIOD = 1.0  # ns; clock period of a block: the machines' clock of 1 GHz
_CLOCKS = {"clk": ("rst", "high"), "aclk": ("aresetn", "low")}  # reset of a clock, and its level
_FIXED = """\
The text is for these values. Another value changes the widths of wires, the number of registers or the
depth of logic, so none of them is a parameter of the Verilog. Export the module again instead."""


@dataclass(frozen=True)
class Handover:
    """An exported module, as the files beside its Verilog describe it.

    Args:
        name: name of the export and prefix of its files.
        module: name of the top module, which is in ``text``.
        summary: description in one line, not empty; it becomes a sentence of the README.
        text: the Verilog, in the file ``<name>.v``.
        period: clock period in ns.
        parameters: values by name.
        sections: further sections of the README, by heading.
        files: further files in the folder, with descriptions.
        sources: further Verilog files of the module, with descriptions.
        bench: a test bench in Verilog, if any.
    """

    name: str
    module: str
    summary: str
    text: str
    period: float = PERIOD
    parameters: Mapping[str, object] = field(default_factory=dict)
    sections: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    bench: Testbench | None = None

    @property
    def clock(self) -> str:
        """The name of the clock port, ``clk`` or ``aclk``.

        Raises:
            StopIteration: the module has no such port.
        """
        return next(port.name for port in module_ports(self.text, self.module) if port.name in _CLOCKS)


def write_handover(handover: Handover, folder: Path) -> list[Path]:
    """Write the files beside an exported module; return their paths, the README last.

    The caller writes the module's Verilog, ``sources`` and ``files``; a test bench is written here. Files of
    the same names are overwritten, but no README of other origin.

    Args:
        handover: the export.
        folder: the folder of its Verilog, which exists.

    Raises:
        InputError: the folder cannot be written to, or has a README of other origin.
    """
    name, module = handover.name, handover.module
    ports = module_ports(handover.text, module)
    constrained = module, ports, handover.clock, handover.period
    sources, bench = [f"{name}.v", *handover.sources], handover.bench
    core = core_file(
        name, handover.summary, sources, __version__, top=module, bench=bench.name if bench else ""
    )
    texts = {
        f"{name}.f": _lines(sources),
        f"{name}.sdc": sdc(*constrained),
        f"{name}.xdc": xdc(*constrained),
        f"{name}.core": core,
        **(bench.texts | {f"{bench.name}.f": _lines([*sources, f"{bench.name}.v"])} if bench else {}),
    }
    # First, because it raises an error in a folder with another README, where nothing must be written.
    readme = write_readme(folder, name, _sentence(handover.summary), __version__, _sections(handover))
    for file, text in texts.items():
        write_text(folder / file, text)
    return [*(folder / file for file in texts), readme]


def _lines(names: Iterable[str]) -> str:
    return "".join(f"{name}\n" for name in names)


def _sentence(summary: str) -> str:
    return f"{summary[0].upper()}{summary[1:].removesuffix('.')}."


def _sections(handover: Handover) -> dict[str, str]:
    parameters = table(("parameter", "value"), handover.parameters.items())
    return {
        "Files": _files(handover),
        "Use": _use(handover),
        "Parameters": f"{parameters}\n\n{_FIXED}" if parameters else "",
        "Ports": _ports(handover),
        "Clock and reset": _clock_and_reset(handover),
        "Test bench": _test_bench(handover.bench) if handover.bench else "",
        **handover.sections,
    }


def _files(handover: Handover) -> str:
    name = handover.name
    files = {
        f"{name}.v": f"the Verilog; the top module is `{handover.module}`",
        **handover.sources,
        f"{name}.f": "list of the Verilog files, for `-f` of simulators",
        f"{name}.sdc": "clock and delays at the ports, for synthesis and timing analysis",
        f"{name}.xdc": "the same for Vivado",
        f"{name}.core": "FuseSoC core file (CAPI 2)",
        **(_bench_files(handover.bench) if handover.bench else {}),
        **handover.files,
    }
    return table(("file", "content"), ((f"`{file}`", content) for file, content in files.items()))


def _use(handover: Handover) -> str:
    name, module = handover.name, handover.module
    commands = [
        f"iverilog -g2012 -Wall -s {module} -o {name}.vvp -f {name}.f",
        f"verilator --lint-only --top-module {module} -f {name}.f",
        f"yosys -p 'read_verilog -sv {' '.join([f'{name}.v', *handover.sources])}; synth -top {module}'",
        f"fusesoc --cores-root . run --target lint fiberscope:rtl:{name}",
    ]
    if handover.bench:
        bench = handover.bench.name
        commands += [
            f"iverilog -g2012 -s {bench} -o {bench}.vvp -f {bench}.f && vvp {bench}.vvp",
            f"verilator --binary -Wno-fatal --top-module {bench} -f {bench}.f && obj_dir/V{bench}",
            f"fusesoc --cores-root . run --target sim fiberscope:rtl:{name}",
        ]
    return code("\n".join(commands), "sh")


def _bench_files(bench: Testbench) -> dict[str, str]:
    return {
        f"{bench.name}.v": "test bench in Verilog, which needs a simulator alone",
        f"{bench.name}.hex": "inputs and expected outputs of each cycle of the test bench",
        f"{bench.name}.f": "list of the Verilog files with the test bench",
    }


def _test_bench(bench: Testbench) -> str:
    return f"""\
The test bench replays {bench.cycles:,} cycles of a run with random stalls, in which {bench.tokens:,} tokens
leave the module. The tokens are those of the event model; with plain ports, their cycles are, too. The bench
compares the outputs of each cycle where a token moves. It ends with a line `PASS`, or with `FAIL` and an
error code.

**Latency.** In this run, the first token leaves {_cycles(bench.latency)} the first token arrives."""


def _cycles(latency: int) -> str:
    """Return a latency in words."""
    return "in the cycle in which" if not latency else f"{latency} cycle{'s' * (latency > 1)} after"


def _ports(handover: Handover) -> str:
    ports = module_ports(handover.text, handover.module)
    rows = ((f"`{port.name}`", port.direction, port.width) for port in ports)
    return f"{code(contract_text(handover.text))}\n\n{table(('port', 'direction', 'bits'), rows)}"


def _clock_and_reset(handover: Handover) -> str:
    clock, period = handover.clock, handover.period
    reset, level = _CLOCKS[clock]
    share = f"{OUTSIDE_SHARE:.0%}".replace("%", " %")
    return f"""\
- One clock, `{clock}`. The constraints ask for a period of {period:.3f} ns ({1000 / period:,.1f} MHz).
  The period is a goal; it was not measured.
- The logic outside of a port has {share} of the period, at inputs and at outputs. Adapt the constraints.
- `{reset}` is synchronous and active {level}. One cycle of reset is enough.
- The reset sets all control registers. It does not set data registers and memories. A control bit says when
  their contents count. Gate-level simulation therefore begins with X in them, and no X reaches a `valid`."""


def twin_sections(twin: Twin, names: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the sections of a README on the logic of a module.

    Args:
        twin: the logic.
        names: the module's port for each port of the twin, if they differ.
    """
    return {
        "Paths without a register": _paths(twin, names or {}),
        "Memories": _memories(twin) or "None: all storage is in registers.",
    }


def _memories(twin: Twin) -> str:
    reads = {False: "in the cycle of the address", True: "one cycle after the address"}
    rows = (
        (f"`{memory.name}`", count, f"{memory.entries:,}", memory.bits, reads[memory.registered])
        for memory, count in memories(twin).items()
    )
    return table(("memory", "number", "entries", "bits of an entry", "data of a read"), rows)


def _paths(twin: Twin, names: Mapping[str, str]) -> str:
    paths = combinational_paths(twin, names)
    if not paths:
        return "None: every output comes from a register."
    rows = ((f"`{output}`", ", ".join(f"`{name}`" for name in inputs)) for output, inputs in paths)
    return (
        "These outputs depend on inputs in the same cycle. All other outputs come from registers. "
        "`*` stands for any number.\n\n" + table(("output", "depends on"), rows)
    )
