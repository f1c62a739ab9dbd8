"""Write the folder of a user's own machine: a copy of ``fiberscope/template/row_wise`` under a new name."""

from __future__ import annotations

import keyword
import re
import tempfile
from pathlib import Path

from fiberscope import accelerators
from fiberscope.base.errors import InputError

__all__ = ["new_machine"]

NAME = "row_wise"  # of the machine in the template
TEMPLATE = Path(__file__).with_name(NAME)
FILES = ("*.py", "*.yaml")


def new_machine(name: str, folder: Path) -> Path:
    """Write a machine that runs; returns its folder.

    Args:
        name: the name of the machine and of its folder.
        folder: in which that is made.

    Raises:
        InputError: it cannot be called so, or something is there already.
    """
    _check(name)
    place = folder / name
    if not folder.is_dir():
        raise InputError(f"{folder}: there is no such folder to make {name} in")
    if place.exists():
        raise InputError(f"{place} is there already; choose another name, or another folder by --in")
    with tempfile.TemporaryDirectory(prefix=f".{name}.", dir=folder) as folder_:
        whole = Path(folder_) / name  # it is there with all of its files, or not at all
        whole.mkdir()
        for file in (file for pattern in FILES for file in TEMPLATE.glob(pattern)):
            text = file.read_text(encoding="utf-8").replace(NAME, name).replace(_class(NAME), _class(name))
            (whole / file.name.replace(NAME, name)).write_text(text, encoding="utf-8")
        whole.rename(place)
    return place


def _check(name: str) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        raise InputError(
            f"a machine cannot be called {name}; its name is also that of a package, as in my_machine"
        )
    if name in accelerators.names():
        raise InputError(f"{name} is a machine that ships; choose another name")


def _class(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))
