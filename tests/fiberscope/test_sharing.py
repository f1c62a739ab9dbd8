"""Results that runs share: made once for each content, and forgotten when they take too much memory."""

import os

import numpy as np
import pytest
from scipy import io, sparse

from fiberscope.accelerators.problem_settings import load_operand
from fiberscope.base.sharing import SharedResults, share_results, shared

GENERATED = "uniform:rows=20,cols=20,nonzeros=60"


def load(text):
    return load_operand(text, "A", False, lambda *_: None)


def test_a_result_is_made_once_for_a_key():
    made = []
    results = SharedResults(100)
    for key in "abab":
        assert results.get(key, lambda key=key: made.append(key) or key * 2, len) == key * 2
    assert (made, results.hits) == (["a", "b"], 2)


def test_the_least_recently_used_results_are_dropped():
    made = []
    results = SharedResults(10)
    for key in "abacab":
        results.get(key, lambda key=key: made.append(key) or key, lambda _: 5)
    assert made == ["a", "b", "c", "b"]


def test_a_result_that_is_too_large_drops_no_other():
    results = SharedResults(10)
    results.get("a", lambda: "a", lambda _: 10)
    results.get("b", lambda: "b", lambda _: 11)
    results.get("a", pytest.fail, len)
    assert results.hits == 1


def test_nothing_is_shared_unless_that_is_asked_for():
    assert shared("key", lambda: 1, lambda _: 1) == 1
    assert shared("key", lambda: 2, lambda _: 1) == 2
    with share_results(100):
        assert shared("key", lambda: 3, lambda _: 1) == 3
        assert shared("key", lambda: 4, lambda _: 1) == 3
    assert shared("key", lambda: 5, lambda _: 1) == 5


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "a.mtx"
    io.mmwrite(path, sparse.eye_array(4))
    return path


def test_runs_share_the_operands_of_equal_words_and_of_one_file(file):
    assert load(GENERATED) is not load(GENERATED)
    with share_results(1 << 20):
        assert load(GENERATED) is load(GENERATED)
        assert load(GENERATED) is not load(f"{GENERATED},seed=1")
        assert load(str(file)) is load(file)


def test_a_file_that_has_changed_is_read_again(file):
    with share_results(1 << 20):
        before = load(file)
        io.mmwrite(file, sparse.csr_array(np.ones((4, 4))))
        assert load(file).nonzeros == 16
        os.utime(file, ns=(1, 1))
        assert load(file) is not before
        file.unlink()
        with pytest.raises(Exception, match=r"a\.mtx"):
            load(file)


def test_operands_that_take_too_much_are_loaded_each_time():
    with share_results(100):
        assert load(GENERATED) is not load(GENERATED)
