"""Small SIGMAs, and hypothesis strategies for them and for what they multiply."""

from typing import Any

from hypothesis import strategies as st

from fiberscope.accelerators.configuration import load
from fiberscope.accelerators.sigma import ACCELERATOR, Sigma, SigmaConfiguration
from fiberscope.accelerators.testing import random_operands, run_to_end

# A machine with few Flex-DPEs, many folds and little of everything else.
TINY: dict[str, Any] = {
    "dpe.count": 3,
    "dpe.multipliers": 4,
    "slice.k": 4,
    "load.words_per_cycle": 4,
    "input.words_per_cycle": 2,
    "output.words_per_cycle": 3,
    "controller.bits_per_cycle": 16,
    "reduce.levels_outside_dpe": 2,
    "reduce.flush": 4,
    "stream.columns": 3,
    "stream.passes": 2,
    "stream.line": 64,
    "stream.lines": 2,
    "sram.data": 600,
    "network.queue": 2,
    "memory.model": "simple",
    "memory.interleave": 64,
    "memory.channels": 2,
}
IDEAL = {"output.words_per_cycle": 0, "memory.model": "none", "controller.bits_per_cycle": 1 << 20}


def configured(settings: dict[str, Any]) -> SigmaConfiguration:
    """The shipped configuration with settings over it."""
    return load(SigmaConfiguration, ACCELERATOR.shipped, name="sigma", settings=settings)


def built(operands: Any, settings: dict[str, Any], **options: Any) -> Sigma:
    """A machine with its operands."""
    return Sigma(configured(settings), *operands, **options)


def ran(operands: Any, settings: dict[str, Any], **options: Any) -> Sigma:
    """The same, after its run."""
    return run_to_end(built(operands, settings, **options))


@st.composite
def operands(draw: Any, most: int = 20) -> Any:
    """Two matrices of small whole numbers with as many nonzeros."""
    rows, inner, columns = (draw(st.integers(1, most)) for _ in range(3))
    return random_operands(rows, inner, columns, draw(st.integers(1, min(rows * inner, inner * columns))))


@st.composite
def makes(draw: Any) -> dict[str, Any]:
    """Settings of a small machine, any combination of all mechanisms."""
    multipliers = draw(st.sampled_from([2, 4, 8]))
    by = draw(st.sampled_from(["nonzeros", "nonzeros", "rows"]))
    return TINY | {
        "stationary": draw(st.sampled_from(["A", "B"])),
        "dpe.count": draw(st.integers(1, 4)),
        "dpe.multipliers": multipliers,
        "slice.k": draw(st.integers(1, multipliers)),
        "pack.by": by,
        "pack.slices": draw(st.sampled_from(["many", "one"])),
        "pack.filter": draw(st.sampled_from(["auto", "regor", "none"])),
        "pack.zeros": draw(st.sampled_from(["drop", "keep"])),
        "load.words_per_cycle": draw(st.sampled_from([1, 4, 128])),
        "load.double_buffer": draw(st.booleans()),
        "input.words_per_cycle": draw(st.integers(0, 3)),
        "output.words_per_cycle": draw(st.integers(0, 3)),
        "controller.bits_per_cycle": draw(st.sampled_from([1, 7, 1000])),
        "controller.first_fold": draw(st.sampled_from(["hidden", "counted"])),
        "benes.stages": draw(st.integers(0, 2)),
        "reduce.flush": draw(st.integers(0, 9)),
        "reduce.levels_outside_dpe": draw(st.integers(1, 3)),
        "sram.data": draw(st.sampled_from([1000, 4000])) * (4 if by == "rows" else 1),  # for all of K
        "sram.bandwidth": draw(st.sampled_from([10**9, 10**10, 10**12])),
        "value.bytes": draw(st.sampled_from([1, 2])),
        "value.sum_bytes": draw(st.sampled_from([2, 4])),
        "stream.columns": draw(st.sampled_from([1, 2, 5, 9, 20])),
        "stream.passes": draw(st.integers(2, 6)),
        "stream.line": draw(st.sampled_from([32, 64])),
        "stream.lines": draw(st.integers(1, 3)),
        "network.memory_latency": draw(st.integers(1, 3)),
        "memory.model": draw(st.sampled_from(["none", "simple", "dram"])),
        "memory.channels": draw(st.integers(1, 2)),
        "memory.bandwidth": draw(st.sampled_from(["1 GB/s", "16 GB/s"])),
    }
