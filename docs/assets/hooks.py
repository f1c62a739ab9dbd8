"""Makes one site of the documentation and the pages beside it; links to sources become names of files."""

from __future__ import annotations

import gc
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

gc.disable()  # a build makes millions of objects, keeps most of them and ends
ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
BESIDE = {
    "README.md": "readme.md",
    "CONTRIBUTING.md": "contributing.md",
    "DEVIATIONS.md": "deviations.md",
    "CHANGELOG.md": "changelog.md",
}
CELL = re.compile(r"<t[dh]\b.*?</t[dh]>", re.DOTALL)
CODE = re.compile(r"<code>(?P<text>.*?)</code>", re.DOTALL)
INLINE_CODE = re.compile(rf"<pre\b.*?</pre>|{CODE.pattern}", re.DOTALL)
LONG_WORD = re.compile(r"(?<=[dh]>)[^\s<>&]{20,}(?=<)")  # a cell of one word, such as a generator of matrices
OPTION = re.compile(r"(?<![\w-])--?\w+")
BREAK = re.compile(r"(?<=[\w\])>;])(?:[/_=:,-]|\.(?!\w{1,4}\b(?!\.)))(?=[\w&\[])")  # not at a suffix
LINK = re.compile(r"\[(?P<text>[^\[\]]*)\]\((?P<target>[^)\s]+)\)")


def on_files(files: Files, config: Any) -> Files:  # noqa: ANN401 - mkdocs has no public type for it
    """Take in the pages beside ``docs/``."""
    for name, page in BESIDE.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, page: Any, **_others: object) -> str:  # noqa: ANN401
    """Turn the links of a page, which fit the repository, into those that fit the site."""
    home = ROOT if page.file.src_uri in BESIDE.values() else DOCS
    return LINK.sub(lambda link: _fitting(link["text"], link["target"], home), markdown)


def on_page_content(content: str, **_others: object) -> str:
    """Let code in cells of tables break at its points and underscores, and show ``|`` without its escape.

    The name of an option never breaks behind its first hyphens.
    """
    return INLINE_CODE.sub(_with_whole_options, CELL.sub(_with_breaks, content))


def _with_breaks(cell: re.Match[str]) -> str:
    text = LONG_WORD.sub(lambda word: BREAK.sub(r"\g<0><wbr>", word[0]), cell[0])
    return CODE.sub(lambda code: BREAK.sub(r"\g<0><wbr>", code[0].replace("\\|", "|")), text)


def _with_whole_options(code: re.Match[str]) -> str:
    return OPTION.sub(r'<span class="option">\g<0></span>', code[0]) if code["text"] else code[0]


def _fitting(text: str, target: str, home: Path) -> str:
    name, hash_mark, anchor = target.partition("#")
    path = (home / name).resolve()
    if "://" in target or not name or not path.exists():
        return f"[{text}]({target})"
    if path.is_relative_to(DOCS):
        return f"[{text}]({path.relative_to(DOCS).as_posix()}{hash_mark}{anchor})"
    inside = path.relative_to(ROOT).as_posix()
    if inside in BESIDE:
        return f"[{text}]({BESIDE[inside]}{hash_mark}{anchor})"
    if inside.endswith(text.strip("`")):
        return f"`{inside}`"
    return text if inside in text else f"{text} (`{inside}`)"
