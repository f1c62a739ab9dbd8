"""An instance of a specification's machine as Verilog, in an HDL simulator."""

import pytest


@pytest.mark.parametrize("simulator", ["auto"], indirect=True)
def test_the_instance_of_gamma_moves_its_tokens_in_the_cycles_of_the_machine(simulator, tmp_path, printed):
    words = ["rtl", "export", "spec:gamma", "--level", "PE", "-o", str(tmp_path), "--sim", simulator]
    out = printed(*words, "--set", "pe.radix=8", "--set", "pe.count=2")
    assert f"tokens in 154 cycles, in {simulator} as in the machine" in out
