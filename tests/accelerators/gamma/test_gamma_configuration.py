"""What cannot be built costs one line that names the key and says what would do."""

import pytest
from gamma_bench import configured

from fiberscope.accelerators.configuration import ConfigurationError, parameters
from fiberscope.accelerators.gamma import ACCELERATOR


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"pe.cuont": 3}, "settings: gamma has no parameter pe.cuont; did you mean pe.count?"),
        ({"pe": 3}, "settings: pe is a section; set pe.count, pe.radix, "),
        ({"pe.count": 0}, "settings: pe.count is 0; it should be greater than or equal to 1"),
        ({"pe.count": 257}, "settings: pe.count is 257; it should be less than or equal to 256"),
        ({"pe.radix": 1}, "settings: pe.radix is 1; it should be greater than or equal to 2"),
        ({"pe.radix": 512}, "settings: pe.radix is 512; it should be less than or equal to 256"),
        (
            {"fibercache.size": "1 MB"},
            "gamma: fibercache.size is 1MB; it should be a multiple of 48KiB (48 banks of 16 ways of "
            "64-byte lines), such as 960KiB or 1008KiB",
        ),
        (
            {"fibercache.size": "1MiB"},
            "gamma: fibercache.size is 1MiB; it should be a multiple of 48KiB (48 banks of 16 ways of "
            "64-byte lines), such as 1008KiB or 1056KiB",
        ),
        (
            {"fibercache.size": 64},
            "gamma: fibercache.size is 64B; it should be a multiple of 48KiB (48 banks of 16 ways of "
            "64-byte lines), such as 48KiB",
        ),
        ({"fibercache.line": 48}, "gamma: fibercache.line is 48 bytes; it should be a power of two"),
        ({"network.queue": 1}, "settings: network.queue is 1; it should be greater than or equal to 2"),
        ({"memory.model": "fast"}, "settings: memory.model is fast; it should be 'dram' or 'simple'"),
        (
            {"memory.interleave": 96},
            "gamma: memory.interleave is 96 bytes; it should be a multiple of a 64-byte line",
        ),
        (
            {"scheduler.output": "disk"},
            "settings: scheduler.output is disk; it should be 'memory' or 'cache'",
        ),
        (
            {"scheduler.stream_lines": 13},
            "gamma: scheduler.stream_lines is 13; a task of 64 nonzeros needs at least 14",
        ),
        (
            {"scheduler.output_page": 100},
            "gamma: scheduler.output_page is 100 bytes; it should be a multiple of a 64-byte line",
        ),
        (
            {"memory.write_low": 0.9},
            "gamma: memory.write_low, write_high must be 0 <= low < high <= 1, not (0.9, 0.8)",
        ),
        ({"reorder": "random"}, "settings: reorder is random; it should be 'none' or 'affinity'"),
        ({"format.element": 65}, "gamma: format.element is 65 bytes; a line of 64 bytes should hold one"),
        (
            {"format.pointer": 12},
            "gamma: format.pointer is 12 bytes; it should be 0 or divide a 64-byte line",
        ),
        (
            {"value": "float16"},
            "settings: value is float16; it should be 'auto', 'integer', 'float32', 'float64' or 'bfloat16'",
        ),
        ({"format.element": "all"}, "settings: format.element is all; it should be a size, such as "),
        ({"clock": "fast"}, "settings: clock is fast; it should be a frequency, such as "),
    ],
)
def test_a_mistake_costs_one_line(settings, message):
    with pytest.raises(ConfigurationError) as raised:
        configured(**settings)
    assert str(raised.value).startswith(message)
    assert "\n" not in str(raised.value)


def test_every_parameter_is_shipped_with_a_source():
    shipped = parameters(ACCELERATOR.shipped)
    unsourced = [parameter.key for parameter in shipped if "[" not in parameter.comment]
    # A choice of model, and SRRIP, whose paper is named.
    assert unsourced == ["fibercache.reuse_bits", "memory.model"]


def test_the_shipped_machine_is_the_published_one():
    shipped = configured()
    assert (shipped.clock, shipped.pe.count, shipped.pe.radix) == (10**9, 32, 64)
    assert (shipped.fibercache.size, shipped.fibercache.banks, shipped.fibercache.ways) == (3 << 20, 48, 16)
    assert (shipped.memory.channels, shipped.memory.width, shipped.memory.bandwidth) == (16, 64, 8 << 30)
    assert (shipped.format.element, shipped.format.pointer) == (12, 4)


def test_the_least_window_for_a_task_is_accepted():
    assert configured(scheduler__stream_lines=14).scheduler.stream_lines == 14
