"""Write the folder of a new machine: a copy of ``fiberscope/template/row_wise`` under another name."""

from __future__ import annotations

import keyword
import re
import tempfile
from pathlib import Path

from fiberscope import accelerators
from fiberscope.base.errors import InputError

__all__ = ["new_machine"]

NAME = "row_wise"  # name of the machine in the template
TEMPLATE = Path(__file__).with_name(NAME)
FILES = ("*.py", "*.yaml")


def new_machine(name: str, folder: Path) -> Path:
    """Write the folder of a machine that runs, and return the folder.

    Args:
        name: the name of the machine and of its folder.
        folder: the parent folder.

    Raises:
        InputError: the name is not valid, or a file or folder of this name exists already.
    """
    _check(name)
    target = folder / name
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder; {name} is written into a folder that exists")
    if target.exists():
        raise InputError(f"{target} exists already; choose another name, or another folder by --in")
    with tempfile.TemporaryDirectory(prefix=f".{name}.", dir=folder) as folder_:
        draft = Path(folder_) / name  # renamed at the end, so that the folder is never incomplete
        draft.mkdir()
        for file in (file for pattern in FILES for file in TEMPLATE.glob(pattern)):
            text = file.read_text(encoding="utf-8").replace(NAME, name).replace(_class(NAME), _class(name))
            (draft / file.name.replace(NAME, name)).write_text(text, encoding="utf-8")
        draft.rename(target)
    return target


def _check(name: str) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        raise InputError(
            f"{name} is not a name for a machine; it should be a name of a package, such as my_machine"
        )
    if name in accelerators.names():
        raise InputError(f"{name} is a machine that ships; choose another name")


def _class(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))
