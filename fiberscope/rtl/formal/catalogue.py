"""Claims of the blocks (``fiberscope.rtl.formal.properties``), and the small parameters of their proofs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from fiberscope.hw.rtl.kit.block import RtlBlock
from fiberscope.hw.rtl.kit.parameters import Parameters, least, parse
from fiberscope.hw.rtl.kit.registered import registered
from fiberscope.rtl.formal.channel_claims import add_channel
from fiberscope.rtl.formal.contract_properties import (
    add_contract,
    add_port_queues,
    add_reset_state,
    add_state_covers,
)
from fiberscope.rtl.formal.fiber_claims import (
    add_accumulator,
    add_bump_allocator,
    add_node_writer,
    add_page_allocator,
    add_two_finger,
)
from fiberscope.rtl.formal.kit import FormalKit, formal_kit
from fiberscope.rtl.formal.lane_claims import add_adder_network, add_benes, add_divider, add_packer
from fiberscope.rtl.formal.merge_claims import add_islip, add_merger
from fiberscope.rtl.formal.network_claims import add_concentrator, add_crossbar
from fiberscope.rtl.formal.properties import Properties, refuse_parameters
from fiberscope.rtl.formal.row_claims import (
    add_cluster_counter,
    add_comparator_bank,
    add_position_multiplier,
    add_prefix_sum,
    add_sorting_network,
)
from fiberscope.rtl.formal.stream_claims import add_intersect, add_repeater, add_union
from fiberscope.rtl.formal.value_claims import (
    add_alu,
    add_array,
    add_dense_scanner,
    add_locator,
    add_repeat_signal,
    add_scalar_reducer,
    add_stop_dropper,
    add_values_writer,
)


@dataclass(frozen=True)
class FormalSpecification:
    """Claims of a block beside the contract of its ports.

    Args:
        settings: default parameters of a proof, as ``name=value`` separated by blanks. Parameters that they
            omit have the defaults of the block. If they are empty, each number is the least valid one.
        add: adds the claims of the block; None for none.
        only: parameters without which the claims do not hold, written as ``settings``.
    """

    settings: str = ""
    add: Callable[[Any, Properties], None] | None = None
    only: str = ""

    def check(self, block: str, parameters: Parameters) -> None:
        """Raise ``ValueError`` if the claims do not hold for a block with these parameters."""
        for setting in self.only.split():
            name, _, value = setting.partition("=")
            actual = getattr(parameters, name)
            if str(actual) != value:
                refuse_parameters(block, f"{setting}, not {name}={actual}")


PLAIN, REGISTERED = "plain", "registered"  # kinds of ports
_NARROW_TOKENS = "coordinate_bits=4 reference_bits=4"
_INTEGER = "values=integer"
_ITEM_WIDTHS = "width=2 reference_bits=0 word_bits=2"
SPECIFICATIONS: Mapping[str, FormalSpecification] = {
    "accumulator": FormalSpecification(
        "coordinate_bits=2 value_bits=2 sum_bits=4", add_accumulator, _INTEGER
    ),
    "alu": FormalSpecification("value_bits=3 result_bits=6", add_alu, _INTEGER),
    "array": FormalSpecification(
        "entries=4 reference_bits=4 value_bits=3", add_array, "memory=combinational"
    ),
    "cluster_counter": FormalSpecification(f"lanes=4 {_ITEM_WIDTHS}", add_cluster_counter),
    "comparator_bank": FormalSpecification(f"lanes=3 test=changed {_ITEM_WIDTHS}", add_comparator_bank),
    "locator": FormalSpecification(f"size=5 {_NARROW_TOKENS}", add_locator, "bases=0"),
    "node_writer": FormalSpecification("rows=4 address_bits=3 count_bits=2", add_node_writer),
    "page_allocator": FormalSpecification("askers=3 first=5 page_bits=8", add_page_allocator),
    "position_multiplier": FormalSpecification("lanes=2 width=4 word_bits=0", add_position_multiplier),
    "prefix_sum": FormalSpecification("lanes=4 width=3", add_prefix_sum),
    "repeat_signal": FormalSpecification("coordinate_bits=4", add_repeat_signal),
    "scalar_reducer": FormalSpecification(
        "value_bits=3 sum_bits=5", add_scalar_reducer, f"operation=sum empty_fibers=keep {_INTEGER}"
    ),
    "sorting_network": FormalSpecification(f"lanes=4 {_ITEM_WIDTHS}", add_sorting_network),
    "stop_dropper": FormalSpecification("coordinate_bits=4 kept=2", add_stop_dropper),
    "two_finger": FormalSpecification("coordinate_bits=3 reference_bits=2 value_bits=32", add_two_finger),
    "values_writer": FormalSpecification("entries=4 value_bits=3", add_values_writer),
    "adder_network": FormalSpecification("leaves=4 id_bits=1 operand_bits=2", add_adder_network),
    "benes": FormalSpecification("form=minimal lanes=4 vector_bits=2 coordinate_bits=2", add_benes),
    "bump_allocator": FormalSpecification("begin=3 end=13 size_bits=3 who_bits=2", add_bump_allocator),
    "channel": FormalSpecification(
        "capacity=3 control_bits=1 coordinate_bits=1 reference_bits=0 value_bits=0", add_channel
    ),
    "concentrator": FormalSpecification(
        "requesters=3 repliers=2 first_port=3 tag_bits=37 address_bits=17", add_concentrator
    ),
    "crossbar": FormalSpecification(
        "inputs=2 outputs=2 route=port tag_bits=34 address_bits=17", add_crossbar
    ),
    "dense_scanner": FormalSpecification(f"size=5 {_NARROW_TOKENS}", add_dense_scanner),
    "divider": FormalSpecification("lanes=2 width=4 bits_per_stage=2", add_divider),
    "fiber_intersect": FormalSpecification(f"ways=2 {_NARROW_TOKENS}", add_intersect),
    "fiber_union": FormalSpecification(f"ways=2 {_NARROW_TOKENS}", add_union),
    "islip": FormalSpecification(
        "inputs=2 outputs=2 depth=2 coordinate_bits=5 reference_bits=0 value_bits=0", add_islip
    ),
    "merger": FormalSpecification(
        "radix=2 coordinate_bits=2 reference_bits=1 value_bits=16 values=bfloat stages=1", add_merger
    ),
    "packer": FormalSpecification("inputs=3 outputs=2 width=2 reference_bits=0 word_bits=0", add_packer),
    "repeater": FormalSpecification("reference_bits=5", add_repeater),
}


def small_parameters(block: RtlBlock, settings: list[str]) -> Parameters:
    """Return the parameters of a proof: the block's ``FormalSpecification.settings``, changed by settings.

    Args:
        settings: the changes, each as ``name=value``.

    Raises:
        ValueError: an invalid setting.
    """
    specification = SPECIFICATIONS.get(block.name, FormalSpecification())
    numbers = asdict(least(block.parameters)).items()
    # A setting of the user goes before the default of the same name, which is dropped below.
    small = specification.settings.split() or [f"{name}={number}" for name, number in numbers]
    changed = {setting.partition("=")[0] for setting in settings}
    defaults = [setting for setting in small if setting.partition("=")[0] not in changed]
    return parse(block.name, block.parameters, defaults + settings)


def kit_of(block: RtlBlock, parameters: Parameters, ports: str = PLAIN, *, status: bool = True) -> FormalKit:
    """Return the formal kit of a block.

    With both kinds of ports, the kit has the contract of the ports, the reset state, and covers of the states
    of registers. Plain ports add the claims of the block in ``SPECIFICATIONS``. Registered ports add claims
    about the channels behind the outputs instead.

    Args:
        ports: ``plain`` or ``registered``, as of ``fiberscope.hw.rtl.kit.registered``.
        status: whether the module has status outputs.

    Raises:
        ValueError: there is no formal kit of such ports, or of such parameters.
    """
    if ports not in (PLAIN, REGISTERED):
        raise ValueError(f"--ports {ports}: claims exist for the ports {PLAIN} and {REGISTERED}")
    # Claims of SPECIFICATIONS may compare inputs and outputs of one cycle, which a channel would delay.
    if ports == REGISTERED:
        return formal_kit(registered(block), parameters, _add_registered, status)
    SPECIFICATIONS.get(block.name, FormalSpecification()).check(block.name, parameters)
    return formal_kit(block, parameters, partial(_add_plain, block, parameters), status)


def _add_plain(block: RtlBlock, parameters: Parameters, properties: Properties) -> None:
    specification = SPECIFICATIONS.get(block.name, FormalSpecification())
    add_contract(properties, arbiters=block.adapter.ARBITERS, retracts=block.adapter.RETRACTS)
    add_reset_state(properties)
    add_state_covers(properties)
    if specification.add is not None:
        specification.add(parameters, properties)


def _add_registered(properties: Properties) -> None:
    add_contract(properties, is_registered=True)
    add_port_queues(properties)
    add_reset_state(properties)
    add_state_covers(properties)
