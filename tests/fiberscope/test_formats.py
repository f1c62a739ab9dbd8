"""``fiberscope formats``: sizes in a table and as JSON, and what it refuses."""

import json

import pytest

from fiberscope import cli

EXAMPLE = """%%MatrixMarket matrix coordinate real general
4 4 6
1 3 1
2 1 2
2 3 3
3 2 4
3 4 5
4 1 6
"""


@pytest.fixture(autouse=True)
def _folder(here):
    (here / "a.mtx").write_text(EXAMPLE)
    (here / "cube.tns").write_text("1 1 2 1\n1 3 1 1\n1 3 4 1\n2 2 3 1\n")


def document(capsys, *arguments):
    assert cli.run(["formats", *arguments, "--json", "-"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_example_as_json(capsys):
    found = document(capsys, "a.mtx", "--bits", "32")
    assert found["bits"] == {
        "dense": 512, "coo": 216, "csr": 219, "csc": 219, "zvc": 208, "rlc": 216, "bsr2": 525, "csf": 227
    }  # fmt: skip
    assert found["smallest"] == "zvc"
    assert found["line_bytes"]["csr"] == 3 * 64
    assert found["workload"]["shape"] == [4, 4]


@pytest.mark.parametrize("bits", [8, 16])
def test_narrower_values(capsys, bits):
    found = document(capsys, "a.mtx", "--bits", str(bits))
    assert found["bits"]["zvc"] == 16 + 6 * bits
    assert found["value_bits"] == bits


def test_a_tensor_has_the_formats_that_hold_it(capsys):
    found = document(capsys, "cube.tns")
    assert list(found["bits"]) == ["dense", "coo", "zvc", "rlc", "csf"]
    assert found["bits"]["csf"] == 2 + 3 * 2 + 3 * 2 + 4 * 3 + 4 * 2 + 4 * 32


def test_chosen_formats(capsys):
    found = document(capsys, "a.mtx", "--format", "bsr4", "--format", "rlc5-value")
    assert found["bits"] == {"bsr4": 16 * 32 + 1 + 2, "rlc5-value": 6 * 37}


def test_the_table(printed):
    out = printed("formats", "a.mtx", "--markdown")
    assert out.startswith("a: 4 x 4, 6 nonzeros of 32 bits:")
    assert "| zvc, smallest | 208 | 16 | 40.6% | 128 |" in out


def test_a_surrogate_is_told(capsys):
    assert cli.run(["formats", "relat3", "--format", "coo"]) == 0
    assert "SURROGATE" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["a.mtx", "--bits", "12"], "values of 12 bits; formats hold values of 8, 16 or 32 bits"),
        (["cube.tns", "--format", "csr"], "csr holds matrices, not a tensor of order 3; "),
        (["a.mtx", "--format", "cssr"], "no format is called 'cssr'; did you mean csr"),
        (["a.mtx", "--json", "a.mtx"], "--json a.mtx: is the tensor, which it would overwrite"),
        (["none.tns"], "none.tns: no such file"),
    ],
)
def test_refusals(refusal, arguments, says):
    assert refusal("formats", *arguments).startswith(f"fiberscope: {says}")
