"""Every channel of a machine is as deep and as long as its parameters say: an error of one anywhere is red.

The depths are written down here a second time, with a value of its own for every parameter, so that no two
can stand in for each other. What a unit may have in flight itself is counted while memory answers nothing.
"""

import re

import pytest
from extensor_bench import configured as extensor_configured
from extensor_bench import small_operands as extensor_operands
from gamma_bench import configured as gamma_configured
from gamma_bench import small_operands as gamma_operands
from gamma_stubs import run_part

from fiberscope.accelerators.extensor import ExTensor
from fiberscope.accelerators.gamma import Gamma, element
from fiberscope.hw.fibers.memory_stream import MemoryStream
from fiberscope.hw.memory.protocol import READ

NETWORK = {"network.queue": 11, "network.memory_latency": 3, "memory.channels": 2}
GAMMA = NETWORK | {
    "pe.count": 2,
    "pe.radix": 4,
    "pe.task_queue": 17,
    "pe.buffer_lines": 6,
    "pe.merge_queue": 18,
    "pe.output_queue": 19,
    "pe.pipeline_queue": 20,
    "pe.merger_latency": 7,
    "pe.multiplier_latency": 5,
    "pe.accumulator_latency": 2,
    "fibercache.banks": 4,
    "fibercache.size": "256 KiB",
    "fibercache.latency": 9,
    "network.pe_latency": 4,
    "scheduler.task_queue": 22,
    "scheduler.completion_queue": 23,
    "scheduler.page_queue": 24,
    "scheduler.stream_lines": 27,
    "pe.row_reads": 28,
    "pe.finishing": 29,
    "pe.partial_queue": 30,
    "fibercache.misses": 31,
    "fibercache.targets": 32,
    "memory.read_queue": 33,
    "memory.write_queue": 34,
    "memory.write_low": 0.35,
    "memory.write_high": 0.65,
    "memory.scheduler": "fcfs",
    "memory.refresh": "per_bank",
    "memory.address_map": "MOP4CLXOR",
    "memory.requests_per_cycle": 36,
}
# Of each kind of channel, by the port that reads it: tokens it holds, cycles it takes. A line of 64 bytes
# touches 5 whole elements of 12 bytes and two parts of others, or one part and their stop: 7.
GAMMA_CHANNELS = {
    "pe.reader.tasks": (17, 1),
    "pe.merger.tasks": (18, 1),
    "pe.writer.output_tasks": (19, 1),
    "pe.merger.ways": (6 * 7, 1),
    "pe.multiplier.operands": (20 + 7, 7),
    "pe.accumulator.products": (20 + 5, 5),
    "pe.writer.elements": (20 + 2, 2),
    "pe.prefetcher.tasks": (22, 1),
    "scheduler.completions": (23, 1),
    "pages.page_requests": (24, 1),
    "pe.writer.pages": (24, 1),
    "network.pe_requests.inputs": (11, 1),
    "fibercache.bank.requests": (11 + 4, 4),
    "network.pe_replies.inputs": (11 + 9, 9),
    "pe.prefetcher.replies": (11 + 4, 4),
    "pe.reader.replies": (11 + 4, 4),
    "pe.writer.replies": (11 + 4, 4),
    "network.memory_requests.inputs": (11, 1),
    "memory.channel.requests": (11 + 3, 3),
    "network.memory_replies.inputs": (11, 1),
    "fibercache.bank.memory_replies": (11 + 3, 3),
    "scheduler.memory_replies": (11 + 3, 3),
}
EXTENSOR = NETWORK | {
    "pe.count": 2,
    "pe.task_queue": 17,
    "pe.slots": 25,
    "llb.pair_queue": 18,
    "network.pe_latency": 5,
    "stream.jobs": 19,
    "stream.lines": 20,
    "memory.model": "simple",
    "memory.simple_queue": 21,
    "pe.tile": 4,
    "tile.m": 5,
    "tile.k": 2,
    "tile.n": 3,
}
EXTENSOR_CHANNELS = {
    "llb.loader.pairs": (18, 1),
    "llb.dispatcher.loaded": (2, 1),  # a token for each half of the buffer
    "llb.loader.released": (2, 1),
    "llb.dispatcher.drained": (2, 1),
    "llb.outputs.rows": (2 * (5 + 1), 1),  # of both halves all rows of microtiles, and the end of each
    "llb.drain.finished": (2 * (5 + 1), 1),
    **{f"stream.{name}.jobs": (19, 1) for name in ("a", "b", "po_read", "po_write", "z")},
    **{f"llb.loader.{name}_done": (19, 1) for name in ("a", "b")},
    **{f"llb.drain.{name}_done": (19, 1) for name in ("read", "partial", "new")},
    "pe.buffer.tasks": (17 + 1 + 5, 5),  # and one whose microtiles come
    "pe.core.ready": (2, 1),
    "llb.outputs.partials": (25 - 2, 5),  # but the one that is filled and the one that is sent
    "network.memory_requests.inputs": (11, 1),
    "memory.channel.requests": (11 + 3, 3),
    "network.memory_replies.inputs": (11, 1),
    **{f"stream.{name}.replies": (11 + 3, 3) for name in ("a", "b", "po_read")},
}


def gamma(**settings):
    return Gamma(gamma_configured(**(GAMMA | settings)), *gamma_operands())


def extensor(**settings):
    return ExTensor(extensor_configured(**(EXTENSOR | settings)), *extensor_operands())


def depths(machine):
    """Capacity and latency of every kind of channel; a set, where those of one kind differ."""
    found = {}
    for channel in machine.kernel.channels():
        kind = re.sub(r"\d+|\[\d+\]", "", channel.name).removeprefix(f"{machine.NAME}.")
        found.setdefault(kind, set()).add((channel.capacity, channel.latency))
    return {kind: depth.pop() if len(depth) == 1 else depth for kind, depth in found.items()}


@pytest.mark.parametrize(
    ("make", "expected"), [(gamma, GAMMA_CHANNELS), (extensor, EXTENSOR_CHANNELS)], ids=["gamma", "extensor"]
)
def test_every_channel_is_as_deep_as_its_parameters_say(make, expected):
    assert depths(make()) == expected


# What units are made with, by the name of the unit: a task runs besides those that are prefetched.
GAMMA_UNITS = {
    "pe.prefetcher": {"pointer_lines": 28},
    "pe.reader": {"buffer_lines": 6},
    "pe.writer": {"max_open_tasks": 29},
    "scheduler": {"stream_lines": 27, "most_tasks": 1 + 17, "most_partial_tasks": 1 + 30},
    "fibercache.bank": {"misses": 31, "targets": 32},
    "memory.channel": {
        "read_queue": 33,
        "write_queue": 34,
        "write_low": 0.35,
        "write_high": 0.65,
        "scheduler": "fcfs",
        "refresh": "per_bank",
        "address_map": "MOP4CLXOR",
        "requests_per_cycle": 36,
    },
}
EXTENSOR_UNITS = {
    **{f"stream.{name}": {"lines": 20, "most_jobs": 19} for name in ("a", "b", "po_read", "po_write", "z")},
    "memory.channel": {"queue": 21},
}


@pytest.mark.parametrize(
    ("make", "machine", "expected"),
    [(gamma, Gamma, GAMMA_UNITS), (extensor, ExTensor, EXTENSOR_UNITS)],
    ids=["gamma", "extensor"],
)
def test_every_unit_holds_as_much_as_its_parameters_say(monkeypatch, make, machine, expected):
    made = {}
    add = machine.add

    def noted(unit, name, options):
        specified = vars(unit.specification) if hasattr(unit, "specification") else {}
        given = made.setdefault(re.sub(r"\d+", "", name), {})
        for key, value in (specified | options).items():
            given.setdefault(key, set()).add(str(value))
        return unit

    def noting(self, part, name, *arguments, **options):
        return noted(add(self, part, name, *arguments, **options), name, options)

    def within(part):
        def make_noting(name, *arguments, **options):
            return noted(part(name, *arguments, **options), name.removeprefix("gamma."), options)

        return make_noting

    monkeypatch.setattr(machine, "add", noting)
    for part in (element.FiberReader, element.FiberWriter):
        monkeypatch.setattr(element, part.__name__, within(part))
    monkeypatch.setitem(Gamma.PARTS, "prefetcher", within(Gamma.PARTS["prefetcher"]))
    channels = make().channels
    made["memory.channel"] = {
        key: {str(value)} for channel in channels for key, value in vars(channel.specification).items()
    }
    for unit, depths_of in expected.items():
        assert {key: made[unit][key] for key in depths_of} == {key: {str(d)} for key, d in depths_of.items()}


DEPTHS = pytest.mark.parametrize("depth", [1, 2, 5, 6])


@DEPTHS
def test_a_stream_has_as_many_lines_in_flight(depth):
    part = MemoryStream("stream", READ, 1, 0, 1, line_bytes=64, lines=depth, most_jobs=4)
    jobs = [(0, 1000, 0, 0.0)]
    bench = run_part(part, {"jobs": jobs}, {"done": 1}, seed=None, silent=[READ], stuck=True)
    assert len(bench.memory.seen) == depth


@DEPTHS
def test_a_stream_takes_as_many_jobs(depth):
    """Of a line each, ten in all."""
    part = MemoryStream("stream", READ, 1, 0, 1, line_bytes=64, lines=20, most_jobs=depth)
    jobs = [(0, 64, 0, 0.0)] * 10
    bench = run_part(part, {"jobs": jobs}, {"done": 1}, seed=None, silent=[READ], stuck=True)
    assert len(bench.memory.seen) == depth
