"""The gallery in the documentation is what its command writes."""

from pathlib import Path

DOCS = Path(__file__).parents[4] / "docs"


def test_the_page_and_its_pictures_are_those_of_the_command(tmp_path, printed):
    written = [
        Path(line.removeprefix("Written: "))
        for line in printed("graph", "gallery", str(tmp_path)).splitlines()
    ]
    assert len(written) == 1 + 12
    for file in written:
        assert file.read_text() == (DOCS / file.relative_to(tmp_path)).read_text()
    assert {file.name for file in written[1:]} == {file.name for file in (DOCS / "images/gallery").iterdir()}
