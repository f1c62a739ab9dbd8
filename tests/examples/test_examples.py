"""The examples run, say what the documentation says of them, and are shown in it as they are."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import fiberscope
from fiberscope.sim import import_mode
from fiberscope.sim.testing import check_laws
from fiberscope.workloads import cache

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
PAGE = ROOT / "docs" / "how_to_add_a_component.md"
SHOWN = re.compile(
    r"^<!-- file: (?P<file>\S+) -->\n(?:<!-- no-run -->\n)?```\w+\n(?P<code>.*?)^```",
    re.MULTILINE | re.DOTALL,
)
OWN = EXAMPLES / "own_component"

compiled_only = pytest.mark.skipif(not import_mode.compiled(), reason="compares with the compiled engine")


def python(*arguments: str, cwd: Path, packages: Path = ROOT) -> str:
    """What a script says on stdout; it must end well and say nothing on stderr."""
    environment = {**os.environ, "PYTHONPATH": str(packages), "FIBERSCOPE_OFFLINE": "1", "COLUMNS": "100"}
    environment["CFLAGS"] = "-O0"  # what is compiled runs for a moment
    run = subprocess.run(
        [sys.executable, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stderr) == (0, "")
    return run.stdout


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A user's folder with the component, not compiled."""
    for name in ("slow_merger.py", "slow_merger.pxd", "build.py", "run.py"):
        shutil.copy(OWN / name, tmp_path)
    return tmp_path


def test_compose_computes_a_row(tmp_path: Path) -> None:
    out = python(str(EXAMPLES / "compose.py"), cwd=tmp_path)
    row = re.findall(r"column (\d) is (\d)", out)
    assert row == [("1", "2"), ("4", "9"), ("5", "1"), ("7", "6")]  # 2 x {1:1, 4:2, 7:3} + 10 x {4:.5, 5:.1}
    assert out in PAGE.read_text(encoding="utf-8")


def test_the_tutorial_runs(tmp_path: Path) -> None:
    out = python(str(EXAMPLES / "tutorial.py"), cwd=tmp_path)
    assert "did you mean pe.count?" in out


def cycles(out: str) -> tuple[int, int]:
    """Of Gamma with its own merger and with the user's, from what run.py says."""
    found = re.search(r"([\d,]+) cycles with Gamma's merger, ([\d,]+) with ours", out)
    assert found is not None
    return int(found[1].replace(",", "")), int(found[2].replace(",", ""))


def test_a_component_of_ones_own_runs_in_gamma(own: Path) -> None:
    out = python("run.py", cwd=own)
    assert out.startswith("gamma with merger SlowMerger on uniform:")
    shipped, ours = cycles(out)
    assert ours > 1.1 * shipped


@compiled_only
def test_the_same_component_compiled_in_the_users_folder(own: Path) -> None:
    plain = python("run.py", cwd=own)
    python("build.py", cwd=own)
    compiled = python("run.py", cwd=own)
    assert list(own.glob("slow_merger.*.so"))
    assert cycles(compiled) == cycles(plain)


PACK = """
import sys
import Cython.Build
Cython.Build.cythonize = lambda *_modules, **_options: []  # pack what is Python and data, compile nothing
sys.argv = ["setup.py", "--quiet", "build_py", "--build-lib", sys.argv[1]]
exec(compile(open("setup.py").read(), "setup.py", "exec"))
"""
TRANSLATE = """
import sys
site, checkout = sys.argv[1:]
sys.path = [site, *(path for path in sys.path if path.rstrip("/") != checkout)]
from Cython.Build import cythonize
cythonize("slow_merger.py", language_level=3, force=True, quiet=True)
"""


@compiled_only
def test_what_a_wheel_brings_is_enough_to_compile_against(own: Path, tmp_path: Path) -> None:
    """The .pxd files of an installation that is not the checkout: what ``setup.py`` packs, and no more."""
    site = tmp_path / "site"
    subprocess.run([sys.executable, "-c", PACK, str(site)], cwd=ROOT, check=True, capture_output=True)
    assert (site / "fiberscope" / "accelerators" / "gamma" / "config.yaml").is_file()
    python("-c", TRANSLATE, str(site), str(ROOT), cwd=own)
    assert "SlowMerger" in (own / "slow_merger.c").read_text()
    shutil.rmtree(site / "fiberscope" / "sim")
    with pytest.raises(AssertionError, match="Error"):
        python("-c", TRANSLATE, str(site), str(ROOT), cwd=own)


def test_the_own_component_keeps_the_laws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(OWN))
    from slow_merger import SlowMerger

    def element(column: int) -> tuple[int, int, int, float]:
        return (0, column, column, float(column))

    stop = (1, 0, 0, 0.0)
    inputs = {
        "tasks": [(0, 2, 0, 0.0), (0, 0, 0, 0.0), (0, 1, 0, 0.0)],
        "ways[0]": [element(1), element(3), stop, element(2), stop],
        "ways[1]": [element(2), element(3), element(9), stop],
    }
    check_laws(lambda: SlowMerger("merger", 2, 1), inputs, ["merged"])
    sys.modules.pop("slow_merger")


def shown_files(text: str) -> dict[str, str]:
    return {block["file"]: block["code"] for block in SHOWN.finditer(text)}


def test_the_page_shows_the_files_as_they_are() -> None:
    shown = shown_files(PAGE.read_text(encoding="utf-8"))
    own = {f"own_component/{name}" for name in ("slow_merger.py", "slow_merger.pxd", "build.py")}
    assert shown.keys() == {"compose.py"} | own
    for file, code in shown.items():
        assert code == (EXAMPLES / file).read_text(encoding="utf-8"), file


def test_planted_a_file_shown_otherwise_is_found() -> None:
    text = "<!-- file: own_component/build.py -->\n```python\nimport os\n```\n"
    assert shown_files(text)["own_component/build.py"] != (OWN / "build.py").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_tests_of_a_machine_of_one_s_own_pass(tmp_path):
    folder = shutil.copytree(EXAMPLES / "matraptor", tmp_path / "matraptor")
    assert " passed" in python("-m", "pytest", "-q", str(folder), cwd=tmp_path)


@pytest.mark.real
@pytest.mark.slow
def test_matraptor_takes_the_cycles_on_wiki_vote_that_the_page_says():
    if cache.find("wiki-Vote") is None:
        pytest.skip("wiki-Vote is not on FIBERSCOPE_DATA")
    report = fiberscope.simulate(str(EXAMPLES / "matraptor"), "wiki-Vote", exact=True)
    page = (ROOT / "docs" / "how_to_add_a_machine.md").read_text(encoding="utf-8")
    assert f"On wiki-Vote, MatRaptor takes {report.cycles:,} cycles" in page
    assert f"{report.operations['overflows'] / 1e6:.1f} million elements find no space" in page
