"""``fiberscope convert``: what it writes, and what it costs to ask for what cannot be."""

import json
from pathlib import Path

import pytest

from fiberscope.cli import run
from fiberscope.converters.machine import Mint

MATRIX = "uniform:rows=20,cols=30,nonzeros=60"


pytestmark = pytest.mark.usefixtures("here")


def test_a_conversion_writes_a_report_and_a_waveform(printed) -> None:
    out = printed("convert", "csr", "csc", MATRIX, "--json", "out.json", "--vcd", "out.vcd")
    assert "A from csr to csc: 20 x 30" in out
    report = json.loads(Path("out.json").read_text())
    assert report["problem"]["parameters"] == {"source": "csr", "target": "csc", "bits": 32}
    assert report["verification"]["passed"]
    assert report["operations"]["scatter"] == 60
    assert "mint" in Path("out.vcd").read_text()


@pytest.mark.parametrize("given", [["--bits", "16"], ["--set", "problem.bits=16"]], ids=str)
def test_the_bits_of_a_value_are_those_given_however_they_are(given: list[str]) -> None:
    assert run(["convert", "csr", "csc", MATRIX, "--json", "out.json", "--quiet", *given]) == 0
    assert json.loads(Path("out.json").read_text())["problem"]["parameters"]["bits"] == 16


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["csr", "zvc"], "no recipe converts csr to zvc; csr goes to dense, rlc, coo, csf, bsr, csc, csr"),
        (["csr", "csk"], "no format is called 'csk'"),
        (["csr", "csc", "--bits", "12"], "12"),
        (
            ["csr", "csc", "--set", "lanes.chunk=3"],
            "lanes.chunk is 3; a bitonic network sorts a power of two",
        ),
        (["csr", "csc", "--set", "lanes.chunks=4"], "lanes.chunk"),
        (
            ["rlc", "coo", "--rtl", "divider"],
            "--json: cannot be combined with --rtl, which compares two runs",
        ),
    ],
)
def test_bad_input_costs_one_line_and_exit_code_2(arguments: list[str], message: str, refusal) -> None:
    source, target, *more = arguments
    assert message in refusal("convert", source, target, MATRIX, "--json", "out.json", *more)
    assert not Path("out.json").exists()


@pytest.mark.parametrize(
    ("source", "target", "blocks"),
    [
        ("rlc", "coo", "divider,prefix_sum,comparator_bank,packer"),
        ("zvc", "csf", "divider,comparator_bank"),
        ("csc", "rlc", "position_multiplier"),
        ("csr", "csc", "sorting_network,cluster_counter,counter_banks,prefix_sum"),
        ("dense", "csc", "counter_banks"),
    ],
)
def test_twins_in_a_conversion_do_what_the_units_do(source: str, target: str, blocks: str, printed) -> None:
    pytest.importorskip("pyrtl")
    narrow = ["--set=lanes.scan=8", "--set=lanes.divide=2", "--set=lanes.words=3", "--set=port.backlog=1"]
    narrow += ["--set=lanes.chunk=4", "--set=scratchpad.banks=4"]
    said = printed("convert", source, target, MATRIX, "--rtl", blocks, "--sim", "pyrtl", *narrow)
    assert "identical in all" in said
    assert f"{len(blocks.split(','))}" == str(said.count("\nexercised at mint."))


def test_planted_a_twin_that_keeps_zeros_is_found_in_a_conversion(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyrtl")
    from fiberscope.hw.lanes import comparator_bank_rtl

    monkeypatch.setattr(
        comparator_bank_rtl, "_nonzero", lambda row: [~lane["control"] | lane["control"] for lane in row]
    )
    assert run(["convert", "rlc", "coo", MATRIX, "--rtl", "comparator_bank", "--sim", "pyrtl"]) == 3
    assert "is empty of the component" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ("packr", "mint has no part packr to replace; did you mean packer?"),
        (
            "merger",
            "mint has no part merger to replace; known: cluster_counter, comparator_bank, counter_banks",
        ),
        ("divider", "mint has no divider in this run"),
    ],
)
def test_what_a_conversion_has_no_rtl_of_is_refused(blocks: str, message: str, refusal) -> None:
    pytest.importorskip("pyrtl")
    assert message in refusal("convert", "csr", "coo", MATRIX, "--rtl", blocks, "--sim", "pyrtl")


def test_a_wrong_bit_exits_with_3_after_its_report(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = Mint.result

    def wrong(machine: Mint) -> object:
        found = whole(machine)
        found["row_ids"][7] ^= 1
        return found

    monkeypatch.setattr(Mint, "result", wrong)
    assert run(["convert", "csr", "csc", MATRIX, "--json", "out.json"]) == 3
    assert "encoding is wrong" in capsys.readouterr().err
    assert json.loads(Path("out.json").read_text())["verification"]["passed"] is False
