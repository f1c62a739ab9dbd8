"""Proof of the claims of a formal kit by ``sat`` of Yosys."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from fiberscope.hw.rtl.tools.simulator import HdlError
from fiberscope.results.report.files import make_folder, write_text
from fiberscope.rtl.formal.kit import ASSUMED, FormalKit
from fiberscope.rtl.formal.properties import CLAIM, COVER
from fiberscope.rtl.formal.yosys_session import YosysSession

MAX_INDUCTION_LENGTH = 6  # maximum number of consecutive cycles in an induction hypothesis
CYCLES_PER_QUERY = 5  # cycles of a bounded proof in one query
GRACE_SECONDS = 2.0  # seconds after its time limit until Yosys is killed
# the value of a property's wire in a cycle, in the table that ``sat`` prints of a run
_TABLE_ROW = re.compile(r"^ +(?P<cycle>\d+) +\\(?P<name>\w+) +(?P<value>[01]) ", re.MULTILINE)
_BASE = re.compile(r"Base case for induction length (\d+) proven")
_LENGTH = re.compile(r"induction with length (\d+)")


@dataclass(frozen=True)
class Verdict:
    """The verdict on a claim.

    Args:
        claim: name of the claim.
        cycles: for a claim proven by induction, the number of consecutive cycles in the induction hypothesis.
            For a refuted claim, the cycle after reset in which it fails. Otherwise, the number of cycles
            after reset in which the claim is proven; 0 for a claim that was not decided.
        is_inductive: proven for any number of cycles.
        has_failed: refuted.
        is_vacuous: no run reaches the condition of the claim within the depth of the proof.
    """

    claim: str
    cycles: int
    is_inductive: bool = False
    has_failed: bool = False
    is_vacuous: bool = False

    def __str__(self) -> str:
        """Return the verdict in words."""
        if self.has_failed:
            return f"failed at cycle {self.cycles}"
        if not self.is_inductive and not self.cycles:
            return "not decided"
        text = (
            f"proven by induction ({self.cycles})" if self.is_inductive else f"proven to {self.cycles} cycles"
        )
        return f"{text}, vacuous: its condition was not reached" if self.is_vacuous else text


@dataclass
class ProofResult:
    """The result of a proof.

    Args:
        verdicts: verdicts on all claims, by name.
        reached: the first cycle after reset in which a run reaches a cover, by the cover's name.
        unreached: covers that no run reaches within the depth of the proof. A cover that the time limit left
            undecided is neither in ``reached`` nor here.
        waveforms: path of the waveform of a refuted claim, by the claim's name; only those that were asked
            for, and written before the time limit.
        seconds: duration of the proof.
        has_contradiction: whether the assumptions exclude every run, so that nothing is proven.
        is_interrupted: whether the time limit ended the proof.
    """

    verdicts: dict[str, Verdict] = field(default_factory=dict)
    reached: dict[str, int] = field(default_factory=dict)
    unreached: list[str] = field(default_factory=list)
    waveforms: dict[str, Path] = field(default_factory=dict)
    seconds: float = 0.0
    has_contradiction: bool = False
    is_interrupted: bool = False

    @property
    def failed(self) -> list[Verdict]:
        """Verdicts on refuted claims."""
        return [verdict for verdict in self.verdicts.values() if verdict.has_failed]


@dataclass(frozen=True)
class _SolverAnswer:
    """The answer of the solver to a question.

    Args:
        outcome: ``proven`` by induction; ``failed`` in a run from reset; or ``open``: no run from reset fails
            within the cycles asked for, and there is no proof by induction.
        cycles: for ``proven``, the length of the induction. For ``failed``, the cycle of the failure; the
            reset is cycle 1. Otherwise, the length of the longest base case that holds.
        low: names of the wires that do not have the value at the end of the reported run.
    """

    outcome: str
    cycles: int
    low: frozenset[str]


class _Prover:
    """A session with the solver for one kit. The caller closes it.

    Yosys prepares the design with the first question and keeps it for the others.

    Args:
        kit: the formal kit.
        folder: an empty folder, for the kit's Verilog and the files of Yosys.
        timeout: seconds for all questions, from now on.

    Raises:
        HdlError: Yosys is not installed.
    """

    def __init__(self, kit: FormalKit, folder: Path, timeout: float) -> None:
        self._kit = kit
        self._deadline = time.monotonic() + timeout
        for name, text in kit.sources().items():
            (folder / name).write_text(text, encoding="utf-8")
        self._session = YosysSession(folder)
        self.folder = folder
        self._commands = kit.preparation()

    def close(self) -> None:
        """End the session."""
        self._session.close()

    def has_run(self, depth: int) -> bool:
        """Return whether the assumptions allow a run of ``depth`` cycles after reset.

        An answer that the solver does not find in time counts as a run. No time remains then: the next
        question raises ``TimeoutError``, and nothing is claimed.

        Raises:
            TimeoutError: no time remains.
        """
        return "no model found" not in self._run(f"-seq {depth + 1}")  # cycle 1 is the reset

    def _run(self, options: str) -> str:
        """Run ``sat`` under the assumptions, within the remaining time; return its output.

        Raises:
            TimeoutError: no time remains.
        """
        seconds = self._deadline - time.monotonic()
        if seconds < 1:  # ``sat -timeout`` takes whole seconds
            raise TimeoutError
        question = f"sat {options} -timeout {int(seconds)} -set {ASSUMED} 1 {self._kit.top}"
        output = self._session.run([*self._commands, question], seconds + GRACE_SECONDS)
        self._commands = []  # the session keeps the prepared design
        return output

    def ask(self, wires: Sequence[str], value: int, options: str) -> _SolverAnswer:
        """Ask whether all wires have a value in all cycles.

        Args:
            wires: names of the properties' wires, with the prefix of their kind.
            value: 0 or 1.
            options: options of ``sat -tempinduct``.

        Raises:
            TimeoutError: no time remains, or the solver finds no answer in it.
            HdlError: the run that refutes a property has none of the wires.
        """
        goals = " ".join(f"-prove {wire} {value} -show {wire}" for wire in wires)
        output = self._run(f"-tempinduct {options} {goals}")
        last_query = output.rpartition("Solving problem")[2]  # the answer to the last query of ``sat``
        rows = [
            (int(row["cycle"]), row["name"], int(row["value"])) for row in _TABLE_ROW.finditer(last_query)
        ]
        last_cycle = max((cycle for cycle, _name, _value in rows), default=0)
        # at the end of the reported run, the wires that differ from the value refute it
        low = frozenset(name for cycle, name, number in rows if cycle == last_cycle and number != value)
        base_length = max(map(int, _BASE.findall(output)), default=0)
        if "base case: FAIL" in last_query:
            if not low:  # the callers ask again for the other wires, and would not end
                raise HdlError("Yosys refutes a property in a run that it does not show")
            return _SolverAnswer("failed", last_cycle, low)
        if "Induction step proven: SUCCESS" in last_query:
            return _SolverAnswer("proven", int(_LENGTH.findall(output)[-1]), low)
        if "TIMEOUT" in output:
            raise TimeoutError
        return _SolverAnswer("open", base_length, low)


def prove(
    kit: FormalKit, depth: int = 20, timeout: int = 300, waveform: Callable[[str], Path] | None = None
) -> ProofResult:
    """Prove the claims of a kit, and reach its covers.

    Claims are proven by induction if possible. The other claims are proven for ``depth`` cycles.

    Args:
        kit: the formal kit.
        depth: cycles after reset in which a bounded proof holds, and in which a cover has to be reached.
        timeout: seconds for all questions to the solver, including those for waveforms.
        waveform: returns the path of the waveform for the name of a refuted claim; None for no waveforms.

    Returns:
        The result, incomplete if the time limit ended the proof (``is_interrupted``).

    Raises:
        HdlError: Yosys is missing, or does not accept a file.
        InputError: a waveform cannot be written.
    """
    start = time.perf_counter()
    result = ProofResult()
    with tempfile.TemporaryDirectory(prefix="fiberscope-proof-") as name:
        prover = _Prover(kit, Path(name), timeout)
        try:
            _decide(prover, kit, depth, result)
            if waveform is not None:
                for verdict in result.failed:
                    path = waveform(verdict.claim)
                    _write_waveform(prover, verdict, path)
                    result.waveforms[verdict.claim] = path
        except TimeoutError:
            result.is_interrupted = True
        finally:
            prover.close()
    # A claim without a verdict was not decided, because the time limit or a contradiction came first.
    result.verdicts = {name: result.verdicts.get(name, Verdict(name, 0)) for name in kit.names(CLAIM)}
    _mark_vacuous(kit, result)
    result.seconds = time.perf_counter() - start
    return result


def _decide(prover: _Prover, kit: FormalKit, depth: int, result: ProofResult) -> None:
    """Prove claims and reach covers; record each answer in ``result`` at once.

    Nothing is asked if the assumptions contradict each other, because every claim would then hold.

    Raises:
        TimeoutError: the time limit ended the proof; ``result`` keeps the answers so far.
    """
    result.has_contradiction = not prover.has_run(depth)
    if not result.has_contradiction:
        undecided = _prove_by_induction(prover, kit, result)
        # covers come before the bounded proof, which may use up the time
        _reach_covers(prover, kit, depth, result)
        _prove_bounded(prover, undecided, depth, result)


def _reach_covers(prover: _Prover, kit: FormalKit, depth: int, result: ProofResult) -> None:
    """Find the first cycle in which each cover is reached.

    The question is whether all covers stay low: a run that refutes it reaches a cover.
    """
    remaining = kit.names(COVER)
    while remaining:
        answer = prover.ask([f"{COVER}_{name}" for name in remaining], 0, _bounded_options(depth))
        if answer.outcome != "failed":
            break
        reached = [name for name in remaining if f"{COVER}_{name}" in answer.low]
        result.reached |= dict.fromkeys(reached, answer.cycles - 1)
        remaining = [name for name in remaining if name not in reached]
    result.unreached = remaining


def _prove_by_induction(prover: _Prover, kit: FormalKit, result: ProofResult) -> list[str]:
    """Find the largest set of claims that one induction proves together; return the undecided claims.

    The hypothesis of the step is the whole set, so that claims on inner registers support the others. Each
    failed attempt removes claims (as the Houdini algorithm does), hence the loop ends. A claim that is low at
    the end of a failed induction step is removed from the set and stays undecided. A claim that fails in a
    run from reset is removed and refuted.
    """
    inductive = kit.names(CLAIM)
    undecided: list[str] = []
    while inductive:
        answer = prover.ask([f"{CLAIM}_{name}" for name in inductive], 1, f"-maxsteps {MAX_INDUCTION_LENGTH}")
        if answer.outcome == "proven":
            for name in inductive:
                result.verdicts[name] = Verdict(name, answer.cycles, is_inductive=True)
            break
        # without a low claim, the whole set is removed: the loop has to end
        low = [name for name in inductive if f"{CLAIM}_{name}" in answer.low] or inductive
        if answer.outcome == "failed":
            _refute(low, answer, result)
        else:
            undecided += low
        inductive = [name for name in inductive if name not in low]
    return undecided


def _prove_bounded(prover: _Prover, claims: Sequence[str], depth: int, result: ProofResult) -> None:
    """Prove claims up to a depth in steps, so that results remain if the time limit is reached.

    The claims that are proven by induction are facts for the solver, and each step skips the cycles that the
    steps before have proven. After a refutation, the same step is asked again for the remaining claims.
    """
    inductive = [name for name, verdict in result.verdicts.items() if verdict.is_inductive]
    facts = "".join(f" -set {CLAIM}_{name} 1" for name in inductive)
    remaining, cycles = list(claims), 0
    while remaining and cycles < depth:
        end = min(cycles + CYCLES_PER_QUERY, depth)
        skip = f" -tempinduct-skip {cycles + 1}" if cycles else ""
        answer = prover.ask(
            [f"{CLAIM}_{name}" for name in remaining], 1, _bounded_options(end) + skip + facts
        )
        if answer.outcome == "failed":
            low = [name for name in remaining if f"{CLAIM}_{name}" in answer.low]
            _refute(low, answer, result)
            remaining = [name for name in remaining if name not in low]
        else:
            cycles = end
            result.verdicts |= {name: Verdict(name, cycles) for name in remaining}


def _bounded_options(depth: int) -> str:
    """Return the options for a proof of the first ``depth`` cycles after the reset cycle."""
    return f"-tempinduct-baseonly -maxsteps {depth + 1}"


def _refute(names: Sequence[str], answer: _SolverAnswer, result: ProofResult) -> None:
    """Record claims as failed; the cycle in the answer counts the reset cycle, a verdict does not."""
    result.verdicts |= {name: Verdict(name, answer.cycles - 1, has_failed=True) for name in names}


def _mark_vacuous(kit: FormalKit, result: ProofResult) -> None:
    """Mark the claims whose condition is one of the unreached covers."""
    for claim, cover in kit.properties.conditions.items():
        verdict = result.verdicts[claim]
        if cover in result.unreached and not verdict.has_failed:
            result.verdicts[claim] = replace(verdict, is_vacuous=True)


def _write_waveform(prover: _Prover, verdict: Verdict, path: Path) -> None:
    """Write the run in which a claim fails as a waveform.

    Raises:
        TimeoutError: no time remains.
        InputError: the file cannot be written.
    """
    # the answers of the proof had no waveform: ask again, for this claim and up to its cycle alone
    file = "counterexample.vcd"
    options = f"{_bounded_options(verdict.cycles)} -show-public -dump_vcd {file}"
    prover.ask([f"{CLAIM}_{verdict.claim}"], 1, options)
    make_folder(path.parent)
    write_text(path, (prover.folder / file).read_text(encoding="utf-8"))
