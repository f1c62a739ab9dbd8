"""A Verilog test bench that replays a recording in any simulator, and prints PASS or FAIL.

Inputs change at the falling edge of the clock. Outputs are compared at the rising edge, before registers
change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fiberscope.hw.rtl.kit.interface import Wire
from fiberscope.hw.rtl.kit.twin import bit_range
from fiberscope.rtl.handover.module_text import module_ports
from fiberscope.rtl.handover.recording import Recording

RESET_CYCLES = 4  # before the first recorded cycle
CLOCKING = {"clk": ".clk(clk)", "rst": ".rst(rst)", "aclk": ".aclk(clk)", "aresetn": ".aresetn(~rst)"}
Bits = Mapping[str, int]  # of wires by name


@dataclass(frozen=True)
class Testbench:
    """A test bench, its vectors, and the size of the recorded run.

    Args:
        name: the top module and prefix of its files.
        texts: its files by name.
        cycles, tokens, latency: see ``Recording``.
    """

    name: str
    texts: dict[str, str]
    cycles: int
    tokens: int
    latency: int


def make_testbench(
    name: str, module: str, text: str, recording: Recording, convert: Callable[[Bits], Bits] = dict
) -> Testbench:
    """Return the files of the test bench of an export.

    Args:
        name: name of the export.
        module: its top module.
        text: its Verilog. Outputs that the recording lacks, such as status outputs, are not compared.
        recording: the run.
        convert: converts the bits of streams to the bits of ports with other names. It must only move or
            copy bits, as it also converts the masks of compared bits.
    """
    ports = module_ports(text, module)
    data = [port for port in ports if port.name not in CLOCKING]
    inputs = [port for port in data if port.direction == "input"]
    outputs = [port for port in data if port.direction == "output"]
    top, cycles = f"{name}_tb", len(recording.vectors)
    texts = {
        f"{top}.v": _bench(
            top, module, inputs, outputs, recording, [port for port in ports if port not in data]
        ),
        f"{top}.hex": "".join(_vectors(recording, inputs, outputs, convert)),
    }
    return Testbench(top, texts, cycles, recording.tokens, recording.latency)


def _vectors(
    recording: Recording, inputs: Sequence[Wire], outputs: Sequence[Wire], convert: Callable[[Bits], Bits]
) -> Iterator[str]:
    """Yield a line for each cycle: from the lowest bit on, inputs, expected outputs and mask."""
    # One hexadecimal digit has four bits; the last digit may be incomplete.
    digits = -(-sum(port.width for port in (*inputs, *outputs, *outputs)) // 4)
    for vector in recording.vectors:
        vector_bits = 0
        # Each step shifts earlier ports up: the mask becomes highest, and the first input lowest.
        for bits, ports in ((vector.compared, outputs), (vector.expected, outputs), (vector.inputs, inputs)):
            wires = convert(bits)
            for port in reversed(ports):
                vector_bits = vector_bits << port.width | wires.get(port.name, 0)
        yield f"{vector_bits:0{digits}x}\n"


# Registers change by nonblocking assignments, which take effect after the checks at the same rising edge.
_RUN = """\
    always #0.5 clk = ~clk;
    initial begin
        $readmemh("{name}.hex", vectors);
        repeat ({reset}) @(negedge clk);
        rst = 0;
        for (cycle = 0; cycle < {cycles}; cycle = cycle + 1) begin
            vector = vectors[cycle];
            @(posedge clk);
{checks}
            @(negedge clk);
        end
        if (errors != 0) begin
            $display("FAIL: %0d outputs are wrong", errors);
            $fatal(1);
        end
        $display("PASS: {tokens} tokens in {cycles:,} cycles");
        $finish;
    end
"""


def _bench(
    name: str,
    module: str,
    inputs: Sequence[Wire],
    outputs: Sequence[Wire],
    recording: Recording,
    clocking: Sequence[Wire],
) -> str:
    """Return the Verilog of the test bench. A vector has inputs, expected outputs and mask, from bit 0 on."""
    positions = dict(_bit_positions([*inputs, *outputs]))
    output_bits = sum(port.width for port in outputs)
    width = sum(port.width for port in inputs) + 2 * output_bits
    checks = "\n".join(line for port in outputs for line in _check(port, positions[port.name], output_bits))
    pins = [CLOCKING[port.name] for port in clocking]
    pins += [f".{port.name}({port.name})" for port in (*inputs, *outputs)]
    pin_text = ",\n        ".join(pins)
    cycles = len(recording.vectors)
    return f"""\
// Test bench of {module}: replays {cycles:,} cycles of a run of the event model, from {name}.hex, and
// compares the outputs where a token moves. Ends with PASS, or with FAIL and an error code.
`timescale 1ns / 1ps
module {name};
    reg clk = 0;
    reg rst = 1;
    reg [{width - 1}:0] vectors [0:{cycles - 1}];
    reg [{width - 1}:0] vector = 0;
    integer cycle = 0;
    integer errors = 0;
{_wires(inputs, positions)}
{_nets(outputs)}
    {module} dut(
        {pin_text}
    );
{_RUN.format(name=name, reset=RESET_CYCLES, cycles=cycles, checks=checks, tokens=f"{recording.tokens:,}")}\
endmodule
"""


def _bit_positions(ports: Sequence[Wire]) -> Iterator[tuple[str, int]]:
    """Yield the lowest bit of each port in a vector."""
    position = 0
    for port in ports:
        yield port.name, position
        position += port.width


def _wires(inputs: Sequence[Wire], positions: Mapping[str, int]) -> str:
    return "\n".join(
        f"    wire {bit_range(port.width)}{port.name} = vector[{positions[port.name]} +: {port.width}];"
        for port in inputs
    )


def _nets(outputs: Sequence[Wire]) -> str:
    return "\n".join(f"    wire {bit_range(port.width)}{port.name};" for port in outputs)


def _check(port: Wire, position: int, output_bits: int) -> Iterator[str]:
    """Yield the comparison of an output with its bits in the vector, where the mask is set."""
    expected, mask = (f"vector[{offset} +: {port.width}]" for offset in (position, position + output_bits))
    # ``!==`` counts an X or Z of a compared bit as an error; ``!=`` would be X, which ``if`` takes as false.
    yield f"            if ((({port.name} ^ {expected}) & {mask}) !== 0) begin"
    yield "                errors = errors + 1;"
    message = f"cycle %0d: {port.name} is %h, not %h"
    yield f'                if (errors < 20) $display("FAIL: {message}", cycle, {port.name}, {expected});'
    yield "            end"
