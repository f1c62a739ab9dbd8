"""No test can pass without an assertion that was reached."""

from pathlib import Path

import pytest
from firm_assertions import without_assertion

ROOT = Path(__file__).parent
SHIPPED = [ROOT.parent / room / "testing.py" for room in ("sim", "hw/streams", "accelerators")]
# By file, tests that may: what they run raises what is wrong.
EXCEPTIONS = {
    "cosim/test_lint.py": {  # Verilator, through a fixture
        "test_the_verilog_is_clean",
        "test_so_is_a_processing_element",
        "test_so_is_a_scheduler",
        "test_so_is_the_smallest",
        "test_so_it_is_by_default_with_registered_ports",
    },
    "docs/test_snippets.py": {"test_the_blocks_of_the_page_run"},  # the page's own blocks
}


def test_every_test_reaches_an_assertion():
    helpers = [path for path in ROOT.rglob("*.py") if not path.name.startswith("test_")]
    found = without_assertion(sorted(ROOT.rglob("test_*.py")), [*helpers, *SHIPPED])
    assert {
        Path(path).relative_to(ROOT).as_posix(): set(names) for path, names in found.items()
    } == EXCEPTIONS


@pytest.mark.parametrize(
    "body",
    [
        "x = 1",
        "if x: assert x",
        "for one in [y for y in x if y]: assert one",
        "left = [y for y in x if y]\n    for one in left: assert one",
        "for one in x:\n        if one: continue\n        assert one",
        "if not x: return\n    assert x",
        "assert all(y for y in x if y > 1)",
        "assert not any(y for y in x if y > 1)",
        "try:\n        f(x)\n    except ValueError:\n        assert x",
        "def inner(): assert x",
        "harmless()",
        "x and check(x)",
        "if x:\n        f(x)\n        return\n    assert x",
    ],
)
def test_planted_what_may_be_passed_by_is_found(tmp_path, body):
    assert _found(tmp_path, body) == ["test_it"]


@pytest.mark.parametrize(
    "body",
    [
        "assert x",
        "for one in range(3): assert one",
        "if x: assert x\n    else: assert not x",
        "with pytest.raises(ValueError): f(x)",
        "left = [y for y in x if y]\n    assert left\n    for one in left: assert one",
        "check(x)",
        "if x:\n        check(x)\n        return\n    assert x",
        "if not x: raise ValueError",
        "found = twice(check(x))",
        "with checked(x): f(x)",
        "inner = 1\n    if inner: x = 2\n    assert x",
    ],
)
def test_what_is_reached_counts(tmp_path, body):
    assert _found(tmp_path, body) == []


def _found(folder, body):
    path = folder / "test_planted.py"
    helpers = "def harmless(): pass\ndef check(x): assert x\ndef checked(x):\n    check(x)\n    yield\n"
    path.write_text(f"{helpers}def test_it(x):\n    {body}\n")
    return without_assertion([path], []).get(path.as_posix(), [])
