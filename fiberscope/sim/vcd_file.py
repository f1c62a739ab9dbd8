"""A VCD file: its header, the value changes, and the rename of the complete file to its final path."""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

from vcd import VCDWriter
from vcd.writer import Variable as Output

from fiberscope.sim import fst
from fiberscope.sim.change_lines import ChangeLines
from fiberscope.sim.errors import SimulationError
from fiberscope.sim.partial_files import Partial, remove_abandoned
from fiberscope.sim.probe import Changes
from fiberscope.sim.waveform import COLOURED, ROW_BITS, Variable

COARSEST, FINEST = 2, -15  # timescales of a VCD file, as powers of ten of a second: 100 s to 1 fs
UNITS = ("s", "ms", "us", "ns", "ps", "fs")
TYPES = {"wire": "wire", "integer": "integer", "text": "string", "mark": "wire", "occupancy": "integer"}


class VcdFile:
    """A VCD file under construction, beside its final path until ``publish``.

    ``scale`` is the file's time units in a base tick, ``span`` its first and last time in these units. If no
    VCD unit is exact, times are rounded down to femtoseconds, and all changes within one unit become one
    change.

    Args:
        path: the final path. Only a complete file replaces an existing file.
        tick: seconds of one base tick, the unit of all times.
        comment: lines for the header.

    Raises:
        SimulationError: if the file cannot be written there, or the converter to FST is not installed.
    """

    def __init__(self, path: Path, tick: Fraction, comment: Sequence[str]) -> None:
        self.path = path
        exact = choose_timescale(tick)
        self.scale: Fraction
        self._timescale, self.scale = exact or ("1 fs", tick * 10**-FINEST)
        self._units, self._ticks = self.scale.numerator, self.scale.denominator
        self._comment = "\n".join((*comment, _explain_time(self._timescale, exact is not None)))
        self._converter = fst.find_converter(path) if path.suffix == fst.ENDING else None
        self._variables: Sequence[Variable] = ()
        self.lines = ChangeLines((), self._value_error)
        self._broken = False
        self.span = (0, 0)
        try:
            if path.exists() and not path.is_file():
                raise OSError(0, "it is a folder" if path.is_dir() else "it is no file")
            remove_abandoned(path)
            self._partial = Partial(path)
            self._file = self._partial.path.open("xb")
        except OSError as error:
            raise SimulationError(f"the waveform {path} cannot be written: {error.strerror}") from None

    def begin(self, time: int, variables: Sequence[Variable], changes: Changes) -> None:
        """Write the header and the initial value of every variable at base tick ``time``.

        Args:
            time: the base tick.
            variables: all variables of the file.
            changes: their values, in the same order.

        Raises:
            OSError: if the file cannot be written.
            SimulationError: if a value does not fit its variable.
        """
        self._variables = variables
        self.span = (self.stamp(time), self.stamp(time))
        header = io.StringIO(newline="\n")
        writer = VCDWriter(
            header,
            self._timescale,
            date="",  # so that equal runs write equal files
            comment=self._comment,
            version="Fiberscope",
            init_timestamp=self.span[0],
        )
        formats = []
        for variable, value in zip(variables, changes.values, strict=True):
            try:
                formats.append(_register(writer, variable, value))
            except (LookupError, ValueError):
                raise _make_value_error(variable, value) from None
        self.lines = ChangeLines(formats, self._value_error, self.scale, time)
        self.lines.append(changes, changes.all(), time)  # checks values that pyvcd accepts
        self.lines.take()  # dropped, as the header has the initial values
        writer.flush()
        self._file.write(header.getvalue().encode())

    def _value_error(self, position: int, value: int) -> SimulationError:
        """Return the error of a value that does not fit the variable at this position."""
        return _make_value_error(self._variables[position], value)

    def write(self) -> None:
        """Write the buffer to the file; after an error, ``publish`` does not rename the file.

        Raises:
            OSError: if the file cannot be written.
        """
        try:
            self._file.write(self.lines.take())
        except OSError:
            self._broken = True
            raise

    def stamp(self, time: int) -> int:
        """Convert a base tick to the file's time units."""
        return time * self._units // self._ticks

    def publish(self, time: int) -> None:
        """End the file at this base tick. Rename it to its final path, or convert it to FST, if complete.

        After an error of ``write``, nothing is renamed. A conversion leaves the temporary VCD file, which
        ``discard`` removes.

        Args:
            time: the base tick; the file ends no earlier than its last change.

        Raises:
            OSError: if the file cannot be written, renamed or converted.
        """
        self.write()
        last = self.stamp(self.lines.time)
        self.span = self.span[0], max(self.stamp(time), last)
        if self.span[1] > last:
            self._file.write(b"#%d\n" % self.span[1])
        self._file.close()
        if self._broken:
            return
        if self._converter is None:
            self._partial.keep()
        else:
            fst.convert(self._converter, self._partial.path, self.path)

    def discard(self) -> None:
        """Remove the temporary file, unless ``publish`` renamed it. May be called several times."""
        with suppress(OSError):  # a full disk must not hide the first error
            self._file.close()
        self._partial.discard()


def _register(writer: VCDWriter, variable: Variable, value: int) -> tuple[int, list[str]]:
    """Declare a variable; return its bits and texts, as ``ChangeLines`` takes them.

    A coloured state has two lines: the text, and its row in the table with colours.
    """
    name, rows = (variable.scope, variable.name), variable.rows
    if variable.is_number:  # a type that no other variable has
        return _write_table(writer.register_var(*name, "reg", ROW_BITS, init=rows[value]), rows)
    first = variable.texts[value] if variable.texts else value
    output = writer.register_var(*name, TYPES[variable.kind], variable.width, init=first)
    if not variable.texts and variable.width > 1:
        return variable.width, [f" {output.ident}\n"]
    zero, lines = _write_table(output, variable.texts or (0, 1))
    if rows:
        coloured = f"{variable.name}{COLOURED}"
        row = writer.register_var(variable.scope, coloured, "wire", ROW_BITS, init=rows[value])
        lines = [line + number for line, number in zip(lines, _write_table(row, rows)[1], strict=True)]
    return zero, lines


def _write_table(output: Output[Any], values: Sequence[int | str]) -> tuple[int, list[str]]:
    """Return 0, and the lines of a variable with few values, numbered from 0."""
    return 0, [f"{output.format_value(value)}\n" for value in values]


def _make_value_error(variable: Variable, value: int) -> SimulationError:
    expected = (
        f"one of {len(variable.texts)} states" if variable.texts else f"a number of {variable.width} bits"
    )
    return SimulationError(f"{variable.scope}.{variable.name}: {value!r} is not {expected}")


def choose_timescale(tick: Fraction) -> tuple[str, Fraction] | None:
    """Return the coarsest timescale in which a tick of ``tick`` seconds is whole, and the units in a tick.

    The result is None if no timescale is exact, for example for a third of a nanosecond.
    """
    for exponent in range(COARSEST, FINEST - 1, -1):
        units = tick / Fraction(10) ** exponent
        if units.denominator == 1:
            return f"{10 ** (exponent % 3)} {UNITS[-(exponent // 3)]}", units
    return None


def _explain_time(unit: str, exact: bool) -> str:
    return f"time is {'exact' if exact else 'rounded down'}, in units of {unit}"
