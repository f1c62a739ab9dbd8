"""Random nested lists by seed, and gaps between the tokens of the streams that they flatten to."""

import random


def grow(generator, depth, leaf, most=4):
    """A random nested list, whose innermost lists are made by ``leaf``; some lists are empty."""
    if depth == 0:
        return leaf()
    return [grow(generator, depth - 1, leaf, most) for _ in range(generator.randint(0, most))]


def change(tree, depth, leaf):
    """The same nested list with other innermost lists, each made from what it was."""
    if depth == 0:
        return leaf(tree)
    return [change(child, depth - 1, leaf) for child in tree]


def below(tree, depth, leaf):
    """A list nested one deeper: for each innermost element what ``leaf`` makes of it."""
    return change(tree, depth, lambda fiber: [leaf(element) for element in fiber])


def fiber(generator, size=8, bound=12):
    """Coordinates that increase."""
    return sorted(generator.sample(range(bound), generator.randint(0, min(size, bound))))


def numbers(generator, size=5):
    """Values, some of them 0."""
    return [generator.choice([0.0, 0.5, -2.0, 3.0, 7.25]) for _ in range(generator.randint(0, size))]


def with_gaps(generator, tokens):
    """The tokens with the cycles in which they come: one a cycle, or with random gaps."""
    often, longest = generator.choice([(0.0, 0), (0.2, 3), (0.7, 6), (0.05, 30)])
    cycle, timed = generator.choice([0, 0, generator.randint(0, 9)]), []
    for token in tokens:
        timed.append((cycle, token))
        cycle += 1 + (generator.randint(1, longest) if generator.random() < often else 0)
    return timed


def generator_of(seed):
    return random.Random(seed)
