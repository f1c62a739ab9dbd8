# cython: infer_types=True
"""Address maps, which select pseudo-channel, bank group, bank, row and column by bits of an address."""

from __future__ import annotations

from dataclasses import dataclass

from fiberscope.hw.dram.standards import Organisation
from fiberscope.sim.names import nearest

COLUMN_LOW = 2  # column bits that MOP keeps below the bank bits: four consecutive bursts share a row


@dataclass(frozen=True)
class AddressMap:
    """A division of an address into fields.

    Args:
        name: name in the literature, or the abbreviated fields from the highest bits down.
        fields: fields above the byte within a burst, from the lowest bits up. All bits above the last field
            are the row. ``column_low`` is the lowest two bits of the column, ``column_high`` the others.
        fold: whether the bits of the column, from the lowest up, are XORed into the bits of pseudo-channel,
            bank group, bank and row, in this order.
        source: publication or program that defines the map; the reason for a map of this project ("ours").
    """

    name: str
    fields: tuple[str, ...]
    fold: bool
    source: str


_MAPS = (
    AddressMap(
        "RoBaRaCoCh",
        ("column", "pseudo_channel", "bank_group", "bank"),
        fold=False,
        source="Ramulator 2.1, ro_ba_ra_co_ch.cpp: a row's bursts side by side",
    ),
    AddressMap(
        "MOP4CLXOR",
        ("column_low", "pseudo_channel", "bank_group", "bank", "column_high"),
        fold=True,
        source="Ramulator 2.1, mop4clxor.cpp; Kaseridis, Stuecheli, John, MICRO 2011 (minimalist open page)",
    ),
    AddressMap(
        "RoBaCoBgCh",
        ("pseudo_channel", "bank_group", "column", "bank"),
        fold=False,
        source="ours: neighbouring bursts in different bank groups, so that a stream never waits for tCCD_L",
    ),
    AddressMap(
        "RoCoBaBgCl",
        ("column_low", "pseudo_channel", "bank_group", "bank", "column_high"),
        fold=False,
        source="ours: MOP without the XOR: a line stays in one row, its neighbours go to other banks",
    ),
)
ADDRESS_MAPS = {address_map.name: address_map for address_map in _MAPS}


def address_map(name: str) -> AddressMap:
    """Return the map with this name.

    Raises:
        ValueError: if there is none; the message suggests the nearest name.
    """
    if name not in ADDRESS_MAPS:
        raise ValueError(f"no address map {name}; {nearest(name, ADDRESS_MAPS)}")
    return ADDRESS_MAPS[name]


def _bits(count: int, quantity: str) -> int:
    if count < 1 or count & (count - 1):
        raise ValueError(f"an address map needs a power of two of {quantity}, not {count}")
    return count.bit_length() - 1


def layout(mapping: AddressMap, organisation: Organisation) -> dict[str, tuple[int, int]]:
    """Return the lowest bit and the number of bits of every field, in an address within a channel.

    The fields are those of the map, ``byte`` within a burst, and ``row``, which has all bits above them, up
    to bit 63. The number of rows of the device is not used.

    Raises:
        ValueError: if a number of the organisation is not a power of two, or a row is too short for the map.
    """
    # Only whole bursts are addressed: a column here is a burst of a row
    column = _bits(organisation.bursts, "bursts in a row")
    widths = {
        "column": column,
        "column_low": COLUMN_LOW,
        "column_high": column - COLUMN_LOW,
        "pseudo_channel": _bits(organisation.pseudo_channels, "pseudo-channels"),
        "bank_group": _bits(organisation.bank_groups, "bank groups"),
        "bank": _bits(organisation.banks, "banks"),
    }
    if widths["column_high"] < 0 and "column_high" in mapping.fields:
        raise ValueError(
            f"address map {mapping.name} needs rows of at least 4 bursts, not {organisation.bursts}"
        )
    low = _bits(organisation.burst_bytes, "bytes in a burst")
    fields = {"byte": (0, low)}
    for name in mapping.fields:
        fields[name] = (low, widths[name])
        low += widths[name]
    fields["row"] = (low, 64 - low)
    return fields


class Decoder:  # C: final
    """A decoder of the addresses within a channel. ``decode`` sets ``bank`` and ``row``.

    ``bank`` is numbered over the channel: (pseudo-channel * bank groups + bank group) * banks + bank. ``row``
    is not compared with the number of rows of the device: an address beyond the device's capacity gets a row
    that the device lacks, and is no error.

    Args:
        mapping: address map.
        organisation: organisation of the device.

    Raises:
        ValueError: as for ``layout``.
    """

    def __init__(self, mapping: AddressMap, organisation: Organisation) -> None:
        fields = layout(mapping, organisation)
        # A map has the column in one piece or in two. A missing piece has 0 bits
        nothing = (0, 0)
        low = fields.get("column_low", fields.get("column", nothing))
        high = fields.get("column_high", nothing)
        self.bank = 0
        self.row = 0
        self._fold = mapping.fold
        self._low_shift, self._low_bits = low  # C: _low_shift=long, _low_bits=long
        self._high_shift, self._high_bits = high  # C: _high_shift=long, _high_bits=long
        self._pseudo_shift, self._pseudo_bits = fields[
            "pseudo_channel"
        ]  # C: _pseudo_shift=long, _pseudo_bits=long
        self._group_shift, self._group_bits = fields["bank_group"]  # C: _group_shift=long, _group_bits=long
        self._bank_shift, self._bank_bits = fields["bank"]  # C: _bank_shift=long, _bank_bits=long
        self._row_shift = fields["row"][0]  # C: long

    def decode(self, address: int) -> None:
        """Set ``bank`` and ``row`` to those of a byte address within the channel, at least 0.

        The caller has removed the part of the address that selects the channel.
        """
        pseudo = _slice(address, self._pseudo_shift, self._pseudo_bits)
        group = _slice(address, self._group_shift, self._group_bits)
        bank = _slice(address, self._bank_shift, self._bank_bits)
        row = address >> self._row_shift
        if self._fold:
            # Each column bit is used once, from the lowest up. The column itself is not changed, so that
            # different addresses keep different places
            column = self._column(address)
            pseudo ^= _slice(column, 0, self._pseudo_bits)
            column >>= self._pseudo_bits
            group ^= _slice(column, 0, self._group_bits)
            column >>= self._group_bits
            bank ^= _slice(column, 0, self._bank_bits)
            row ^= column >> self._bank_bits
        self.bank = (((pseudo << self._group_bits) | group) << self._bank_bits) | bank
        self.row = row

    def _column(self, address: int) -> int:  # C: noexcept
        low = _slice(address, self._low_shift, self._low_bits)
        return (_slice(address, self._high_shift, self._high_bits) << self._low_bits) | low


def _slice(value: int, shift: int, bits: int) -> int:  # C: cdef, noexcept
    return (value >> shift) & ((1 << bits) - 1)
