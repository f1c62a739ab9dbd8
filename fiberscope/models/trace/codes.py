"""Numbers that the compiled loop nest and what makes it agree on."""

from __future__ import annotations

ENDED = (1 << 62) - 1  # the coordinate of a head behind the last element
NO_WINDOW = -1  # instead of a loop over pieces

# In the condition of a co-iteration, after two cursors or results: how they are combined.
BOTH, EITHER = -1, -2

# Where an operation is computed: where all its operands are, or where any is.
ALL, ANY = 0, 1
UNCOUNTED = -1  # instead of a counter of operations

# Operations of two values; of one, the second is not looked at.
MUL, ADD, SUB, DIV, MIN, MAX, OR, AND, FIRST, SECOND, DIFFERS, LESS, ABS, NEG, SQRT = range(15)
_NAMES = "mul add sub div min max or and first second differs less abs neg sqrt"
OPCODES = {name: code for code, name in enumerate(_NAMES.split())}
