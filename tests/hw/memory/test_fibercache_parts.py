"""The tags and the miss table by themselves."""

import random

from hypothesis import given
from hypothesis import strategies as st

from fiberscope.hw.memory.misses import MissTable
from fiberscope.hw.memory.tags import Sets, TagStore


def tags(ways=2, sets=1, priority_limit=3, reuse_limit=3):
    return TagStore(sets, ways, priority_limit, reuse_limit)


def fill(store, *lines):
    for place, line in enumerate(lines):
        store.fill(place, line, 0)
    return store


class TestSets:
    @given(
        st.integers(1, 4096),
        st.integers(0, 12),
        st.integers(0, 1 << 40),
        st.lists(st.integers(0, 4000), max_size=20),
    )
    def test_the_lines_of_a_bank_share_sets_as_their_numbers_do_modulo_the_sets(
        self, banks, bits, bank, numbers
    ):
        """The order of the sets is free; for a power of two of them no division by the banks is needed."""
        sets = Sets(banks, 1 << bits)
        found = {}
        for number in numbers:
            found.setdefault(number % sets.sets, set()).add(sets.set_of(number * banks + bank % banks))
        assert all(len(index) == 1 for index in found.values())
        assert len({index.pop() for index in found.values()}) == len(found)

    @given(st.integers(1, 60), st.sampled_from([3, 5, 6, 100]), st.integers(0, 1 << 40))
    def test_other_numbers_of_sets_take_the_division(self, banks, sets, line):
        assert Sets(banks, sets).set_of(line) == line // banks % sets

    @given(st.integers(1, 6), st.integers(0, 5), st.integers(0, (1 << 50) - 1))
    def test_hashed_all_bits_are_folded(self, banks, bits, line):
        digits = f"{line // (banks & -banks):060b}"
        parts = [digits[end - bits : end] for end in range(60, 0, -bits)] if bits else []
        ones = [sum(part[place] == "1" for part in parts) % 2 for place in range(bits)]
        assert Sets(banks, 1 << bits, True).set_of(line) == int("0" + "".join(map(str, ones)), 2)


class TestTags:
    def test_free_places_go_first_in_order(self):
        store = tags(ways=2, sets=2)
        assert [store.victim(0), store.victim(1)] == [0, 2]
        store.fill(2, 9, 0)
        assert store.victim(1) == 3
        assert [store.find(1, 9), store.find(0, 9), store.find(1, 8)] == [2, -1, -1]
        assert store.held == 1

    def test_looking_for_a_victim_changes_nothing(self):
        store = fill(tags(), 5, 6)
        store.record_read(0)
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
        store.record_read(0)  # used just now, so reuse says 6
        store.record_fetch(1)  # but 6 will be read
        assert list(store.priorities) == [0, 1]
        assert store.victim(0) == 0

    def test_a_new_line_comes_in_one_short_of_the_limit_and_a_use_brings_it_to_zero(self):
        store = fill(tags(reuse_limit=7), 5, 6)
        store.record_fetch(1)
        assert list(store.reuse) == [6, 0]

    def test_lines_in_flight_are_counted_by_set(self):
        store = tags(ways=2, sets=2)
        for place, line in ((2, 5), (3, 6)):
            store.fill(place, line, 0)
            store.mark_in_flight(place, 7 + place)
        assert list(store.in_flight) == [0, 2]
        store.arrive(2)
        store.drop(3)
        assert list(store.in_flight) == [0, 0]
        assert list(store.pending) == [-1] * 4

    def test_a_dropped_place_is_free(self):
        store = fill(tags(), 5, 6)
        store.dirty[1] = 1
        store.drop(1)
        assert [store.held, store.victim(0), store.find(0, 6), store.dirty[1]] == [1, 1, -1, 0]


class TestMissTable:
    def test_registers_run_out_and_come_back(self):
        table = MissTable(2, 1)
        first, second = table.allocate(10, 0), table.allocate(11, -1)
        assert first != second
        assert table.is_full()
        assert [table.lines[first], table.entries[first]] == [10, 0]
        assert [table.lines[second], table.entries[second]] == [11, -1]
        table.release(first)
        assert not table.is_full()
        assert table.used == 1
        assert table.allocate(12, 3) == first

    def test_the_register_put_by_is_the_next_and_then_the_lowest_that_is_free(self):
        table = MissTable(4, 1)
        assert [table.allocate(line, 0) for line in (10, 11, 12)] == [0, 1, 2]  # and 3 is put by
        table.release(1)
        table.release(0)
        assert [table.allocate(line, 0) for line in (13, 14, 15)] == [3, 0, 1]
        table.release(3)  # there was none, so it is put by
        table.release(2)
        assert [table.allocate(line, 0) for line in (16, 17)] == [3, 2]
        assert table.is_full()

    def test_a_register_opens_without_targets(self):
        table = MissTable(1, 1)
        table.wait(table.allocate(10, 0), 0, 0)
        assert table.next_target(0) == 0
        table.release(0)
        assert table.next_target(table.allocate(11, 0)) == -1

    @given(st.integers(1, 4), st.integers(1, 6), st.integers(0, 1 << 32))
    def test_targets_come_back_in_order_by_register(self, registers, targets, seed):
        generator = random.Random(seed)
        table, queues, number = MissTable(registers, targets), {}, 0
        for _ in range(80):
            if not table.is_full() and generator.random() < 0.3:
                queues[table.allocate(generator.randrange(100), 0)] = []
            elif queues and table.can_wait() and generator.random() < 0.6:
                miss = generator.choice(list(queues))
                table.wait(miss, number % 5, number)
                queues[miss].append((number % 5, number))
                number += 1
            elif queues:
                self.take_one(table, queues, generator.choice(list(queues)))
            waiting = sum(map(len, queues.values()))
            assert table.used == len(queues)
            assert table.is_full() == (len(queues) == registers)
            assert table.can_wait() == (waiting < targets)

    @staticmethod
    def take_one(table, queues, miss):
        target = table.next_target(miss)
        if target < 0:
            assert queues.pop(miss) == []
            table.release(miss)
        else:
            assert (table.operations[target], table.target_tags[target]) == queues[miss].pop(0)
