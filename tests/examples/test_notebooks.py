"""Every cell of every notebook runs, in order, in one namespace; none is stored with outputs."""

from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("pyrtl")  # cells export Verilog

EXAMPLES = Path(__file__).parents[2] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
LONG = ("cache_policy.ipynb", "three_dataflows.ipynb")  # take some seconds
SHOWN = {  # a variable of each notebook, and how it shows itself there
    "cache_policy.ipynb": ("result", "_repr_html_", "<div"),
    "compiler_tour.ipynb": ("product", "_repr_svg_", "<svg"),
    "merger_stalls.ipynb": ("view", "_repr_html_", "<pre"),
    "three_dataflows.ipynb": ("points", "_repr_html_", "<div"),
}


def run_cells(notebook, name):
    """Run the cells of code; a traceback names the cell."""
    namespace = {"__name__": "__notebook__"}
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "code":
            exec(compile(cell.source, f"{name}, cell {number}", "exec"), namespace)
    return namespace


def marked(path):
    """Return the parameter of a notebook, marked if it takes long."""
    return pytest.param(path, id=path.name, marks=[pytest.mark.slow] if path.name in LONG else [])


@pytest.mark.parametrize("path", [marked(path) for path in NOTEBOOKS])
def test_the_cells_run(path, tmp_path, monkeypatch):
    """A notebook runs in ``examples/``: here in a folder with links to the files there."""
    for entry in EXAMPLES.iterdir():
        (tmp_path / entry.name).symlink_to(entry)
    monkeypatch.chdir(tmp_path)
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") for cell in notebook.cells)
    namespace = run_cells(notebook, path.name)
    name, method, start = SHOWN[path.name]
    assert getattr(namespace[name], method)().startswith(start)


def test_a_planted_fault_in_a_cell_is_found():
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("first = 1 / 0")])
    with pytest.raises(ZeroDivisionError):
        run_cells(notebook, "planted")


def test_every_notebook_is_known():
    assert [path.name for path in NOTEBOOKS] == list(SHOWN)
