"""Which sources something runs by: all that it imports, wherever and however, and nothing besides."""

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec
from pathlib import Path

import pytest
import syntax
from hypothesis import given
from hypothesis import strategies as st

import fiberscope
from fiberscope.results.provenance.imports import Import, parse_names
from fiberscope.results.provenance.sources import sources
from fiberscope.sim import import_mode

ROOT = Path(fiberscope.__file__).parents[1]
FILES = sorted((ROOT / "fiberscope").rglob("*.py"))
SMALL = "uniform:rows=9,cols=9,nonzeros=20"


def flat(imports: tuple[Import, ...]) -> set[tuple[str, str | None]]:
    return {(one.module, name) for one in imports for name in one.names or (None,)}


def parsed(nodes: Sequence[ast.AST]) -> tuple[set[tuple[str, str | None]], set[tuple[str, str | None]]]:
    """What Python's own parser finds: imports, and those for type checkers alone."""
    blocks = [node for node in nodes if isinstance(node, ast.If) and _of_types(node.test)]
    for_types = {id(inner) for block in blocks for one in block.body for inner in ast.walk(one)}
    found: tuple[set, set] = set(), set()
    for node in nodes:
        found[id(node) in for_types].update(_imported(node))
    return found


def _of_types(test: ast.expr) -> bool:
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"


def _imported(node: ast.AST) -> Iterator[tuple[str, str | None]]:
    if isinstance(node, ast.Import):
        yield from ((name.name.removeprefix("cython.cimports."), None) for name in node.names)
    if isinstance(node, ast.ImportFrom):
        module = "." * node.level + (node.module or "").removeprefix("cython.cimports.")
        yield from ((module, name.name) for name in node.names)


def test_the_imports_of_every_file_of_ours_are_those_that_python_finds() -> None:
    for file in FILES:
        source = file.read_text()
        found, (imports, for_types) = parse_names(source), parsed(syntax.nodes(file))
        assert imports <= flat(found.imports), file
        assert for_types == flat(found.for_types), file


NAMES = st.sampled_from(["a", "b.c", "d_1.e", "z"])
WORDS = st.sampled_from(["x", "y as k", "Z"])
LISTS = st.lists(WORDS, min_size=1, max_size=3)
STATEMENTS = st.one_of(
    st.builds(lambda name, words: f"from {name} import {', '.join(words)}", NAMES, LISTS),
    st.builds(lambda name, words: f"from .{name} import {', '.join(words)}  # (note)", NAMES, LISTS),
    st.builds(lambda words: f"from .. import {', '.join(words)}", LISTS),
    st.builds(
        lambda name, words: (
            f"from {name} import (\n" + "".join(f"    {word},  # a ) note\n" for word in words) + ")"
        ),
        NAMES,
        LISTS,
    ),
    st.builds(lambda name, words: f"from {name} import \\\n    {', '.join(words)}", NAMES, LISTS),
    st.builds(lambda names: f"import {', '.join(names)}", st.lists(NAMES, min_size=1, max_size=3)),
    st.builds(lambda one, other: f"import {one} as q; import {other}", NAMES, NAMES),
    st.builds(lambda name: f"def f():\n    if 1: import {name}\n    return 'x'", NAMES),
    st.builds(
        lambda name: (
            f"if TYPE_CHECKING:\n    # why\n    import {name}\n\n    from t import T\nelse:\n    import w"
        ),
        NAMES,
    ),
    st.just("important = 'import'; reimport = 3"),
)


@given(st.lists(STATEMENTS, max_size=6))
def test_imports_are_found_however_they_are_written(statements: list[str]) -> None:
    source = "\n".join([*statements, ""])
    found = parse_names(source)
    assert (flat(found.imports), flat(found.for_types)) == parsed(list(ast.walk(ast.parse(source))))


def test_an_import_by_a_literal_name_and_data_are_found() -> None:
    found = parse_names("importlib.import_module('a.b')\nopen(HERE / \"rows.yaml\")\nimport_module(name)")
    assert (found.imports, found.data) == ((Import("a.b"),), ("rows.yaml",))


@pytest.mark.parametrize(
    "source",
    [
        "MARK = '#'; import a.b",
        'MARK = "it is #1"; import a.b  # and more',
        "import_module(\n    'a.b'\n)",
        "import_module(  # by name, as 'x.y' is\n\n    # at the first use\n    \"a.b\",\n)",
    ],
)
def test_an_import_behind_a_sign_in_a_text_or_on_the_next_line_is_found(source: str) -> None:
    assert Import("a.b") in parse_names(source).imports


def test_an_import_in_a_comment_is_none() -> None:
    assert parse_names("x = 1  # 'import a'; import b\nf('#')  # import c").imports == ()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine's file beside a package and a module, each of which names a further one."""
    monkeypatch.syspath_prepend(tmp_path)
    for name, text in {
        "mine.py": "import prov_rules, numpy\nfrom .beside import Queue\nfrom prov_pack.first import One",
        "beside.py": "def f():\n    from fiberscope.hw.fibers.merge import HighRadixMerger",
        "prov_rules.py": "ROWS = 'rows.yaml'",
        "prov_unused.py": "",
        "rows.yaml": "a: 1",
        "prov_pack/__init__.py": "if TYPE_CHECKING:\n    from prov_pack.late import Late\n",
        "prov_pack/first.py": "from prov_pack import Late",
        "prov_pack/first.pxd": "from fiberscope.sim.kernel cimport Kernel",
        "prov_pack/late.py": "",
        "prov_pack/other.py": "",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


OWN = {
    "mine",
    "beside",
    "prov_rules",
    "rows.yaml",
    "prov_pack",
    "prov_pack.first",
    "prov_pack.first.pxd",
    "prov_pack.late",
}


def test_sources_are_what_is_imported_in_the_end_and_no_librarys(folder: Path) -> None:
    found = sources([], [str(folder / "mine.py")]).modules
    own = {name for name in found if not name.startswith("fiberscope")}
    assert own == OWN
    assert {
        f"fiberscope.{name}" for name in ("hw", "hw.fibers.merge", "sim.kernel", "sim.kernel.pxd")
    } <= found.keys()
    assert {name.split(".")[1] for name in found if name.startswith("fiberscope")} == {"hw", "sim"}


@pytest.mark.parametrize(
    "name", ["mine.py", "prov_rules.py", "rows.yaml", "prov_pack/first.pxd", "prov_pack/late.py"]
)
def test_a_change_in_any_of_them_is_another_digest_and_elsewhere_none(folder: Path, name: str) -> None:
    def digest() -> str:
        return sources([], [str(folder / "mine.py")], now=True).digest

    before = digest()
    for other in ("prov_pack/other.py", "prov_unused.py"):
        (folder / other).write_text("X = 1  # changed")
    assert digest() == before
    (folder / name).write_text((folder / name).read_text() + "\n# changed")
    assert digest() != before


@pytest.mark.parametrize("changed", ["a", "b"])
def test_each_of_two_files_of_the_same_name_counts(tmp_path: Path, changed: str) -> None:
    files = [str(tmp_path / folder / "policy.py") for folder in "ab"]
    for file in files:
        Path(file).parent.mkdir()
        Path(file).write_text("X = 1")
    before = sources([], files, now=True).digest
    assert sources([], files[::-1], now=True).digest == before
    (tmp_path / changed / "policy.py").write_text("X = 2")
    assert sources([], files, now=True).digest != before


def test_the_digest_is_that_of_the_content_wherever_it_lies(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    for name in ("mine.py", "beside.py"):
        (elsewhere / name).write_bytes((folder / name).read_bytes())
    assert sources([], [str(elsewhere / "mine.py")]).digest == sources([], [str(folder / "mine.py")]).digest


def test_what_a_process_has_imported_besides_changes_nothing() -> None:
    gamma = "fiberscope.accelerators.gamma"
    asks = f"from fiberscope.results.provenance.sources import sources; print(sources([{gamma!r}]).digest)"
    alone, beside = (
        subprocess.run(
            [sys.executable, "-c", before + asks], check=True, capture_output=True, text=True
        ).stdout
        for before in (
            "",
            "import fiberscope.explore.sweeps.worker, fiberscope.models.trace.api, "
            "fiberscope.accelerators.sigma; ",
        )
    )
    assert alone == beside
    assert alone.strip() == sources([gamma]).digest


@pytest.mark.parametrize("machine", ["gamma", "spec:gamma"])
def test_what_only_shows_results_is_no_source(machine: str) -> None:
    modules = fiberscope.simulate(machine, SMALL).source.modules
    shows = ("fiberscope.results.report", "fiberscope.base.version")
    assert all(find_spec(name) for name in shows)
    assert [name for name in modules if name.startswith(shows)] == []


def test_a_module_counts_as_the_process_has_it_and_now_as_it_is(folder: Path) -> None:
    __import__("prov_rules")
    file, path = folder / "prov_rules.py", str(folder / "mine.py")
    before = sources([], [path]).digest
    file.write_text("ROWS = 'rows.yaml'  # another rule")
    assert sources([], [path]).digest == before != sources([], [path], now=True).digest
    del sys.modules["prov_rules"]


@pytest.mark.parametrize("changing", ["late.py", "late.pxd"])
def test_a_module_that_was_not_compiled_again_counts_itself(
    folder: Path, monkeypatch: pytest.MonkeyPatch, changing: str
) -> None:
    def digest() -> str:
        return sources([], [str(folder / "mine.py")], now=True).modules["prov_pack.late"]

    monkeypatch.delenv(import_mode.VARIABLE, raising=False)
    source, compiled = folder / "prov_pack" / "late.py", folder / "prov_pack" / f"late{EXTENSION_SUFFIXES[0]}"
    compiled.write_bytes(b"code")
    changed = source.stat().st_mtime
    os.utime(compiled, (changed + 1, changed + 1))
    fresh = digest()
    (source.parent / changing).write_text("RULE = 2")
    os.utime(source.parent / changing, (changed + 2, changed + 2))
    stale = digest()
    os.utime(compiled, (changed + 3, changed + 3))
    again = digest()
    assert (stale != fresh, stale != again, again != fresh) == (True, True, changing == "late.py")
    monkeypatch.setenv(import_mode.VARIABLE, "1")
    os.utime(compiled, (0, 0))
    assert digest() == again


def test_a_report_names_the_sources_of_machine_parts_and_of_what_stands_before_it(toy: str) -> None:
    def modules(*given: object, **options: object) -> set[str]:
        return set(fiberscope.simulate(*given, **options).source.modules)

    gamma = modules("gamma", SMALL)
    needed = ("accelerators.gamma.machine", "hw.fibers.merge", "sim.kernel", "workloads.problem")
    assert {f"fiberscope.{name}" for name in needed} <= gamma
    rooms = {name.split(".")[1] for name in gamma}
    assert rooms == {"accelerators", "base", "hw", "sim", "workloads"}
    assert not [name for name in gamma if name.startswith("fiberscope.accelerators.extensor")]
    assert "fiberscope.converters.mint" in modules("gamma", SMALL, settings={"memory.format.A": "coo"})
    assert "toy" in modules(toy, SMALL)
    assert "fiberscope.models.tiles.machines" in modules("extensor", SMALL, settings={"tiling": "d2t2"})
    assert "fiberscope.models.tiles.machines" not in modules("extensor", SMALL)


def test_a_report_of_a_machine_in_a_repository_says_its_commit_and_whether_it_differs(
    toy: str, tmp_path: Path
) -> None:
    def git(*words: str) -> str:
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *words]
        return subprocess.run(
            command, cwd=tmp_path, check=True, capture_output=True, text=True
        ).stdout.strip()

    def told(name: str) -> tuple[str, str | None, bool | None]:
        script = (
            f"import fiberscope; print(fiberscope.simulate({name!r}, {SMALL!r}).source.model_dump_json())"
        )
        done = subprocess.run(
            [sys.executable, "-c", script], cwd=tmp_path, check=True, capture_output=True, text=True
        )
        source = json.loads(done.stdout)
        return source["path"], source["commit"], source["changed"]

    for name in ("mine.py", "other.py"):
        (tmp_path / name).write_text(Path(toy).read_text())
    (tmp_path / "config.yaml").write_text((Path(toy).parent / "config.yaml").read_text())
    assert told("mine.py") == ("mine.py", None, None)
    git("init", "-q")
    git("add", "mine.py")
    git("commit", "-q", "-m", "x")
    commit = git("rev-parse", "HEAD")
    assert told("mine.py") == ("mine.py", commit, False)
    assert told("other.py") == ("other.py", commit, True)
    (tmp_path / "mine.py").write_text(Path(toy).read_text() + "\n")
    assert told("mine.py") == ("mine.py", commit, True)
