"""What tells operands apart: views of one file, and arrays of one file, are not alike."""

from pathlib import Path

import numpy as np
import pytest

from fiberscope.explore.sweeps.content import operand_digest


@pytest.fixture
def folder(here):
    np.savez("net.npz", one=np.eye(4), two=np.ones((4, 4)))
    np.save("image.npy", np.ones((5, 5)))
    return here


def test_what_is_read_otherwise_is_something_else(folder):
    texts = [
        "net.npz:one",
        "net.npz:two",
        "image.npy",
        "graph:loops=drop,of=image.npy",
        "graph:loops=keep,of=image.npy",
        "windows:size=2x2,of=image.npy",
        "windows:size=3x3,of=image.npy",
        "windows:size=3x3,of=tensor:shape=5x5,nonzeros=3",
    ]
    assert len({operand_digest(text, exact=True) for text in texts}) == len(texts)


def test_a_file_of_other_content_is_something_else(folder):
    before = operand_digest("windows:size=2x2,of=image.npy", exact=True)
    np.save("image.npy", np.zeros((5, 5, 1)))
    assert operand_digest("windows:size=2x2,of=image.npy", exact=True) != before


def test_a_folder_is_the_names_and_contents_of_its_files_in_whatever_order(folder, monkeypatch):
    listed = Path.iterdir
    before = operand_digest(".", exact=True)
    monkeypatch.setattr(Path, "iterdir", lambda path: sorted(listed(path), reverse=True))
    assert operand_digest(".", exact=True) == before
    monkeypatch.setattr(Path, "iterdir", lambda path: sorted(listed(path)))
    assert operand_digest(".", exact=True) == before
    Path("image.npy").rename("picture.npy")
    assert operand_digest(".", exact=True) != before
