"""ALUs and reducers with a latency: the same results so many cycles later, a token a cycle all the same."""

import numpy as np
import pytest

from fiberscope.accelerators.configuration import ConfigurationError
from fiberscope.models.graphs import compile_expression, run

SPMV = compile_expression("x(i) = B(i,j) * c(j)", ["x:d,B:ss,c:d"]).graph
OPERANDS = {"B": np.ones((6, 30)), "c": np.arange(30.0)}


def ran(**latency):
    return run(SPMV, OPERANDS, {f"latency.{name}": cycles for name, cycles in latency.items()})


@pytest.mark.parametrize(("alu", "reduce"), [(4, 1), (1, 6), (9, 3)])
def test_what_is_last_comes_so_many_cycles_later_and_180_products_no_slower(alu, reduce):
    plain, late = ran(), ran(alu=alu, reduce=reduce)
    assert late.cycles == plain.cycles + alu - 1 + reduce - 1
    assert late.result.toarray().tolist() == plain.result.toarray().tolist() == [[435.0]] * 6


@pytest.mark.parametrize("name", ["alu", "reduce"])
def test_the_public_simulator_has_a_cycle_each(name):
    with pytest.raises(ConfigurationError, match=f"latency.{name} is 2; it should be 1 with timing=sam"):
        run(SPMV, OPERANDS, {"timing": "sam", f"latency.{name}": 2})
