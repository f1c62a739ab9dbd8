import re
from importlib import resources

import pytest
import yaml
from pydantic import ValidationError

from fiberscope.workloads import WorkloadError, entries, lookup, names
from fiberscope.workloads.profile import profiles
from fiberscope.workloads.registry import Entry

ROWS = yaml.safe_load(resources.files("fiberscope.workloads").joinpath("registry.yaml").read_text())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_every_row_names_the_source_of_its_numbers(row):
    assert re.search(r"Table|SuiteSparse|FROSTT", row["source"])
    assert "checksum" in row
    assert bool(row["checksum"]) == ("checksum_source" in row)


def test_a_row_without_a_source_is_refused():
    with pytest.raises(ValidationError, match="source"):
        Entry.model_validate({key: value for key, value in ROWS[0].items() if key != "source"})


@pytest.mark.parametrize("change", [{"colour": 1}, {"nonzeros": -1}, {"shape": [3]}, {"address": "ftp://a"}])
def test_a_bad_row_is_refused(change):
    with pytest.raises(ValidationError):
        Entry.model_validate(ROWS[0] | change)


def test_no_name_or_alias_means_two_rows():
    words = [word.lower() for entry in entries() for word in (entry.name, *entry.aliases)]
    assert len(words) == len(set(words))


def test_the_tables_of_the_papers_are_there():
    by_source = {
        word: [e for e in entries() if word in e.source] for word in ("TeAAL", "MINT", "SAM", "D2T2")
    }
    assert {word: len(found) for word, found in by_source.items()} == {
        "TeAAL": 8,
        "MINT": 15,
        "SAM": 15,
        "D2T2": 34,
    }


def test_no_matrix_has_more_nonzeros_than_places():
    for entry in entries():
        places = 1
        for size in entry.shape:
            places *= size
        assert entry.nonzeros <= places


def test_lookup_by_any_case_and_alias():
    assert lookup("WIKI-vote") is lookup("wi") is lookup("wiki-Vote")
    assert lookup("wiki-Vote").shape == (8297, 8297)


def test_an_unknown_name_is_told_the_nearest():
    with pytest.raises(WorkloadError, match="'wiki-vot' is not in the registry; did you mean wiki-Vote"):
        lookup("wiki-vot")


@pytest.mark.parametrize("name", sorted(profiles()))
def test_profiles_and_registry_agree(name):
    entry, profile = lookup(name), profiles()[name]
    assert (entry.shape, entry.nonzeros) == (profile.shape, profile.nonzeros)
    assert entry.symmetric == profile.symmetric


def test_names_are_in_the_order_of_the_file():
    assert list(names()) == [row["name"] for row in ROWS]
