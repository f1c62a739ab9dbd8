"""What a report says of a run of several Einsums, clocks and rounds, by hand."""

from types import SimpleNamespace

from fiberscope.models.trace.report import (
    _convert_to_cycles,
    _count_bodies,
    _count_elements,
    _describe_teaal,
    describe_bottleneck,
)


def test_cycles_are_those_of_the_fastest_clock_and_a_begun_one_is_whole():
    clocks = {name: SimpleNamespace(clock_frequency=hertz) for name, hertz in (("a", 1e9), ("b", 2.5e8))}
    specification = SimpleNamespace(configurations=clocks)
    assert [_convert_to_cycles(specification, seconds) for seconds in (0.0, 4e-9, 4.2e-9)] == [0, 4, 5]


def test_a_block_is_limited_by_what_takes_most_time_over_all_of_its_einsums():
    metrics = {
        "blocks": [["T", "Z"], ["W"]],
        "time": 10.0,
        "T": {"Mem": {"time": 3.0}, "Mul": {"time": 5.0}},
        "Z": {"Mem": {"time": 4.0}, "Mul": {"time": 0.0}},
        "W": {"Add": {"time": 3.0}},
    }
    said = "Mem limits T and Z (70% of the time); Add limits W (30% of the time)"
    assert describe_bottleneck(metrics) == said


def test_counts_are_those_of_all_rounds():
    runs = [
        SimpleNamespace(
            prepared=SimpleNamespace(einsum=SimpleNamespace(name=name)),
            bodies={"K": 2 * number, "M": number},
            stored=SimpleNamespace(nonzeros=3 * number),
            zero_sums=number,
        )
        for number, name in enumerate(("X", "Y", "X", "Y"), start=1)
    ]
    outcome = SimpleNamespace(runs=runs, rounds=2)
    assert _count_bodies(outcome) == {"X": {"K": 8, "M": 4}, "Y": {"K": 12, "M": 6}}
    assert _count_elements(outcome) == {"X": 12, "Y": 18}
    modelled = SimpleNamespace(
        outcome=outcome,
        metrics={},
        options=SimpleNamespace(semantics="intended"),
        specification=SimpleNamespace(einsums=()),
        energy=SimpleNamespace(report_fields={}),
    )
    assert _describe_teaal(modelled).zero_sums == 1 + 2 + 3 + 4
