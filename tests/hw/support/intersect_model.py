"""What intersectors do: steps of two fibers, and in which cycle each token leaves; lists and no more."""

from fiberscope.hw.stream import STOP


def two_finger_steps(a, b):
    """Comparisons of two increasing lists of coordinates, one dropped or one pair matched at each."""
    steps = 0
    while a and b:
        steps += 1
        smaller = min(a[0], b[0])
        a, b = [c for c in a if c > smaller], [c for c in b if c > smaller]
    return steps


def extensor_steps(a, b):
    """Steps of a skip-ahead intersection as ExTensor counts them."""
    steps = 0
    while a and b:
        steps += 1
        if a[0] == b[0]:
            a, b = a[1:], b[1:]
        else:
            larger = max(a[0], b[0])
            a, b = [c for c in a if c >= larger], [c for c in b if c >= larger]
    return steps


def two_finger(inputs, seen_a, seen_b):
    """(cycle, control, coordinate, reference) by output, by recurrence over the tokens."""
    a, b = list(zip(inputs["a"], seen_a, strict=True)), list(zip(inputs["b"], seen_b, strict=True))
    left = {"matches_a": [], "matches_b": []}
    now = -1
    while a:
        (head_a, at_a), (head_b, at_b) = a[0], b[0]
        now = max(now + 1, at_a, at_b)
        order_a, order_b = head_a[:2], head_b[:2]  # a stop's control puts it behind all elements
        if order_a == order_b:
            left["matches_a"].append((now, *head_a[:3]))
            left["matches_b"].append((now, *head_b[:3]))
        a, b = a[order_a <= order_b :], b[order_b <= order_a :]
    return left


def skip_ahead(window):
    """The model of an intersector with this window."""

    def model(inputs, seen_a, seen_b):
        sides = [list(zip(inputs[port], seen, strict=True)) for port, seen in (("a", seen_a), ("b", seen_b))]
        return _skip_ahead(window, sides)

    return model


def _skip_ahead(window, coming):
    """Cycle by cycle: what is to come on both sides, and what the windows hold."""
    left = {port: [] for port in ("matches_a", "matches_b", "skips_a", "skips_b")}
    held = [[], []]
    now = fibers = 0
    told = None  # (side, fiber, what) of the last skip that was told
    while any(coming) or any(held):
        taken = [side for side in (0, 1) if len(held[side]) < window and coming[side]]
        if all(held):
            orders = [tokens[0][:2] for tokens in held]
            if orders[0] == orders[1]:
                fibers += orders[0][0] == STOP
                for side, port in enumerate(("matches_a", "matches_b")):
                    left[port].append((now, *held[side].pop(0)[:3]))
            else:
                side = orders.index(min(orders))
                control, coordinate = orders[1 - side]
                while held[side] and held[side][0][:2] < (control, coordinate):
                    held[side].pop(0)
                skip = (side, fibers, control, coordinate)
                if not held[side] and told != skip:
                    left[("skips_a", "skips_b")[side]].append((now, control, coordinate, fibers))
                    told = skip
        for side in taken:
            if coming[side][0][1] <= now:
                held[side].append(coming[side].pop(0)[0])
        now += 1
    return left
