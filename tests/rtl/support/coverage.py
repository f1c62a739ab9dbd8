"""What the seeds of a scenario reach: bins of parameters and events, filled by the component alone.

A bin is a question about one run; the scenarios' tests ask that some seed answers it with yes. The component
is the twin cycle by cycle, so what it meets the twin meets.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pairs import Pair, event_side
from stream_coverage import STREAM_BINS

from fiberscope.hw.networks.benes import count_columns
from fiberscope.sim import ComponentStatistics


@dataclass
class Reached:
    """What happened in a run.

    Attributes:
        given: the parameters.
        block: the block's accounting; None where it is several components.
        most: the largest value of each signal of the block, and of each channel's occupancy by its name.
    """

    given: Any
    block: ComponentStatistics | None = None
    most: dict[str, int] = field(default_factory=dict)

    def counted(self, name: str) -> int:
        """A counter of the block at the end."""
        return self.block.counters[name] if self.block else 0


Bins = Mapping[str, Callable[[Reached], bool]]


def reached(pair: Pair, given: Any) -> Reached:
    """Run the component of a pair to its end."""
    kernel = event_side(pair)
    found = Reached(given)
    block = next((part for part in kernel.components if part.name == "event.block"), None)
    names = [signal.name for signal in block.signals()] if block else []
    while kernel.step():
        levels = {channel.name: channel.occupancy for channel in kernel.channels()}
        if block:
            levels |= dict(zip(names, block.sample(), strict=True))
        for name, level in levels.items():
            found.most[name] = max(found.most.get(name, 0), level)
    found.block = kernel.statistics().get("event.block")
    return found


def empty(bins: Bins, runs: Iterable[Reached]) -> list[str]:
    """The bins that no run fills."""
    runs = list(runs)
    return [name for name, fills in bins.items() if not any(map(fills, runs))]


def _stalls(port: str) -> Callable[[Reached], bool]:
    def stalled(run: Reached) -> bool:
        assert run.block is not None
        stalls = {**run.block.input_stall, **run.block.output_stall}
        return any(cycles for name, cycles in stalls.items() if name.partition("[")[0] == port)

    return stalled


def _bank(run: Reached, counter: str, **least: int) -> bool:
    """Whether a counter went up in a bank of at least these sizes."""
    return run.counted(counter) > 0 and all(getattr(run.given, name) >= size for name, size in least.items())


BINS: dict[str, Bins] = {
    **STREAM_BINS,
    "merger": {
        "ways all used above 32": lambda run: run.given.radix > 32 and run.most["fan_in"] == run.given.radix,
        "ways all used above 32 in one stage": lambda run: (
            run.given.radix > 32 and run.given.stages == 1 and run.most["fan_in"] == run.given.radix
        ),
        **{
            f"{stages} stages above 32 ways": lambda run, stages=stages: (
                run.given.radix > 32 and run.given.stages == stages and run.counted("merged_elements") > 60
            )
            for stages in (2, 6)
        },
        "a way missing": _stalls("ways"),
        "no space behind": _stalls("merged"),
    },
    "bank": {
        **{
            f"{event} with {size} {sizes} or more": lambda run, event=event, size=size, sizes=sizes: _bank(
                run, event, **{sizes: size}
            )
            for event in ("evictions", "write_backs", "read_joins", "consume_joins", "consume_hits")
            for sizes, size in (("ways", 8), ("sets", 5), ("misses", 9), ("targets", 9))
        },
        "more than 8 misses in flight": lambda run: run.most["in_flight"] > 8,
        "every miss in flight": lambda run: run.most["in_flight"] == run.given.misses,
        "a full bank of 16 ways": lambda run: run.given.ways == 16 and run.counted("evictions") > 0,
        "sets of no power of two": lambda run: run.given.sets == 3 and run.counted("read_hits") > 0,
        "the default bank evicts": lambda run: run.given.sets == 64 and run.counted("evictions") > 0,
        "neighbours in one set": lambda run: (
            run.given.banks == run.given.sets == 1 and run.counted("evictions") > 0
        ),
        "banks of no power of two": lambda run: run.given.banks == 7 and run.counted("evictions") > 0,
        "no space for replies": _stalls("replies"),
        "no space for memory": _stalls("memory_requests"),
        "waits for a line": _stalls("memory_replies"),
    },
    "merge_tree": {
        "a full channel between": lambda run: run.most["event.root.ways[0]"] == run.given.capacity
    },
    "channel": {
        "more than 16 tokens in it": lambda run: run.most["event.reader.in"] > 16,
        "33 slots or more, all full": lambda run: run.most["event.reader.in"] == run.given.capacity > 32,
        "full at a latency above 1": lambda run: (
            run.given.latency > 1 and run.most["event.reader.in"] == run.given.capacity
        ),
    },
    "prefix_sum": {
        f"{lanes} lanes, {form}": lambda run, form=form, lanes=lanes: (
            (run.given.form, run.given.lanes) == (form, lanes) and run.counted("numbers") > lanes
        )
        for form, lanes in (("serial", 16), ("work-efficient", 33), ("parallel", 64))
    }
    | {"no space behind": _stalls("sums"), "a lane missing": _stalls("lanes")},
    "divider": {
        f"{lanes} lanes or more": lambda run, lanes=lanes: (
            run.given.lanes >= lanes and run.counted("divide") > lanes
        )
        for lanes in (16, 33, 64)
    }
    | {
        "division by zero": lambda run: run.counted("by_zero") > 0,
        "no space behind": _stalls("results"),
        "a dividend missing": _stalls("dividends"),
    },
    "sorting_network": {
        f"{lanes} lanes": lambda run, lanes=lanes: run.given.lanes == lanes and run.counted("chunks") > 3
        for lanes in (2, 16, 32)
    }
    | {"a lane missing": _stalls("lanes"), "no space behind": _stalls("sorted")},
    "cluster_counter": {
        f"{lanes} lanes": lambda run, lanes=lanes: run.given.lanes == lanes and run.counted("clusters") > 3
        for lanes in (1, 33, 64)
    }
    | {
        "clusters of several": lambda run: run.counted("numbers") > run.counted("clusters") + 20,
        "a lane missing": _stalls("sorted"),
        "no space behind": _stalls("clusters"),
    },
    "comparator_bank": {
        f"{test}, {lanes} lanes": lambda run, test=test, lanes=lanes: (
            run.given.test == test and run.given.lanes >= lanes and run.counted("held") > 3
        )
        for test, lanes in (("nonzero", 1), ("nonzero", 16), ("changed", 1), ("changed", 33))
    }
    | {
        "tests that fail": lambda run: run.counted("compares") > run.counted("held") + 20,
        "a lane missing": _stalls("lanes"),
        "no space for flags": _stalls("flags"),
        "no space for what is kept": _stalls("kept"),
    },
    "position_multiplier": {
        f"{lanes} lanes": lambda run, lanes=lanes: run.given.lanes >= lanes and run.counted("multiply") > 3
        for lanes in (1, 16, 64)
    }
    | {
        "no factor": _stalls("factors"),
        "a lane missing": _stalls("lanes"),
        "no space behind": _stalls("products"),
    },
    "packer": {
        "to narrower rows": lambda run: run.given.inputs > 2 * run.given.outputs,
        "to wider rows": lambda run: 2 * run.given.inputs < run.given.outputs,
        "32 lanes to 16": lambda run: (run.given.inputs, run.given.outputs) == (32, 16),
        "more held than leave": lambda run: run.most["held"] > run.given.outputs,
        "a lane missing": _stalls("lanes"),
        "no space behind": _stalls("packed"),
    },
    "counter_banks": {
        f"{lanes} lanes, a conflict": lambda run, lanes=lanes: (
            run.given.lanes == lanes and run.counted("conflicts") > 0
        )
        for lanes in (2, 8, 16, 32)
    }
    | {
        "several entries of several parts": lambda run: (
            run.given.counters > 2 * run.given.sweep_lanes > 2 * run.given.lanes
        ),
        "all counters, in full rows": lambda run: run.given.counters % run.given.sweep_lanes == 0,
        "more items to fetch than banks": lambda run: run.given.fetch_lanes > run.given.shape.banks,
        "no row of updates": _stalls("updates"),
        "no row of fetches": _stalls("fetches"),
        "no row of sums": _stalls("starts"),
        "no space for slots": _stalls("slots"),
        "no space for counts": _stalls("counts"),
        "no space for what is read": _stalls("stored"),
    },
    "adder_network": {
        f"{leaves} leaves": lambda run, leaves=leaves: (
            run.given.leaves == leaves and run.counted("add") > leaves
        )
        for leaves in (32, 64, 128)
    }
    | {
        "a leaf missing": _stalls("leaves"),
        "no space behind": _stalls("sums"),
        "neurons of one leaf": lambda run: run.counted("neurons") > run.counted("add") > 0,
    },
    "benes": {
        f"{form}, {lanes} lanes": lambda run, form=form, lanes=lanes: (
            (run.given.form, run.given.lanes) == (form, lanes) and run.counted("vectors") > 8
        )
        for form, lanes in (("minimal", 64), ("double", 32), ("double", 64))
    }
    | {
        "as many stages as columns": lambda run: (
            run.given.stages == count_columns(run.given.form, run.given.lanes)
        ),
        "a task missing": _stalls("tasks"),
        "a setting missing": _stalls("settings"),
        "an input missing": _stalls("inputs"),
        "no space behind": _stalls("outputs"),
    },
    "intersector": {
        f"{words} words, {rule}": lambda run, words=words, rule=rule: (
            (run.given.words, run.given.rule) == (words, rule)
            and 0 < run.counted("matches") < run.counted("intersect") - run.counted("fibers")
        )
        for words in (2, 4, 16)
        for rule in ("skip", "two_finger")
    }
    | {
        "a word missing": _stalls("masks_a"),
        "a mask missing": _stalls("masks_b"),
        "no space behind": _stalls("results"),
    },
    "regor": {
        f"{vectors} vectors": lambda run, vectors=vectors: (
            run.given.vectors == vectors and 0 < run.counted("kept") < run.counted("ones")
        )
        for vectors in (4, 16, 33, 64)
    }
    | {"a word missing": _stalls("bitmaps"), "no space behind": _stalls("kept")},
    "prefix_popcount": {
        f"{lanes} lanes": lambda run, lanes=lanes: run.given.lanes == lanes and run.counted("words") > lanes
        for lanes in (16, 33, 64)
    }
    | {
        "no registers": lambda run: not run.given.registers,
        "no space behind": _stalls("counts"),
        "a lane missing": _stalls("words"),
    },
    "sorted_head": {
        f"{form}, {entries} entries, all filled": lambda run, form=form, entries=entries: (
            (run.given.form, run.given.entries) == (form, entries) and run.most["awaited"] == entries
        )
        for form, entries in (("systolic", 64), ("sequential", 64), ("sequential", 170))
    }
    | {
        "a head missing": _stalls("elements"),
        "no space for elements": _stalls("merged"),
        "no space for their lists": _stalls("successors"),
    },
    "accumulator": {
        "sums of 32 bits": lambda run: run.given.sum_bits == 48 and run.counted("add") > 0,
        "sums of 53 bits": lambda run: run.given.sum_bits == 53 and run.counted("add") > 0,
        "floats": lambda run: run.given.values == "float32" and run.counted("add") > 0,
        "no space behind": _stalls("sums"),
        "an element missing": _stalls("products"),
    },
    "bump_allocator": {
        "addresses of 62 bits": lambda run: run.given.begin == 1 << 61 and run.counted("granted") > 1,
        "overflows": lambda run: run.counted("overflows") > 0,
        "a grant behind an overflow": lambda run: run.counted("overflows") > 1 < run.counted("granted"),
        "no space behind": _stalls("grants"),
    },
    "node_writer": {
        "more than 256 rows": lambda run: run.given.rows > 256,
        "one row": lambda run: run.given.rows == 1 and run.counted("linked") > 1,
        "no space behind": _stalls("headers"),
    },
    "atomic_update": {
        f"{what}, {mode}": lambda run, mode=mode, fills=fills: run.given.mode == mode and fills(run)
        for mode in ("stall", "forward")
        for what, fills in {
            "the default window, 256 entries or more": lambda run: (
                run.given.window == 4 and run.given.entries >= 256 and run.counted("stalls") >= 0
            ),
            "an update of several cycles waits": lambda run: (
                run.given.reduce_latency > 2 and run.counted("stalls") > 0
            ),
            "no space for what was touched": _stalls("touched"),
            "no space for what is read": _stalls("temporaries"),
        }.items()
    }
    | {"forwarded from behind its write": lambda run: run.given.read_latency > 2 < run.counted("forwarded")},
    "islip": {
        f"{inputs} inputs, {outputs} outputs": lambda run, inputs=inputs, outputs=outputs: (
            (run.given.inputs, run.given.outputs) == (inputs, outputs) and run.counted("conflicts") > 0
        )
        for inputs, outputs in ((8, 8), (3, 16), (12, 2))
    }
    | {
        "all FIFOs of an input full": lambda run: run.most["held"] >= run.given.depth * run.given.outputs > 8,
        "no space behind": _stalls("outputs"),
    },
    "crossbar": {
        "{} inputs, {} outputs by {}".format(*made): lambda run, made=made: (
            (run.given.inputs, run.given.outputs, run.given.route) == made and run.counted("conflicts") > 0
        )
        for made in ((24, 12, "address"), (12, 24, "port"), (4, 48, "address"))
    }
    | {
        "groups of ports": lambda run: run.given.route == "port" and run.given.group > 1 < run.given.outputs,
        "a mean interleaving": lambda run: run.given.route == "address" and run.given.interleave_bits == 12,
        "no space behind": _stalls("outputs"),
    },
    "concentrator": {
        "33 requesters": lambda run: run.given.requesters == 33 and run.counted("sent") > 300,
        "requesters without replies": lambda run: 1 < run.given.repliers < run.given.requesters,
        "no space for requests": _stalls("requests"),
        "no space for replies": _stalls("outputs"),
    },
    "page_allocator": {
        "33 askers or more": lambda run: run.given.askers >= 33 and run.counted("pages") > 200,
        "several a cycle": lambda run: run.given.askers > 4,
        "no space for pages": _stalls("pages"),
    },
    "touched": {
        "five writers": lambda run: run.given.writers == 5 and run.counted("bits_found") > 8,
        "words of 64 beyond 2048 bits": lambda run: (
            run.given.width == 64 and run.given.bits > 2048 and run.counted("bits_found") > 0
        ),
        "the default": lambda run: run.given.bits == 1024 and run.counted("bits_found") > 0,
        "no space for what is found": _stalls("found"),
        "no space for the count": _stalls("ready"),
    },
    "prefetch": {
        "the default": lambda run: run.given.lines == 4 and run.given.line_bytes == 64,
        "16 buffers of 256 bytes": lambda run: run.given.lines == 16 and run.counted("lines") > 32,
        "one buffer": lambda run: run.given.lines == 1 and run.counted("lines") > 2,
        "every job slot taken": lambda run: run.most["job_count"] == run.given.lines > 2,
        "more fetched than used": lambda run: run.counted("fetched_bytes") > 2 * run.counted("used_bytes"),
        "waits for a line": _stalls("replies"),
        "no space behind": _stalls("elements"),
        "no space for requests": _stalls("requests"),
    },
    "two_finger": {
        "more than 512 fibers": lambda run: run.counted("fibers") > 512,
        "matches": lambda run: run.counted("matches") > 0,
        "drops": lambda run: run.counted("dropped") > 0,
        "no space behind": _stalls("matches_a"),
    },
    "skip_ahead": {
        "skips behind fiber 512": lambda run: run.counted("fibers") > 512 and run.counted("skips") > 0,
        "a window of 24 or more, skipped": lambda run: (
            run.given.window >= 24 and run.counted("dropped") > 100
        ),
        "skips beyond a window": lambda run: run.counted("continued") > 0,
        "no space behind": _stalls("matches_a"),
    },
}
