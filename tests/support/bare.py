"""Run tests where no optional program can be found, as on a machine with the README's packages alone.

    python tests/support/bare.py [--wheels] [FILE or option of pytest ...]

Without files it runs each test file that mentions an optional program, or uses a table that does. A PATH of
links to all other programs hides them. ``sitecustomize`` in the folder ``hidden`` hides the library of cells
and Python's wheels of tools; with ``--wheels`` the wheels stay, as after ``make test`` on such a machine.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
TESTS = HERE.parent
OPTIONAL = re.compile(  # names of programs that the README does not list
    r"(iverilog|vvp|verilator|yosys|gtkwave|chromium|google-chrome|firefox|slurm|munge)(?!\.d).*|sta|opensta|perl6?"
    r"|vcd2.*|fst2.*|(.*-)?(g\+\+|c\+\+|clang\+\+)(-[\d.]+)?|dot|python"
)
MENTION = re.compile(
    r"icarus|iverilog|verilator|yosys|chromium|browser|osu018|\bsta\b|opensta|vcd2fst|gtkwave"
    r"|\bsimulator\b|optional_programs|\brtl loop\b|\"rtl\"",
    re.IGNORECASE,
)
TABLES = ("error_cases.yaml",)  # of cases, which a test runs that is called as its user


def main(arguments: list[str]) -> int:
    """Run the tests; gives pytest's exit code."""
    wheels = "--wheels" in arguments
    given = [argument for argument in arguments if argument != "--wheels"]
    has_files = any((TESTS.parent / argument.partition("::")[0]).is_file() for argument in given)
    files = [] if has_files else list(map(str, mentioning()))
    with tempfile.TemporaryDirectory(prefix="bare-") as folder:
        link_programs(Path(folder))
        environment = {
            **os.environ,
            "PATH": folder,
            "FIBERSCOPE_HIDDEN": "cells" if wheels else "cells wheels",
        }
        environment["PYTHONPATH"] = os.pathsep.join(
            [str(HERE / "hidden"), *filter(None, [os.environ.get("PYTHONPATH")])]
        )
        command = [sys.executable, "-m", "pytest", "-q", "-m", "not slow", *given, *files]
        return subprocess.run(command, env=environment, cwd=TESTS.parent, check=False).returncode


def mentioning() -> Iterator[Path]:
    """Yield the test files that mention an optional program."""
    for file in sorted(TESTS.rglob("test_*.py")):
        text = file.read_text(encoding="utf-8")
        if MENTION.search(file.name + text) or any(Path(table).stem in text for table in TABLES):
            yield file.relative_to(TESTS.parent)


def link_programs(folder: Path) -> None:
    """Fill a folder with links to all programs on the PATH that are not optional."""
    for place in os.environ.get("PATH", os.defpath).split(os.pathsep):
        if not Path(place).is_dir():
            continue
        for program in Path(place).iterdir():
            link = folder / program.name
            if not OPTIONAL.fullmatch(program.name) and not link.is_symlink():
                link.symlink_to(program)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
