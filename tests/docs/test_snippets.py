"""Every Python block of the documentation runs.

The blocks of a page run in order, in one namespace and an empty folder. A block that cannot run (a fragment,
a session) has the line ``<!-- no-run -->`` just before it.
"""

import re
import traceback
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(
    r"^(?P<skip>[ ]*<!-- no-run -->[ \t]*\n)?^(?P<indent>[ ]*)```python[ \t]*\n(?P<code>.*?)^(?P=indent)```",
    re.MULTILINE | re.DOTALL,
)


def snippets(text):
    """(line of the page, code) of each block that is to run."""
    for block in BLOCK.finditer(text):
        if not block["skip"]:
            line = text.count("\n", 0, block.start("code"))
            indent = block["indent"]
            yield line, "".join(row.removeprefix(indent) for row in block["code"].splitlines(keepends=True))


def run_page(name, text):
    """Run the blocks of a page; a traceback has the page's own line numbers."""
    namespace = {"__name__": "__snippets__"}
    for line, code in snippets(text):
        exec(compile("\n" * line + code, name, "exec"), namespace)
    return namespace


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_the_blocks_of_the_page_run(page, here):
    run_page(str(page), page.read_text(encoding="utf-8"))


PAGE = """\
# Page
```python
first = 1
```
<!-- no-run -->
```python
raise SystemExit
```
1. A list:
   ```python
   second = first + 1
   ```
   <!-- no-run -->
   ```python
   raise SystemExit
   ```
```sh
exit 1
```
"""


def test_blocks_share_a_namespace_and_marked_ones_do_not_run():
    assert run_page("page.md", PAGE)["second"] == 2
    assert [line for line, _ in snippets(PAGE)] == [2, 10]


def test_planted_a_block_that_fails_is_found_at_its_line():
    with pytest.raises(ZeroDivisionError) as caught:
        run_page("page.md", PAGE + "```python\n\n1 / 0\n```\n")
    failing = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (failing.filename, failing.lineno) == ("page.md", 22)
