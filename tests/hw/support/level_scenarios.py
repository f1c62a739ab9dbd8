"""Scanners, locators, arrays and writers, and short streams for them; see ``stream_scenarios``."""

from itertools import pairwise

from nested_lists import flatten

from fiberscope.hw.fibers.level import Level
from fiberscope.hw.streams.arrays import ArrayLoad
from fiberscope.hw.streams.bit_vector import BitVectorScanner
from fiberscope.hw.streams.compressed import CompressedScanner
from fiberscope.hw.streams.dense import DenseScanner
from fiberscope.hw.streams.locator import DenseLocator
from fiberscope.hw.streams.quirks import Q6
from fiberscope.hw.streams.registered_memory import RegisteredArray
from fiberscope.hw.streams.repeater import Repeater, RepeatSignalGenerator
from fiberscope.hw.streams.skipping_scanner import SkippingScanner
from fiberscope.hw.streams.writers import BitVectorWriter, CompressedWriter, ValuesWriter

SEGMENTS, COORDINATES = [0, 3, 3, 4, 6, 13], [1, 4, 9, 6, 0, 2, 0, 1, 2, 5, 7, 8, 11]
FIBERS = [COORDINATES[start:end] for start, end in pairwise(SEGMENTS)]
LEVEL = Level(SEGMENTS, COORDINATES)
WORDS = [6, 9, 0, (1 << 64) - 1, 5]

REFERENCES = flatten([[4, 1, 0], [], [2, 4, 4], [3]], 1)
WITH_EMPTY = flatten([[4, "N", 0], [], [2, "N"]], 1)
MATRIX = flatten([[1, 4, 9], [], [0, 2], [7]], 1)
REPEATS = flatten([[["R"] * 3, [], ["R"]], [], [["R"], [], ["R"] * 2], [[]]], 2)
SIGNALS = [token[0] for token in REPEATS]
NUMBERS = [token + 0.5 if isinstance(token, int) else token for token in MATRIX]
SKIPS = [6, "S0", 3, 7, "S0", 4, 1]


def _streams(**tokens):
    return lambda _generator: tokens


LEVEL_SCENARIOS = {
    "compressed": (lambda quirks: CompressedScanner("block", LEVEL, quirks), _streams(in_ref=WITH_EMPTY)),
    "skipping": (
        lambda quirks: SkippingScanner("block", LEVEL, quirks),
        _streams(in_ref=REFERENCES, in_skip=SKIPS),
    ),
    "dense": (lambda quirks: DenseScanner("block", 3, quirks & ~Q6), _streams(in_ref=WITH_EMPTY)),
    "bits": (lambda quirks: BitVectorScanner("block", WORDS, quirks), _streams(in_ref=REFERENCES)),
    "wide bits": (
        lambda quirks: BitVectorScanner("block", WORDS * 2, quirks, 2),
        _streams(in_ref=REFERENCES),
    ),
    "generator": (lambda quirks: RepeatSignalGenerator("block", quirks), _streams(in_crd=MATRIX)),
    "repeater": (lambda quirks: Repeater("block", quirks), _streams(in_ref=REFERENCES, in_repsig=SIGNALS)),
    "load": (lambda quirks: ArrayLoad("block", [0.5] * 5, quirks), _streams(in_ref=WITH_EMPTY)),
    "registered load": (
        lambda quirks: RegisteredArray("block", [0.5] * 5, quirks),
        _streams(in_ref=WITH_EMPTY),
    ),
    "level": (lambda quirks: CompressedWriter("block", quirks=quirks), _streams(in_crd=MATRIX)),
    "numbers": (lambda quirks: ValuesWriter("block", quirks=quirks), _streams(in_val=NUMBERS)),
    "word level": (lambda quirks: BitVectorWriter("block", quirks=quirks), _streams(in_bv=MATRIX)),
    "dense locator": (lambda _: DenseLocator("block", 8), _streams(in_crd=MATRIX, in_ref=MATRIX)),
}
