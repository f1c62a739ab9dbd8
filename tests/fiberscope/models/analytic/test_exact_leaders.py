"""Omissions with joint statistics: unusable empty tiles omit nothing, and stored zeros are read."""

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from changed_designs import LATCHED

from fiberscope.models.analytic.evaluate import evaluate_many
from fiberscope.models.analytic.inputs import read_case
from fiberscope.models.analytic.leaders import Leaders

FOLLOWERS = {  # leaders, and the format of the follower in the buffer
    "Z": ("[A, B]", None),
    "compressed B": ("[A]", "CP"),
    "stored zeros of B": ("[A]", "U"),
}


def write(folder: Path, follower: str, spatial: tuple[int, ...], order: tuple[str, ...]) -> Path:
    """A product of two matrices with data, whose spatial loops are inside of the buffer."""
    (folder / "a.txt").write_text("1000\n0100\n0000\n0000\n")
    (folder / "b.txt").write_text("1000\n0100\n0100\n0010\n")
    leaders, kind = FOLLOWERS[follower]
    ranks = f"ranks: [{{format: {kind}, flattened-rankIDs: [[K, N]]}}]"
    formats = f"representation_format: {{data_spaces: [{{name: B, {ranks}}}]}}\n        " if kind else ""
    temporal = ", ".join(f"{name}={4 // bound}" for name, bound in zip("MNK", spatial, strict=True))
    space = ", ".join(f"{name}={bound}" for name, bound in zip("MNK", spatial, strict=True))
    mesh = f"spatial: {{meshX: {np.prod(spatial)}}},"
    data = "{A: {distribution: actual, data: a.txt}, B: {distribution: actual, data: b.txt}}"
    text = LATCHED
    for old, new in (
        ("{A: DENSITY}", data),
        ("class: regfile,", f"class: regfile, {mesh}"),
        ("class: compute,", f"class: compute, {mesh}"),
        ("action_optimization", f"{formats}action_optimization"),
        ("{target: B, condition_on: [A]}", f"{{target: {follower[-1]}, condition_on: {leaders}}}"),
        (
            "factors: [M=4, N=4, K=4], permutation: ORDER}",
            f"factors: [{temporal}], permutation: [M, N, K]}}\n"
            f"  - {{target: Buffer, type: spatial, factors: [{space}], permutation: [{', '.join(order)}]}}",
        ),
        ("KEPT", f"[{follower[-1]}]"),
        ("BYPASSED", "[A, Z]" if follower[-1] == "B" else "[A, B]"),
    ):
        assert old in text, old
        text = text.replace(old, new)
    path = folder / "design.yaml"
    path.write_text(text)
    return path


def saved_shares(path: Path, joint: str) -> tuple[float, float]:
    """The omitted shares of the follower's reads: of those of stored elements, and of all."""
    case = read_case([path], {"joint": joint})
    omissions: list[tuple[float, float]] = []
    with pytest.MonkeyPatch.context() as patch:
        omit = Leaders.omit

        def observe(self: Leaders, *arguments: object) -> object:
            omission = omit(self, *arguments)  # type: ignore[arg-type]
            omissions.append((float(omission.share[0]), float(omission.of_all[0])))
            return omission

        patch.setattr(Leaders, "omit", observe)
        assert case.mapping is not None
        evaluate_many(case.design, case.mapping.batch())
    (shares,) = omissions
    return shares


MAPPINGS = [
    (spatial, order) for spatial in ((4, 1, 2), (4, 2, 4), (1, 1, 1)) for order in permutations("MNK")
]


@pytest.mark.parametrize("follower", FOLLOWERS)
def test_an_empty_tile_that_omits_nothing_omits_nothing_with_joint_statistics(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, follower: str
) -> None:
    masks: list[bool] = []
    find_tile = Leaders._find_leader_tile

    def observe(*arguments: object) -> object:
        box, is_unusable = find_tile(*arguments)  # type: ignore[arg-type]
        masks.append(bool(is_unusable[0]))
        return box, is_unusable

    monkeypatch.setattr(Leaders, "_find_leader_tile", observe)
    seen, differs = set(), False
    for spatial, order in MAPPINGS:
        path = write(tmp_path, follower, spatial, order)
        independent = saved_shares(path, "independent")
        masks.clear()
        exact = saved_shares(path, "exact")
        seen.add(tuple(masks))
        differs |= exact != independent
        # what a follower with stored zeros may omit does not depend on its own zeros
        if any(masks) or follower.startswith("stored zeros"):
            assert exact == independent, (spatial, order)
    assert any(map(any, seen)), "no mapping with an unusable tile"
    assert not all(map(any, seen))
    assert differs != follower.startswith("stored zeros")
