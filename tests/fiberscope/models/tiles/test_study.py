"""``fiberscope compare tiles``: the table's numbers are those of single runs."""

import json

import fiberscope

SMALL = "banded:rows=300,cols=300,nonzeros=900,bandwidth=2,seed=1"

LARGE = "large.mtx"  # its values: their products are no doubles


def test_the_table_has_the_numbers_of_single_runs_and_why_one_was_refused(printed, here):
    entries = "".join(f"{1 + place} {1 + place} 1e200\n" for place in range(300))
    (here / LARGE).write_text(f"%%MatrixMarket matrix coordinate real general\n300 300 300\n{entries}")
    page = here / "page.md"
    page.write_text("<!-- compare tiles: begin -->\n<!-- compare tiles: end -->\n")
    found = json.loads(printed("compare", "tiles", LARGE, SMALL, "--json", "-", "--write", str(page)))
    for words in found["words"]:
        assert words["totals"]["d2t2"] <= words["totals"]["conservative"]
    runs = {one["tiling"]: one for one in found["runs"] if one["matrix"] == SMALL}
    settings = {"tiling": "d2t2", "llb.size": "2 MiB", "memory.model": "simple"}
    report = fiberscope.simulate("extensor", SMALL, settings=settings)
    assert runs["d2t2"]["cycles"] == report.cycles
    assert list(runs) == ["published", "conservative", "prescient", "d2t2", "d2t2-counted"]
    assert f"{report.cycles:,}" in page.read_text()
    refused = [one for one in found["runs"] if one["matrix"] == LARGE]
    assert [one["tiling"] for one in refused] == list(runs)
    assert all("overflow a double" in one["reason"] for one in refused)
    assert page.read_text().count(refused[0]["reason"]) == len(refused)
