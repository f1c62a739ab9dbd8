"""Plain models of intersectors on lists: the steps of an intersection of two fibers."""

from collections import deque


def two_finger_steps(a, b):
    """Return the comparisons of two increasing lists; each drops a coordinate or matches a pair."""
    steps = 0
    while a and b:
        steps += 1
        smaller = min(a[0], b[0])
        a, b = [c for c in a if c > smaller], [c for c in b if c > smaller]
    return steps


def scanner_steps(a, b):
    """Return the steps of two scanners that skip to the first coordinate not below the other's."""
    steps, sought = 0, -1
    while a and b:
        steps += 1
        ways = [(fiber, max(fiber[0], sought)) for fiber in (a, b)]
        a, b = ([c for c in fiber if c >= wanted][1:] for fiber, wanted in ways)
        sought = max(wanted for _fiber, wanted in ways)
    return steps


def held_scanner_steps(a, b, held):
    """The same of scanners that hold so many coordinates of a fiber, evenly spaced; 0: all.

    Where one is longer they have clocks of their own. A look-up passes what is not held one by one.
    """
    if not held or max(len(a), len(b)) <= held:
        return scanner_steps(a, b)
    fibers, clocks, places, told = (a, b), [0, 0], [0, 0], (deque(), deque())
    while a and b and any(place < len(fiber) for place, fiber in zip(places, fibers, strict=True)):
        going = [side for side in (0, 1) if places[side] < len(fibers[side])]
        wanted = {side: fibers[side][places[side]] for side in going}
        for side in going:
            heard = told[1 - side]
            if heard and heard[0][0] <= clocks[side]:
                wanted[side] = max(wanted[side], heard.popleft()[1])
        for side in going:
            fiber, place = fibers[side], places[side]
            found = sum(1 for c in fiber if c < wanted[side])
            stride = -(-len(fiber) // held)
            behind = found % stride if found < len(fiber) and fiber[found] == wanted[side] else stride - 1
            clocks[side] += 1 + min(found - place, behind)
            told[side].append((clocks[side], fiber[found] if found < len(fiber) else float("inf")))
            places[side] = min(found + 1, len(fiber))
    return max(clocks)


def extensor_steps(a, b):
    """Return the steps of a skip-ahead intersection, as ExTensor counts them."""
    steps = 0
    while a and b:
        steps += 1
        if a[0] == b[0]:
            a, b = a[1:], b[1:]
        else:
            larger = max(a[0], b[0])
            a, b = [c for c in a if c >= larger], [c for c in b if c >= larger]
    return steps
