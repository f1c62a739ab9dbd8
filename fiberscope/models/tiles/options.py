"""Options where the paper leaves a choice, or where we go beyond it: readings with name and default."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from fiberscope.models.tiles.base import Base

__all__ = ["DEFAULTS", "Options"]


class Options(BaseModel):
    """Options of the predicted traffic and of the search for tiles; docs/d2t2_models.md explains each.

    Args:
        model: the paper's (``printed``); one that counts what A and B share (``counted``); the paper's with
            outputs scaled by sampled products (``joint``).
        corrs: Corrs as sums over all tiles, as the mean of each tile's shares, or sums without the bias of
            pairs that the edge of a tile parts.
        tilecorrs: TileCorrs of whole slices of tiles, of single tiles, or slices without that bias.
        estimate: outputs by the mean density (``flat``), or by that of each place in a tile.
        union: the share of a sum: the sum of the shares, at most 1, or that of independent summands.
        loads: whether a tile is loaded when each of the others may still have something (``each``), or when
            they have something at a common coordinate.
        merge: whether partial results that were written are read again to be added up.
        output: whether a partial result goes to memory at every iteration (``streamed``) or stays while the
            loops inside of its own run (``stationary``, which is ``auto`` too).
        rf_below_one: whether tiles that grow in the summed indices are candidates too.
        size: whether TileFactor enlarges the indices of the result or all of them.
        max_tile: whether TileFactor starts from the fullest tile of the base tiling or of the chosen shape.
        grow: whether summed indices may grow once all others are as large as the tensor.
        tiles: whether the tensors are cut anew or base tiles are packed, of which shapes are then multiples.
        base: how the base tile follows from the capacity, or its edge.
        least: the edge below which no summed index is cut: that of a machine's microtile.
        metric: the metric of the size of tiles.
        search: over RF, or over a grid of shapes (with ``model: counted``).
        sample: the share of tiles that Corrs are collected from.
        leaves: the share of the first operand's tiles whose products ``joint`` multiplies.
        seed: by which samples are drawn.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: Literal["printed", "counted", "joint"] = "printed"
    corrs: Literal["pooled", "per_tile", "unbiased"] = "pooled"
    tilecorrs: Literal["slice", "pooled", "unbiased"] = "slice"
    estimate: Literal["flat", "positional"] = "flat"
    union: Literal["sum", "exact"] = "sum"
    loads: Literal["each", "common"] = "each"
    merge: Literal["free", "read"] = "free"
    output: Literal["auto", "streamed", "stationary"] = "auto"
    rf_below_one: bool = False
    size: Literal["grown", "all"] = "grown"
    max_tile: Literal["base", "reshaped"] = "base"
    grow: Literal["none", "contracted"] = "none"
    tiles: Literal["cut", "packed"] = "cut"
    base: Base | int = "largest"
    least: int = Field(default=1, ge=1)
    metric: str = "words"
    search: Literal["rf", "grid"] = "rf"
    sample: float = Field(default=1.0, gt=0.0, le=1.0)
    leaves: float = Field(default=0.01, gt=0.0, le=1.0)
    seed: int = Field(default=0, ge=0)


DEFAULTS = Options()
