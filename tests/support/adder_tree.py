"""A reference model of SIGMA's adder network: adders with multiplexers, level by level."""


def segmentations(leaves):
    """Yield the neuron ids of every division of leaves into runs, 2**(leaves - 1) in total."""
    for cuts in range(1 << (leaves - 1)):
        yield [(cuts & (1 << leaf) - 1).bit_count() for leaf in range(leaves)]


def trailing_ones(number):
    return 1 + trailing_ones(number >> 1) if number & 1 else 0


def network(operands, ids):
    """Return the sum of each neuron by lane, and the number of active adders.

    ``ids`` has an id for each leaf. Adder a adds if the leaves a and a + 1 are of one neuron; on both outputs
    is then the sum. One of level 0 that does not add forwards its leaves. The left operand of one of level l
    is the right output of adder a - 2**j, for the largest j below l with which both are of one neuron; else
    the leaf a, which adder a - 1 of level 0 forwards. Likewise on the right.
    """
    left, right, added = {}, {}, 0
    adders = range(len(operands) - 1)
    for adder in sorted(adders, key=trailing_ones):
        level = trailing_ones(adder)
        adds = ids[adder] == ids[adder + 1]
        if level == 0:
            low, high = operands[adder], operands[adder + 1]
            left[adder], right[adder] = (low + high, low + high) if adds else (low, high)
        elif adds:
            steps = [1 << j for j in range(level - 1, -1, -1)]
            low = next((adder - step for step in steps if ids[adder - step] == ids[adder]), adder - 1)
            high = next((adder + step for step in steps if same(ids, adder + 1, adder + 1 + step)), adder + 1)
            left[adder] = right[adder] = right[low] + left[high]
        added += adds
    lanes = {}
    for neuron in dict.fromkeys(ids):
        first, last = ids.index(neuron), len(ids) - 1 - ids[::-1].index(neuron)
        top = max(range(first, last), key=trailing_ones, default=None)
        lanes[first if top is None else top] = operands[first] if top is None else left[top]
    return lanes, added


def same(ids, one, other):
    return other < len(ids) and ids[one] == ids[other]
