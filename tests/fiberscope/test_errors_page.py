"""Every mistake costs one line, and ``docs/errors.md`` shows it; FIBERSCOPE_UPDATE_DOCS=1 writes the page."""

import os
import re
from pathlib import Path

import pytest
from error_cases import TINY, Case, sections
from optional_programs import is_tried

from fiberscope import cli

PAGE = Path(__file__).parents[2] / "docs" / "errors.md"
SECTIONS = sections()
CASES = [
    pytest.param(
        case,
        id=f"{section}: {case.what}",
        marks=pytest.mark.skipif(case.skipped, reason="root may do it, or no extra rtl"),
    )
    for section, cases in SECTIONS.items()
    for case in cases
    if is_tried(case.command)
]
START = "<!-- cases: written by tests/fiberscope/test_errors_page.py -->\n"
END = "<!-- end of cases -->\n"


@pytest.mark.parametrize("case", CASES)
def test_what_goes_wrong_costs_one_line(
    case: Case, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FIBERSCOPE_OFFLINE", "1")
    monkeypatch.setenv("FIBERSCOPE_CACHE", str(here / "cache"))
    monkeypatch.delenv("FIBERSCOPE_DATA", raising=False)
    with case.prepared(here, monkeypatch):
        code = cli.run(case.arguments)
    out, err = capsys.readouterr()
    err = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT", err)
    assert code == case.code
    assert fits(err, case.says)
    assert err.count("\n") == bool(case.says)
    assert code == 0 or out == "" or case.command.startswith("debug")  # which has shown what came before


def fits(err: str, says: str) -> bool:
    """Whether stderr holds what a case says, and no more than that unless it ends in ``...``."""
    if says.endswith("..."):
        return err.startswith(f"fiberscope: {says[:-3]}")
    return err == (f"fiberscope: {says}\n" if says else "")


def test_planted_another_line_is_found() -> None:
    assert fits("fiberscope: a\n", "a")
    assert not fits("fiberscope: a\nfiberscope: b\n", "a")
    assert not fits("fiberscope: b\n", "a...")
    assert not fits("fiberscope: a\n", "")


def table() -> str:
    """The cases as the page has them."""
    parts = []
    for section, cases in SECTIONS.items():
        rows = [f"| {case.what} | {seen(case)} | {case.code} |" for case in cases]
        parts.append(
            "\n".join([f"## {section}\n", "| error | message | exit code |", "| --- | --- | --- |", *rows])
        )
    return "\n\n".join(parts) + "\n"


def seen(case: Case) -> str:
    if not case.says:
        return "none: the command succeeds"
    return "``" + case.says.replace("|", "\\|") + "``"


def with_table(page: str) -> str:
    before, _, rest = page.partition(START)
    return before + START + "\n" + table() + "\n" + END + rest.partition(END)[2]


def test_the_page_shows_every_case() -> None:
    page = PAGE.read_text(encoding="utf-8")
    if os.environ.get("FIBERSCOPE_UPDATE_DOCS"):
        page = with_table(page)
        PAGE.write_text(page, encoding="utf-8")
    assert page == with_table(page), "docs/errors.md is stale: run this test with FIBERSCOPE_UPDATE_DOCS=1"


def test_planted_a_stale_page_is_found() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert with_table(page.replace("exit code |\n", "code |\n", 1)) == page
    assert page.count("| 2 |") > 40
    assert TINY not in page
