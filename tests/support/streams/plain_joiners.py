"""Plain models of the blocks that join streams of coordinates: see ``streams.plain``."""

from streams.plain import EVERY_QUIRK, PlainBlock, is_data, is_stop, level_of

NOTHING = ("", "")  # in a register that nothing has been loaded into


class Joiner(PlainBlock):
    """Pairs (reference, coordinate) on in1, in2, ...; what is compared, and when."""

    def __init__(self, quirks=EVERY_QUIRK, ways=2):
        self.inputs = tuple(f"in{i + 1}" for i in range(ways))
        super().__init__(quirks)
        self.ways = range(ways)
        self.pairs = [NOTHING] * ways

    def step(self):
        if not all(self.queues.values()):
            return self.finish() if 2 in self.quirks and self.ends_without_successor() else {}
        if 2 not in self.quirks:
            self.pairs = [self.head(port) for port in self.inputs]
        emitted, advancing = self.join([crd for _, crd in self.pairs])
        self.advance(advancing)
        return emitted

    def advance(self, advancing):
        for way in advancing:
            pair = self.pop(self.inputs[way])
            if 2 in self.quirks:
                self.pairs[way] = pair

    def emit(self, crd, refs):
        return {"crd": crd} | {f"ref{i + 1}": ref for i, ref in enumerate(refs)}

    def finish(self):
        assert all(crd == "D" for _, crd in self.pairs)
        self.done = True
        if 2 not in self.quirks:
            self.advance(self.ways)
        return self.emit("D", ["D"] * len(self.ways))

    def refuse_unequal_stops(self, crds):
        assert 11 in self.quirks or len(set(crds)) == 1 or not all(map(is_stop, crds)), "unequal stops"

    def refuse_empty(self, crds, quirk):
        assert quirk in self.quirks or "N" not in crds, "N is no coordinate"


class Intersect(Joiner):
    def __init__(self, quirks=EVERY_QUIRK, ways=2):
        super().__init__(quirks, ways)
        self.told = set()  # the ways that know that their fiber ends
        self.changed = [2 not in self.quirks] * ways

    def ends_without_successor(self):
        return any(crd == "D" for _, crd in self.pairs)

    def join(self, crds):
        self.refuse_empty(crds, 8)
        if "N" in crds:
            assert all(crd == "N" or is_data(crd) for crd in crds)
            return self.emit("N", ["N"] * len(crds)), self.loaded(self.ways)
        if "D" in crds:
            return self.finish(), ()
        if len(set(crds)) == 1:
            return self.match(crds), self.loaded(self.ways)
        self.refuse_unequal_stops(crds)
        leader = self.leader(crds)
        behind = [i for i in self.ways if crds[i] != crds[leader]]
        skips = self.skips(crds, leader, behind)
        return skips, self.loaded(behind)

    def leader(self, crds):
        """Who is furthest: the first that has ended, else the largest."""
        stops = [i for i in self.ways if is_stop(crds[i])]
        return stops[0] if stops else max(self.ways, key=lambda i: (crds[i], -i))

    def match(self, crds):
        if crds[0] == "":
            return {}
        emitted = self.emit(crds[0], [ref for ref, _ in self.pairs])
        if is_stop(crds[0]):
            emitted |= {f"skip{i + 1}": crds[0] for i in self.ways if i not in self.told}
            self.told = set()
        return emitted

    def skips(self, crds, leader, behind):
        """To each side that is behind the leader's coordinate, if it is news."""
        if not self.changed[leader]:
            return {}
        self.changed[leader] = False
        news = [i for i in behind if i not in self.told]
        if is_stop(crds[leader]):
            self.told |= set(news)
        return {f"skip{i + 1}": crds[leader] for i in news}

    def loaded(self, ways):
        for i in ways:
            self.changed[i] = True
        return ways


class Union(Joiner):
    def ends_without_successor(self):
        return all(crd == "D" for _, crd in self.pairs)

    def join(self, crds):
        self.refuse_empty(crds, 9)
        if "D" in crds:
            return self.finish(), ()
        if len(set(crds)) == 1:
            refs = [ref for ref, _ in self.pairs]
            return ({} if crds[0] == "" else self.emit(crds[0], refs)), self.ways
        self.refuse_unequal_stops(crds)
        least = min(self.ways, key=lambda i: self.rank(i, crds[i]))
        taken = [i for i in self.ways if crds[i] == crds[least]]
        refs = [self.pairs[i][0] if i in taken else "N" for i in self.ways]
        return self.emit(crds[least], refs), taken

    def rank(self, way, crd):
        """Coordinates before N before stops; of stops the last way's before the first's."""
        if is_stop(crd):
            return (2, -way, level_of(crd))
        return (1, 0, 0) if crd == "N" else (0, crd, 0)
