"""``fiberscope rtl prove BLOCK`` and ``rtl export BLOCK --formal``: formal properties of a block."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fiberscope.base.errors import MACHINE_WRONG, InputError
from fiberscope.commands.rtl_options import BlockSettings, Folder
from fiberscope.rtl.select_block import find_block, input_errors

if TYPE_CHECKING:
    from fiberscope.hw.rtl.kit.block import RtlBlock
    from fiberscope.hw.rtl.kit.parameters import Parameters
    from fiberscope.rtl.formal.prover import ProofResult

DEPTH = 20  # cycles of a bounded proof

_Block = Annotated[str, typer.Argument(help="Block: a name from 'fiberscope rtl list'.")]
_Ports = Annotated[str, typer.Option(metavar="KIND", help="Ports of the block: plain or registered.")]
_Depth = Annotated[int, typer.Option(min=1, max=1000, metavar="N", help="Cycles of a bounded proof.")]
_Timeout = Annotated[int, typer.Option(min=1, metavar="SECONDS", help="Time limit of the whole proof.")]


def prove(
    block: _Block,
    settings: BlockSettings = None,
    ports: _Ports = "plain",
    depth: _Depth = DEPTH,
    timeout: _Timeout = 300,
    output: Folder = Path("build/prove"),
) -> int:
    """Prove the claims of a block with Yosys.

    The claims hold for all inputs, all timings of ready and all resets: by induction, for any number of
    cycles, or up to --depth cycles behind a reset. Unless --set says otherwise, parameters are small. The run
    in which a claim fails is written as a waveform.

    \b
    Examples:
      fiberscope rtl prove divider
      fiberscope rtl prove channel --set capacity=5 --set latency=2
      fiberscope rtl prove accumulator --ports registered --depth 12
    """
    rtl_block = find_block(block)
    from fiberscope.hw.rtl.tools.simulator import HdlError
    from fiberscope.rtl.formal.catalogue import kit_of, small_parameters
    from fiberscope.rtl.formal.prover import prove as prove_kit
    from fiberscope.rtl.formal.yosys_session import find_yosys

    try:
        with input_errors():
            parameters = small_parameters(rtl_block, settings or [])
            kit = kit_of(rtl_block, parameters, ports)
        find_yosys()
        numbers = " ".join(f"{name}={number}" for name, number in asdict(parameters).items())
        print(f"{rtl_block.name}, {ports} ports: {numbers}")
        result = prove_kit(kit, depth, timeout, lambda claim: output / f"{rtl_block.name}_{claim}.vcd")
    except HdlError as error:
        raise InputError(str(error)) from error
    _print_result(result, depth)
    for claim, path in result.waveforms.items():
        print(f"Waveform of {claim}: {path}")
    return MACHINE_WRONG if result.failed or result.has_contradiction else 0


def _print_result(result: ProofResult, depth: int) -> None:
    """Print the verdict on each claim, and unreached covers."""
    if result.has_contradiction:
        print(
            f"the assumptions contradict one another: no run of {depth} cycles exists, so nothing is proven"
        )
        return
    width = max(map(len, result.verdicts), default=0)
    for name, verdict in result.verdicts.items():
        print(f"  {name:<{width}}  {verdict}")
    covers = len(result.reached) + len(result.unreached)
    inductive = sum(verdict.is_inductive for verdict in result.verdicts.values())
    vacuous = sum(verdict.is_vacuous for verdict in result.verdicts.values())
    print(
        f"{len(result.verdicts)} claims: {inductive} proven by induction, {len(result.failed)} failed, "
        f"{vacuous} vacuous; {len(result.reached)} of {covers} covers reached; {result.seconds:.1f} s"
    )
    if result.unreached:
        print(f"covers not reached in {depth} cycles: {', '.join(result.unreached)}")
    if result.is_interrupted:
        print("the time limit ended the proof; see --timeout")


def write_formal(
    rtl_block: RtlBlock, parameters: Parameters, output: Path, ports: str, *, status: bool
) -> dict[str, str]:
    """Write the formal kit of a block, and print the paths; return its README section, by heading.

    Args:
        output: the folder of the block's Verilog.
        ports: kind of the ports.
        status: whether the module has status outputs.

    Raises:
        InputError: there is no kit for these ports, or a file cannot be written.
    """
    from fiberscope.rtl.formal.catalogue import kit_of
    from fiberscope.rtl.formal.kit_files import describe_kit, write_kit

    with input_errors():
        kit = kit_of(rtl_block, parameters, ports, status=status)
    for path in write_kit(kit, DEPTH, output):
        print(f"Formal: {path}")
    return describe_kit(kit, DEPTH)
