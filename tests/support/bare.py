"""Run tests without optional programs, as on a machine with only the packages of the README.

    python tests/support/bare.py [--wheels] [FILE or option of pytest ...]

Without files it runs each test that mentions an optional program or uses a table that does, itself or by
what it refers to in its file. A PATH of links to all other programs hides them. ``sitecustomize`` in the
folder ``hidden`` hides the library of cells and Python's wheels of tools; with ``--wheels`` the wheels stay,
as after ``make test`` on such a machine.
"""

import ast
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
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
TABLES = ("error_cases",)  # files of cases, which a test runs that is called as its user
WHOLE = ("pytestmark", "")  # of these, and of statements without a name, all tests of a file depend


def main(arguments: list[str]) -> int:
    """Run the tests and return pytest's exit code."""
    wheels = "--wheels" in arguments
    given = [argument for argument in arguments if argument != "--wheels"]
    has_files = any((TESTS.parent / argument.partition("::")[0]).is_file() for argument in given)
    files = [] if has_files else list(mentioning())
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


def mentioning() -> Iterator[str]:
    """Yield the test files, or the tests of a file, that mention an optional program."""
    for file in sorted(TESTS.rglob("test_*.py")):
        path = file.relative_to(TESTS.parent)
        text = file.read_text(encoding="utf-8")
        tests = None if MENTION.search(file.name) else concerned(text) if _mentions(text) else []
        yield from [str(path)] if tests is None else (f"{path}::{test}" for test in tests)


def concerned(text: str) -> list[str] | None:
    """Return the tests of a file that mention an optional program or what mentions it; None for all."""
    lines = text.splitlines()
    parts = [part for node in ast.parse(text).body for part in _parts(node, lines)]
    reached = {name for name, names, mentions in parts if mentions}
    while more := {name for name, names, _ in parts if name not in reached and names & reached}:
        reached |= more
    if not reached.isdisjoint(WHOLE):
        return None
    return [name for name, _, _ in parts if name in reached and name.startswith("test_")]


def _mentions(text: str) -> bool:
    return bool(MENTION.search(text)) or any(table in text for table in TABLES)


def _parts(node: ast.stmt, lines: Sequence[str]) -> Iterator[tuple[str, set[str], bool]]:
    """Yield the names that a statement defines, its other names, and whether it mentions such a program."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return  # the docstring
    decorators = getattr(node, "decorator_list", [])
    first = min(each.lineno for each in (node, *decorators))
    source = "\n".join(lines[first - 1 : node.end_lineno])
    names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    names |= {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}  # fixtures
    names |= {str(each.value) for each in ast.walk(node) if isinstance(each, ast.Constant)}  # by usefixtures
    if isinstance(node, ast.Import | ast.ImportFrom):
        defined = {alias.asname or alias.name for alias in node.names}
    elif isinstance(node, ast.FunctionDef | ast.ClassDef):
        defined = {"" if any("autouse" in ast.unparse(each) for each in decorators) else node.name}
    else:
        stored = [each for each in ast.walk(node) if isinstance(each, ast.Name)]
        defined = {each.id for each in stored if isinstance(each.ctx, ast.Store)} or {""}
    yield from ((name, names, _mentions(source)) for name in defined)


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
