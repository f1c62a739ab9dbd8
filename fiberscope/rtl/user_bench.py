"""A user's cocotb bench on a block: on its event model, on its RTL, or on both, which must agree."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any, TypeAlias

from fiberscope.base.errors import InputError
from fiberscope.hw.rtl.kit.block import RtlBlock
from fiberscope.hw.rtl.kit.interface import Interface
from fiberscope.hw.rtl.kit.model import shell
from fiberscope.hw.rtl.kit.parameters import Parameters
from fiberscope.hw.rtl.kit.registered import registered
from fiberscope.hw.rtl.tools.hdl import Bench, choose, find, run
from fiberscope.hw.rtl.tools.simulator import FailedBenchError
from fiberscope.hw.rtl.tools.verilator import COVERAGE
from fiberscope.rtl.coverage import PortBins
from fiberscope.rtl.machine_model import check_operand, machine_interface

MODEL, RTL, BOTH = "model", "rtl", "both"
DEVICES = (MODEL, RTL, BOTH)
OWN_BENCH = "fiberscope.hw.rtl.tools.own_bench"  # module that runs beside the tests on a block
BINS = "bins.json"  # file in the folder of a run
MOST_LANES = 4  # lanes in the description of a transfer
Transcript: TypeAlias = "Mapping[str, list[list[Any]]]"  # by test: cycle, port and lanes of each transfer


@dataclass(frozen=True)
class BenchResult:
    """The result of a bench.

    Args:
        tests: number of tests on each device.
        transcripts: transfers by device, or by machine.
        fault: difference of a machine's result from the expected one; None if they agree.
        violations: protocol violations, a line for each test and device.
        bins: events at the ports, by test and, for a block, device.
    """

    tests: int
    transcripts: Mapping[str, Transcript]
    fault: str | None = None
    violations: Sequence[str] = ()
    bins: Mapping[str, PortBins] = field(default_factory=dict)

    def tokens(self) -> int:
        """Return the number of transfers in all tests on the first device."""
        return sum(map(len, next(iter(self.transcripts.values())).values()))

    def differences(self) -> Iterator[str]:
        """Yield one line for each test with the first token in which two transcripts differ."""
        if len(self.transcripts) < len((MODEL, RTL)):
            return
        model, rtl = self.transcripts[MODEL], self.transcripts[RTL]
        for test in dict.fromkeys([*model, *rtl]):
            transfers = zip_longest(model.get(test, []), rtl.get(test, []))
            for number, (left, right) in enumerate(transfers):
                if left != right:
                    model_text, rtl_text = _describe_transfer(left, right), _describe_transfer(right, left)
                    yield f"{test}, token {number}: {model_text} of the model, {rtl_text} of the RTL"
                    break


def _describe_transfer(transfer: list[Any] | None, other: list[Any] | None) -> str:
    """Describe a transfer by its fields, port and cycle; show only lanes that differ from ``other``."""
    if transfer is None:
        return "none"
    cycle, port, lanes = transfer
    others = other[2] if other is not None and other[1] == port else []
    differ = [i for i, (lane, other_lane) in enumerate(zip_longest(lanes, others)) if lane != other_lane]
    numbers = differ or list(range(len(lanes)))  # all lanes if only the cycle differs
    texts = [f"lane {i} {_fields(lanes[i])}" for i in numbers] if len(lanes) > 1 else [_fields(lanes[0])]
    omission = f"; {len(texts) - MOST_LANES} more lanes" if len(texts) > MOST_LANES else ""
    return f"{'; '.join(texts[:MOST_LANES])}{omission} at {port} in cycle {cycle}"


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
        device: one of ``DEVICES``.
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
    order = {"block": block.name, "parameters": asdict(parameters)}
    transcripts: dict[str, Transcript] = {}
    violations: list[str] = []
    bins: dict[str, PortBins] = {}
    tests = 0
    for under_test in (MODEL, RTL) if device == BOTH else (device,):
        text = module.verilog(parameters) if under_test == RTL else shell(interface)
        order_, place = {**order, "model": under_test == MODEL}, folder.resolve() / under_test
        arguments = COVERAGE if line_coverage and under_test == RTL else ()
        tests, transcripts[under_test], broken = _run(
            bench, interface, text, OWN_BENCH, order_, simulator, place, arguments
        )
        violations += [f"{under_test}, {line}" for line in broken]
        bins |= {f"{under_test}, {test}": events for test, events in _bins(place).items()}
    return BenchResult(tests, transcripts, violations=violations, bins=bins)


def _run(
    bench: Path,
    interface: Interface,
    text: str,
    companion: str,
    order: Mapping[str, object],
    simulator: str,
    place: Path,
    arguments: tuple[str, ...] = (),
) -> tuple[int, Transcript, list[str]]:
    """Run the tests of a file on a module; return their number, their transcript, and protocol violations.

    Args:
        bench: the file.
        interface: interface of the module.
        text: Verilog of the module.
        companion: module that runs in the simulator and finds the tests.
        order: further parameters for the companion.
        simulator: an HDL simulator.
        place: folder of the run.
        arguments: further arguments of the simulator's compiler.
    """
    place.mkdir(parents=True, exist_ok=True)
    source, transcript = place / f"{interface.module}.v", place / "transcript.json"
    violations = place / "violations.json"
    violations.unlink(missing_ok=True)
    source.write_text(text, encoding="utf-8")
    bench_order = {
        **order,
        "bench": bench.stem,
        "folder": str(bench.resolve().parent),
        "transcript": str(transcript),
        "violations": str(violations),
        "bins": str(place / BINS),
    }
    try:
        tests = run(
            Bench((source,), interface.module, (interface,), companion, bench_order, place, arguments),
            simulator,
        )
    except FailedBenchError as failed:
        broken = "".join(f"PROTOCOL VIOLATION: {line}\n" for line in _violations(violations))
        raise FailedBenchError(f"{broken}{failed}") from failed
    return tests, json.loads(transcript.read_text(encoding="utf-8")), _violations(violations)


def _bins(place: Path) -> Mapping[str, PortBins]:
    """Return the events at the ports in each test."""
    return json.loads((place / BINS).read_text(encoding="utf-8"))  # type: ignore[no-any-return]


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
    place = folder.resolve() / accelerator
    verdict = place / "verdict.txt"
    verdict.unlink(missing_ok=True)
    order = {
        "accelerator": accelerator,
        "settings": list(settings),
        "matrix": matrix,
        "here": str(Path.cwd()),
        "verdict": str(verdict),
    }
    tests, transcript, violations = _run(
        bench, interface, shell(interface), "fiberscope.rtl.machine_bench", order, simulator, place
    )
    fault = (
        verdict.read_text(encoding="utf-8") if verdict.is_file() else "the machine did not come to its end"
    )
    return BenchResult(tests, {accelerator: transcript}, fault or None, violations, _bins(place))


def _require(bench: Path) -> None:
    if not bench.is_file():
        raise InputError(f"{bench}: no such bench; give a Python file of cocotb tests")
