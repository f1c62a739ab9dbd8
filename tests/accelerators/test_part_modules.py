"""The folders in which modules of parts are looked up are those of before when the module is loaded."""

import sys

import pytest

from fiberscope.accelerators.user_parts import parse_parts


@pytest.mark.parametrize("place", [0, 1, None], ids=["first", "second", "absent"])
def test_the_folders_of_modules_stay_in_their_order(place, tmp_path, monkeypatch):
    (tmp_path / "part_in_a_folder.py").write_text("class Mine: pass\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "part_in_a_folder", raising=False)
    paths = [path for path in sys.path if path != str(tmp_path)]
    if place is not None:
        paths.insert(place, str(tmp_path))
    monkeypatch.setattr(sys, "path", list(paths))
    assert parse_parts(["x=part_in_a_folder:Mine"])["x"].__name__ == "Mine"
    assert sys.path == paths


@pytest.mark.parametrize("is_there", [True, False])
def test_the_folders_that_a_module_adds_or_removes_itself_stay_so(is_there, tmp_path, monkeypatch):
    text = "import sys\nsys.path.insert(0, 'added')\ndel sys.path[-1]\nclass Mine: pass\n"
    (tmp_path / "part_that_adds.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "part_that_adds", raising=False)
    paths = [*([str(tmp_path)] if is_there else []), *(path for path in sys.path if path != str(tmp_path))]
    monkeypatch.setattr(sys, "path", list(paths))
    parse_parts(["x=part_that_adds:Mine"])
    assert sys.path == ["added", *paths]
