"""Which rows of a store with several sources are shown, by default and on request."""

from pathlib import Path

import pandas as pd
import pytest

from fiberscope import cli
from fiberscope.page.study import study_data
from fiberscope.results.store import Store


def check_hidden(store: Path, cycles: pd.Series, capsys: pytest.CaptureFixture[str]) -> None:
    """Of two rows, the table and CSV show that of the current sources; all are shown on request."""
    hidden = "Hidden: 1 row of sources that have changed since; --all-sources shows all rows"
    assert cli.run(["results", str(store), "--columns=cycles"]) == 0
    shown = capsys.readouterr().out
    assert hidden in shown
    assert [f"{count:,}" in shown for count in sorted(cycles)] == [True, False]
    assert cli.run(["results", str(store), "--csv=-"]) == 0
    out, err = capsys.readouterr()
    assert (len(out.splitlines()), err) == (2, f"{hidden}\n")
    assert len(Store(store).frame()) == 1
    assert len(Store(store).frame(all_sources=True)) == 2
    count = "--sql=WITH each AS (SELECT cycles FROM runs) SELECT 'rows=' || count(*) AS n FROM each"
    assert cli.run(["results", str(store), count]) == 0
    shown = capsys.readouterr().out
    assert "rows=1" in shown
    assert hidden in shown
    assert cli.run(["results", str(store), count, "--all-sources"]) == 0
    assert "rows=2" in capsys.readouterr().out
    assert cli.run(["results", str(store), "--all-sources"]) == 0
    assert "up to 2 sources; --sources tells them apart" in capsys.readouterr().out


def check_page_without_hidden(store: Path, page: Path) -> None:
    """Of three rows, the page shows that of the current sources; all are shown on request."""
    hidden = "Hidden: 2 rows of sources that have changed since; --all-sources shows all rows"
    for option, rows, notices in ((False, 1, [hidden]), (True, 3, [])):
        data = study_data(Store(store), all_sources=option)
        assert (data["total"], data["notices"]) == (rows, notices)
    assert [cli.run(["page", str(store), "-o", str(page), *all_]) for all_ in (["--all-sources"], [])] == [
        0,
        0,
    ]
    assert hidden in page.read_text()
