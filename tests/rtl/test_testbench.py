"""The test bench of an export: it replays the event model's run in a simulator, and finds faults."""

import subprocess
from dataclasses import fields

import pytest
from optional_programs import needs

from fiberscope import cli
from fiberscope.hw.rtl.catalogue import BLOCKS
from fiberscope.hw.rtl.kit.parameters import CHOICES
from fiberscope.hw.rtl.tools.stream_stimulus import BENCH_STIMULI
from fiberscope.rtl.handover import recording
from fiberscope.rtl.handover.recording import DifferentRunError, has_stimulus, record

SMALL = {
    "adder_network": {"leaves": 4},
    "benes": {"lanes": 4},
    "merger": {"radix": 3},
    "packer": {"inputs": 4, "outputs": 4},
    "prefix_sum": {"lanes": 4},
    "skip_ahead": {"window": 4},
    "sorted_head": {"entries": 4},
    "sorting_network": {"lanes": 4},
}
IN_A_SIMULATOR = [  # with ports of each kind: a stream, lanes, rows, rows with a mask, optional ports
    ("two_finger", "plain"),
    ("accumulator", "plain"),
    ("accumulator", "checked"),
    ("divider", "axis"),
    ("adder_network", "axis"),
    ("skip_ahead", "registered"),
]


def exported(folder, block, ports):
    settings = [f"--set={name}={value}" for name, value in SMALL.get(block, {}).items()]
    assert cli.run(["rtl", "export", block, *settings, f"--ports={ports}", "-o", str(folder)]) == 0


def simulated(folder, block):
    bench = f"{block}_tb"
    compiler = ["iverilog", "-g2012", "-s", bench, "-o", "bench.vvp", "-f", f"{bench}.f"]
    subprocess.run(compiler, cwd=folder, check=True)
    return subprocess.run(["vvp", "bench.vvp"], cwd=folder, capture_output=True, text=True, check=False)


@needs("icarus")
@pytest.mark.parametrize(("block", "ports"), IN_A_SIMULATOR)
def test_it_passes_in_a_simulator(block, ports, tmp_path):
    exported(tmp_path, block, ports)
    run = simulated(tmp_path, block)
    assert run.stdout.startswith("PASS: "), run.stdout
    assert run.returncode == 0
    readme = (tmp_path / "README.md").read_text()
    assert f"| `{block}_tb.v` | test bench in Verilog" in readme
    assert "**Latency.** In this run, the first token leaves" in readme


@needs("icarus")
def test_planted_a_wrong_comparison_fails_and_names_cycle_and_port(tmp_path):
    exported(tmp_path, "two_finger", "plain")
    path = tmp_path / "two_finger.v"
    text = path.read_text()
    assert " < " in text
    path.write_text(text.replace(" < ", " > ", 1))
    run = simulated(tmp_path, "two_finger")
    assert run.returncode != 0
    assert run.stdout.startswith("FAIL: cycle ")
    assert "PASS" not in run.stdout


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize("block", BENCH_STIMULI)
def test_its_tokens_are_those_of_the_event_model(block, plain):
    assert has_stimulus(BLOCKS[block])
    parameters = BLOCKS[block].parameters(**SMALL.get(block, {}))
    recorded = record(BLOCKS[block], parameters, plain=plain)
    assert recorded.tokens >= 10
    assert 0 <= recorded.latency < len(recorded.vectors)
    compared = [vector for vector in recorded.vectors if any(vector.compared.values())]
    assert len(compared) >= recorded.tokens / len(recorded.interface.streams)


def test_planted_an_event_model_that_sends_other_tokens_is_refused(monkeypatch):
    given = iter([True, False])
    runs = recording.run_block

    def other(part, inputs, outputs, **options):
        return runs(part, inputs if next(given) else dict.fromkeys(inputs, ()), outputs, **options)

    monkeypatch.setattr(recording, "run_block", other)
    with pytest.raises(DifferentRunError, match="two_finger: the RTL does not send the tokens"):
        record(BLOCKS["two_finger"], BLOCKS["two_finger"].parameters(), plain=True)


def test_a_block_without_stimulus_has_none(tmp_path):
    exported(tmp_path, "repeat_signal", "plain")
    assert (tmp_path / "repeat_signal_tb.v").exists()
    assert cli.run(["rtl", "export", "channel", "-o", str(tmp_path / "channel")]) == 0
    assert not (tmp_path / "channel" / "channel_tb.v").exists()
    assert "Test bench" not in (tmp_path / "channel" / "README.md").read_text()


def kinds():
    """Each block with each value of a parameter that is a name, the type of values aside."""
    for block in BENCH_STIMULI:
        for known in fields(BLOCKS[block].parameters):
            for choice in known.metadata.get(CHOICES, ()):
                if known.name != "values" and choice != known.default:
                    yield block, known.name, choice


@pytest.mark.parametrize(("block", "parameter", "choice"), list(kinds()))
def test_a_block_of_any_kind_has_a_bench(block, parameter, choice):
    given = BLOCKS[block].parameters(**SMALL.get(block, {}) | {parameter: choice})
    assert record(BLOCKS[block], given, plain=True).tokens >= 10


@pytest.mark.parametrize(
    ("block", "setting", "reason"),
    [
        ("locator", "bases=1", "the tokens of the stimulus do not suit these parameters"),
        (
            "alu",
            "result_bits=2",
            "of a difference with these parameters: alu: the RTL does not send the tokens",
        ),
    ],
)
def test_parameters_that_the_stimulus_does_not_suit_cost_the_bench_alone(
    block, setting, reason, tmp_path, capsys
):
    assert cli.run(["rtl", "export", block, f"--set={setting}", "-o", str(tmp_path)]) == 0
    assert (tmp_path / "README.md").exists()
    assert not list(tmp_path.glob("*_tb.v"))
    assert f"Test bench: none, because {reason}" in capsys.readouterr().out
