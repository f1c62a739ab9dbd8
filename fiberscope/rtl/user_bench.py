"""A user's cocotb bench on a block: on its event model, on its RTL, or on both, which must agree."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any, TypeAlias

from fiberscope.base.errors import InputError
from fiberscope.hw.rtl.catalogue import module_of
from fiberscope.hw.rtl.kit.block import RtlBlock
from fiberscope.hw.rtl.kit.interface import Interface
from fiberscope.hw.rtl.kit.model import port_module
from fiberscope.hw.rtl.kit.parameters import Parameters
from fiberscope.hw.rtl.kit.registered import registered
from fiberscope.hw.rtl.tools.hdl import Bench, choose, find, run
from fiberscope.hw.rtl.tools.simulator import FailedBenchError
from fiberscope.hw.rtl.tools.verilator import COVERAGE
from fiberscope.rtl.coverage import PortBins
from fiberscope.rtl.machine_model import check_operand, machine_interface

MODEL, RTL, BOTH_DEVICES = "model", "rtl", "both"
DEVICES = (MODEL, RTL, BOTH_DEVICES)
OWN_BENCH = "fiberscope.hw.rtl.tools.own_bench"  # module that runs beside the tests on a block
BINS_FILE = "bins.json"  # in the folder of a run
MAX_LANES = 4  # lanes in the description of a transfer
Transcript: TypeAlias = "Mapping[str, list[list[Any]]]"  # by test: cycle, port and lanes of each transfer


@dataclass(frozen=True)
class BenchResult:
    """The result of a bench.

    Args:
        tests: number of tests on each device.
        transcripts: transfers by device, or by machine.
        fault: difference of a machine's result from the expected one, or that the machine did not end; None
            if the results agree, and for a block.
        violations: protocol violations, a line for each test and device.
        bins: events at the ports, by test and, for a block, device.
    """

    tests: int
    transcripts: Mapping[str, Transcript]
    fault: str | None = None
    violations: Sequence[str] = ()
    bins: Mapping[str, PortBins] = field(default_factory=dict)

    def count_transfers(self) -> int:
        """Return the number of transfers in all tests on the first device."""
        return sum(map(len, next(iter(self.transcripts.values())).values()))

    def differences(self) -> Iterator[str]:
        """Yield one line for each test with the first transfer in which two transcripts differ.

        A transfer differs if its cycle, port or lanes differ. A bench on one device yields nothing.
        """
        if len(self.transcripts) < len((MODEL, RTL)):
            return
        model, rtl = self.transcripts[MODEL], self.transcripts[RTL]
        for test in dict.fromkeys([*model, *rtl]):
            transfers = zip_longest(model.get(test, []), rtl.get(test, []))
            for number, (of_model, of_rtl) in enumerate(transfers):
                if of_model != of_rtl:
                    texts = _describe_transfer(of_model, of_rtl), _describe_transfer(of_rtl, of_model)
                    yield f"{test}, token {number}: {texts[0]} of the model, {texts[1]} of the RTL"
                    break


def _describe_transfer(transfer: list[Any] | None, other: list[Any] | None) -> str:
    """Describe a transfer by its fields, port and cycle; show only lanes that differ from ``other``."""
    if transfer is None:
        return "none"
    cycle, port, lanes = transfer
    other_lanes = other[2] if other is not None and other[1] == port else []
    pairs = enumerate(zip_longest(lanes, other_lanes))
    # of a token in another port, all lanes count as different
    different = [i for i, (lane, other_lane) in pairs if lane != other_lane]
    numbers = different or list(range(len(lanes)))  # all lanes if only the cycle differs
    texts = [f"lane {i} {_fields(lanes[i])}" for i in numbers] if len(lanes) > 1 else [_fields(lanes[0])]
    omission = f"; {len(texts) - MAX_LANES} more lanes" if len(texts) > MAX_LANES else ""
    return f"{'; '.join(texts[:MAX_LANES])}{omission} at {port} in cycle {cycle}"


def _fields(lane: Mapping[str, int] | None) -> str:
    return "empty" if lane is None else " ".join(f"{name}={bits}" for name, bits in lane.items())


def run_block_bench(
    bench: Path,
    block: RtlBlock,
    parameters: Parameters,
    device: str,
    simulator: str,
    folder: Path,
    *,
    line_coverage: bool = False,
) -> BenchResult:
    """Run all cocotb tests of a file on a block.

    Args:
        bench: the file; imports are resolved in its folder.
        block: the block under test, with a channel at each port (``fiberscope.hw.rtl.kit.registered``).
        parameters: parameters of the block.
        device: one of ``DEVICES``; for both, the model runs first, and a failed test ends the bench.
        simulator: an HDL simulator of ``fiberscope.hw.rtl.tools.hdl``.
        folder: folder of Verilog, logs and transcripts.
        line_coverage: whether Verilator counts lines, branches and toggles of the RTL.

    Raises:
        InputError: there is no such file, or the block does not support the device.
        FailedBenchError: a test failed.
        HdlError: the simulator is missing, or there is no test.
    """
    _require(bench)
    if device != RTL and block.component is None:
        raise InputError(f"{block.name} is composed of several components: only DUT=rtl runs it")
    simulator = find(choose(simulator)).name
    module = registered(block, inputs=True)
    interface = module.interface(parameters)
    options = {"module": module_of(block.name), "block": block.name, "parameters": asdict(parameters)}
    transcripts: dict[str, Transcript] = {}
    violations: list[str] = []
    bins: dict[str, PortBins] = {}
    tests = 0
    for dut in (MODEL, RTL) if device == BOTH_DEVICES else (device,):
        text = module.verilog(parameters) if dut == RTL else port_module(interface)
        dut_options, dut_folder = {**options, "model": dut == MODEL}, folder.resolve() / dut
        arguments = COVERAGE if line_coverage and dut == RTL else ()
        tests, transcripts[dut], broken_rules = _run(
            bench, interface, text, OWN_BENCH, dut_options, simulator, dut_folder, arguments
        )
        violations += [f"{dut}, {line}" for line in broken_rules]
        bins |= {f"{dut}, {test}": events for test, events in _bins(dut_folder).items()}
    return BenchResult(tests, transcripts, violations=violations, bins=bins)


def _run(
    bench: Path,
    interface: Interface,
    text: str,
    runner_module: str,
    options: Mapping[str, object],
    simulator: str,
    folder: Path,
    arguments: tuple[str, ...] = (),
) -> tuple[int, Transcript, list[str]]:
    """Run the tests of a file on a module; return their number, their transcript, and protocol violations.

    If a test fails, the violations are at the beginning of the message of ``FailedBenchError``.

    Args:
        bench: the file.
        interface: interface of the module.
        text: Verilog of the module.
        runner_module: Python module that runs in the simulator and finds the tests.
        options: further parameters for this module.
        simulator: an HDL simulator.
        folder: folder of the run.
        arguments: further arguments of the simulator's compiler.
    """
    folder.mkdir(parents=True, exist_ok=True)
    source, transcript = folder / f"{interface.module}.v", folder / "transcript.json"
    violations = folder / "violations.json"
    violations.unlink(missing_ok=True)  # of an earlier run in this folder
    source.write_text(text, encoding="utf-8")
    order = {
        **options,
        "bench": bench.stem,
        "folder": str(bench.resolve().parent),
        "transcript": str(transcript),
        "violations": str(violations),
        "bins": str(folder / BINS_FILE),
    }
    try:
        tests = run(
            Bench((source,), interface.module, (interface,), runner_module, order, folder, arguments),
            simulator,
        )
    except FailedBenchError as failed:
        broken = "".join(f"PROTOCOL VIOLATION: {line}\n" for line in _violations(violations))
        raise FailedBenchError(f"{broken}{failed}") from failed
    return tests, json.loads(transcript.read_text(encoding="utf-8")), _violations(violations)


def _bins(folder: Path) -> Mapping[str, PortBins]:
    """Return the events at the ports in each test."""
    return json.loads((folder / BINS_FILE).read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def _violations(file: Path) -> list[str]:
    """Return the first protocol violation of each test, with the name of the test."""
    if not file.is_file():
        return []
    return [f"{test}: {text}" for test, text in json.loads(file.read_text(encoding="utf-8")).items()]


def run_machine_bench(
    bench: Path, accelerator: str, settings: Sequence[str], matrix: str, simulator: str, folder: Path
) -> BenchResult:
    """Run all cocotb tests of a file on the event model of a whole machine; the tests serve its memory.

    Args:
        bench: the file; imports are resolved in its folder.
        accelerator: the machine, also the name of the empty top module.
        settings: its parameters, ``key=value``.
        matrix: the matrix, which is multiplied by itself.
        simulator: an HDL simulator of ``fiberscope.hw.rtl.tools.hdl``.
        folder: folder of Verilog, logs and the transcript.

    Raises:
        InputError, ConfigurationError, WorkloadError: there is no such file, parameter or matrix.
        FailedBenchError: a test failed.
        HdlError: the simulator is missing, or there is no test.
    """
    _require(bench)
    interface = machine_interface(accelerator, settings)
    check_operand(accelerator, settings, matrix)
    simulator = find(choose(simulator)).name
    run_folder = folder.resolve() / accelerator
    verdict = run_folder / "verdict.txt"
    verdict.unlink(missing_ok=True)  # ``machine_bench`` writes it at the end; empty for a right result
    options = {
        "accelerator": accelerator,
        "settings": list(settings),
        "matrix": matrix,
        "here": str(Path.cwd()),
        "verdict": str(verdict),
    }
    tests, transcript, violations = _run(
        bench,
        interface,
        port_module(interface),
        "fiberscope.rtl.machine_bench",
        options,
        simulator,
        run_folder,
    )
    fault = (
        verdict.read_text(encoding="utf-8") if verdict.is_file() else "the machine did not come to its end"
    )
    return BenchResult(tests, {accelerator: transcript}, fault or None, violations, _bins(run_folder))


def _require(bench: Path) -> None:
    if not bench.is_file():
        raise InputError(f"{bench}: no such bench; give a Python file of cocotb tests")
