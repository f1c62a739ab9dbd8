"""Plain models of what repeats references, and of what holds coordinates: see ``streams.plain``."""

from streams.plain import EVERY_QUIRK, PlainBlock, is_stop, raised


class RepeatSignalGenerator(PlainBlock):
    inputs = ("crd",)
    outputs = ("repsig",)

    def step(self):
        if not self.queues["crd"]:
            return {}
        token = self.pop("crd")
        self.done = token == "D"
        if self.done:
            return {"repsig": "D"}
        return {"repsig": "S" if is_stop(token) else "R"}


class Repeater(PlainBlock):
    inputs = ("ref", "repsig")
    outputs = ("ref",)

    def __init__(self, quirks=EVERY_QUIRK):
        super().__init__(quirks)
        self.held = None
        self.wants_reference = True
        self.wants_signal = 12 in self.quirks
        self.owes = False

    def step(self):
        if self.owes:
            return self.stop() if self.queues["ref"] else {}
        fresh = self.wants_reference and bool(self.queues["ref"])
        if fresh:
            self.held = self.pop("ref")
            self.wants_reference, self.wants_signal = False, True
        if self.wants_signal and self.queues["repsig"]:
            return self.obey(self.pop("repsig"), fresh)
        return {}

    def obey(self, signal, fresh):
        """Do to what is held, and was perhaps taken in this update, what the signal says."""
        if signal == "R":
            assert self.held in (None, "N") or not isinstance(self.held, str), "a stop is not repeated"
            return {} if self.held is None else {"ref": self.held}
        if signal == "D":
            assert self.held == "D", "the signal ends before the references"
            self.done = True
            return {"ref": "D"}
        self.wants_reference, self.wants_signal = True, False
        if self.held is None:
            return {}
        if is_stop(self.held):
            return {"ref": raised(self.held)}
        if self.queues["ref"] and (0 in self.quirks or not fresh):
            return self.stop()
        self.owes = True
        return {}

    def stop(self):
        self.owes = False
        if is_stop(self.head("ref")):
            return {"ref": raised(self.pop("ref"))}
        return {"ref": "S0"}


class CoordinateHold(PlainBlock):
    """A generator and a repeater: its signal is there a cycle later."""

    inputs = ("outer", "inner")

    def __init__(self, quirks=EVERY_QUIRK):
        super().__init__(quirks)
        self.generator = RepeatSignalGenerator(quirks)
        self.repeater = Repeater(quirks)
        self.repeater.queues["ref"] = self.queues["outer"]
        self.signal = None

    def step(self):
        if self.signal is not None:
            self.repeater.queues["repsig"].append(self.signal)
        repeated = self.repeater.update()
        inner = self.pop("inner") if self.queues["inner"] else None
        if inner is not None:
            self.generator.queues["crd"].append(inner)
        self.signal = self.generator.update().get("repsig")
        self.done = self.repeater.done
        passed = {} if inner is None else {"inner": inner}
        return passed | ({"outer": repeated["ref"]} if repeated else {})
