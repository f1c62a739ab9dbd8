"""The machines that are held to the laws that hold for all of them; see ``test_machines.py``."""

import importlib
from pathlib import Path

from fiberscope.accelerators.testing import MachineCase
from fiberscope.accelerators.user_machines import run_file

MACHINES = Path(__file__).parent.parent
ROOT = MACHINES.parents[1]
OWN = {
    "row_wise": ROOT / "fiberscope" / "template" / "row_wise",
    "matraptor": ROOT / "examples" / "matraptor",
}  # folders with a case of their own


def cases() -> dict[str, MachineCase]:
    """Those of all machines: ``CASE`` in a file ``*_case.py`` of the support of a machine's tests, or in its
    own folder's ``case.py``."""
    files = sorted(MACHINES.glob("*/support/*_case.py"))
    shipped = {file.stem.removesuffix("_case"): importlib.import_module(file.stem).CASE for file in files}
    return shipped | {name: run_file(folder / "case.py").CASE for name, folder in OWN.items()}


def golden(name: str) -> Path:
    """Where it stands what each make of a machine does with the operands of its case, in how many cycles."""
    return MACHINES / name / "support" / f"{name}_golden.yaml"
