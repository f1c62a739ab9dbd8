"""``fiberscope compare tiles``: the table's numbers are those of single runs."""

import json

import fiberscope
from fiberscope import cli

SMALL = "banded:rows=300,cols=300,nonzeros=900,bandwidth=2,seed=1"


def test_the_table_has_the_numbers_of_single_runs(capsys, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("<!-- compare tiles: begin -->\n<!-- compare tiles: end -->\n")
    assert cli.run(["compare", "tiles", SMALL, "--json", "-", "--write", str(page)]) == 0
    found = json.loads(capsys.readouterr().out)
    (words,) = found["words"]
    assert words["totals"]["d2t2"] <= words["totals"]["conservative"]
    runs = {one["tiling"]: one for one in found["runs"]}
    settings = {"tiling": "d2t2", "llb.size": "2 MiB", "memory.model": "simple"}
    report = fiberscope.simulate("extensor", SMALL, settings=settings)
    assert runs["d2t2"]["cycles"] == report.cycles
    assert list(runs) == ["published", "conservative", "prescient", "d2t2", "d2t2-counted"]
    assert f"{report.cycles:,}" in page.read_text()
