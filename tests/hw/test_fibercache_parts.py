"""The tags and the miss table by themselves."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from hw.misses import MissTable
from hw.tags import TagStore


def tags(ways=2, sets=1, priority_limit=3, reuse_limit=3):
    return TagStore(sets, ways, priority_limit, reuse_limit)


def fill(store, *lines):
    for place, line in enumerate(lines):
        store.place_line(place, line, 0)
    return store


class TestTags:
    def test_free_places_go_first_in_order(self):
        store = tags(ways=2, sets=2)
        assert [store.victim(0), store.victim(1)] == [0, 2]
        store.place_line(2, 9, 0)
        assert store.victim(1) == 3
        assert [store.find(1, 9), store.find(0, 9), store.find(1, 8)] == [2, -1, -1]
        assert store.held == 1

    def test_looking_for_a_victim_changes_nothing(self):
        store = fill(tags(), 5, 6)
        store.note_read(0)
        before = [list(column) for column in (store.lines, store.priorities, store.reuse)]
        assert [store.victim(0) for _ in range(3)] == [1, 1, 1]
        assert [list(column) for column in (store.lines, store.priorities, store.reuse)] == before

    def test_a_line_under_way_is_no_victim(self):
        store = fill(tags(), 5, 6)
        store.pending[0] = 7
        assert store.victim(0) == 1
        store.pending[1] = 8
        assert store.victim(0) == -1

    def test_priority_goes_before_reuse(self):
        store = fill(tags(), 5, 6)
        store.note_read(0)  # used just now, so reuse says 6
        store.note_fetch(1)  # but 6 will be read
        assert list(store.priorities) == [0, 1]
        assert store.victim(0) == 0

    def test_a_new_line_comes_in_one_short_of_the_limit_and_a_use_brings_it_to_zero(self):
        store = fill(tags(reuse_limit=7), 5, 6)
        store.note_fetch(1)
        assert list(store.reuse) == [6, 0]

    def test_a_dropped_place_is_free(self):
        store = fill(tags(), 5, 6)
        store.dirty[1] = 1
        store.drop(1)
        assert [store.held, store.victim(0), store.find(0, 6), store.dirty[1]] == [1, 1, -1, 0]


class TestMissTable:
    def test_registers_run_out_and_come_back(self):
        table = MissTable(2, 1)
        first, second = table.open(10, 0), table.open(11, -1)
        assert first != second
        assert table.full()
        assert [table.lines[first], table.places[first]] == [10, 0]
        assert [table.lines[second], table.places[second]] == [11, -1]
        table.close(first)
        assert not table.full()
        assert table.used == 1
        assert table.open(12, 3) == first

    def test_a_register_opens_unconsumed_and_without_targets(self):
        table = MissTable(1, 1)
        miss = table.open(10, 0)
        table.consumed[miss] = 1
        table.close(miss)
        miss = table.open(11, 0)
        assert table.consumed[miss] == 0
        assert table.next_target(miss) == -1

    @settings(max_examples=150, deadline=None)
    @given(st.integers(1, 4), st.integers(1, 6), st.integers(0, 1 << 32))
    def test_targets_come_back_in_order_by_register(self, registers, targets, seed):
        generator = random.Random(seed)
        table, queues, number = MissTable(registers, targets), {}, 0
        for _ in range(80):
            if not table.full() and generator.random() < 0.3:
                queues[table.open(generator.randrange(100), 0)] = []
            elif queues and table.can_wait() and generator.random() < 0.6:
                miss = generator.choice(list(queues))
                table.wait(miss, number % 5, number)
                queues[miss].append((number % 5, number))
                number += 1
            elif queues:
                self.take_one(table, queues, generator.choice(list(queues)))
            waiting = sum(map(len, queues.values()))
            assert table.used == len(queues)
            assert table.full() == (len(queues) == registers)
            assert table.can_wait() == (waiting < targets)

    @staticmethod
    def take_one(table, queues, miss):
        target = table.next_target(miss)
        if target < 0:
            assert queues.pop(miss) == []
            table.close(miss)
        else:
            assert (table.operations[target], table.target_tags[target]) == queues[miss].pop(0)
