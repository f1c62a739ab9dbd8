"""Traces for Perfetto, read by its published schema: what they hold is the timeline, and so the report."""

import itertools
from collections import Counter, defaultdict

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fiberscope
from fiberscope.results.recording.document import ComponentStates, StateTimeline, iterate_slices

messages = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")

MATRIX = "uniform:rows=40,cols=40,nonzeros=300,seed=3"
SETTINGS = {"pe.count": 4, "pe.radix": 4, "fibercache.banks": 4, "fibercache.size": "8 KiB"}


class Read:
    """A trace: the paths of its tracks, its slices and its counts by path."""

    def __init__(self, content):
        trace = messages.Trace()
        trace.ParseFromString(content)
        self.texts, self.tracks, self.slices = {}, {}, defaultdict(list)
        self.counts, self._open = defaultdict(list), {}
        for packet in trace.packet:
            assert packet.trusted_packet_sequence_id == 1
            if packet.HasField("interned_data"):
                self._learn(packet.interned_data)
            elif packet.HasField("track_descriptor"):
                described = packet.track_descriptor
                within = self.tracks.get(described.parent_uuid)
                assert bool(described.parent_uuid) == bool(within)
                self.tracks[described.uuid] = f"{within}.{described.name}" if within else described.name
            else:
                self._happen(packet.timestamp, packet.track_event)
        assert not self._open

    def _learn(self, data):
        self.texts = {
            "name": {one.iid: one.name for one in data.event_names},
            "kind": {one.iid: one.name for one in data.event_categories},
            "note": {one.iid: one.name for one in data.debug_annotation_names},
            "peers": {one.iid: one.str.decode() for one in data.debug_annotation_string_values},
        }

    def _happen(self, time, event):
        path, kinds = self.tracks[event.track_uuid], messages.TrackEvent
        if event.type == kinds.TYPE_COUNTER:
            self.counts[path].append((time, event.counter_value))
        elif event.type == kinds.TYPE_SLICE_BEGIN:
            assert path not in self._open
            name = self.texts["name"][event.name_iid]
            assert [self.texts["kind"][number] for number in event.category_iids] == [name.partition(":")[0]]
            self._open[path] = (
                time,
                name,
                {
                    self.texts["note"][note.name_iid]: self.texts["peers"].get(note.string_value_iid)
                    or note.uint_value
                    for note in event.debug_annotations
                },
            )
        else:
            assert event.type == kinds.TYPE_SLICE_END
            begin, name, notes = self._open.pop(path)
            self.slices[path].append((begin, time, name, notes))


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("traced")
    fiberscope.simulate(
        "gamma",
        MATRIX,
        settings=SETTINGS,
        timeline=fiberscope.StateFiles(folder / "states.json", folder / "trace"),
    )
    return StateTimeline.read(folder / "states.json"), Read((folder / "trace").read_bytes())


def test_a_track_a_component_and_its_slices_last_as_long_as_its_states(written):
    states, trace = written
    assert set(trace.slices) == set(states.components)
    for path, one in states.components.items():
        lasted = Counter()
        for begin, end, name, notes in trace.slices[path]:
            lasted[name] += end - begin if one.clock == "core" else notes["cycles"]
        assert lasted == {state: sum(cycles) for state, cycles in one.states.items()}


def test_slices_follow_one_another_without_a_gap(written):
    states, trace = written
    for path, slices in trace.slices.items():
        assert slices[0][0] == 0
        assert abs(slices[-1][1] - states.end) <= 1, path
        assert [end for _, end, _, _ in slices[:-1]] == [begin for begin, _, _, _ in slices[1:]]


def test_stalls_say_for_whom(written):
    states, trace = written
    for path, slices in trace.slices.items():
        for _, _, name, notes in slices:
            peers = ", ".join(states.components[path].waits_for.get(name, ()))
            assert notes.get("waits for", "") == peers


def test_queues_are_counters(written):
    states, trace = written
    found = 0
    for path, one in states.components.items():
        for port, queue in one.queues.items():
            counts = trace.counts[f"{path}.{port} (of {queue.capacity})"]
            changes = [
                (min(number * states.interval, states.end), count)
                for number, (count, before) in enumerate(
                    zip(queue.tokens, [-1, *queue.tokens], strict=False), 1
                )
                if count != before
            ]
            assert counts == changes
            found += len(counts)
    assert found > 500


@settings(suppress_health_check=[HealthCheck.too_slow])  # a busy host
@given(st.lists(st.tuples(*[st.integers(0, 5)] * 3).filter(any), max_size=30))
def test_slices_are_the_intervals_one_after_the_other(intervals):
    states = dict(zip(("busy", "idle", "wait:in"), map(list, zip(*intervals, strict=True)), strict=False))
    slices = list(iterate_slices(ComponentStates(clock="core", states=states)))
    told = Counter()
    for one in slices:
        told[one.state] += one.end - one.begin
    assert told == Counter({state: sum(cycles) for state, cycles in states.items() if any(cycles)})
    ends, now = set(), 0
    for spent in intervals:
        now += sum(spent)
        ends.add(now)
    for before, after in itertools.pairwise(slices):
        assert before.end == after.begin
        assert before.state != after.state or before.interval or after.interval
    assert all(one.begin < one.end for one in slices)
    # what lies exactly is bounded by intervals, what does not lies within one
    for one in (one for one in slices if one.interval):
        assert any(end - one.interval <= one.begin and one.end <= end for end in ends)


def test_a_window_has_the_times_of_the_run(tmp_path):
    fiberscope.simulate(
        "gamma", MATRIX, settings=SETTINGS, timeline=fiberscope.StateFiles(None, tmp_path / "t", (300, 400))
    )
    trace = Read((tmp_path / "t").read_bytes())
    for slices in trace.slices.values():
        assert 299 <= slices[0][0] <= 301
        assert 399 <= slices[-1][1] <= 401
        assert not any(
            "somewhere within cycles" in notes for _, _, _, notes in slices if "cycles" not in notes
        )
