"""Exact conversion of 8-bit and 16-bit floating-point numbers that numpy lacks to doubles.

Source: OCP 8-bit Floating Point Specification (OFP8), revision 1.0, 2023, for E4M3 and E5M2; OCP Microscaling
Formats (MX) Specification, version 1.0, 2023, for E8M0; B. Noune et al., "8-bit Numerical Formats for Deep
Neural Networks", 2022, for the types without negative zero (FNUZ).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class _Float8:
    """An 8-bit type: a sign, an exponent with a bias, a mantissa.

    Args:
        mantissa: bits of the mantissa.
        bias: bias of the exponent.
        special: ``ieee`` has infinities and NaN at the largest exponent; ``finite`` has NaN if all bits
            except the sign are 1; ``unsigned`` has NaN in place of negative zero.
    """

    mantissa: int
    bias: int
    special: str

    def values(self) -> npt.NDArray[np.float64]:
        """Return the values of all 256 codes."""
        codes = np.arange(256)
        magnitudes, fractions = codes & 127, codes & (1 << self.mantissa) - 1
        exponents = magnitudes >> self.mantissa
        # Exponent 0 is subnormal: it has no leading 1, and the scale of exponent 1.
        leading = np.where(exponents > 0, 1 << self.mantissa, 0)
        scales = np.maximum(exponents, 1) - self.bias - self.mantissa
        magnitude = np.ldexp((leading + fractions).astype(np.float64), scales)
        values: npt.NDArray[np.float64] = np.where(codes > 127, -magnitude, magnitude)
        if self.special == "ieee":
            largest = exponents == 127 >> self.mantissa
            values[largest] = np.where(fractions[largest] == 0, np.copysign(np.inf, values[largest]), np.nan)
        elif self.special == "finite":
            values[magnitudes == 127] = np.nan
        else:
            values[128] = np.nan  # the code of negative zero
        return values


_FLOAT8 = {
    "F8_E4M3": _Float8(3, 7, "finite"),
    "F8_E5M2": _Float8(2, 15, "ieee"),
    "F8_E4M3FNUZ": _Float8(3, 8, "unsigned"),
    "F8_E5M2FNUZ": _Float8(2, 16, "unsigned"),
}
_BF16, _E8M0 = "BF16", "F8_E8M0"
NARROW = (_BF16, *_FLOAT8, _E8M0)  # names of safetensors


def decode_narrow(kind: str, stored: bytes) -> npt.NDArray[np.float64]:
    """Return the values of stored numbers, as a vector.

    Args:
        kind: one of ``NARROW``.
        stored: the numbers, little-endian.
    """
    if kind == _BF16:  # the upper half of a float32
        halves = np.frombuffer(stored, dtype="<u2").astype(np.uint32)
        return (halves << 16).view(np.float32).astype(np.float64)
    codes = np.frombuffer(stored, dtype=np.uint8)
    if kind == _E8M0:  # an exponent alone, with bias 127; code 255 is NaN
        scales = np.append(np.ldexp(1.0, np.arange(255) - 127), np.nan)
        return np.take(scales, codes)
    values = _FLOAT8[kind].values()
    return np.take(values, codes)
