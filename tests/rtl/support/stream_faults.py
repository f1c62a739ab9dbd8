"""Faults in the twins of the stream machine, for ``mutants``."""

from mutation import faults_of

_ALL = (
    "compressed_scanner repeat_signal repeater fiber_intersect fiber_union array alu scalar_reducer "
    "coordinate_dropper"
)

STREAM_FAULTS = (
    *faults_of(
        "streams/tokens.py", _ALL,
        ("streams-acts-with-room-at-one-output",
         "reduce(and_, [stream.ready for stream in between.outputs.values()])",
         "list(between.outputs.values())[0].ready"),
        ("streams-stops-are-not-raised", "return (self.level + 1)[:LEVEL_BITS]",
         "return self.level[:LEVEL_BITS]"),
        ("streams-levels-of-two-bits",
         "self.level: Signal = fields.get(\"level\", self.payload)[:LEVEL_BITS]",
         "self.level: Signal = fields.get(\"level\", self.payload)[:1].zero_extended(LEVEL_BITS)"),
    ),
    *faults_of(
        "streams/scanner.py", "compressed_scanner",
        ("scanner-empty-fiber-has-an-element", "(head.is_data & (begins == behind))",
         "(head.is_data & (behind == 0))"),
        ("scanner-owes-at-once", "ends = named(\"ends\", head.shown & (owes", "ends = named(\"ends\", (owes"),
        ("scanner-stop-is-left", "(ends & head.is_stop)))\n    moves",
         "(ends & head.is_stop & ~owes)))\n    moves"),
        ("scanner-N-leaves-as-element", "head.is_empty | (head.is_data", "(head.is_data"),
        ("scanner-positions-of-9-bits", "return (place + 1)[: len(place)]",
         "return (place + 1)[: min(len(place), 9)].zero_extended(len(place))"),
    ),
    *faults_of(
        "streams/repeater.py", "repeat_signal repeater",
        ("repeater-looks-behind", "(owes | (closes & holds))", "(owes | closes)"),
        ("repeater-forgets-what-it-owes", "owes.next <<= (owes | closes) & ~pays",
         "owes.next <<= closes & ~pays"),
        ("repeater-takes-while-it-owes", "takes = named(\"takes\", room & ~owes & ~holds",
         "takes = named(\"takes\", room & ~holds"),
        ("repeater-N-as-reference", "kind_of(repeats & now.is_data,", "kind_of(repeats,"),
        ("generator-N-is-nothing", "kind_of(head.is_data | head.is_empty, head.is_stop",
         "kind_of(head.is_data, head.is_stop"),
    ),
    *faults_of(
        "streams/joiner.py", "fiber_intersect fiber_union",
        ("joiner-stop-below-coordinates", "return pyrtl.concat(control, unless(control, head.payload))",
         "return pyrtl.concat(~control, unless(control, head.payload))"),
        ("joiner-coordinates-of-54-bits", "pyrtl.concat(control, unless(control, head.payload))",
         "pyrtl.concat(control, unless(control, head.payload[:54]))"),
        ("joiner-references-are-not-waited-for", "for head in (*self._crds, *self._refs)]",
         "for head in self._crds]"),
        ("union-last-has-the-coordinate", "fields = dict(heads[-1].fields)",
         "fields = dict(heads[0].fields)"),
        ("intersect-drops-one-at-a-time", "heads.take([equal | late for late in behind])",
         "heads.take([equal | (late & ~behind[0] if i else late) for i, late in enumerate(behind)])"),
    ),
    *faults_of(
        "streams/values.py", "array alu scalar_reducer",
        ("array-N-loads", "unless(head.is_empty, words[head.payload])", "words[head.payload]"),
        ("alu-unsigned", "\"mul\": pyrtl.signed_mult,", "\"mul\": lambda left, right: left * right,"),
        ("alu-takes-one-alone", "acts = named(\"acts\", left.shown & right.shown &",
         "acts = named(\"acts\", left.shown &"),
        ("alu-least-is-largest",
         "\"min\": lambda left, right: pyrtl.select(pyrtl.signed_lt(right, left), right, left),",
         "\"min\": lambda left, right: pyrtl.select(pyrtl.signed_lt(left, right), right, left),"),
        ("reducer-sum-goes-on", "begun.next <<= pyrtl.select(takes, counts, begun)",
         "begun.next <<= begun | counts"),
        ("reducer-stop-follows-always", "follows.next <<= pyrtl.select(room, takes & more & ~drops, follows)",
         "follows.next <<= pyrtl.select(room, takes & head.is_stop & ~drops, follows)"),
        ("reducer-dropped-stop-is-lost", "(drops & more) | head.is_done", "head.is_done"),
        ("reducer-takes-while-a-stop-follows", "accept(room & ~follows)\n    counts",
         "accept(room)\n    counts"),
    ),
    *faults_of(
        "streams/dropper.py", "coordinate_dropper",
        ("dropper-keeps-all", "(ends & (now.is_control | has_data))", "(ends & (now.is_control | holds))"),
        ("dropper-bare-stop-stays", "keeps = named(\"keeps\", passes & (~empty | higher))",
         "keeps = named(\"keeps\", passes)"),
        ("dropper-stop-behind-a-stop-alone", "takes & outer.is_control & behind_data)",
         "takes & outer.is_control)"),
        ("dropper-data-of-the-fiber-before", "seen.next <<= (seen & ~takes) | (", "seen.next <<= seen | ("),
        ("dropper-replaces-any-stop", "self.head.is_stop & (self.head.level == 0))", "self.head.is_stop)"),
    ),
    *faults_of(
        "streams/writer.py", "compressed_writer values_writer",
        ("writer-every-stop-ends-a-fiber", "head.is_stop & (begun | behind_fiber | (head.level == 0))",
         "head.is_stop"),
        ("writer-N-is-a-coordinate", "coordinate = unless(head.is_empty, head.payload)",
         "coordinate = (~head.payload)"),
        ("writer-counts-stops", "count.next <<= pyrtl.select(takes & head.is_data, (count",
         "count.next <<= pyrtl.select(takes, (count"),
    ),
    *faults_of(
        "streams/memory.py", "compressed_scanner array",
        ("memory-of-256-words", "return self._words[address[: self._words.addrwidth]]",
         "return self._words[address[: min(8, self._words.addrwidth)].zero_extended(self._words.addrwidth)]"),
    ),
)  # fmt: skip
