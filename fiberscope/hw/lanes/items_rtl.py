"""Fields of the items of arrays at the ports of MINT's blocks as RTL.

An *item* is a token of an array: control, coordinate, reference and value.
"""

from __future__ import annotations

from dataclasses import dataclass

from fiberscope.hw.lanes.rows import MAXIMUM_WIDTH
from fiberscope.hw.rtl.kit.interface import Content, Field
from fiberscope.hw.rtl.kit.parameters import Parameters, number

REFERENCE_BITS = (0, 64)
WORD_BITS = (0, 53)  # a value is a double, which holds any whole number of 53 bits

# Widths of a module that replaces a machine's instance: the widest, so that any token of the machine fits.
PAYLOAD_AS_MADE = {"reference_bits": REFERENCE_BITS[1], "word_bits": WORD_BITS[1]}
AS_MADE = {"width": MAXIMUM_WIDTH, **PAYLOAD_AS_MADE}


@dataclass(frozen=True)
class ItemParameters(Parameters):
    """Widths of an item, in bits.

    Args:
        width: bits of a coordinate, 1 to 62.
        reference_bits: bits of a reference, 0 to 64; 0 omits references, which are then 0.
        word_bits: bits of a value, a whole number in two's complement, 0 to 53; 0 omits values.
    """

    width: int = number(32, 1, MAXIMUM_WIDTH)
    reference_bits: int = number(0, *REFERENCE_BITS)
    word_bits: int = number(33, *WORD_BITS)

    def item(self, **changed: int) -> Content:
        """Return the fields of an item.

        Args:
            changed: bits of fields that differ from these parameters, ``coordinate`` or ``reference``; 0
                omits the field.
        """
        widths = {"coordinate": self.width, "reference": self.reference_bits, **changed}
        fields: Content = {"control": 1, **{name: bits for name, bits in widths.items() if bits}}
        return fields | ({"value": Field("value", self.word_bits, "whole")} if self.word_bits else {})
