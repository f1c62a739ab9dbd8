"""Bad inputs, each told in one line that says what is wrong, where, and what would be right."""

import re
from pathlib import Path

import pytest
import yaml

from fiberscope import cli
from fiberscope.models import analytic

DESIGN = (Path(analytic.__file__).parent / "designs" / "matmul.yaml").read_text()

BAD = Path(__file__).parent / "support" / "bad_inputs.yaml"
CASES = {case["name"]: case for case in yaml.safe_load(BAD.read_text())}


def said(folder, capsys, text):
    path = folder / "case.yaml"
    path.write_text(text)
    code = cli.run(["analyze", str(path), "--json", str(folder / "out.json")])
    told = capsys.readouterr()
    assert not (folder / "out.json").exists()
    assert told.out == ""
    return code, told.err


@pytest.mark.parametrize("name", CASES)
def test_a_bad_input_is_told_in_one_line(name, tmp_path, capsys):
    case = CASES[name]
    assert case["old"] in DESIGN
    code, err = said(tmp_path, capsys, DESIGN.replace(case["old"], case["new"], 1))
    assert code == 2
    assert err.count("\n") == 1
    assert re.search(case["said"], err), err


def test_no_mapping(tmp_path, capsys):
    code, err = said(tmp_path, capsys, DESIGN[: DESIGN.index("\nmapping:")])
    assert code == 2
    assert "there is no section mapping; add one" in err


def test_a_section_that_is_in_two_files(tmp_path, refusal):
    for name in ("one", "two"):
        (tmp_path / f"{name}.yaml").write_text(DESIGN)
    error = refusal("analyze", str(tmp_path / "one.yaml"), str(tmp_path / "two.yaml"))
    assert re.search(r"two.yaml:\d+:1: architecture is in .*one.yaml too", error)


def test_an_unknown_option(refusal):
    error = refusal("analyze", "matmul", "--set", "mod=timeloop")
    assert error == "fiberscope: --set: the model has no parameter mod; did you mean mode?\n"


def test_an_unknown_design(refusal):
    assert "no design of this name; did you mean matmul?" in refusal("analyze", "matmull")
