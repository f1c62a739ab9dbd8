"""Integer codes that the compiled loop nest shares with the modules that construct it."""

AT_END = (1 << 62) - 1  # the coordinate of a cursor after the last element of its fiber

NO_WINDOW = -1  # in place of a loop over pieces


# Operators in the postfix condition of a co-iteration.
BOTH, EITHER = -1, -2


# An operation is computed where all of its operands are present, or where any operand is.
ALL, ANY = 0, 1

UNCOUNTED = -1  # in place of the index of a counter


# Opcodes; an operation of one value ignores the second register.
MUL, ADD, SUB, DIV, MIN, MAX, OR, AND, FIRST, SECOND, DIFFERS, LESS, ABS, NEG, SQRT = range(15)
_NAMES = "mul add sub div min max or and first second differs less abs neg sqrt"
OPCODES = {name: code for code, name in enumerate(_NAMES.split())}
