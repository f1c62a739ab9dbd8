"""Designs that ship with some of their text changed, and one whose operand B is held in a latch."""

from pathlib import Path

from fiberscope.models import analytic
from fiberscope.models.analytic.api import analyze


def design(folder: Path, name: str, *changes: str) -> Path:
    """A design that ships with some of its text changed."""
    text = (Path(analytic.__file__).parent / "designs" / f"{name}.yaml").read_text()
    for old, new in zip(changes[::2], changes[1::2], strict=True):
        assert old in text
        text = text.replace(old, new)
    path = folder / f"{name}.yaml"
    path.write_text(text)
    return path


LATCHED = """
problem:
  version: 0.4
  shape:
    name: MatrixMultiply
    dimensions: [M, N, K]
    data_spaces:
      - {name: A, projection: [[[M]], [[K]]]}
      - {name: B, projection: [[[N]], [[K]]]}
      - {name: Z, projection: [[[M]], [[N]]], read_write: true}
  instance: {M: 4, N: 4, K: 4, densities: {A: DENSITY}}
architecture:
  version: 0.4
  nodes:
    - !Component {name: DRAM, class: DRAM, attributes: {datawidth: 8, width: 8}}
    - !Component
      name: Buffer
      class: storage
      attributes: {datawidth: 8, width: 8}
      sparse_optimizations:
        action_optimization: [{type: skipping, options: [{target: B, condition_on: [A]}]}]
    - !Component {name: Latch, class: regfile, attributes: {datawidth: 8, width: 8}}
    - !Component {name: MAC, class: compute, attributes: {datawidth: 8}}
mapping:
  - {target: Buffer, type: temporal, factors: [M=4, N=4, K=4], permutation: ORDER}
  - {target: Latch, type: dataspace, keep: KEPT, bypass: BYPASSED}
"""
UNIFORM = "{distribution: hypergeometric, density: 0.25}"


def skipped(folder, order, latched, density=UNIFORM):
    text = LATCHED.replace("ORDER", order).replace("DENSITY", density)
    text = text.replace("KEPT", "[B]" if latched else "[]")
    path = folder / "latched.yaml"
    path.write_text(text.replace("BYPASSED", "[A, Z]" if latched else "[A, B, Z]"))
    reads = analyze(path).levels["Buffer"].tensors["B"].reads
    return reads.skipped, reads.algorithmic
