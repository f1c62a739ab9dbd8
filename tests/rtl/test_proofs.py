"""Claims of blocks are proven, planted faults refute them, and a proof says where it proves nothing.

Proofs of all blocks are slow. Each claim is also simulated, beside blocks with and without faults.
"""

import re
import sys
from dataclasses import fields, replace
from pathlib import Path

import pyrtl
import pytest
from faults import Fault, read
from kept import check_kept
from optional_programs import needs
from simulated_claims import ClaimRun, failed_claims, observe

from fiberscope import cli
from fiberscope.hw.rtl.catalogue import BLOCKS
from fiberscope.hw.rtl.kit.parameters import BOUNDS, CHOICES, NUMBERS
from fiberscope.hw.rtl.tools.simulator import HdlError
from fiberscope.rtl.formal import yosys_session
from fiberscope.rtl.formal.catalogue import SPECIFICATIONS, kit_of, small_parameters
from fiberscope.rtl.formal.kit import formal_kit
from fiberscope.rtl.formal.prover import MAX_INDUCTION_LENGTH, Verdict, _Prover, _write_waveform, prove
from fiberscope.rtl.formal.yosys_session import YosysSession

DEPTH = 10
QUICK = ("bump_allocator", "packer")
# More sizes, each with the length of its induction.
SIZES = {
    **{f"channel capacity={capacity}": 1 for capacity in (1, 2, 4, 5, 17)},
    "channel capacity=3 latency=2": 2,
    "channel capacity=4 latency=3": 3,
    **{f"{joiner} ways={ways}": 1 for joiner in ("fiber_intersect", "fiber_union") for ways in (3, 4)},
    "fiber_intersect coordinate_bits=32 reference_bits=32": 1,
    "fiber_union coordinate_bits=32 reference_bits=32": 1,
    "crossbar inputs=4 outputs=3": 1,
    "crossbar inputs=9 outputs=1": 1,
    "concentrator requesters=8 repliers=8": 1,
    "benes form=double": 1,
}
BOUNDED = ("merger", "sorting_network")  # with claims that no induction proves


def kit(text, changed=lambda block: block, **options):
    name, *settings = text.split()
    block = BLOCKS[name]
    return kit_of(changed(block), small_parameters(block, settings), **options)


def proven(text, **options):
    return prove(kit(text, **options), DEPTH)


def check(result, length=1):
    assert not result.failed
    assert not result.has_contradiction
    assert not result.is_interrupted
    verdicts = result.verdicts.values()
    assert {verdict.cycles for verdict in verdicts if verdict.is_inductive} == {length}
    assert {verdict.cycles for verdict in verdicts if not verdict.is_inductive} <= {DEPTH}
    vacuous = {verdict.claim for verdict in verdicts if verdict.is_vacuous}
    assert all(name.endswith("_stays") for name in vacuous)  # outputs that offer only what is taken


@needs("yosys")
@pytest.mark.parametrize("name", QUICK)
def test_claims_are_proven(name):
    check(proven(name))


@needs("yosys")
@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({*SPECIFICATIONS} - {*QUICK}))
def test_claims_of_every_block_are_proven(name):
    result = proven(name)
    check(result)
    assert all(verdict.is_inductive for verdict in result.verdicts.values()) == (name not in BOUNDED)


@needs("yosys")
@pytest.mark.slow
@pytest.mark.parametrize("text", SIZES)
def test_claims_are_proven_at_more_sizes(text):
    check(proven(text), SIZES[text])


@needs("yosys")
@pytest.mark.slow
@pytest.mark.parametrize("name", ["accumulator", "bump_allocator", "two_finger"])
def test_registered_ports_keep_what_they_offer(name):
    block = BLOCKS[name]
    result = prove(kit_of(block, small_parameters(block, []), "registered"), DEPTH)
    check(result)
    assert not any(verdict.is_vacuous for verdict in result.verdicts.values())


SWITCH = Fault(
    "twins",
    "hw/networks/benes_rtl.py",
    "moved[i ^ 1], moved[i])",
    "moved[i | 1], moved[i])",
    "switch sends a word twice",
)


def test_all_that_claims_read_is_in_the_verilog_that_is_exported():
    for name in SPECIFICATIONS:
        exported = kit(name, status=False)
        for path, wire in exported.properties.inner_wires.items():
            register = path.partition("[")[0]
            assert f"{register};" in exported.block or f"{register}[" in exported.block, (name, path)
            assert wire.name in exported.wrapper


FAULTS = {fault.what: fault for fault in [*read(), SWITCH] if fault.area == "twins"}
# The block of which a proof finds each of these faults, and a claim that fails.
FOUND_QUICKLY = {
    "allocator one too many": ("bump_allocator", "refuses_what_does_not_fit"),
    "allocator new pointer": ("bump_allocator", "in_a_row"),
}
FOUND = {
    "allocator overflow adds": ("bump_allocator", "granted"),
    "channel shows the newest": ("channel capacity=4 latency=3", "shows_the_oldest"),
    "channel a token too many": ("channel latency=2", "takes_while_there_is_space"),
    "channel late": ("channel latency=2", "shows_what_is_due"),
    "repeater looks behind": ("repeater", "looks_ahead"),
    "repeater forgets what it owes": ("repeater", "registers"),
    "repeater takes while it owes": ("repeater", "kind"),
    "repeater N as reference": ("repeater", "kind"),
    "joiner stop below coordinates": ("fiber_intersect", "drops_what_is_behind"),
    "joiner references are not waited for": ("fiber_union", "sends_whenever_it_can"),
    "union last has the coordinate": ("fiber_union ways=3", "unchanged"),
    "intersect drops one at a time": ("fiber_intersect ways=3", "drops_what_is_behind"),
    "turn passes with any grant": ("crossbar", "fair_output"),
    "turn first always": ("crossbar inputs=4 outputs=3", "fair_output"),
    "turn of 8": ("crossbar inputs=9 outputs=1", "fair_output"),
    "crossbar takes without space": ("crossbar", "serves_one_output_00"),
    "concentrator ports from 0": ("concentrator", "word_0"),
    "concentrator reply lost": ("concentrator", "a_reply_leaves_once"),
    "concentrator turn stays": ("concentrator", "fair_requests_1"),
    "divider divisor taken twice": ("divider", "a_divisor_an_array"),
    "packer moves without space": ("packer", "queue"),
    "packer forgets its stops": ("packer", "ends"),
    "packer keeps what left": ("packer", "queue"),
    "switch sends a word twice": ("benes", "a_permutation"),
    "clusters counted behind a gap": ("cluster_counter", "rank_of_lane_3"),
    "comparator loses stops": ("comparator_bank", "lane_0"),
    "comparator changes while it stands": ("comparator_bank", "last_item"),
    "sums of another fiber": ("accumulator", "registers"),
    "sums unsigned": ("accumulator", "sum"),
    "sums stop without room": ("accumulator", "sends_what_is_complete"),
    "pages same for all": ("page_allocator", "page_1"),
    "pages lost without space": ("page_allocator", "page_0"),
    "writer end is 0": ("node_writer", "linked"),
    "writer takes while full": ("node_writer", "takes_while_there_is_space"),
    "intersector one ready": ("two_finger", "matches"),
    "fan operands unsigned": ("adder_network", "sums_of_a_neuron"),
    "fan lanes below alone": ("adder_network", "a_sum_a_run"),
    "merger stop before heads": ("merger", "sorted"),
    "merger a way more": ("merger", "own_fiber"),
    "merger stops stay": ("merger", "whole_fiber"),
    "islip a token too many": ("islip", "held_"),
}


def with_fault(fault):
    """Give a block the design that a file with a fault has."""

    def changed(block):
        names = {"__name__": "fiberscope." + fault.file.removesuffix(".py").replace("/", ".")}
        exec(compile(fault.source(), fault.file, "exec"), names)
        return replace(block, design=names[block.design.__name__])

    return changed


def check_refuted(fault, text, claim):
    result = proven(text, changed=with_fault(FAULTS[fault]))
    assert any(verdict.claim.startswith(claim) for verdict in result.failed)
    assert all(1 <= verdict.cycles <= DEPTH for verdict in result.failed)


@needs("yosys")
@pytest.mark.parametrize("fault", FOUND_QUICKLY)
def test_planted_a_fault_is_refuted(fault):
    check_refuted(fault, *FOUND_QUICKLY[fault])


@needs("yosys")
@pytest.mark.slow
@pytest.mark.parametrize("fault", FOUND)
def test_planted_each_fault_is_refuted(fault):
    check_refuted(fault, *FOUND[fault])


# Claims that fail in simulations with these faults, where the claim of the proof is not refuted at random.
SIMULATED = {
    "concentrator turn stays": "fair_requests_2",
    "fan operands unsigned": "sums_of_stage_1",
    "merger stop before heads": "whole_fiber",
}


@pytest.mark.parametrize("fault", [*FOUND_QUICKLY, *FOUND])
def test_planted_each_fault_fails_its_claim_in_simulations(fault):
    text, claim = {**FOUND_QUICKLY, **FOUND}[fault]
    name, *settings = text.split()
    run = ClaimRun(with_fault(FAULTS[fault])(BLOCKS[name]), settings)
    expected = f"claim_{SIMULATED.get(fault, claim)}"
    assert any(failed.startswith(expected) for claims in failed_claims(run) for failed in claims)


@pytest.mark.parametrize("name", SPECIFICATIONS)
def test_claims_hold_in_simulations_and_see_wrong_bits(name):
    """The kept row of a property has the cycles in which it held, and the wrong bits that end it."""
    run = ClaimRun(BLOCKS[name])
    cycles, held, refuted = observe(run)
    assert [claim for claim in run.names if claim.startswith("claim_") and held[claim] < cycles] == []
    counts = {claim: f"{held[claim]} {refuted[claim]}" for claim in run.names}
    check_kept(Path(__file__).parent / "claims.json", name, {"cycles": cycles, **counts})


def parameters_of(name):
    """Other values of each parameter of a block: names, and the least and the next numbers."""
    block = BLOCKS[name]
    small = small_parameters(block, [])
    for known in fields(block.parameters):
        now, stated = getattr(small, known.name), known.metadata
        least, most = stated.get(BOUNDS, (0, -1))
        numbers = (
            [number for number in (least, now + 1) if least <= number <= most] if BOUNDS in stated else []
        )
        for other in (*stated.get(CHOICES, ()), *stated.get(NUMBERS, ())[:1], *numbers):
            if other != now:
                yield f"{known.name}={other}"


@pytest.mark.parametrize("name", SPECIFICATIONS)
def test_claims_hold_with_other_parameters_or_are_refused(name):
    for setting in parameters_of(name):
        try:
            run = ClaimRun(BLOCKS[name], [setting])
        except ValueError as error:
            reason = str(error)
        else:
            assert set().union(*failed_claims(run, runs=3, cycles=20)) == set(), setting
            continue
        assert re.search(r"must be|the claims are for", reason), setting


def test_a_proof_of_parameters_without_claims_is_refused_in_a_line(capsys):
    assert cli.run(["rtl", "prove", "locator", "--set", "bases=1"]) == 2
    assert capsys.readouterr().err == (
        "fiberscope: locator: the claims are for bases=0, not bases=1; "
        "--ports registered has those of the ports alone\n"
    )


@needs("yosys")
def test_planted_a_changed_netlist_is_refuted():
    correct = kit("bump_allocator")
    changed = correct.block.replace("grants_reference = requests_reference", "grants_reference = 2'd0")
    assert changed != correct.block
    failed = prove(replace(correct, block=changed), DEPTH).failed
    assert [(verdict.claim, verdict.cycles) for verdict in failed] == [("to_who_asked", 1)]


@needs("yosys")
def test_a_proof_says_where_it_proves_nothing():
    block = BLOCKS["bump_allocator"]

    def contradict(properties):
        end = properties.stream("requests")
        properties.assume("idle", ~end.valid)
        properties.claim("false", pyrtl.Const(0, 1))
        properties.assume("busy", end.valid)

    def count(properties):
        seen = pyrtl.Register(5, "seen")
        seen.next <<= (seen + (seen != MAX_INDUCTION_LENGTH))[:5]
        properties.claim("never_thirty", seen != 30)
        properties.claim("says_nothing", pyrtl.Const(0, 1), when=seen == 29)

    assert prove(formal_kit(block, block.parameters(), contradict), DEPTH).has_contradiction
    verdicts = prove(formal_kit(block, block.parameters(), count), DEPTH).verdicts
    assert str(verdicts["never_thirty"]) == f"proven to {DEPTH} cycles"
    assert (
        str(verdicts["says_nothing"]) == f"proven to {DEPTH} cycles, vacuous: its condition was not reached"
    )


@needs("yosys")
def test_a_yosys_that_has_ended_is_an_error(tmp_path):
    session = YosysSession(tmp_path)
    with pytest.raises(HdlError, match="Yosys"):
        session.run(["no_such_command"], 60)
    with pytest.raises(HdlError, match="Yosys"):
        session.run(["stat"], 60)
    session.close()


@pytest.mark.parametrize(
    ("program", "error", "message"),
    [
        ("raise SystemExit('no libyosys')", HdlError, "Yosys does not start: no libyosys"),
        ("open('commands').readline()", HdlError, "Yosys: the process ended"),
        ("print(open('commands').readline(), 'ERROR: odd')", HdlError, "Yosys: .*ERROR: odd"),
        ("open('commands').read()", TimeoutError, None),  # waits for commands until it is killed
    ],
)
def test_a_process_that_ends_or_hangs_ends_the_session(tmp_path, monkeypatch, program, error, message):
    monkeypatch.setattr(yosys_session, "find_yosys", lambda: [sys.executable, "-Sc", program])
    with pytest.raises(error, match=message):
        YosysSession(tmp_path).run(["stat"], 1)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"cycles": 0}, "not decided"),
        ({"cycles": 7}, "proven to 7 cycles"),
        ({"cycles": 7, "is_vacuous": True}, "proven to 7 cycles, vacuous: its condition was not reached"),
        ({"cycles": 2, "is_inductive": True}, "proven by induction (2)"),
        (
            {"cycles": 2, "is_inductive": True, "is_vacuous": True},
            "proven by induction (2), vacuous: its condition was not reached",
        ),
        ({"cycles": 0, "has_failed": True}, "failed at cycle 0"),
    ],
)
def test_a_verdict_is_said_in_words(fields, words):
    assert str(Verdict("claim", **fields)) == words


def test_a_waveform_that_the_solver_does_not_find_again_in_time_ends_the_proof(tmp_path):
    class Late(_Prover):
        def __init__(self):
            self.folder = tmp_path

        def _run(self, options):
            return f"Solving problem with {options}\nSAT proof finished - TIMEOUT\n"

    with pytest.raises(TimeoutError):
        _write_waveform(Late(), Verdict("claim", cycles=3), tmp_path / "out.vcd")
    assert not (tmp_path / "out.vcd").exists()


@needs("yosys")
def test_the_command_prints_verdicts_and_writes_a_waveform(tmp_path, monkeypatch, capsys, printed):
    command = ["rtl", "prove", "bump_allocator", "--depth", str(DEPTH), "-o", str(tmp_path)]
    assert "no_address_twice           proven by induction (1)" in printed(*command)
    faulty = with_fault(FAULTS["allocator new pointer"])(BLOCKS["bump_allocator"])
    monkeypatch.setitem(BLOCKS, "bump_allocator", faulty)
    assert cli.run(command) == 3
    said = capsys.readouterr().out
    assert "in_a_row                   failed at cycle 1" in said
    path = tmp_path / "bump_allocator_in_a_row.vcd"
    assert f"Waveform of in_a_row: {path}" in said
    assert "$enddefinitions" in path.read_text(encoding="utf-8")


def test_the_formal_kit_is_written_beside_the_verilog(tmp_path):
    assert cli.run(["rtl", "export", "accumulator", "--formal", "-o", str(tmp_path)]) == 0
    files = {path.name for path in tmp_path.iterdir()}
    assert files >= {"accumulator.v", "accumulator_claims.v", "accumulator_formal.sv"}
    assert files >= {"accumulator_formal.sby", "accumulator_formal.ys", "README.md"}
    project = (tmp_path / "accumulator_formal.sby").read_text(encoding="utf-8")
    assert "[engines]\nsmtbmc z3\n" in project  # the solver that the Python index has
    assert "## Formal properties" in (tmp_path / "README.md").read_text(encoding="utf-8")
    text = (tmp_path / "accumulator_formal.sv").read_text(encoding="utf-8")
    assert "wire assume_sums_behind_ready_in_order" in text  # the second lane is ready only if the first is
    assert "assert (claim_sums_behind_in_order)" in text


@needs("yosys")
def test_the_script_for_yosys_runs(tmp_path):
    from fiberscope.rtl.formal.kit_files import write_kit
    from fiberscope.rtl.formal.yosys_session import YosysSession

    written = kit("bump_allocator")
    (tmp_path / "bump_allocator.v").write_text(written.block, encoding="utf-8")
    script = next(path for path in write_kit(written, 4, tmp_path) if path.suffix == ".ys")
    session = YosysSession(tmp_path)
    try:
        assert "Induction step proven: SUCCESS!" in session.run([f"script {script.name}"], 60)
    finally:
        session.close()


@pytest.mark.parametrize("value", [0, 1])
def test_a_refutation_without_a_run_ends_the_proof(value):
    """A caller asks again for the wires that did not fail, which would be the same question without end."""
    prover = object.__new__(_Prover)
    prover._run = lambda _options: "Solving problem with 3 variables\nbase case: FAIL\n"
    with pytest.raises(HdlError, match="does not show"):
        prover.ask(["claim_a", "claim_b"], value, "-maxsteps 3")
