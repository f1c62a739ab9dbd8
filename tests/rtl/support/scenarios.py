"""The scenarios of every block that has a twin, by name: small and long, large and short.

Those called ``LARGE`` in the files beside this one, and all others.
"""

from importlib import import_module
from operator import itemgetter
from pathlib import Path

from scenario import Scenario

LARGE_SEEDS = range(3, 8)
_FIRST, _FIRST_LARGE = range(4), (7,)
# By block, the seeds besides these, small and large, that fill what they leave empty of ``coverage``.
_MORE: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "adder_network": ((), (4, 5)),
    "atomic_update": ((6, 11), (3, 6)),
    "bank": ((13, 21), (5, 6)),
    "benes": ((), (4, 6)),
    "intersector": ((4, 9), (5,)),
    "regor": ((), (3, 6)),
    "prefix_popcount": ((8,), (5, 6)),
    "counter_banks": ((6, 17), (3,)),
    "crossbar": ((4, 5), (3, 5)),
    "divider": ((), (6,)),
    "islip": ((), (4, 6)),
    "sorting_network": ((), (3,)),
    "cluster_counter": ((), (5,)),
    "comparator_bank": ((), (5,)),
    "position_multiplier": ((), (5,)),
    "packer": ((7,), (3, 6)),
    "merger": ((), (4, 6)),
    "prefetch": ((), (5,)),
    "prefix_sum": ((), (4, 6)),
    "sorted_head": ((), (4, 6)),
    "coordinate_hold": ((4,), ()),
    "sparse_accumulator": ((), (3,)),
    "tensor_accumulator": ((6, 13, 16), ()),
    "alu": ((7, 20), ()),
    "scalar_reducer": ((5, 8, 9, 11, 12, 13, 15, 18, 35), ()),
    "stop_dropper": ((11,), ()),
    "compressed_scanner": ((7, 17), ()),
    "fiber_intersect": ((5,), (6,)),
    "fiber_union": ((5,), ()),
    "repeater": ((), (6,)),
    "filling_alu": ((5, 7, 8, 17, 19), (4, 5)),
    "marked_array": ((8,), ()),
    "projection": ((10,), ()),
    "seek": ((4, 7), (4, 6)),
    "fiber_pairs": ((), (3, 4, 6)),
    "touched": ((), (4, 6)),
    "lanes": ((5, 6, 9, 20), (6,)),
    "lane_seek": ((16,), ()),
}

_FOUND = [
    (path.stem, name, scenario)
    for path in sorted(Path(__file__).parent.glob("*_scenario.py"))
    for name, scenario in vars(import_module(path.stem)).items()
    if isinstance(scenario, Scenario)
]
SCENARIOS = {scenario.block: scenario for _file, name, scenario in _FOUND if not name.startswith("LARGE")}
LARGE = {scenario.block: scenario for _file, name, scenario in _FOUND if name.startswith("LARGE")}
# Blocks of the stream machine and of format converters: many, and alike in how they take and give tokens.
_FILES = (
    "streams_scenario",
    "stream_values_scenario",
    "stream_dense_scenario",
    "stream_absent_scenario",
    "stream_lookups_scenario",
    "stream_lanes_scenario",
    "stream_reducers_scenario",
    "items_scenario",
    "counter_banks_scenario",
)
ALIKE = frozenset(scenario.block for file, _name, scenario in _FOUND if file in _FILES)


def seeds_by_default(block):
    """The seeds of the small and of the large pairs of a block that the default run has."""
    small, large = _MORE.get(block, ((), ()))
    return (*_FIRST, *small), (*_FIRST_LARGE, *large)


def scenarios_by_default(block):
    """Each pair of a block that the default run has: its scenario and its seed, small and large by turns."""
    by_size = zip((SCENARIOS[block], LARGE[block]), seeds_by_default(block), strict=True)
    return sorted(((scenario, seed) for scenario, seeds in by_size for seed in seeds), key=itemgetter(1))
