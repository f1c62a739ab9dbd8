"""The logic before a wire of a twin, followed wire by wire."""


def cone(block, wire):
    """The inputs on which a wire depends within a cycle."""
    sources, _ = block.net_connections()
    seen, inputs, ahead = set(), set(), [wire]
    while ahead:
        wire = ahead.pop()
        if wire in seen:
            continue
        seen.add(wire)
        net = sources.get(wire)
        if net is None:
            inputs.add(wire.name)
        elif net.op != "r":
            ahead += net.args
    return inputs
