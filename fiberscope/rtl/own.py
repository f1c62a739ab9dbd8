"""A cocotb bench of the user's on a block: on its event model, on its RTL, or on both, which must agree."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

from fiberscope.errors import InputError
from fiberscope.rtl.machine_model import machine_interface
from hw.rtl.kit.block import RtlBlock
from hw.rtl.kit.model import shell
from hw.rtl.kit.parameters import Parameters
from hw.rtl.kit.registered import registered
from hw.rtl.tools.hdl import Bench, find, run

__all__ = ["DEVICES", "Outcome", "try_bench", "try_machine"]

MODEL, RTL, BOTH = "model", "rtl", "both"
DEVICES = (MODEL, RTL, BOTH)
Transcript: TypeAlias = "Mapping[str, list[list[Any]]]"  # by test: cycle, port and fields of each token


@dataclass(frozen=True)
class Outcome:
    """The transcripts of what was under test, by device, and how many tests ran on each."""

    tests: int
    transcripts: Mapping[str, Transcript]
    fault: str | None = None  # of a machine: what is wrong with its answer

    def tokens(self) -> int:
        """Tokens that moved, of all tests."""
        return sum(map(len, next(iter(self.transcripts.values())).values()))

    def differences(self) -> Iterator[str]:
        """The first token of each test in which two transcripts differ, a line each."""
        if len(self.transcripts) < len((MODEL, RTL)):
            return
        model, rtl = self.transcripts[MODEL], self.transcripts[RTL]
        for test in dict.fromkeys([*model, *rtl]):
            first, second = model.get(test, []), rtl.get(test, [])
            for number in range(max(len(first), len(second))):
                left, right = _at(first, number), _at(second, number)
                if left != right:
                    yield f"{test}, token {number}: {left} of the model, {right} of the RTL"
                    break


def _at(transcript: list[list[Any]], number: int) -> str:
    if number >= len(transcript):
        return "none"
    cycle, port, fields = transcript[number]
    return f"{' '.join(f'{name}={bits}' for name, bits in fields.items())} at {port} in cycle {cycle}"


def try_bench(
    bench: Path, block: RtlBlock, parameters: Parameters, device: str, simulator: str, folder: Path
) -> Outcome:
    """Run all cocotb tests of a file.

    Args:
        bench: the file; what it imports is looked for beside it.
        block: what is under test, with a channel at each port (``hw.rtl.kit.registered``).
        parameters: those of the block.
        device: one of ``DEVICES``.
        simulator: an HDL simulator of ``hw.rtl.tools.hdl``.
        folder: where Verilog, logs and transcripts are put.

    Raises:
        InputError: if there is no such file, or the block cannot be what is asked for.
        FailedBenchError: if a test failed.
        HdlError: if the simulator is missing, or there is no test.
    """
    _require(bench)
    if device != RTL and block.component is None:
        raise InputError(f"{block.name} is composed of several components: only DUT=rtl runs it")
    find(simulator)
    transcripts: dict[str, Transcript] = {}
    tests = 0
    for under_test in (MODEL, RTL) if device == BOTH else (device,):
        place = folder.resolve() / under_test
        place.mkdir(parents=True, exist_ok=True)
        module = registered(block, inputs=True)
        text = module.verilog(parameters) if under_test == RTL else shell(module.interface(parameters))
        (place / f"{block.name}.v").write_text(text, encoding="utf-8")
        tests = _run(bench, block, parameters, under_test, simulator, place)
        transcripts[under_test] = json.loads((place / "transcript.json").read_text(encoding="utf-8"))
    return Outcome(tests, transcripts)


def _run(
    bench: Path, block: RtlBlock, parameters: Parameters, device: str, simulator: str, place: Path
) -> int:
    order = {
        "block": block.name,
        "parameters": asdict(parameters),
        "bench": bench.stem,
        "folder": str(bench.resolve().parent),
        "model": device == MODEL,
        "transcript": str(place / "transcript.json"),
    }
    interface = registered(block, inputs=True).interface(parameters)
    source = place / f"{block.name}.v"
    return run(
        Bench((source,), interface.module, (interface,), "hw.rtl.tools.own_bench", order, place), simulator
    )


def try_machine(
    bench: Path, accelerator: str, settings: Sequence[str], matrix: str, simulator: str, folder: Path
) -> Outcome:
    """Run all cocotb tests of a file on the event model of a whole machine, whose memory they serve.

    Args:
        bench: the file; what it imports is looked for beside it.
        accelerator: the machine, also the name of the empty module before it.
        settings: its parameters, ``key=value``.
        matrix: what it multiplies by itself.
        simulator: an HDL simulator of ``hw.rtl.tools.hdl``.
        folder: where Verilog, logs and the transcript are put.

    Raises:
        InputError: if there is no such file.
        FailedBenchError: if a test failed.
        HdlError: if the simulator is missing, or there is no test.
    """
    _require(bench)
    find(simulator)
    interface = machine_interface(accelerator, settings)
    place = folder.resolve() / accelerator
    place.mkdir(parents=True, exist_ok=True)
    source, transcript, verdict = (
        place / name for name in (f"{accelerator}.v", "transcript.json", "verdict.txt")
    )
    verdict.unlink(missing_ok=True)
    source.write_text(shell(interface), encoding="utf-8")
    order = {
        "accelerator": accelerator,
        "settings": list(settings),
        "matrix": matrix,
        "here": str(Path.cwd()),
        "bench": bench.stem,
        "folder": str(bench.resolve().parent),
        "transcript": str(transcript),
        "verdict": str(verdict),
    }
    tests = run(
        Bench((source,), accelerator, (interface,), "fiberscope.rtl.machine_bench", order, place), simulator
    )
    fault = (
        verdict.read_text(encoding="utf-8") if verdict.is_file() else "the machine did not come to its end"
    )
    transcripts = {accelerator: json.loads(transcript.read_text(encoding="utf-8"))}
    return Outcome(tests, transcripts, fault or None)


def _require(bench: Path) -> None:
    if not bench.is_file():
        raise InputError(f"{bench}: no such bench; give a Python file of cocotb tests")
