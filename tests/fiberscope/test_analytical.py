"""The analytical model beside a machine's run: nests by hand, laws, and what it says nothing of."""

from dataclasses import dataclass
from functools import cache
from math import comb
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.explore.analytical_comparison import (
    AnalyticalEstimate,
    _list_problem_symbols,
    estimate_analytically,
)
from fiberscope.explore.check import Check, check
from fiberscope.models.analytic.phases import read_phases
from fiberscope.results.report.parts import Operand
from fiberscope.run.find_machine import find

FULL = "uniform:rows=32,cols=32,nonzeros=1024"
MULTIPLIERS = {"gamma": 32, "extensor": 128, "outerspace": 256, "sigma": 128 * 128}


@cache
def checked(machine: str) -> Check:
    return check(machine, FULL)


def beside(
    machine: str, shape: tuple[int, int, int], nonzeros: tuple[int, int], folder: Path | None = None
) -> AnalyticalEstimate:
    """The analytical model of another problem than that which the machine has run."""
    done, (rows, shared, columns) = checked(machine), shape
    workload = done.event.workload
    second = Operand(**{name: getattr(workload, name) for name in Operand.model_fields})
    b = second.model_copy(update={"shape": (shared, columns), "nonzeros": nonzeros[1]})
    changed = {"shape": (rows, shared), "nonzeros": nonzeros[0], "b": b}
    event = done.event.model_copy(update={"workload": workload.model_copy(update=changed)})
    found = estimate_analytically(machine, folder or find(machine).folder, event, done.trace)
    assert found is not None
    return found


@dataclass(frozen=True)
class Drawn:
    """Shape M, K, N of a product, and nonzeros of A and B."""

    shape: tuple[int, int, int]
    nonzeros: tuple[int, int]


@st.composite
def products(draw: st.DrawFn) -> Drawn:
    rows, shared, columns = (draw(st.integers(1, 700)) for _ in range(3))
    a, b = draw(st.integers(1, rows * shared)), draw(st.integers(1, shared * columns))
    return Drawn((rows, shared, columns), (a, b))


def test_gamma_by_hand() -> None:
    found = beside("gamma", (64, 64, 64), (4096, 4096))
    assert found.cycles == 64**3 / 32  # two rows a processing element, and an element a cycle
    assert found.limits == "Multiplier"


def test_gamma_bound_by_memory_by_hand() -> None:
    settings = {"memory.channels": 1}
    found = check("gamma", FULL, settings=settings).analytical
    elements = 3 * (1024 + 33 * 4 // 12)  # of A, B and Z, with pointers of 4 bytes in whole elements
    assert found.cycles == -(-elements * 12 * 10**9 // 2**33)  # 8 GiB/s at 1 GHz
    assert found.limits == "MainMemory"


def test_outerspace_by_hand() -> None:
    found = beside("outerspace", (64, 64, 64), (4096, 4096))
    multiply, merge = found.phases
    operands, product = 2 * (4096 + 65 * 4 // 12), 64**3
    assert multiply.cycles == -(-(operands + product) * 12 * 15 // 1280)  # 128 GB/s at 1.5 GHz
    read, written = product * 64, (4096 + 65 * 4 // 12) * 12  # a block of 64 bytes for each element
    assert merge.cycles == pytest.approx((read + written) * 15 / 1280, rel=1e-4)
    assert found.cycles == multiply.cycles + merge.cycles


def test_sigma_by_hand() -> None:
    found = beside("sigma", (64, 64, 500), (4096, 64 * 500))
    assert found.cycles == 500  # one fold of one slice: a column a cycle
    four = beside("sigma", (256, 256, 500), (256 * 256, 256 * 500))
    assert four.cycles == 4 * 500  # two slices of two folds each, of 128 rows
    high = beside("sigma", (512, 32, 500), (512 * 32, 32 * 500))
    assert (high.cycles, high.limits) == (4 * 500, "Accumulators")  # which take 128 of a column's 512 sums
    nonzeros, places = 1024, 512 * 32
    empty = comb(places - 32, nonzeros) / comb(places, nonzeros)
    few = beside("sigma", (512, 32, 500), (nonzeros, 32 * 500))
    assert few.cycles == pytest.approx(
        512 * (1 - empty) / 128 * 500, rel=1e-3
    )  # a row that is empty has no sum


def test_extensor_by_hand() -> None:
    found = beside("extensor", (64, 64, 64), (4096, 4096))
    assert (found.cycles, found.limits) == (64**3, "Multiplier")  # one microtile of K: one processing element
    assert beside("extensor", (64, 512, 64), (64 * 512, 512 * 64)).cycles == 64 * 64 * 512 / 4


@pytest.mark.parametrize(("rows", "tiles"), [(4096, (4,)), (8192, (1, 2, 3, 4))])
def test_extensor_writes_z_after_each_tile_of_k_if_several_of_m_take_turns(
    rows: int, tiles: tuple[int, ...]
) -> None:
    shared, columns, a, b = 4 * 8192, 400, 40_000, 30_000
    found = beside("extensor", (rows, shared, columns), (a, b))
    met = a / (rows * shared) * b / (shared * columns)
    after = [rows * columns * (1 - (1 - met) ** (8192 * done)) for done in tiles]
    product = (
        sum(after) + (len(after) - 1) * sum(after) / len(after)
    ) * 16  # bytes written, and read in again
    moved = found.cycles * 4 * 18.32233 - product
    assert (
        (a + b) * 12 < moved < (a + b) * (12 + 8 + 12 + 8)
    )  # elements; with a fiber and a microtile for each


@pytest.mark.parametrize(
    ("shared", "tiles"), [(8, 2), (9, 3), (11, 3), (12, 3), (4, 1)]
)  # a tile of K that is cut off is written, too
def test_partial_products_are_the_mean_over_the_tiles_of_k(shared: int, tiles: int) -> None:
    a = SimpleNamespace(shape=(6, shared), nonzeros=12)
    b = SimpleNamespace(shape=(shared, 5), nonzeros=10)
    event = SimpleNamespace(problem=None, workload=SimpleNamespace(operands=(a, b)))
    met = 12 / (6 * shared) * (10 / (shared * 5))
    after = [30 * (1 - (1 - met) ** (shared * done / tiles)) for done in range(1, tiles + 1)]
    several = _list_problem_symbols(event, {"M1": 5, "K1": 4})  # type: ignore[arg-type]
    assert several["Z"] == pytest.approx(after[-1])
    assert several["Z1"] == pytest.approx(sum(after) / tiles)
    alone = _list_problem_symbols(event, {"M1": 6, "K1": 4})  # type: ignore[arg-type]
    assert alone["Z1"] == alone["Z"]


@pytest.mark.parametrize("machine", MULTIPLIERS)
def test_full_operands_take_the_products_of_the_run(machine: str) -> None:
    done = checked(machine)
    multiplied = next(row.event for row in done.counts if row.name == "multiply")
    assert done.analytical.phases[0].computes == multiplied == 32**3


@pytest.mark.parametrize("machine", MULTIPLIERS)
@given(drawn=products())
def test_no_phase_is_faster_than_its_multipliers(machine: str, drawn: Drawn) -> None:
    found = beside(machine, drawn.shape, drawn.nonzeros)
    assert found.phases
    assert all(one.cycles * MULTIPLIERS[machine] >= one.computes for one in found.phases)


@pytest.mark.parametrize("machine", ["gamma", "outerspace"])
@given(drawn=products())
def test_products_are_those_of_mean_operands(machine: str, drawn: Drawn) -> None:
    (_rows, shared, _columns), (a, b) = drawn.shape, drawn.nonzeros
    for one in beside(machine, drawn.shape, drawn.nonzeros).phases:
        assert one.computes == pytest.approx(a * b / shared, rel=0.01, abs=2)


def test_uniform_operands_move_the_bytes_of_the_run() -> None:
    done = check("gamma", "uniform:rows=300,cols=300,nonzeros=3000")
    moved = sum(one.moved_bytes for one in done.event.traffic.values())
    assert done.analytical.limits == "MainMemory"
    assert done.analytical.cycles == pytest.approx(moved * 10**9 / (16 * 2**33), rel=0.01)


def test_a_problem_that_no_nest_is_of_has_a_reason() -> None:
    settings = {"merge.element_access": "block"}
    found = check("outerspace", "uniform:rows=30,cols=30,nonzeros=90", settings=settings).analytical
    assert found == AnalyticalEstimate((), ("its nests are of merge.element_access=element, not of block",))
    found = check(
        "sigma", "uniform:rows=30,cols=30,nonzeros=90", settings={"memory.model": "none"}
    ).analytical
    assert found == AnalyticalEstimate((), ("it has no nest of memory.model=none",))
    assert beside("gamma", (3, 3, 3), (0, 9)).without == ("an operand has no nonzeros",)
    million = 1_000_000
    assert beside("gamma", (million, million, million), (3, 3)).without == (
        "dense, it would have more than 5e+15 products",
    )
    assert beside("gamma", (160_000, 160_000, 160_000), (3, 3)).phases


def test_where_b_does_not_fit_the_cache_its_rows_are_read_again(tmp_path: Path) -> None:
    shape, nonzeros = (32, 600, 600), (32, 600 * 600)
    found = beside("gamma", shape, nonzeros)
    selected = 600 * (1 - comb(32 * 599, 32) / comb(32 * 600, 32))  # rows of B, by any of 32 rows of A
    sums = 32 * 600 * (1 - (1 - 1 / 600) ** 600)
    assert found.cycles == pytest.approx((32 + 600 * selected + sums) * 12 * 10**9 / (16 * 2**33), rel=0.02)
    kept = (find("gamma").folder / "analytic.yaml").read_text().split("    otherwise:")[0]
    (tmp_path / "analytic.yaml").write_text(kept)
    reason = "multiply and merge: the mapping is not valid: FiberCache: data does not fit"
    assert beside("gamma", shape, nonzeros, tmp_path) == AnalyticalEstimate((), (reason,))


def test_the_command_shows_it_beside_the_run(printed) -> None:
    shown = printed("check", "outerspace", FULL, "-q", "--no-explain")
    done = checked("outerspace")
    share = done.analytical.cycles / done.event.cycles
    told = f"{done.analytical.cycles:,} cycles by the analytical model, {share:.2f} of the event's; bound by "
    assert told + "MainMemory in multiply, MainMemory in merge\n" in shown
    assert "the analytical model leaves out: the headers of nodes" in shown
    out = printed("check", "graphicionado", "rmat:scale=5,nonzeros=60", "-q", "--no-explain")
    assert "no cycles by the analytical model: which vertices are active" in out


def test_a_symbol_that_cannot_be_names_its_place(tmp_path: Path) -> None:
    file = tmp_path / "analytic.yaml"
    file.write_text("without: []\nsymbols:\n  one: ${M / 2}\n  two: ${one * rows}\n")
    with pytest.raises(ConfigurationError, match=r"^mine:4:8: \$\{one \* rows\}: there is no rows; "):
        read_phases(file, "mine", {"M": 3})
    file.write_text("without: []\nsymbols: {one: many}\n")
    with pytest.raises(ConfigurationError, match=r"^mine:2:16: one is many; it should be a number"):
        read_phases(file, "mine", {"M": 3})


def test_a_parameter_that_there_is_not_names_its_place(tmp_path: Path) -> None:
    file = tmp_path / "analytic.yaml"
    file.write_text("without: []\nnot_of: {pe.cuont: 3}\n")
    with pytest.raises(ConfigurationError, match=r"^mine:2:10: there is no pe.cuont; did you mean pe.count"):
        read_phases(file, "mine", {"pe.count": 3})
