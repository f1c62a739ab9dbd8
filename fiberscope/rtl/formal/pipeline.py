"""Input rows inside a pipeline of lanes, for claims on blocks of lanes.

A row has a token for each lane of a bundle. The monitor lets a copy of each input row pass through as many
registers as the block has stages. A claim can then compare a stage of the block with the row in that stage.
"""

from __future__ import annotations

import pyrtl

from fiberscope.hw.rtl.kit.twin import DataRegister, Signal, split_word
from fiberscope.rtl.formal.properties import End, Group, Properties, all_of, implies


class Pipeline:
    """The input rows inside a pipeline whose stages move in lock-step.

    Args:
        properties: properties of the block; gets the claims that the same stages of the block are full, and
            that an output row is valid exactly while the last stage is full.
        source, sink: the input and output of the block.
        stages: number of register stages, at least 1.
        attached: a further word of the arriving row, such as its constant.

    Attributes:
        full: whether there is a row in each stage.
        rows: the word of the row in each stage, with ``attached`` in the upper bits; valid while the stage's
            bit of ``full`` is high.
    """

    def __init__(
        self, properties: Properties, source: End, sink: End, stages: int, attached: Signal | None = None
    ) -> None:
        move = ~sink.valid | sink.ready
        self.full = [pyrtl.Register(1, f"row_{stage}") for stage in range(stages)]
        word = source.word if attached is None else pyrtl.concat(attached, source.word)
        self.rows = [DataRegister(len(word), f"row_word_{stage}") for stage in range(stages)]
        self._source = source
        before = [source.moves, *self.full[:-1]]
        for stage, (full, row, enters) in enumerate(zip(self.full, self.rows, before, strict=True)):
            full.next <<= pyrtl.select(move, enters, full)
            row.next <<= pyrtl.select(move, self.rows[stage - 1] if stage else word, row)
        inside = [properties.inner(f"full_{stage:02}") == full for stage, full in enumerate(self.full)]
        properties.claim("rows_inside", all_of(inside))
        properties.claim("a_row_leaves_once", sink.valid == self.full[-1])

    def lanes(self, stage: int) -> list[Group]:
        """Return the input fields of each lane of the row in a stage."""
        fields = split_word(self.rows[stage], {name: len(wire) for name, wire in self._source.fields.items()})
        widths = self._source.stream.widths
        return [
            {name: fields[name][lane * bits : (lane + 1) * bits] for name, bits in widths.items()}
            for lane in range(len(self._source.stream.ports))
        ]

    def attached(self, stage: int) -> Signal:
        """Return the attached word of the row in a stage."""
        return self.rows[stage][len(self._source.word) :]


class RowConstant:
    """The constant of an array of rows, which arrives with the array's first row.

    An array ends with a row whose last lane is a stop.

    Args:
        properties: properties of the block; gets the claims that each array takes one constant, and keeps it.
        source: the input of the constants.
        rows: the input of the rows.

    Attributes:
        word: the constant of the arriving row.
    """

    def __init__(self, properties: Properties, source: End, rows: End) -> None:
        name = source.stream.prefix.removesuffix("s")
        within = pyrtl.Register(1, "within")
        held = DataRegister(len(source.word), f"{name}_of_rows")
        self.word = pyrtl.select(within, held, source.fields["coordinate"])
        held.next <<= pyrtl.select(rows.moves, self.word, held)
        within.next <<= pyrtl.select(rows.moves, ~rows.lanes[-1]["control"], within)
        properties.claim(f"a_{name}_an_array", source.moves == (rows.moves & ~within))
        kept = implies(within, properties.inner(f"{name}_held") == held)
        properties.claim("array", (properties.inner("in_array") == within) & kept)
