"""Verilog of somebody else's in a composition, where PyRTL runs it: its model, cycle by cycle."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from dot_pair import GIVEN, dot_pair
from foreign_multiplier import DOT, MULTIPLIER, PORTS, Multiplier
from pairs import check_pair

from fiberscope.hw.rtl.kit.backend import PyrtlBackend
from fiberscope.hw.rtl.kit.foreign import foreign
from fiberscope.sim import SimulationError

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("seed", range(4))
def test_a_composition_with_a_model_in_it_is_the_component(seed):
    assert check_pair(dot_pair(seed)) > 60


def test_planted_a_model_that_is_late_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr("pairs.WAVEFORMS", tmp_path)
    pair = dot_pair(1)
    kept = Multiplier.multiplies
    turns = iter(range(10**6))
    monkeypatch.setattr(
        "foreign_multiplier.Multiplier.multiplies", lambda self: kept(self) and next(turns) % 7 != 3
    )
    with pytest.raises(AssertionError, match="dot, seed 1: "):
        check_pair(pair)


class Silent(Multiplier):
    def outputs(self):
        return {name: bits for name, bits in super().outputs().items() if name != "a_ready"}


class Wide(Multiplier):
    def outputs(self):
        return {**super().outputs(), "products_coordinate": 1 << 32}


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (Silent, "the model of multiplier does not say what a_ready is"),
        (Wide, "the model of multiplier: products_coordinate is 4294967296, of 32 bits"),
    ],
)
def test_a_model_that_says_what_no_wire_carries_is_refused(model, said):
    block = foreign(MULTIPLIER.source, PORTS, model)
    backend = PyrtlBackend(block.twin(GIVEN))
    with pytest.raises(SimulationError, match=said):
        backend.cycle()


def test_the_file_goes_with_the_module_and_is_listed(tmp_path):
    python = [sys.executable, str(ROOT / "examples" / "foreign_multiplier.py"), str(tmp_path)]
    out = subprocess.run(python, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert [Path(line).name for line in out.split()] == ["multiplier.v", "dot.v", "dot.core"]
    assert (tmp_path / "multiplier.v").read_text() == MULTIPLIER.source.read_text()
    assert "    multiplier multiplier(\n" in (tmp_path / "dot.v").read_text()
    core = yaml.safe_load((tmp_path / "dot.core").read_text().partition("\n")[2])
    assert core["filesets"]["rtl"]["files"] == ["multiplier.v", "dot.v"]
    assert DOT.foreign(GIVEN) == (MULTIPLIER,)
    assert replace(MULTIPLIER, name="other").modules(GIVEN, "other") == ""
