"""RTL of the filter for the points of an instance, ``fiberscope.hw.streams.task_sum.TaskPoints``.

The Verilog is generated only as a part of an instance, not as a unit of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import and_

from fiberscope.hw.rtl.kit.arithmetic import ValueParameters, value_type
from fiberscope.hw.rtl.kit.codec import WHOLE_BITS
from fiberscope.hw.rtl.kit.parameters import number
from fiberscope.hw.rtl.kit.twin import Streams, alias
from fiberscope.hw.rtl.kit.unit import PortContents, unit
from fiberscope.hw.streams import tokens_rtl as tokens
from fiberscope.hw.streams.kept import EACH
from fiberscope.hw.streams.task_sum import TaskPoints
from fiberscope.hw.streams.tokens_rtl import Head

MAX_WAYS = 4  # largest number of coordinates of a point


@dataclass(frozen=True)
class TaskPointsParameters(ValueParameters):
    """Parameters of a filter for points.

    Args:
        ways: number of coordinates of a point, 0 to 4.
        level: lowest level of a stop that ends a task, 0 to 15.
        of_elements: 1 if each element is a task; then no token is dropped.
        coordinate_bits: width of a coordinate, 4 to 55.
        value_bits: width of a value if values are integers, 1 to 53.
        values: type of the values.
    """

    ways: int = number(1, 0, MAX_WAYS)
    level: int = number(1, 0, (1 << tokens.LEVEL_BITS) - 1)
    of_elements: int = number(0, 0, 1)
    coordinate_bits: int = number(32, tokens.LEVEL_BITS, 55)
    value_bits: int = number(32, 1, WHOLE_BITS)
    values: str = value_type()


def port_contents(parameters: TaskPointsParameters) -> PortContents:
    """Return the contents of the streams: coordinates of points, and their values."""
    contents = {str(way): tokens.numbers(parameters.coordinate_bits) for way in range(parameters.ways)}
    contents["val"] = tokens.values(parameters.value_field)
    ports = (
        *(tokens.source(f"in_{name}", content) for name, content in contents.items()),
        *(tokens.sink(f"out_{name}", content) for name, content in contents.items()),
    )
    return {stream.label: stream for stream in ports}


def design(parameters: TaskPointsParameters, streams: Streams) -> None:
    """Build a filter without registers: points with a value, stops that end a task, and done pass.

    The logic does not check that the streams have the same shape, as the component does.
    """
    heads = {name: Head.from_stream(stream) for name, stream in streams.inputs.items()}
    acts = alias("acts", tokens.room_in(streams) & reduce(and_, [head.shown for head in heads.values()]))
    value = heads["in_val"]
    # The tokens at one place have one kind, except that a value may be N: the value decides for all streams.
    within = value.is_stop & (value.level < parameters.level)
    passes = acts if parameters.of_elements else alias("passes", acts & ~(value.is_empty | within))
    for name, head in heads.items():
        streams.inputs[name].accept(acts)
        tokens.pass_on(streams.outputs[f"{name.replace('in_', 'out_')}[0]"], passes, head)


BLOCK = unit(
    "task_points",
    TaskPoints,
    TaskPointsParameters,
    port_contents,
    design,
    alone=False,
    instance=lambda component: {
        "ways": component.ways,
        "level": max(0, component.level),  # ``EACH`` is -1; the RTL then ignores the level
        "of_elements": component.level == EACH,
    },
    listed=False,
)
