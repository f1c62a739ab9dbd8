"""Expressions worked out on dense arrays: an axis a variable, nothing of streams or coordinates."""

import numpy as np

from fiberscope.workloads.expressions.expression import Access, Number, Sum

OPERATIONS = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "neg": np.negative,
    "div": lambda one, other: np.divide(one, other, out=np.zeros_like(one), where=other != 0),
}


def evaluated(assignments, arrays, sizes):
    """The arrays of all results; where a divisor is 0 the quotient is, as what has no coordinate has none."""
    arrays = dict(arrays)
    for one in assignments:
        axes = list(sizes)
        whole = np.broadcast_to(_value(one.expression, arrays, sizes), _shape(one.result.variables, sizes))
        kept = np.transpose(
            whole, sorted(range(len(axes)), key=lambda axis: axes[axis] not in one.result.variables)
        )
        named = [variable for variable in axes if variable in one.result.variables]
        kept = kept.reshape([sizes[variable] for variable in named])
        arrays[one.result.tensor] = np.transpose(
            kept, [named.index(variable) for variable in one.result.variables]
        )
    return arrays


def _shape(variables, sizes):
    return [size if variable in variables else 1 for variable, size in sizes.items()]


def _value(expression, arrays, sizes):
    if isinstance(expression, Number):
        return np.full([1] * len(sizes), float(expression.value))
    if isinstance(expression, Access):
        order = [variable for variable in sizes if variable in expression.variables]
        array = np.asarray(arrays[expression.tensor], float)
        turned = np.transpose(array, [expression.variables.index(variable) for variable in order])
        return turned.reshape(_shape(order, sizes))
    if isinstance(expression, Sum):
        return _sum(expression, _value(expression.operand, arrays, sizes), sizes)
    operands = [_value(operand, arrays, sizes) for operand in expression.operands]
    return OPERATIONS[expression.function](*np.broadcast_arrays(*operands))


def _sum(expression, value, sizes):
    axes = [list(sizes).index(variable) for variable in expression.variables]
    shape = [list(sizes.values())[axis] if axis in axes else value.shape[axis] for axis in range(value.ndim)]
    return np.broadcast_to(value, shape).sum(axis=tuple(axes), keepdims=True)
