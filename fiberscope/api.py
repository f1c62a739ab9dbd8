"""Run a machine on a workload from Python: ``fiberscope.simulate("gamma", "wiki-Vote")``."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias

import accelerators
from accelerators import configuration
from accelerators.configuration import Configuration, ConfigurationError
from accelerators.machine import Accelerator, Machine
from fiberscope.errors import DeadlockedRunError, InputError, VerificationError
from fiberscope.report import collect, timeline
from fiberscope.report.document import Report
from fiberscope.report.document import Workload as OperandsOfReport
from fiberscope.report.files import check_writable
from fiberscope.report.timeline import Watch
from sim import BuildError, Component, DeadlockError, Kernel, Run, SimulationError
from workloads import Workload, from_scipy
from workloads import load as load_workload
from workloads.canonical import CsrArray
from workloads.errors import nearest
from workloads.verification import Comparison

__all__ = ["Progress", "Waveform", "simulate"]

# Stage, work done, work in all (0 where unknown); called now and then.
Progress: TypeAlias = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Waveform:
    """Where to write a waveform, and what of the run goes into it.

    Args:
        path: the file; one that ends in ``.fst`` is written as FST, by ``vcd2fst``.
        window: the first cycle and the one it ends before.
        scopes: patterns of instance names (``pe0[0-3]``), each with all that is within it.
        trigger: a condition from which it begins, as in ``pe07 input_stall > 100``; see ``sim.trigger``.
        cycles: how many it lasts at the most, from where it begins.
        colours: whether the states carry GTKWave's marks of colour.
    """

    path: Path
    window: tuple[int, int] | None = None
    scopes: Sequence[str] = ()
    trigger: str | None = None
    cycles: int | None = None
    colours: bool = True


def simulate(
    accelerator: str | Accelerator[Any],
    a: object,
    b: object = None,
    *,
    settings: Mapping[str, object] | None = None,
    config: str | Path | None = None,
    exact: bool = False,
    cycle_limit: int | None = None,
    waveform: Waveform | str | Path | None = None,
    parts: Mapping[str, Callable[..., Component]] | None = None,
    histograms: bool = False,
    progress: Progress | None = None,
    **parameters: object,
) -> Report:
    """Simulate A times B on an accelerator, verify the product and report.

    Args:
        accelerator: its name, or a descriptor of one's own.
        a: a scipy sparse matrix, a workload, or what ``workloads.load`` takes: a name or a path.
        b: the second operand; A itself by default.
        settings: parameters by dotted key, as in ``{"pe.count": 64, "fibercache.size": "1 MiB"}``.
        config: a YAML file of parameters, below the settings and above the accelerator's own.
        exact: refuse a surrogate for a matrix that cannot be had.
        cycle_limit: stop here, with a report marked incomplete.
        waveform: write a VCD file, whole or as the ``Waveform`` says.
        parts: blocks of one's own in the place of the accelerator's, as in ``{"merger": MyMerger}``; they are
            made with the same arguments as those they replace, which are in ``Accelerator.parts``.
        histograms: report how full the channels of each kind were.
        progress: called now and then with stage, work done and work in all.
        parameters: settings as keywords, their dots as double underscores: ``pe__count=64``.

    Raises:
        ConfigurationError, WorkloadError, InputError: what was given cannot be simulated.
        VerificationError: the product is wrong; has the report.
        DeadlockedRunError: the machine came to a standstill; has the report.
    """
    tell = progress or _nobody
    kind = accelerators.find(accelerator) if isinstance(accelerator, str) else accelerator
    given = {**(settings or {}), **_keywords(kind, parameters)}
    configured = configuration.load(
        kind.configuration, kind.shipped, name=kind.name, file=config, settings=given
    )
    _check_parts(kind, parts or {})
    waveform = _writable(waveform)
    first, second = _operands(a, b, exact, tell)
    operands = collect.workload(first, None if b is None else second)
    matrices = (first.matrix, second.matrix)
    course = _Course(cycle_limit, waveform, histograms, tell)
    return _simulate(kind, configured, operands, matrices, parts or {}, course)


@dataclass(frozen=True)
class _Course:
    """How a machine is run."""

    cycle_limit: int | None
    waveform: Waveform | None
    histograms: bool
    tell: Progress


def _simulate(
    kind: Accelerator[Any],
    configured: Configuration,
    operands: OperandsOfReport,
    matrices: tuple[CsrArray, CsrArray],
    parts: Mapping[str, Callable[..., Component]],
    course: _Course,
) -> Report:
    """Build, run, verify, report; a machine that went wrong is raised with its report."""
    start = time.perf_counter()
    machine = _build(kind, configured, *matrices, parts, operands)
    watch = Watch(machine, histograms=course.histograms)
    run, deadlock, simulation_seconds = _run(machine, watch, course)
    checked = _verify(machine, run, *matrices, course.tell)
    timing = collect.Timing(time.perf_counter() - start, simulation_seconds)
    report = collect.report(kind, operands, machine, run, checked, timing, watch, parts)
    if deadlock is not None:
        raise DeadlockedRunError(str(deadlock), report) from deadlock
    if checked is not None and not checked.comparison.passed:
        raise VerificationError(_wrong(checked.comparison), report)
    return report


def _writable(waveform: Waveform | str | Path | None) -> Waveform | None:
    if isinstance(waveform, str | Path):
        waveform = Waveform(Path(waveform))
    if waveform is not None:
        check_writable(waveform.path)
    return waveform


def _nobody(_stage: str, _done: int, _total: int) -> None:
    """Tell nobody about the progress."""


def _keywords(kind: Accelerator[Any], keywords: Mapping[str, object]) -> dict[str, object]:
    """Settings given as keywords; a keyword that is neither a setting nor an argument is refused here."""
    keys = (key.replace(".", "__") for key in configuration.leaf_keys(kind.configuration))
    known = {*keys, *inspect.signature(simulate).parameters} - {"a", "b", "parameters"}
    for keyword in keywords:
        if "__" not in keyword and keyword not in known:
            advice = nearest(keyword, known)
            raise InputError(
                f"{keyword} is no argument of simulate and no parameter of {kind.name}; {advice}"
            )
    return {keyword.replace("__", "."): value for keyword, value in keywords.items()}


def _check_parts(kind: Accelerator[Any], given: Iterable[str]) -> None:
    for name in given:
        if name not in kind.parts:
            advice = nearest(name, kind.parts) if kind.parts else "it has none"
            raise InputError(f"{kind.name} has no part {name} to replace; {advice}")


def _build(
    kind: Accelerator[Any],
    configured: Configuration,
    a: CsrArray,
    b: CsrArray,
    parts: Mapping[str, Callable[..., Component]],
    operands: OperandsOfReport,
) -> Machine:
    """The machine, its kernel built; parameters that only the engine finds at odds are the user's to mend."""
    try:
        machine = kind.build(configured, a, b, **({"parts": parts} if parts else {}))
        if not machine.kernel.built:
            machine.kernel.build()
    except BuildError:
        raise
    except ConfigurationError as error:
        stand_ins = [one.name for one in (operands, operands.b) if one and one.source == "surrogate"]
        if not stand_ins:
            raise
        names = " and ".join(stand_ins)
        raise ConfigurationError(f"{error} ({names}: a surrogate, the real matrix may do)") from error
    except SimulationError as error:
        raise InputError(f"{kind.name}: {error}") from error
    kind.check_families(machine)
    return machine


def _operands(a: object, b: object, exact: bool, tell: Progress) -> tuple[Workload, Workload]:
    first = _operand(a, "A", exact, tell)
    second = first if b is None else _operand(b, "B", exact, tell)
    _check_shapes(first, second, given=b is not None)
    return first, second


def _operand(given: object, letter: str, exact: bool, tell: Progress) -> Workload:
    if isinstance(given, Workload):
        return given
    if isinstance(given, str | Path):
        return load_workload(
            str(given), exact=exact, progress=lambda done, total: tell("loading", done, total)
        )
    return from_scipy(given, name=letter)


def _check_shapes(first: Workload, second: Workload, *, given: bool) -> None:
    a, b = first.matrix.shape, second.matrix.shape
    if a[1] == b[0]:
        return
    if given:
        raise InputError(
            f"A ({first.name}) is {a[0]} x {a[1]} and B ({second.name}) is {b[0]} x {b[1]}: "
            f"B should have {a[1]} rows"
        )
    raise InputError(f"{first.name} is {a[0]} x {a[1]}, so A times A does not exist; give a second matrix")


def _run(machine: Machine, watch: Watch, course: _Course) -> tuple[Run, DeadlockError | None, float]:
    """Run the machine; gives how it ended, the deadlock if it is one, and the seconds it took."""
    kernel = machine.kernel
    start = time.perf_counter()
    deadlock = None

    def progress(_cycle: int) -> None:
        course.tell("simulating", *machine.progress())

    with _recording(machine, course.waveform):
        try:
            run = timeline.run(machine, watch, course.cycle_limit, progress)
        except DeadlockError as error:
            deadlock = error
            run = _standstill(kernel)
    return run, deadlock, time.perf_counter() - start


def _standstill(kernel: Kernel) -> Run:
    seconds = float(Fraction(kernel.end) / kernel.base_hertz)
    return Run(False, "deadlock", kernel.length(kernel.clocks[0]), kernel.end, seconds)


@contextmanager
def _recording(machine: Machine, waveform: Waveform | None) -> Iterator[None]:
    if waveform is None:
        yield
        return
    from sim.trace import write_vcd  # noqa: PLC0415  (pyvcd is loaded only when a waveform is wanted)

    with ExitStack() as stack:
        try:
            stack.enter_context(
                write_vcd(
                    machine.kernel,
                    waveform.path,
                    window=waveform.window,
                    scopes=waveform.scopes,
                    trigger=waveform.trigger,
                    cycles=waveform.cycles,
                    colours=waveform.colours,
                )
            )
        except SimulationError as error:
            raise InputError(str(error)) from error
        try:
            yield
        except OSError as error:
            raise InputError(f"{waveform.path}: cannot write the waveform: {error.strerror}") from error


def _verify(machine: Machine, run: Run, a: CsrArray, b: CsrArray, tell: Progress) -> collect.Checked | None:
    if not run.complete:
        return None
    tell("verifying", 0, 0)
    return collect.Checked.of(a, b, machine.result())


def _wrong(comparison: Comparison) -> str:
    return (
        f"the machine's product is wrong: relative error {comparison.max_relative_error:.3g}, "
        f"{comparison.missing} entries missing, {comparison.extra} too many"
    )
