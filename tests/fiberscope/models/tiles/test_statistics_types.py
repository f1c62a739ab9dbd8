"""Statistics with values of wrong types are refused in one line, wherever in the document they are."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from fiberscope.base.errors import InputError
from fiberscope.models.tiles.kernel import Kernel
from fiberscope.models.tiles.statistics import collect_all, from_json, to_json
from fiberscope.workloads.tensor import SparseTensor

WRONG = ("x", None, [], {}, -1, 1.5, 10**30, True, [1], {"a": 1})


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    places = np.unique(np.random.default_rng(1).integers(0, 900, 200))
    tensor = SparseTensor.from_coordinates((30, 30), [places // 30, places % 30], np.ones(len(places)))
    kernel = Kernel.read("C[i,j]=A[i,k]*B[k,j]", "ikj")
    collected = collect_all(kernel, {"A": tensor, "B": tensor}, dict.fromkeys("ikj", 8))
    read: dict[str, Any] = json.loads(to_json(collected["A"]))
    return read


def places_in(document: object, place: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if place:
        yield place
    if isinstance(document, dict):
        for key, value in document.items():
            yield from places_in(value, (*place, key))
    elif isinstance(document, list) and document:
        yield from places_in(document[0], (*place, 0))


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_a_value_of_another_type_costs_a_line(document: dict[str, Any], wrong: object) -> None:
    messages = []
    for place in places_in(document):
        changed = copy.deepcopy(document)
        at: Any = changed
        for key in place[:-1]:
            at = at[key]
        at[place[-1]] = wrong
        try:
            from_json(json.dumps(changed), "file.json, A")
        except InputError as error:
            messages.append(str(error))
    assert len(messages) > 5
    assert all(text.startswith("file.json, A: ") and "\n" not in text for text in messages)
