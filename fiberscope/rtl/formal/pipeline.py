"""Input rows inside a pipeline of lanes, for claims on blocks of lanes.

A row has a token for each lane of a bundle. The monitor lets a copy of each input row pass through as many
registers as the block has stages. A claim can then compare a stage of the block with the row in that stage.
"""

from __future__ import annotations

import pyrtl

from fiberscope.hw.rtl.kit.twin import DataRegister, Signal, split_word
from fiberscope.rtl.formal.properties import (
    LaneFields,
    Properties,
    StreamWires,
    all_of,
    implies,
    refuse_parameters,
)


class RowMonitor:
    """The input rows inside a pipeline whose stages move in lock-step.

    Args:
        properties: properties of the block; gets the claims that the same stages of the block are full, and
            that an output row is valid exactly while the last stage is full.
        source, sink: the input and output of the block.
        stages: number of register stages, at least 1; the block names the flags of full stages ``full_00``,
            ``full_01`` and so on.
        extra: a further word of the arriving row, such as its constant.

    Raises:
        ValueError: ``stages`` is 0.

    Attributes:
        is_full: whether there is a row in each stage.
        words: the word of the row in each stage, with ``extra`` in the upper bits; valid while the stage's
            bit of ``is_full`` is high.
    """

    def __init__(
        self,
        properties: Properties,
        source: StreamWires,
        sink: StreamWires,
        stages: int,
        extra: Signal | None = None,
    ) -> None:
        if not stages:
            refuse_parameters(properties.interface.module, "a block with registers between its ports")
        moves = ~sink.valid | sink.ready  # all stages moves together, unless the last one is full and blocked
        self.is_full = [pyrtl.Register(1, f"row_{stage}") for stage in range(stages)]
        word = source.word if extra is None else pyrtl.concat(extra, source.word)
        self.words = [DataRegister(len(word), f"row_word_{stage}") for stage in range(stages)]
        self._source = source
        entering = [source.fire, *self.is_full[:-1]]
        for stage, (is_full, stage_word, enters_stage) in enumerate(
            zip(self.is_full, self.words, entering, strict=True)
        ):
            is_full.next <<= pyrtl.select(moves, enters_stage, is_full)
            stage_word.next <<= pyrtl.select(moves, self.words[stage - 1] if stage else word, stage_word)
        equal = [
            properties.inner(f"full_{stage:02}") == is_full for stage, is_full in enumerate(self.is_full)
        ]
        # With equal stages, a row can be lost only at the output, which is valid while the last stage is full
        properties.claim("rows_inside", all_of(equal))
        properties.claim("a_row_leaves_once", sink.valid == self.is_full[-1])

    def lanes(self, stage: int) -> list[LaneFields]:
        """Return the input fields of each lane of the row in a stage."""
        fields = split_word(
            self.words[stage], {name: len(wire) for name, wire in self._source.fields.items()}
        )
        widths = self._source.definition.widths
        return [
            {name: fields[name][lane * bits : (lane + 1) * bits] for name, bits in widths.items()}
            for lane in range(len(self._source.definition.ports))
        ]

    def extra(self, stage: int) -> Signal:
        """Return the attached word of the row in a stage; it is empty without ``extra``."""
        return self.words[stage][len(self._source.word) :]


class ArrayConstant:
    """The constant of an array of rows, which arrives with the array's first row.

    An array ends with a row whose last lane is a stop.

    Args:
        properties: properties of the block; gets the claims that each array takes one constant, and keeps it.
            The block names the wires ``in_array`` and, for constants ``factors``, ``factor_held``.
        constants: the input of the constants.
        rows: the input of the rows.

    Attributes:
        word: the constant of the arriving row.
    """

    def __init__(self, properties: Properties, constants: StreamWires, rows: StreamWires) -> None:
        name = constants.definition.prefix.removesuffix("s")  # the singular of the port's name
        is_within_array = pyrtl.Register(1, "within")
        held_constant = DataRegister(len(constants.word), f"{name}_of_rows")
        self.word = pyrtl.select(is_within_array, held_constant, constants.fields["coordinate"])
        held_constant.next <<= pyrtl.select(rows.fire, self.word, held_constant)
        is_within_array.next <<= pyrtl.select(rows.fire, ~rows.lanes[-1]["control"], is_within_array)
        properties.claim(f"a_{name}_an_array", constants.fire == (rows.fire & ~is_within_array))
        is_stored = implies(is_within_array, properties.inner(f"{name}_held") == held_constant)
        properties.claim("array", (properties.inner("in_array") == is_within_array) & is_stored)
