"""What the public TeAAL tool counts of its specifications, worked out from the operands, without a loop nest.

Operands are given as rows: ``a[m]`` has the columns k of row m of A, ``b[k]`` the columns n of row k of B, in
their order. All counts of traffic are in bits. Values are positive, so that no sum is 0.
"""

from bisect import bisect_left
from itertools import chain


def lines(elements, per_line):
    """Lines of a fiber."""
    return -(-elements // per_line)


def fiber(elements):
    """Bits of 32-bit coordinates and 64-bit payloads in lines of 64 bits."""
    return 64 * lines(elements, 2) + 64 * elements


def fewest_misses(accesses, capacity):
    """Misses of a cache that knows the future and may let lines by."""
    after, latest, held, misses = [], {}, {}, 0
    for now in range(len(accesses) - 1, -1, -1):
        after.append(latest.get(accesses[now], float("inf")))
        latest[accesses[now]] = now
    for line, following in zip(accesses, reversed(after), strict=True):
        misses += held.pop(line, None) is None
        if following < float("inf"):
            held[line] = following
        if len(held) > capacity:
            del held[max(held, key=held.get)]
    return misses


def selected_rows(a, b):
    """For each row of A the rows of B that it selects, without empty ones."""
    return [[b[k] for k in row if b[k]] for row in a]


def product_rows(a, b):
    """Elements in each row of the product."""
    return [len(set(chain(*rows))) for rows in selected_rows(a, b)]


def product_bits(a, b):
    """What writing the product takes."""
    filled = [count for count in product_rows(a, b) if count]
    return 64 * lines(len(filled), 2) + sum(map(fiber, filled))


def sorting_steps(rows):
    """Steps of inserting heads into a sorted list; of equals, that of the later row leaves first."""
    if len(rows) < 2:
        return 0
    steps, heads = 0, []
    waiting = [(row[0], -index, 0) for index, row in enumerate(rows)]
    while waiting or heads:
        for head in waiting:
            steps += 1 + sum(other < head for other in heads)
            heads.append(head)
        coordinate, negative, place = min(heads)
        heads.remove((coordinate, negative, place))
        row = rows[-negative]
        waiting = [(row[place + 1], negative, place + 1)] if place + 1 < len(row) else []
    return steps


def operations(a, b):
    """Multiplications and additions."""
    products = sum(len(row) for rows in selected_rows(a, b) for row in rows)
    return products, products - sum(product_rows(a, b))


def gamma(a, b, cache_lines):
    """Gamma's counts: by Einsum, component and what is counted."""
    stored = [k for k, row in enumerate(b) if row]
    accesses = []
    for k in chain(*a):
        accesses.append(("K payload", bisect_left(stored, k) // 2))
        for place in range(len(b[k])):
            accesses += [("N coord", k, place // 2), ("N payload", k, place)]
    multiplies, adds = operations(a, b)
    merged = [rows for rows in selected_rows(a, b) if len(rows) > 1]
    return {
        "A": 64 * lines(len(a), 2) + sum(map(fiber, map(len, a))),
        "B": 64 * fewest_misses(accesses, cache_lines),
        "Z": product_bits(a, b),
        "intersect": sum(map(len, a)),
        "swaps": sum(len(rows) + sum(map(len, rows)) for rows in merged),
        "mul": multiplies,
        "add": adds,
    }


def outerspace(a, b, cache_lines):
    """OuterSPACE's counts."""
    columns = [[m for m, row in enumerate(a) if k in row] for k in range(len(b))]
    accesses = []
    for k, column in enumerate(columns):
        for _ in column:
            for place in range(len(b[k])):
                accesses += [("N coord", k, place // 2), ("N payload", k, place)]
    multiplies, adds = operations(a, b)
    partial = [len(rows) for rows in selected_rows(a, b) if rows]
    lists = 96 * (lines(len(partial), 3) + sum(lines(count, 3) for count in partial) + multiplies)
    return {
        "A": 64 * lines(len(b), 2) + sum(map(fiber, map(len, columns))),
        "B": 64 * lines(len(b), 2) + 64 * fewest_misses(accesses, cache_lines),
        "T0": lists,
        "T1": lists,
        "Z": product_bits(a, b),
        "swaps": sum(map(sorting_steps, selected_rows(a, b))),
        "mul": multiplies,
        "add": adds,
    }


def sigma(a, b, block=128, chunk=16384, line=128):
    """SIGMA's counts."""
    taken = {"A": 0, "B": 0}
    for start in range(0, len(b), block):
        rows = range(start, min(start + block, len(b)))
        count = sum(k in rows for k in chain(*a))
        columns = list(chain(*(b[k] for k in rows)))
        if not count or not columns:
            continue
        for begin in range(0, count, chunk):
            taken["A"] += 32 * line * lines(min(chunk, count - begin), line)
            taken["B"] += sum(32 * line * lines(columns.count(n), line) for n in set(columns))
    return taken
