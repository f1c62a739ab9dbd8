"""What a machine counts is the same with RTL in it, though no wire of the RTL says it."""

from pathlib import Path

import pytest

pytest.importorskip("pyrtl", reason="the extra rtl is not installed")


def test_an_alu_counts_only_products_whose_operands_are_there(tmp_path: Path, printed) -> None:
    expression = "Z[m, n] = A[m, n] * B[m, n] + A[m, n]"
    declaration = "{A: [M, N], B: [M, N], Z: [M, N]}"
    file = tmp_path / "s.yaml"
    file.write_text(
        f'einsum: {{declaration: {declaration}, expressions: ["{expression}"]}}\n', encoding="utf-8"
    )
    operand = "uniform:rows=8,cols=8,nonzeros=20,values=integer"
    operands = [f"A={operand}", f"B={operand},seed=1"]
    assert "identical in all" in printed("rtl", "loop", "alu", str(file), *operands, "--sim=pyrtl")
