"""Look-ups worked by hand: SIGMA's flattened rank, and the windows of a convolution."""

from scipy import sparse

import fiberscope


def test_sigma_streams_each_column_past_the_nonzeros_of_a_fold():
    """300 nonzeros of A in one fold, and 60 columns of B: a column a cycle, and up to 20 cycles to fill.

    What meets nothing of B is dropped; its multiplications and additions are those of the trace.
    """
    matrix = "uniform:rows=60,cols=60,nonzeros=300"
    report = fiberscope.simulate("spec:sigma", matrix)
    assert report.verification.passed
    assert report.operations == fiberscope.model("sigma", matrix).operations
    assert 60 <= report.cycles <= 80


CONVOLUTION = """
einsum: {declaration: {I: [W], F: [S], Z: [Q]}, expressions: ["Z[q] = I[q + s] * F[s]"]}
mapping: {loop-order: {Z: [Q, S]}, spacetime: {Z: {space: [Q], time: [S]}}}
"""


def test_a_convolution_seeks_what_each_window_has(tmp_path):
    """I is 1 0 2 3 and F is 10 1: windows of one, one and two elements, of which two are added."""
    path = tmp_path / "own.yaml"
    path.write_text(CONVOLUTION)
    image, filter = sparse.csr_array([[1.0], [0], [2.0], [3.0]]), sparse.csr_array([[10.0], [1.0]])
    report = fiberscope.simulate(str(path), I=image, F=filter)
    assert report.operations == {"multiply": 4, "add": 1}
    assert report.result.toarray().ravel().tolist() == [10, 2, 23]
