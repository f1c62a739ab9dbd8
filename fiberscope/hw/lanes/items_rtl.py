"""Items of arrays at the ports of the twins of MINT's blocks: what they have in common."""

from __future__ import annotations

from dataclasses import dataclass

from fiberscope.hw.lanes.rows import MAXIMUM_WIDTH
from fiberscope.hw.rtl.kit.interface import Content, Field
from fiberscope.hw.rtl.kit.parameters import Parameters, number

REFERENCE_BITS = (0, 64)
WORD_BITS = (0, 53)  # a value is a double, which holds any whole number of 53 bits

PAYLOAD_AS_MADE = {"reference_bits": REFERENCE_BITS[1], "word_bits": WORD_BITS[1]}  # any that a token carries
AS_MADE = {"width": MAXIMUM_WIDTH, **PAYLOAD_AS_MADE}


@dataclass(frozen=True)
class ItemParameters(Parameters):
    """Widths of an item, in bits.

    Args:
        width: the width of a coordinate, 1 to 62.
        reference_bits: 0 to 64; 0 leaves references out, where all are 0.
        word_bits: bits of a value, a whole number in two's complement, 0 to 53; 0 leaves values out.
    """

    width: int = number(32, 1, MAXIMUM_WIDTH)
    reference_bits: int = number(0, *REFERENCE_BITS)
    word_bits: int = number(33, *WORD_BITS)

    def item(self, **changed: int) -> Content:
        """The fields of an item, of which some are of another width."""
        widths = {"coordinate": self.width, "reference": self.reference_bits, **changed}
        fields: Content = {"control": 1, **{name: bits for name, bits in widths.items() if bits}}
        return fields | ({"value": Field("value", self.word_bits, "whole")} if self.word_bits else {})
