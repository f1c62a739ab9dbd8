"""Every notebook runs in a kernel, from its first cell to its last; none is stored with outputs."""

from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytest.importorskip("pyrtl")  # cells export Verilog

pytestmark = pytest.mark.usefixtures("heeding")  # the client sets a handler for Ctrl-C where it is ignored

EXAMPLES = Path(__file__).parents[2] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
LONG = ("cache_policy.ipynb", "three_dataflows.ipynb")  # take some seconds
SHOWN = {  # how results of a notebook show themselves there
    "cache_policy.ipynb": ("text/html", "<div"),
    "compiler_tour.ipynb": ("image/svg+xml", "<svg"),
    "merger_stalls.ipynb": ("text/html", "<pre"),
    "three_dataflows.ipynb": ("text/html", "<div"),
}


@pytest.fixture(autouse=True)
def _own_folders(tmp_path_factory, monkeypatch):
    """Keep the files of kernels out of the home folder."""
    folder = tmp_path_factory.mktemp("kernel")
    monkeypatch.setenv("IPYTHONDIR", str(folder / "ipython"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(folder / "runtime"))


def run_cells(notebook, folder):
    """Run a notebook in a folder, and return its outputs; an error names the cell."""
    client = nbclient.NotebookClient(
        notebook, kernel_name="python3", timeout=None, resources={"metadata": {"path": str(folder)}}
    )
    client.execute()
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def marked(path):
    """Return the parameter of a notebook, marked if it takes long."""
    return pytest.param(path, id=path.name, marks=[pytest.mark.slow] if path.name in LONG else [])


@pytest.mark.parametrize("path", [marked(path) for path in NOTEBOOKS])
def test_the_cells_run(path, tmp_path):
    """A notebook runs in ``examples/``: here in a folder with links to the files there."""
    for entry in EXAMPLES.iterdir():
        (tmp_path / entry.name).symlink_to(entry)
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") for cell in notebook.cells)
    outputs = run_cells(notebook, tmp_path)
    kind, start = SHOWN[path.name]
    shown = [output["data"][kind] for output in outputs if kind in output.get("data", {})]
    assert any(text.startswith(start) for text in shown)


def test_a_planted_fault_in_a_cell_is_found(tmp_path):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("first = 1 / 0")])
    with pytest.raises(nbclient.exceptions.CellExecutionError, match="ZeroDivisionError"):
        run_cells(notebook, tmp_path)


def test_every_notebook_is_known():
    assert [path.name for path in NOTEBOOKS] == list(SHOWN)
