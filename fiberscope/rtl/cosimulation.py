"""Cosimulation: an accelerator with some components replaced by RTL, compared with its model alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from fiberscope.accelerators.configuration import parse_settings
from fiberscope.base.errors import InputError
from fiberscope.base.progress import Progress
from fiberscope.hw.rtl.kit.exercise import Exercise, earliest
from fiberscope.hw.rtl.tools.hdl import AUTO, FILES, SIMULATORS, HdlError, find
from fiberscope.hw.rtl.tools.hdl import choose as choose_simulator
from fiberscope.hw.rtl.tools.simulator import check_sources
from fiberscope.hw.rtl.tools.verilator import Verilator
from fiberscope.results.errors import FailedRunError, refuse_interrupted
from fiberscope.results.report.document import Report
from fiberscope.results.report.files import check_outputs
from fiberscope.results.report.numbers import flatten_parameters
from fiberscope.results.report.parts import CIRCUMSTANCES
from fiberscope.rtl import machine_module
from fiberscope.rtl.cosim_request import CosimRequest, find_cosim_machine
from fiberscope.rtl.cosim_runs import (
    RESULT_FILES,
    SAME_OUTPUTS,
    TOP,
    CosimRun,
    Recorder,
    run_in_hdl,
    run_in_pyrtl,
    run_verilated,
    simulate_request,
    writable_folder,
)
from fiberscope.rtl.reference_process import ReferenceProcess, TooLongError
from fiberscope.rtl.substitution import (
    ALL,
    MACHINE,
    Maker,
    Replacement,
    choose_replacements,
    makers,
    outermost_instances,
)
from fiberscope.run.configure import resolve_run
from fiberscope.sim import SimulationError
from fiberscope.workloads.errors import suggest

PYRTL = "pyrtl"  # the backend that needs no HDL simulator
COSTS = ("energy", "area", "area_um2", "rtl_clock", "edp")  # derived from counters
NOT_COMPARED = (*CIRCUMSTANCES, "parts", *COSTS)  # report keys that may differ


class FailedCosimulationError(FailedRunError):
    """A run with RTL that failed.

    Args:
        message: what failed, and where.
        report: report of the failed run.
        files: files of the run, by description.
    """

    def __init__(self, message: str, report: Report, files: Mapping[str, Path]) -> None:
        super().__init__(message, report)
        self.files = files


@dataclass(frozen=True)
class CosimulationResult:
    """Result of a cosimulation: reports with and without RTL, and their comparison.

    Args:
        component: report of the run with the components alone, the reference run.
        rtl: report of the run with RTL.
        exercised: tokens, stalls and differences of each RTL module, by instance name.
        files: files that the run with RTL has written, by description.
        simulator: name of the HDL simulator, or ``PYRTL``.
    """

    component: Report
    rtl: Report
    exercised: Mapping[str, Exercise]
    files: Mapping[str, Path]
    simulator: str

    @property
    def violation(self) -> str | None:
        """Describe the first violation of the protocol by a module; None if there is none."""
        return earliest(exercise.violation for exercise in self.exercised.values())

    @property
    def input_difference(self) -> str | None:
        """Describe the first input that only a module or only its component takes, if any."""
        return earliest(exercise.input for exercise in self.exercised.values())

    @property
    def first_difference(self) -> str | None:
        """Describe the first difference of the RTL from the component; None if there is none.

        A wrong output token, or an output token in a wrong cycle, is a difference. If all outputs are equal,
        different reports are a difference only if every input is also taken in the component's cycle: the
        counters of the module are then wrong. A module may take an input in another cycle than its component
        and send the same outputs; the reports may then differ.
        """
        output = earliest(exercise.output for exercise in self.exercised.values())
        counters = f"{SAME_OUTPUTS}; what differs is what is counted"
        return output or (counters if self.differences() and self.input_difference is None else None)

    @property
    def instance_names(self) -> tuple[str, ...]:
        """Return the instance names of the components that RTL replaces."""
        return tuple(self.exercised)

    def entries(self) -> int:
        """Return the number of report entries that both runs have to agree on.

        Entries that only the report with RTL has are not counted; ``differences`` lists them.
        """
        return len(self._compared_entries(self.component)) - len(self.missing_counters())

    def _compared_entries(self, report: Report) -> dict[str, object]:
        """Return the compared entries, without components that a single module replaces together.

        If there are such components, the bottleneck is left out too, because it names components.
        """
        prefixes = self._omitted_prefixes
        omitted = (*prefixes, "bottleneck") if prefixes else ()
        return {key: entry for key, entry in _entries(report).items() if not key.startswith(omitted)}

    def missing_counters(self) -> list[str]:
        """Return the counters of replaced components for which a user's module has no status output."""
        entries, counters = (
            _entries(self.rtl),
            tuple(f"components.{name}.counters." for name in self.instance_names),
        )
        return [key for key in _entries(self.component) if key not in entries and key.startswith(counters)]

    @property
    def _omitted_prefixes(self) -> tuple[str, ...]:
        """Return the prefixes of entries of components that a single module replaces, and of that module."""
        # Only one of the two runs has these components.
        names = self.component.components.keys() ^ self.rtl.components.keys()
        return tuple(f"components.{name}." for name in names)

    def differences(self) -> list[str]:
        """Return one line for each report entry that differs between the two runs."""
        first, second = self._compared_entries(self.component), self._compared_entries(self.rtl)
        for key in self.missing_counters():
            del first[key]
        return [
            f"{key}: {first.get(key, 'absent')} with the component, {second.get(key, 'absent')} with RTL"
            for key in {**first, **second}
            if first.get(key) != second.get(key)
        ]


def cosimulate(
    request: CosimRequest, simulator: str, folder: Path, recorder: Recorder | None = None
) -> CosimulationResult:
    """Run the accelerator with and without RTL, and compare both runs.

    The reference run without RTL is in a process of its own. PyRTL and Verilator run the RTL in this process
    meanwhile. Another HDL simulator starts after the reference run, whose length determines the cycle limit.
    RTL that never ends is stopped at ``ReferenceProcess.limit``, about twice the cycles of the reference run.

    Args:
        request: the run.
        simulator: ``pyrtl``, an HDL simulator of ``fiberscope.hw.rtl.tools.hdl``, or ``auto`` for the first
            installed one, or else PyRTL. PyRTL cannot run Verilog of the user.
        folder: folder of Verilog, logs and the report of the run with RTL. PyRTL writes nothing there.
        recorder: wraps the backend of each module in this process, with its inner wires; not used by an HDL
            simulator in a process of its own.

    Raises:
        InputError, ConfigurationError, WorkloadError: an error that the user can correct, including wrong
            ports of a module.
        FailedRunError: the accelerator failed without RTL; ``FailedCosimulationError`` if only with RTL.
        KeyboardInterrupt: one of the runs was interrupted; its report says so.
    """
    _check(request, simulator)
    replacements, makers_by_block = locate_rtl(request)
    return _run_and_compare(
        request, replacements, makers_by_block, _find_installed(request, simulator), folder, recorder
    )


def locate_rtl(request: CosimRequest) -> tuple[tuple[Replacement, ...], Mapping[str, Maker]]:
    """Find the components that RTL replaces, and their modules.

    This checks the machine's settings and operands, and needs no tool.

    Returns:
        The replacements, none if the whole machine is one module, and for each block the maker that has
        recorded its instances.

    Raises:
        InputError, ConfigurationError, WorkloadError: an error that the user can correct.
    """
    if request.blocks == (MACHINE,):
        machine_module.compose_parts(request)
        return (), {}
    makers_by_block = makers(request.accelerator, request.blocks, {}, request.parts)
    resolve_run(find_cosim_machine(request.accelerator), parse_settings(request.settings)).build(
        request.a, request.b, {**request.parts, **makers_by_block}
    )
    selected, instances = (
        outermost_instances(makers_by_block) if ALL in request.blocks else (makers_by_block, request.at)
    )
    return choose_replacements(request.accelerator, selected, instances, request.module), makers_by_block


def _run_and_compare(
    request: CosimRequest,
    replacements: Sequence[Replacement],
    makers_by_block: Mapping[str, Maker],
    simulator: str,
    folder: Path,
    recorder: Recorder | None,
) -> CosimulationResult:
    """Run with and without RTL, and return both reports. Without replacements, the machine is one module."""
    if simulator != PYRTL:
        _check_folder(request, replacements, folder)
    reference_request = replace(request, waveform=None, lock_step=False)  # the waveform is that of the RTL
    with ReferenceProcess(lambda: simulate_request(reference_request, makers_by_block)) as component:
        try:
            if request.sources:
                replacements = _fit_ports(request, replacements, simulator, folder)
            return _Attempt(request, replacements, simulator, component).outcome(folder, recorder)
        except SimulationError as error:
            raise InputError(str(error)) from error


@dataclass(frozen=True)
class _Attempt:
    """A run with RTL, and the reference run without RTL, ``component``, which has already started."""

    request: CosimRequest
    replacements: Sequence[Replacement]
    simulator: str
    component: ReferenceProcess

    def outcome(self, folder: Path, recorder: Recorder | None) -> CosimulationResult:
        """Run with RTL, wait for the reference run, and return both reports.

        If both runs fail, the error of the reference run is raised, as the RTL need not be at fault then.

        Raises:
            FailedCosimulationError: the accelerator fails only with RTL.
        """
        try:
            rtl, exercised = self._run(self.request, folder, recorder)
            refuse_interrupted(rtl)
        except FailedRunError as failed:
            self.component.report()  # raises the errors of the reference run first
            module = f"{self.request.accelerator}.{machine_module.MODULE}"
            names = ", ".join(replacement.at for replacement in self.replacements) or module
            message = f"with RTL at {names}: {failed}"
            raise FailedCosimulationError(message, failed.report, self._files(folder)) from failed
        component, files = refuse_interrupted(self.component.report()), self._files(folder)
        return CosimulationResult(component, rtl, exercised, files, self.simulator)

    def _run(self, request: CosimRequest, folder: Path, recorder: Recorder | None) -> CosimRun:
        """Run with RTL in the selected simulator."""
        if not self.replacements:
            return self._run_machine_module(request, folder, recorder)
        if self.simulator == PYRTL:
            return self._run_to_limit(request, partial(run_in_pyrtl, self.replacements, recorder))
        if self.simulator == Verilator.name:
            return self._run_to_limit(request, partial(run_verilated, self.replacements, folder, recorder))
        return run_in_hdl(
            replace(request, cycle_limit=self.component.limit), self.replacements, self.simulator, folder
        )

    def _run_machine_module(self, request: CosimRequest, folder: Path, recorder: Recorder | None) -> CosimRun:
        """Run the machine as one module."""
        if self.simulator == PYRTL:
            return self._run_to_limit(request, partial(machine_module.run_in_pyrtl, recorder))
        if self.simulator == Verilator.name:
            return self._run_to_limit(request, partial(machine_module.run_verilated, folder, recorder))
        return machine_module.run_in_hdl(
            replace(request, cycle_limit=self.component.limit), self.simulator, folder
        )

    def _run_to_limit(
        self, request: CosimRequest, simulate: Callable[[CosimRequest, Progress | None], CosimRun]
    ) -> CosimRun:
        """Run with RTL in this process, beside the reference run.

        The cycle limit is known only when the reference run has ended. A run that has then passed the limit
        is stopped (``TooLongError``) and repeated with the limit.
        """
        try:
            return simulate(request, self.component.hold)
        except TooLongError:
            return simulate(replace(request, cycle_limit=self.component.limit), None)

    def _files(self, folder: Path) -> dict[str, Path]:
        """Return the files of the run with RTL, by description."""
        sources = [Path(source) for source in self.request.sources]
        modules = [replacement.module for replacement in self.replacements] or [self.request.accelerator]
        twins = [] if self.simulator == PYRTL else [folder / f"{module}.v" for module in modules]
        files = {f"Verilog of {path.stem}": path for path in sources or twins}
        files |= {} if self.simulator == PYRTL else {"Report with RTL": folder / RESULT_FILES[0]}
        return files | ({} if self.request.waveform is None else {"Waveform": self.request.waveform.path})


def _check(request: CosimRequest, simulator: str) -> None:
    """Check the request before the reference run, which may take long.

    Raises:
        InputError: options that exclude each other, an unknown simulator, or a missing Verilog file.
    """
    if request.module is not None and not request.sources:
        raise InputError(f"--module {request.module}: name its file by --verilog")
    if (len(request.blocks) > 1 or ALL in request.blocks) and request.sources:
        raise InputError(f"--verilog is for one block, not for {' and '.join(request.blocks)}")
    if simulator not in (simulators := (AUTO, *SIMULATORS, PYRTL)):
        raise InputError(f"no simulator {simulator}; {suggest(simulator, simulators)}")
    if simulator == PYRTL and request.sources:
        raise InputError("PyRTL runs the twin only; Verilog of your own needs --sim icarus or verilator")
    try:
        check_sources([Path(source) for source in request.sources])
    except HdlError as error:
        raise InputError(str(error)) from error


def _find_installed(request: CosimRequest, simulator: str) -> str:
    """Return the name of an installed simulator for the RTL: the given one, or one for ``auto``.

    Raises:
        InputError: the simulator is not installed; for ``auto`` and Verilog of the user, if none is.
    """
    try:
        selected = choose_simulator(simulator, () if request.sources else (PYRTL,))
        if selected != PYRTL:
            find(selected)
    except HdlError as error:
        raise InputError(str(error)) from error
    return selected


def _check_folder(request: CosimRequest, replacements: Sequence[Replacement], folder: Path) -> None:
    """Check that no file which the run will write is one of its inputs.

    Raises:
        InputError: naming the file.
    """
    twins = () if request.sources else (f"{replacement.module}.v" for replacement in replacements)
    for name in (f"{TOP}.v", *twins, *RESULT_FILES, *FILES):
        if (folder / name).exists():
            check_outputs({"a file of --output": folder / name}, request.inputs)


def _fit_ports(
    request: CosimRequest, replacements: Sequence[Replacement], simulator: str, folder: Path
) -> tuple[Replacement, ...]:
    """Return the replacements with the ports of the user's module, which may lack status outputs."""
    with writable_folder(folder):
        sources = [Path(source) for source in request.sources]
        ports = {
            replacement.module: find(simulator).ports(sources, replacement.module, folder)
            for replacement in replacements
        }
    return tuple(replacement.with_ports(ports[replacement.module]) for replacement in replacements)


def _entries(report: Report) -> dict[str, object]:
    """Return the compared entries of a report, by dotted key."""
    return flatten_parameters(report.model_dump(mode="json", exclude=set(NOT_COMPARED)))
