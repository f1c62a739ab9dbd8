"""Debugging sessions of all kinds of runs: of each machine, a specification, graphs, a conversion."""

import sys
from collections.abc import Callable
from pathlib import Path

SUPPORT = Path(__file__).parent
sys.path[:0] = [str(SUPPORT), *(str(folder) for folder in SUPPORT.parent.glob("*/support"))]

from machine_case import cases  # noqa: E402

import fiberscope  # noqa: E402
from fiberscope.run.debug.session import Session  # noqa: E402

ROOT = Path(__file__).parents[3]
SMALL = "uniform:rows=14,cols=14,nonzeros=60,seed=3"
VECTOR = "uniform:rows=14,cols=1,nonzeros=9"


def _machine(name: str) -> Callable[..., Session]:
    """Start sessions of the first make of a machine, with the DRAM model if it has a memory."""
    case = cases()[name]
    problem = {f"problem.{key}": value for key, value in (case.problem or {}).items()}
    memory = {"memory.model": "dram"} if "memory" in case.kind.configuration.model_fields else {}
    make = {**next(iter(case.variants.values())), **problem, **memory}
    return lambda **options: fiberscope.debug(case.accelerator, *case.operands(), settings=make, **options)


def _graph(**options) -> Session:
    path = str(ROOT / "examples" / "graphs" / "fig14_identity.gv")
    return fiberscope.debug(path, tensors={"B": SMALL}, **options)


def _phases(**options) -> Session:
    path = str(ROOT / "examples" / "graphs" / "fig11_unfused.gv")
    tensors = {"B": "uniform:rows=9,cols=8,nonzeros=20", "C": "ones:shape=9x7", "D": "ones"}
    return fiberscope.debug(path, tensors=tensors, **options)


RUNS: dict[str, Callable[..., Session]] = {
    **{name: _machine(name) for name in cases()},
    "specification": lambda **options: fiberscope.debug(
        str(ROOT / "examples" / "specifications" / "spmv.yaml"), tensors={"A": SMALL, "x": VECTOR}, **options
    ),
    "graph": _graph,
    "graph of two phases": _phases,
    "conversion": lambda **options: fiberscope.debug("convert csr csc", SMALL, **options),
    "machine of one's own": lambda **options: fiberscope.debug(
        str(ROOT / "examples" / "inner_product"), SMALL, SMALL, **options
    ),
}
