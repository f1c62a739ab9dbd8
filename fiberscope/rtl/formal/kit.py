"""The formal kit of a block: its Verilog, a monitor with its properties, and commands for proofs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from fiberscope.hw.rtl.kit.block import RtlBlock
from fiberscope.hw.rtl.kit.interface import CLOCKING, Interface, Wire
from fiberscope.hw.rtl.kit.parameters import Parameters
from fiberscope.hw.rtl.kit.twin import Streams, Twin, bit_range, build, verilog
from fiberscope.rtl.formal.properties import ASSUME, CLAIM, COVER, Properties

DUT = "dut"  # the instance of the block
ASSUMED = "assumed"  # the wire that is high while all assumptions hold
_MARK = "started"  # low in the first cycle, which is a reset


@dataclass(frozen=True)
class PortList(Interface):
    """Ports of a monitor, which are not streams."""

    port_wires: tuple[Wire, ...] = ()

    def wires(self) -> list[Wire]:
        """Return the ports."""
        return list(self.port_wires)


@dataclass(frozen=True)
class FormalKit:
    """The texts of a formal kit.

    Args:
        module: name of the block's module.
        block: Verilog of the block.
        monitor: Verilog of the monitor, the module ``{module}_claims``.
        properties: the properties that the outputs of the monitor compute.
    """

    module: str
    block: str
    monitor: str
    properties: Properties

    @property
    def top(self) -> str:
        """Name of the wrapper, the module that instantiates block and monitor and states the properties."""
        return f"{self.module}_formal"

    def names(self, kind: str) -> list[str]:
        """Return the names of all properties of a kind (``ASSUME``, ``CLAIM``, ``COVER``), without prefix."""
        return [
            name.removeprefix(f"{kind}_") for name in self.properties.outputs if name.startswith(f"{kind}_")
        ]

    @property
    def connections(self) -> list[str]:
        """Return Yosys commands that connect the wrapper's ``inner_...`` wires to the flattened block."""
        return [
            f"connect -nounset -set {wire.name} \\{DUT}.{path}"
            for path, wire in self.properties.inner_wires.items()
        ]

    def preparation(self, read: str = "read_verilog -sv") -> list[str]:
        """Return Yosys commands that read the files of the kit and flatten its modules.

        Args:
            read: command that reads Verilog. Only with ``-formal``, the wrapper contains ``assume``,
                ``assert`` and ``cover``; for ``sat``, the wires of the properties suffice.
        """
        return [
            f"{read} {self.module}.v {self.module}_claims.v {self.top}.sv",
            f"hierarchy -check -top {self.top}",
            "proc",
            "memory_collect",
            "memory_map",
            "flatten",
            *self.connections,
            "opt -fast",
        ]

    def sources(self) -> dict[str, str]:
        """Return the Verilog files by name."""
        return {
            f"{self.module}.v": self.block,
            f"{self.module}_claims.v": self.monitor,
            f"{self.top}.sv": self.wrapper,
        }

    @property
    def wrapper(self) -> str:
        """SystemVerilog module around block and monitor that states the properties."""
        ports = self.properties.interface.wires()
        constants = self.properties.constants
        driven = [*(wire for wire in ports if wire.direction == "input"), *constants]
        inputs = ",\n".join(f"    {wire}" for wire in driven)
        outputs = [f"    wire {bit_range(w.width)}{w.name};" for w in ports if w.direction == "output"]
        pins = ",\n".join(f"        .{wire.name}({wire.name})" for wire in ports)
        inner = self.properties.inner_wires.items()
        declared = [f"    wire {bit_range(len(wire))}{wire.name};" for _path, wire in inner]
        connected = [f"    assign {wire.name} = {DUT}.{path};" for path, wire in inner]
        raw = [f"    wire raw_{name};" for name in self.properties.outputs]
        # before the reset in the first cycle, registers have any value: no claim fails, no cover is reached
        gated = [
            f"    (* keep *) wire {name} = raw_{name} | ~{_MARK};" for name in self._outputs(ASSUME, CLAIM)
        ]
        gated += [f"    (* keep *) wire {name} = raw_{name} & {_MARK};" for name in self._outputs(COVER)]
        monitor_pins = [f".{wire.name}({wire.name})" for wire in (*ports, *constants)]
        monitor_pins += [f".{wire.name}({wire.name})" for _path, wire in inner]
        monitor_pins += [f".{name}(raw_{name})" for name in self.properties.outputs]
        assumptions = " & ".join([f"({_MARK} | rst)", *self._outputs(ASSUME)])
        lines = [
            *outputs,
            f"    {self.module} {DUT} (\n{pins}\n    );",
            f"    reg {_MARK} = 1'b0; // the first cycle is a reset",
            f"    always @(posedge clk) {_MARK} <= 1'b1;",
            *declared,
            *(["`ifndef YOSYS // whose script connects them", *connected, "`endif"] if connected else []),
            *raw,
            f"    {self.module}_claims claims (\n        " + ",\n        ".join(monitor_pins) + "\n    );",
            *gated,
            f"    (* keep *) wire {ASSUMED} = {assumptions};",
            "`ifdef FORMAL",
            "    always @* begin",
            f"        assume ({ASSUMED});",
            *(f"        {name}_holds: assert ({name});" for name in self._outputs(CLAIM)),
            *(f"        {name}_is_reached: cover ({name});" for name in self._outputs(COVER)),
            "    end",
            "`endif",
            "endmodule",
            "",
        ]
        return f"module {self.top}(\n{inputs}\n);\n" + "\n".join(lines)

    def _outputs(self, *kinds: str) -> list[str]:
        return [name for name in self.properties.outputs if name.partition("_")[0] in kinds]


def formal_kit(
    block: RtlBlock, parameters: Parameters, add_properties: Callable[[Properties], None], status: bool = True
) -> FormalKit:
    """Return the formal kit of a block.

    Args:
        add_properties: adds assumptions, claims and covers; called once, while the monitor is designed.
        status: whether the block has status outputs, to which the kit connects nothing; without them, unused
            registers are omitted.
    """
    interface = replace(block.interface(parameters), status=())
    twin = block.twin(parameters, status=status)
    collected: list[Properties] = []

    def design(streams: Streams) -> None:
        properties = Properties(interface, streams.ports, twin.block)
        add_properties(properties)
        collected.append(properties)

    monitor = build(_inputs(interface), design)
    (properties,) = collected
    ports = PortList(f"{interface.module}_claims", (), (), tuple(properties.wires()))
    text = verilog(Twin(ports, monitor.block, monitor.origins), ports.module)
    return FormalKit(interface.module, block.verilog(parameters, status=status), text, properties)


def _inputs(interface: Interface) -> PortList:
    """Return the ports of a module, without clock and reset, as inputs of its monitor."""
    wires = [replace(wire, direction="input") for wire in interface.wires() if wire.name not in CLOCKING]
    return PortList(f"{interface.module}_claims", (), (), tuple(wires))
