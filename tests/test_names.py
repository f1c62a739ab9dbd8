"""Names of variables and functions: nouns and verbs, no pronouns and bare participles."""

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from syntax import nodes

PACKAGE = Path(__file__).resolve().parents[1] / "fiberscope"
REFUSED = {"one", "found", "given", "told", "made", "known"}
REFUSED_OF_MODULES = REFUSED | {"meanwhile", "beside", "spelt", "settled", "said", "of", "within", "behind"}
# Files in which wires of exported Verilog are named after such variables. The list may only become shorter.
NOT_YET = ("hw/fibers/pages_rtl.py", "hw/lanes/bitmap_rtl.py", "hw/rtl/kit/trees.py")
# Methods, fields and attributes that keep such a name, by file: what is outside is called so.
KEPT = {
    "accelerators/extensor/sequencer.py": {"given"},  # a signal of waveforms
    "accelerators/gamma/prefetcher_rtl.py": {"found"},  # wires of Verilog
    "accelerators/graphicionado/apply_order.py": {"found"},  # a port
    "converters/counting.py": {"told"},  # a counter of reports
    "explore/compare.py": {"settled"},  # a key of published.yaml
    "hw/fibers/intersection.py": {"within"},  # a signal of waveforms
    "hw/lanes/divider_rtl.py": {"_found"},  # wires of Verilog
    "hw/memory/cache_parts_rtl.py": {"known"},  # a register of Verilog
    "hw/memory/touched.py": {"found"},  # a port
    "hw/rtl/kit/arithmetic.py": {"_within"},  # wires of Verilog
    "hw/streams/locator.py": {"found"},  # a counter of reports
    "hw/streams/ways_rtl.py": {"behind"},  # wires of Verilog
    "models/analytic/phases.py": {"of"},  # a key of analytic.yaml
    "results/report/cost_parts.py": {"known"},  # a key of reports
    "sim/component.py": {"within"},  # an argument of ``Signal``
}
ROOMS = sorted(path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__")


def sources(room: str) -> Iterator[tuple[str, Sequence[ast.AST]]]:
    """Yield the nodes of the modules of a room, by the path in the package."""
    for path in sorted((PACKAGE / room).rglob("*.py")):
        yield path.relative_to(PACKAGE).as_posix(), nodes(path)


def refused_variables(parts: Sequence[ast.AST]) -> Iterator[str]:
    """Yield variables and arguments with a refused name, without the fields of classes."""
    fields = {
        id(target)
        for node in parts
        if isinstance(node, ast.ClassDef)
        for statement in node.body
        if isinstance(statement, ast.AnnAssign)
        for target in [statement.target]
    }
    for node in parts:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in fields:
            name = node.id
        elif isinstance(node, ast.arg):
            name = node.arg
        elif isinstance(node, ast.alias | ast.ExceptHandler):
            name = (node.asname if isinstance(node, ast.alias) else node.name) or ""
        else:
            continue
        if name in REFUSED:
            yield f"line {getattr(node, 'lineno', 0)}: {name}"


def refused_members(parts: Sequence[ast.AST]) -> Iterator[str]:
    """Yield functions, methods, classes, fields and attributes with a refused name, underscores apart."""
    for node in parts:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names = [node.name]
            if isinstance(node, ast.ClassDef):
                fields = [statement for statement in node.body if isinstance(statement, ast.AnnAssign)]
                names += [ast.unparse(field.target) for field in fields]
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names = [node.attr]
        else:
            continue
        yield from (name for name in names if name.strip("_").lower() in REFUSED_OF_MODULES)


def test_modules_are_named_by_what_they_hold():
    assert [path for path in PACKAGE.rglob("*.py") if path.stem in REFUSED_OF_MODULES] == []


@pytest.mark.parametrize("room", ROOMS)
def test_variables_functions_classes_and_fields_are_named_by_what_they_are_or_do(room):
    files = dict(sources(room))
    variables = {file: list(refused_variables(parts)) for file, parts in files.items() if file not in NOT_YET}
    assert {file: faults for file, faults in variables.items() if faults} == {}
    members = {file: set(refused_members(parts)) for file, parts in files.items()}
    kept = {file: names for file, names in KEPT.items() if file.startswith(f"{room}/")}
    assert {file: names for file, names in members.items() if names} == kept


def walk(text):
    return list(ast.walk(ast.parse(text)))


def test_a_refused_name_is_reported_with_its_line():
    parts = walk("class A:\n    found: int\n    def f(self, given):\n        return [one for one in given]\n")
    assert sorted(refused_variables(parts)) == ["line 3: given", "line 4: one"]


def test_refused_functions_fields_and_attributes_are_reported():
    parts = walk("class A:\n    told: int\n    def of(self):\n        self._found = 1\ndef _given(): pass\n")
    assert sorted(refused_members(parts)) == ["_found", "_given", "of", "told"]


def test_every_file_that_keeps_its_names_exists():
    assert [file for file in (*NOT_YET, *KEPT) if not (PACKAGE / file).is_file()] == []
