"""What intersectors do: steps of two fibers; lists and no more."""


def two_finger_steps(a, b):
    """Comparisons of two increasing lists of coordinates, one dropped or one pair matched at each."""
    steps = 0
    while a and b:
        steps += 1
        smaller = min(a[0], b[0])
        a, b = [c for c in a if c > smaller], [c for c in b if c > smaller]
    return steps


def scanner_steps(a, b):
    """Steps of two scanners, each of which takes the first coordinate that is not below what it looks for."""
    steps, sought = 0, -1
    while a and b:
        steps += 1
        ways = [(fiber, max(fiber[0], sought)) for fiber in (a, b)]
        a, b = ([c for c in fiber if c >= wanted][1:] for fiber, wanted in ways)
        sought = max(wanted for _fiber, wanted in ways)
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
