"""The page of stream graphs: its tokens, cycles and figures are what runs and other pages say."""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

import fiberscope
from fiberscope.hw.stream import DATA, EMPTY, STOP
from fiberscope.models.graphs import Graph, compile_expression, run
from fiberscope.models.graphs.rewrites import apply_rewrites
from fiberscope.results.errors import DeadlockedRunError

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "graph.md").read_text(encoding="utf-8")
SPMV = str(ROOT / "examples" / "graphs" / "spmv.gv")
OPERANDS = {"B": "uniform:rows=400,cols=400,nonzeros=4000", "c": "ones"}
EMPTY_ROW = {"B": str(ROOT / "examples" / "empty_row.mtx"), "c": "ones"}
STREAMS = {
    "rows of B, `crd`": "fiberlookup_B0_i.out_crd[0]",
    "rows of B, `ref`": "fiberlookup_B0_i.out_ref[0]",
    "columns of B, `crd`": "fiberlookup_B1_j.out_crd[0]",
    "values of B": "arrayvals_B.out_val[0]",
    "sums of the rows": "reduce.out_val[0]",
}


def table(head: str) -> list[list[str]]:
    """Return the cells of the table of the page whose first line begins so, without its heads."""
    rows = PAGE.split(f"\n| {head} |", 1)[1].split("\n\n", 1)[0].splitlines()
    return [[cell.strip() for cell in row.split("|")[1:-1]] for row in rows[2:]]


def dense() -> Graph:
    return compile_expression("x(i) = B(i,j) * c(j)", ["x:d,B:ds,c:d"]).graph


def tokens(graph: str | Graph, channels: Iterable[str]) -> list[str]:
    """Return the tokens that pass each channel in a run on the matrix with an empty row."""
    seen: dict[str, dict[int, str]] = {channel: {} for channel in channels}
    with fiberscope.debug(graph, tensors=EMPTY_ROW) as session:
        for _ in range(20):
            session.step()
            for channel, words in seen.items():
                queue = session.queue(channel).data
                words |= {
                    at: written(dict(zip(queue.fields, word, strict=True))) for at, word in queue.tokens
                }
    return [" ".join(words[arrival] for arrival in sorted(words)) for words in seen.values()]


def written(token: dict[str, float]) -> str:
    kind, *numbers = token.values()
    if kind == DATA:
        return f"{numbers[-1]:g}"
    return f"S{numbers[0]:g}" if kind == STOP else "N" if kind == EMPTY else "D"


def test_the_tokens_of_the_streams_are_those_of_the_run() -> None:
    shown = {stream: words.strip("`") for stream, words, _ in table("stream | tokens")}
    assert tokens(SPMV, [STREAMS[stream] for stream in shown]) == list(shown.values())


def test_a_dense_level_of_rows_gives_the_bare_stop_of_the_page() -> None:
    (shown,) = tokens(dense(), ["fiberlookup_B1_j.out_crd[0]"])
    assert f"the columns are `{shown}`" in PAGE


def test_the_rewritten_graph_takes_the_cycles_of_the_page() -> None:
    located = apply_rewrites(dense(), ["locate"])
    before, after = (run(graph, OPERANDS).cycles for graph in (dense(), located))
    assert f"takes {after:,} cycles instead of {before:,}" in PAGE
    assert f"which takes {after:,} with the defaults" in PAGE
    for setting, *_, cycles in table("example | default"):
        name, value = setting.strip("`").split("=")
        assert f"{run(located, OPERANDS, {name: int(value)}).cycles:,}" == cycles


def test_the_deadlock_gives_the_message_of_the_page() -> None:
    with pytest.raises(DeadlockedRunError) as stuck:
        run(ROOT / "examples" / "deadlock.gv", {"B": "uniform:rows=9,cols=9,nonzeros=30"})
    (shown,) = re.findall(r"^```text\n(The stream .*?)\.\.\.\n(.*?)```", PAGE, re.MULTILINE | re.DOTALL)
    assert all(" ".join(part.split()) in " ".join(str(stuck.value).split()) for part in shown)


def test_the_comparison_with_sam_is_that_of_the_other_pages() -> None:
    validation = (ROOT / "docs" / "validation.md").read_text(encoding="utf-8")
    ((error, points),) = re.findall(
        r"^\| sam \| cycles \|.*\| ([\d.]+)% of (\d+) \|  \|  \| \1% of \2 \|", validation, re.MULTILINE
    )
    assert f"on {points} points of the paper's figure 15, the mean absolute error is {error} %" in PAGE
    reference = (ROOT / "docs" / "graph_reference.md").read_text(encoding="utf-8")
    speed = reference.split("\n## Speed", 1)[1]
    bounds = [int(bound) for pair in re.findall(r"\| (\d+) to (\d+) \|", speed) for bound in pair]
    assert f"{min(bounds)} to {max(bounds)} times as fast" in PAGE
    claims = validation.split("| Figure | Claim |", 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    assert [claim.rsplit("|", 2)[1].strip() for claim in claims] == ["yes"] * 10
