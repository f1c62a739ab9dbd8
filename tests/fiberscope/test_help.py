"""``fiberscope help``: a page of the documentation, what stands under a heading, or the list of pages."""

from pathlib import Path

import pytest

from fiberscope.commands import help as helping

DOCS = Path(__file__).parents[2] / "docs"


def test_the_list_has_every_page_but_the_one_that_it_is_from(run_command) -> None:
    _code, out, _err = run_command("help")
    listed = {line.split()[0] for line in out.splitlines()[2:]}
    assert listed == {page.stem for page in DOCS.glob("*.md")} - {"index"}


@pytest.mark.parametrize("asked", [["rtl_machine"], ["RTL-machine"], ["rtl", "machine"]])
def test_a_page_is_shown_as_it_is_written(run_command, asked: list[str]) -> None:
    assert run_command("help", *asked) == (
        0,
        (DOCS / "rtl_machine.md").read_text(encoding="utf-8") + "\n",
        "",
    )


PAGES = {
    "fibers": "# Fibers\n\n## Rows\n\nrows\n\n### Long rows\n\nlong\n\n## Ways\n\n![a picture](a.svg)ways\n",
    "banks": "# Banks\n\n```text\n## Rows in a fence\n```\n\n## Rows of a bank <!-- unseen -->\n\nbank\n",
}


@pytest.fixture
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(helping, "CHECKOUT", tmp_path)
    (tmp_path / "mkdocs.yml").touch()
    (tmp_path / "docs").mkdir()
    for name, text in PAGES.items():
        (tmp_path / "docs" / f"{name}.md").write_text(text)


@pytest.mark.usefixtures("pages")
@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        (
            "rows",
            "## Rows\n\nrows\n\n### Long rows\n\nlong\n\n",
        ),  # exactly that heading, with what is below it
        ("long", "### Long rows\n\nlong\n\n"),
        ("Ways", "## Ways\n\nways\n"),
        ("bank of", "## Rows of a bank \n\nbank\n"),
    ],
)
def test_words_of_a_heading_show_what_stands_under_it(run_command, asked: str, shown: str) -> None:
    assert run_command("help", *asked.split()) == (0, shown, "")


@pytest.mark.usefixtures("pages")
def test_where_several_headings_have_the_words_they_are_named(run_command) -> None:
    (helping.CHECKOUT / "docs" / "fibers.md").write_text("# Fibers\n\n## Long rows\n\n## Short rows\n")
    _code, out, _err = run_command("help", "rows")
    assert [line.split(maxsplit=1) for line in out.splitlines()[2:]] == [
        ["banks", "Rows of a bank <!-- unseen -->"],
        ["fibers", "Long rows"],
        ["fibers", "Short rows"],
    ]


def test_what_no_page_has_is_refused_with_the_nearest(run_command) -> None:
    assert run_command("help", "wrokloads") == (
        2,
        "",
        "fiberscope: no page is called 'wrokloads', and no heading has it; "
        "did you mean workloads or proofs?\n",
    )


def test_what_is_installed_has_the_pages_below_its_prefix() -> None:
    assert Path("share/doc/fiberscope") == helping.INSTALLED.relative_to(helping.sys.prefix)
    assert '"share/doc/fiberscope" = ["docs/*.md"]' in (DOCS.parent / "pyproject.toml").read_text()
