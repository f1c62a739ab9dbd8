"""The page of machines from specifications: its file, its tasks, its messages and its defaults are true."""

import re
from pathlib import Path

import pytest
import yaml

import fiberscope
from fiberscope import cli
from fiberscope.accelerators.errors import ConfigurationError
from fiberscope.base.errors import InputError
from fiberscope.models.from_spec.machine import MappedMachine
from fiberscope.models.from_spec.settings import DEFAULTS
from fiberscope.results.errors import VerificationError

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "mapped.md").read_text(encoding="utf-8")
MINIMAL = ROOT / "examples" / "specifications" / "minimal.yaml"
PIECES = MINIMAL.with_name("minimal_pieces.yaml")
GAMMA = (ROOT / "fiberscope/accelerators/gamma/spec.yaml").read_text(encoding="utf-8")
MATRIX, VECTOR = "uniform:rows=8,cols=8,nonzeros=20", "tensor:shape=8,nonzeros=5"
MATRICES = {"A": MATRIX, "B": MATRIX}
LED = (
    "{partitioning: {y: {K: [uniform_occupancy(A.2)]}}, loop-order: {y: [M, K1, K0]},"
    " spacetime: {y: {space: [M, K1], time: [K0]}}}"
)
LED_SUM = "{A: [M, K], x: [K], y: [M]}", "y[m] = A[m, k] + A[m, k] * x[k]"


def specification(declaration: str, expressions: str, mapping: str = "{}", more: str = "") -> str:
    """The text of a specification without an architecture."""
    return (
        f"einsum:\n  declaration: {declaration}\n  expressions: [{expressions}]\n{more}mapping: {mapping}\n"
    )


def quoted(*expressions: str) -> str:
    return ", ".join(f'"{expression}"' for expression in expressions)


FLATTEN = '{partitioning: {Z: {"(M, K)": [flatten()]}}, loop-order: {Z: [MK]}}'
BOTH = "{partitioning: {Z: {K: [uniform_shape(4)]}}, uncompressed: {B: [K]}, loop-order: {Z: [K1, K0, N]}}"
RELU = '  functions: {"relu(x)": "max(x, 0)"}\n'
LARGER = '  functions: {"larger(x, y)": "max(x, y)"}\n  operators: {Z: {"+": larger}}\n'
GROWN = "{partitioning: {Z: {K: [DRT(A.16)]}}}"
OF_FOUR = "  shape: {M: 4}\n"
LED_BY_T = "mapping:\n  partitioning:\n    Z: {K: [uniform_occupancy(T.2)]}\n"
REFUSED = {  # what a row of the page is about: a specification, and its tensors
    "a look-up in": (
        specification(
            "{A: [M, K], B: [K], Z: [M, K]}", quoted("Z[m, k] = A[m, k] + A[m, k] * B[k]"), FLATTEN
        ),
        {"A": MATRIX, "B": VECTOR},
    ),
    "functions of the file": (
        specification("{A: [I], Z: [I]}", quoted("Z[i] = relu(A[i])"), more=RELU),
        {"A": VECTOR},
    ),
    "operators that mean": (
        specification("{A: [I], B: [I], Z: [I]}", quoted("Z[i] = A[i] + B[i]"), more=LARGER),
        {"A": VECTOR, "B": VECTOR},
    ),
    "an Einsum that reads no": (
        specification("{A: [M], Y: [M], Z: [M]}", quoted("Y[m] = 1", "Z[m] = A[m] * Y[m]"), more=OF_FOUR),
        {"A": VECTOR},
    ),
    "tiles that grow": (
        specification("{A: [M, K], Z: [M]}", quoted("Z[m] = A[m, k]"), GROWN),
        {"A": MATRIX},
    ),
    "an index twice": (specification("{A: [M], Z: [M, N]}", quoted("Z[m, m] = A[m]")), {"A": VECTOR}),
    "a rank both": (
        specification("{A: [K, N], B: [K, N], Z: [K, N]}", quoted("Z[k, n] = A[k, n] + B[k, n]"), BOTH),
        MATRICES,
    ),
    "a partition that follows another tensor": (
        specification(LED_SUM[0], quoted(LED_SUM[1]), LED),
        {"A": MATRIX, "x": VECTOR},
    ),
    "a partition that follows the output": (
        GAMMA.replace("mapping:\n", LED_BY_T, 1).replace("Z: [M, N, K]", "Z: [M, N, K1, K0]")
        .replace("time: [N, K]", "time: [N, K1, K0]"),
        MATRICES,
    ),
    "a merger that does more": (GAMMA.replace("Z: [M, N, K]", "Z: [M, K, N]"), MATRICES),
}  # fmt: skip
ELSEWHERE = ("more than 8,192 instances",)  # tests of random specifications


def rows(heading: str) -> list[list[str]]:
    """The cells of the table whose first heading this is."""
    table = PAGE.partition(f"\n| {heading} |")[2].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("|"))] for line in table]


def test_each_limit_of_the_page_has_an_example() -> None:
    starts = (*REFUSED, *ELSEWHERE)
    assert [row[0] for row in rows("not supported") if not row[0].startswith(starts)] == []
    assert len(rows("not supported")) == len(starts)


@pytest.mark.parametrize("start", REFUSED)
def test_what_is_not_supported_is_refused_with_the_message_of_the_page(start: str, tmp_path: Path) -> None:
    message = next(row[1] for row in rows("not supported") if row[0].startswith(start))
    text, tensors = REFUSED[start]
    name = text
    if not text.startswith("spec:"):
        name = str(tmp_path / "my.yaml")
        Path(name).write_text(text, encoding="utf-8")
    with pytest.raises((ConfigurationError, InputError, VerificationError)) as caught:
        fiberscope.simulate(name, tensors=tensors)
    assert message.strip("`").removesuffix("...") in str(caught.value)


def test_the_file_of_the_page_is_the_example() -> None:
    assert f"```yaml\n{MINIMAL.read_text(encoding='utf-8')}```" in PAGE


def test_the_tasks_of_the_small_product_run_where_the_page_says(monkeypatch: pytest.MonkeyPatch) -> None:
    machines: list[MappedMachine] = []
    result = MappedMachine.result
    monkeypatch.setattr(MappedMachine, "result", lambda self: machines.append(self) or result(self))
    report = fiberscope.simulate(str(MINIMAL), str(ROOT / "examples/worked_three.mtx"), PES=2)
    (stage,) = machines[0].stages
    assert [f"`pe{owner}`" for owner in stage.cut.owner.integers()] == [row[1] for row in rows("task")]
    assert report.result.toarray().tolist() == [[9, 0, 2], [0, 9, 0], [4, 0, 8]]


def test_more_processing_elements_take_the_cycles_of_the_page() -> None:
    assert f"`--set PES=8` takes {cycles_of(MINIMAL, {'PES': 8}):,} cycles" in PAGE


@pytest.mark.slow
@pytest.mark.parametrize("name", ["window", "ahead", "queue"])
def test_the_table_of_window_ahead_and_queue_has_the_cycles_of_runs(name: str) -> None:
    (row,) = (row for row in rows("`timing.` | 1") if row[0] == f"`{name}`")
    for value, cell in zip((1, 2, 4, 8, 16, 32), row[1:], strict=True):
        if cell.startswith("refused"):
            with pytest.raises(ConfigurationError):
                cycles_of(MINIMAL, {f"timing.{name}": value})
        else:
            assert cycles_of(MINIMAL, {f"timing.{name}": value}) == int(cell.split()[0].replace(",", ""))


def cycles_of(file: Path, settings: dict[str, int]) -> int:
    return fiberscope.simulate(str(file), "uniform:rows=300,cols=300,nonzeros=2000", settings=settings).cycles


@pytest.mark.slow
def test_the_variants_of_the_memory_have_the_bytes_and_cycles_of_the_page(tmp_path: Path) -> None:
    minimal, pieces = (file.read_text(encoding="utf-8") for file in (MINIMAL, PIECES))
    shown = PAGE.split("These lines differ most.", 1)[1].split("```")[1].splitlines()[2:]
    assert [line for line in shown if line not in pieces and not line.startswith("#")] == []
    never = minimal.replace("format: rows, evict-on: M}", "format: rows, evict-on: root}", 1)
    files = (minimal, never, pieces.replace("evict-on: K1", "evict-on: root"), pieces)
    for row, file in zip(rows("file"), (*files, pieces.replace("lazy", "eager")), strict=True):
        (tmp_path / "my.yaml").write_text(file, encoding="utf-8")
        report = fiberscope.simulate(str(tmp_path / "my.yaml"), "uniform:rows=300,cols=300,nonzeros=2000")
        moved = (
            report.traffic["A"].read_bytes,
            report.traffic["Z"].read_bytes,
            report.traffic["Z"].write_bytes,
        )
        shown = [f"{amount / 1024:.1f} KiB" if amount else "0" for amount in moved]
        assert row[1:] == [*shown, f"{report.cycles:,}"], row[0]


def test_the_timing_parameters_are_those_of_the_machine() -> None:
    shipped = yaml.safe_load(DEFAULTS.read_text(encoding="utf-8"))["timing"]
    shown = {row[0].strip("`"): row[2].strip("`") for row in rows("`timing.`")}
    assert shown == {name: str(default) for name, default in shipped.items()}


def test_the_picture_of_the_page_is_that_of_its_command(tmp_path: Path) -> None:
    """Run the command of the page with ``-o docs/images/mapped.svg`` to draw it again."""
    picture = tmp_path / "mapped.svg"
    settings = ["--set", "PES=2", "--set", "timing.memory=ideal"]
    assert cli.run(["info", str(MINIMAL), "--draw", *settings, "-o", str(picture)]) == 0
    assert picture.read_text() == (ROOT / "docs" / "images" / "mapped.svg").read_text()
