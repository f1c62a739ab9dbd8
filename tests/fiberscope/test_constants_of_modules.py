"""Constants that the compiler finds in a module's text: each has the value that the running module has."""

import ast
import runpy
from pathlib import Path

import pytest

from fiberscope.compiler.modules import Modules
from fiberscope.compiler.pxd_text import generate_pxd

# In capitals the names whose value the compiler must know; it may leave the others to the running module.
BINDINGS = {
    "plain": "WIDTH = 2 ** 4\nHALF = WIDTH / 2\nFIRST = SECOND = -3\nDEPTH: int = WIDTH << 1",
    "tuples": "LEFT, RIGHT = 1, 2.5\nA, B, C = range(3)\nSIZES = (1, 2)\nCOUNT = len(SIZES)",
    "a star among the targets": "a, *b, c = 1, 2, 3, 4\nD, E = 5, 6",
    "a star among the values": "rest = (1, 2)\na, b = *rest,\nmore = (*rest, 3)\nc = len(more)",
    "a tuple in a tuple": "A, (b, c), D = 1, (2, 3), 4",
    "a list that grows": "rows = [1, 2]\nrows.append(3)\ncount = len(rows)",
    "its own successor": "a = 2\na = a + 1\nKEPT = 2",
    "two names in a circle": "b = 1\na = b\nb = a + 1",
    "augmented": "a = 3\na += 1\nKEPT = 2",
    "twice": "a = 3\nb = a\na = 4",
    "a declaration first": "a: int\na = 4",
    "a branch": "a = 3\nif len('x'):\n    a = 5",
    "a loop": "a = 3\nfor a in range(9):\n    b = 3",
    "a handler": "a = 3\ntry:\n    a = 4\nexcept ValueError as b:\n    a = 5",
    "a context": "from contextlib import nullcontext\na = 3\nwith nullcontext(7) as a:\n    pass",
    "a walrus": "a = 3\nb = (a := 8) + 1",
    "a list of targets": "a = 3\n[a, b] = [4, 5]",
    "an import": "a = 3\nfrom math import pi as a",
    "a whole module": "a = 3\nimport math as a",
    "a function": "a = 3\ndef a():\n    pass",
    "a class": "a = 3\nclass a:\n    pass",
    "a pattern": "a = 3\nmatch [7]:\n    case [a]:\n        pass",
    "a global name": "a = 3\ndef grow():\n    global a\n    a = 4\ngrow()",
    "deleted": "a = 3\ndel a",
    "a local name of a function": "KEPT = 3\ndef run():\n    for KEPT in (4,):\n        pass\nrun()",
    "an attribute of a class": "KEPT = 3\nclass Holder:\n    KEPT = 4",
    "only in a branch": "a = 3\nif len('x'):\n    b = 4",
}


@pytest.mark.parametrize("text", BINDINGS.values(), ids=BINDINGS)
def test_a_constant_has_the_value_of_the_running_module(tmp_path: Path, text: str) -> None:
    path = tmp_path / "part.py"
    path.write_text(text)
    modules = Modules([tmp_path])
    module = modules.find("part")
    assert module is not None
    running = runpy.run_path(str(path))
    names = {node.id for node in ast.walk(module.tree) if isinstance(node, ast.Name)}
    read = {name: modules.constant_value(module, ast.Name(name, ast.Load())) for name in names}
    wrong = {name: value for name, value in read.items() if value is not None and value != running.get(name)}
    assert wrong == {}
    numbers = {name for name in names if name.isupper() and isinstance(running[name], int | float)}
    assert {name for name in numbers if read[name] is None} == set()


@pytest.mark.parametrize("value", [2**63 - 1, 2**63, 2**64 - 1, 1 - 2**63, -(2**63) - 1, 10**30])
def test_a_number_too_long_for_c_stays_with_python(tmp_path: Path, value: int) -> None:
    (tmp_path / "part.py").write_text(
        f"SIZE = {value}\nclass Part:\n    def get(self) -> object:\n        size = {value}\n"
        f"    def hold(self) -> None:\n        size = {value}\n        self.size = SIZE\n"
    )
    modules = Modules([tmp_path], [tmp_path / "part.py"])
    module = modules.find("part")
    assert module is not None
    fits = abs(value) < 2**63
    text = generate_pxd(modules, module)
    assert (f"((long){{{value}}})" in text, 'size="long"' in text, "readonly long size" in text) == (
        fits,
    ) * 3


@pytest.mark.parametrize("imported", [".parts", "package.parts", ".inner", ".inner.deep"])
def test_a_package_passes_on_the_constants_of_its_modules(tmp_path: Path, imported: str) -> None:
    package = tmp_path / "package"
    (package / "inner").mkdir(parents=True)
    (package / "__init__.py").write_text(f"from {imported} import WIDTH\n")
    (package / "parts.py").write_text("WIDTH = 7\n")
    (package / "inner" / "__init__.py").write_text("from .deep import WIDTH\n")
    (package / "inner" / "deep.py").write_text("from ..parts import WIDTH\n")
    (tmp_path / "parts.py").write_text("WIDTH = 8\n")
    (tmp_path / "user.py").write_text("from package import WIDTH\n")
    modules = Modules([tmp_path])
    user = modules.find("user")
    assert user is not None
    assert modules.constant_value(user, ast.Name("WIDTH", ast.Load())) == 7
