"""Faults in the twins of MINT's blocks that the default tests must find; see ``mutants.py``."""

from mutation import faults_of

CONVERSION_FAULTS = (
    *faults_of(
        "sorting_network.py", "sorting_network",
        ("sorter-equal-keys-out-of-order", ', lane["order"])', ")"),
        ("sorter-stops-first", 'concat(lane["control"], lane', 'concat(~lane["control"], lane'),
        ("sorter-low-31-bits", 'lane["coordinate"], lane["order"]', 'lane["coordinate"][:31], lane["order"]'),
        ("sorter-32-lanes-without-a-column", "_exchanged(row, column, ",
         "_exchanged(row, () if stage == 12 else column, "),
        ("sorter-rows-of-stops-are-chunks", "any(token.control == DATA for", "any(token is not None for"),
    ),
    *faults_of(
        "cluster_counter.py", "cluster_counter",
        ("clusters-low-30-bits", 'a["coordinate"] == b["coordinate"]',
         'a["coordinate"][:30] == b["coordinate"][:30]'),
        ("clusters-of-16-at-the-most", "while distance < len(flags):",
         "while distance < min(len(flags), 16):"),
        ("clusters-counted-behind-a-gap", "pyrtl.select(all_set, (more + less)[:bits], more)",
         "(more + less)[:bits]"),
    ),
    *faults_of(
        "comparator_bank.py", "comparator_bank",
        ("comparator-keeps-zeros", "lane[MASK] & (test | lane", "lane[MASK] & (~test | test | lane"),
        ("comparator-loses-stops", '(test | lane["control"]))', "test)"),
        ("comparator-array-goes-on", ' & ~(lane[MASK] & lane["control"])', ""),
        ("comparator-empty-lanes-count", 'is_item = lane[MASK] & ~lane', "is_item = ~lane"),
        ("comparator-changes-while-it-stands", "pyrtl.select(moves, last, before)", "last"),
        ("comparator-sign-alone", 'lane["value"] != 0', 'lane["value"][-1] != 0'),
        ("comparator-33-lanes-see-32", "changed.append(~any_before |",
         "changed.append(~any_before | pyrtl.Const(len(changed) > 32, 1) |"),
    ),
    *faults_of(
        "position_multiplier.py", "position_multiplier",
        ("multiplier-two-digits", "for stage in range(DEPTH):\n        row = [_added(",
         "for stage in range(DEPTH):\n        row = row if stage == 2 else [_added("),
        ("multiplier-factor-of-the-newest", 'rows.register(f"stage{stage:02}_factor", factor)', "factor"),
        ("multiplier-digits-in-one-place", "pyrtl.concat(product, pyrtl.Const(0, shift)) if shift",
         "product if shift"),
    ),
    *faults_of(
        "packer.py", "packer",
        ("packer-takes-too-early", "(held <= parameters.outputs)", "(held <= parameters.outputs + 1)"),
        ("packer-moves-without-space", "moves = named(\"moves\", (takes | sends) & (sink.ready | ~sends))",
         'moves = named("moves", takes | sends)'),
        ("packer-forgets-its-stops", "ends & ~(leaves & last), ending)", "ends & ~leaves, ending)"),
        ("packer-keeps-what-left", "behind = places[later] if later < len(places) else register",
         "behind = places[i]"),
        ("packer-count-of-31", "zip(items, at, strict=True)]",
         "zip([*items[:31], *(item & 0 for item in items[31:])], at, strict=True)]"),
        ("packer-places-of-the-lanes", "for ones in before]", "for ones in counts]"),
    ),
    *faults_of(
        "kit/rows.py", "sorting_network cluster_counter",
        ("rows-without-stages-move-always", "full else self._sink.ready)", "full else pyrtl.Const(1, 1))"),
    ),
    *faults_of(
        "kit/trees.py", "packer",
        ("trees-ones-without-a-level", "for level in network(PARALLEL, len(flags)):",
         "for level in network(PARALLEL, len(flags))[:3]:"),
    ),
)  # fmt: skip
