"""The documentation as a site: it builds, its navigation leads to every page, and it needs no network."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
LOADED = re.compile(r"<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=\"((?:https?:)?//[^\"]+)\"")
PICTURE = re.compile(r"<img\b[^>]*\bsrc=\"([^\":]+)\"")
IMPORTED = re.compile(r"@import[^;]*;|url\(\s*[\"']?(?:https?:)?//[^)]*\)")


def pages_of(branch: object) -> Iterator[str]:
    """The pages that a branch of the navigation names."""
    if isinstance(branch, str):
        yield branch
    elif isinstance(branch, dict):
        for twig in branch.values():
            yield from pages_of(twig)
    elif isinstance(branch, list):
        for twig in branch:
            yield from pages_of(twig)


def missing_pages(navigation: object) -> set[str]:
    """Pages of docs/ that a navigation does not lead to."""
    folder = ROOT / "docs"
    return {page.relative_to(folder).as_posix() for page in folder.rglob("*.md")} - set(pages_of(navigation))


def test_every_page_is_in_the_navigation() -> None:
    navigation = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    assert missing_pages(navigation) == set()


def test_planted_a_page_that_nothing_leads_to_is_found() -> None:
    navigation = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    assert missing_pages([page for page in pages_of(navigation) if page != "tour.md"]) == {"tour.md"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocs", reason="the extra docs is not installed")
    pytest.importorskip("material", reason="the extra docs is not installed")
    pytest.importorskip("mkdocstrings", reason="the extra docs is not installed")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return folder


def loaded_from_elsewhere(folder: Path) -> list[str]:
    """What pages and style sheets would load from a network."""
    pages = [found for file in folder.rglob("*.html") for found in LOADED.findall(file.read_text("utf-8"))]
    styles = [found for file in folder.rglob("*.css") for found in IMPORTED.findall(file.read_text("utf-8"))]
    return pages + styles


def test_the_site_loads_nothing_from_elsewhere(site: Path) -> None:
    assert (site / "index.html").is_file()
    assert loaded_from_elsewhere(site) == []


def test_planted_a_font_from_a_network_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<link rel="stylesheet" href="https://fonts.example/a.css">')
    (tmp_path / "a.css").write_text("@import 'b.css'; p { background: url(//img.example/x.png) }")
    assert len(loaded_from_elsewhere(tmp_path)) == 3


def test_the_api_page_has_the_docstrings(site: Path) -> None:
    text = re.sub(r"<[^>]+>", "", (site / "api.html").read_text(encoding="utf-8"))
    assert (
        "Solve a problem on an accelerator, usually A times B, verify the answer and return the report."
        in text
    )
    assert text.count("Raises:") > 5


def missing_pictures(folder: Path) -> list[str]:
    """The pictures of pages that are not there."""
    pictures = [
        (page, name)
        for page in folder.glob("*.html")
        for name in PICTURE.findall(page.read_text(encoding="utf-8"))
    ]
    return [f"{page.name}: {name}" for page, name in pictures if not (folder / name).is_file()]


def test_every_picture_is_there(site: Path) -> None:
    assert "images/gamma.svg" in PICTURE.findall((site / "index.html").read_text(encoding="utf-8"))
    assert missing_pictures(site) == []


def test_planted_a_picture_that_is_not_there_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<p><img alt="b" src="b.svg"></p>')
    assert missing_pictures(tmp_path) == ["a.html: b.svg"]


def test_links_between_pages_and_to_what_is_beside_them(site: Path) -> None:
    index = (site / "index.html").read_text(encoding="utf-8")
    assert 'href="readme.html"' in index
    assert "accelerators/gamma/config.yaml" not in re.findall(r'href="([^"]*)"', index)


def test_commands_have_the_class_that_the_style_wraps(site: Path) -> None:
    style = (ROOT / "docs" / "assets" / "site.css").read_text(encoding="utf-8")
    assert ".language-sh pre > code { white-space: pre-wrap" in style
    assert '<div class="language-sh highlight">' in (site / "sampling.html").read_text(encoding="utf-8")


def test_the_name_of_an_option_does_not_break_behind_its_hyphens(site: Path) -> None:
    style = (ROOT / "docs" / "assets" / "site.css").read_text(encoding="utf-8")
    assert ".option { white-space: nowrap; }" in style
    page = (site / "options.html").read_text(encoding="utf-8")
    code = re.findall(r"<pre.*?</pre>|<code>(.*?)</code>", page, re.DOTALL)
    assert [text for text in code if re.search(r"(?<![\w>-])--\w", text)] == []
    assert sum('<span class="option">--' in text for text in code) > 20


def test_long_words_in_cells_of_tables_may_break(site: Path) -> None:
    assert "<td>rmat-<wbr>graph:<wbr>vertices=<wbr>40000" in (site / "graphicionado.html").read_text("utf-8")


def pages_with_fences(folder: Path) -> list[str]:
    """Return the pages on which a block of code is not recognised, and its fence is text."""
    return [page.name for page in sorted(folder.glob("*.html")) if "```" in page.read_text(encoding="utf-8")]


def test_every_block_of_code_is_shown_as_code(site: Path) -> None:
    assert pages_with_fences(site) == []


def test_planted_a_fence_with_a_title_is_found(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("<p>```text csr csc 4\n####</p>", encoding="utf-8")
    assert pages_with_fences(tmp_path) == ["page.html"]
