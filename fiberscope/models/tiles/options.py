"""Options of the D2T2 model: interpretations of the paper, and extensions."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from fiberscope.models.tiles.base import Base


class Options(BaseModel):
    """Options of the predicted traffic and of the search for tiles; docs/d2t2_models.md explains each.

    Args:
        model: the paper's model (``printed``); counts of common tiles of A and B (``counted``); the paper's
            model with outputs scaled by sampled products (``joint``).
        corrs: Corrs as sums over all tiles, as the mean of each tile's shares, or as sums without the bias of
            pairs that the edge of a tile separates.
        tilecorrs: TileCorrs of whole slices of tiles, of single tiles, or of slices without that bias.
        estimate: outputs by the mean density (``flat``), or by the density at each place of a tile.
        union: the share of a sum: the sum of the shares, at most 1, or the share of independent summands.
        loads: whether a tile is loaded if each other operand may have a tile (``each``), or if they may have
            tiles at a common coordinate.
        merge: whether partial results are read again for accumulation.
        output: whether each iteration writes a partial result (``streamed``), or the result stays while the
            loops inside of its own run (``stationary`` or ``auto``).
        rf_below_one: whether RF 1/2 and 1/4, with which tiles grow in the summed indices, are candidates too.
        size: whether TileFactor enlarges the indices of the result (``grown``) or all indices.
        max_tile: whether TileFactor uses the fullest tile of the base tiling or of the chosen shape
            (``reshaped``).
        grow: whether summed indices may grow once the shape covers the indices of the result.
        tiles: whether tensors are partitioned anew (``cut``), or base tiles are ``packed``; shapes are then
            multiples of the base tile.
        base: the rule for the base tile, or its edge; see ``choose_base_shape``.
        least: smallest side of a summed index: the side of a machine's microtile.
        metric: the metric of the size of tiles.
        search: over RF, or over a grid of shapes (with ``model: counted``).
        sample: the share of tiles from which Corrs are collected, but at least 32 tiles if there are as many.
        leaves: the share of the first operand's tiles whose products ``joint`` computes, but at least 32
            tiles if there are as many.
        seed: the seed of samples.
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

    @model_validator(mode="after")
    def _check_packed(self) -> Self:
        # packed tiles are measured in words, and the grid's counted model cuts tiles anew
        if self.tiles == "packed" and self.metric != "words":
            raise ValueError(f"metric is {self.metric}; it should be words with tiles=packed")
        if self.tiles == "packed" and self.search == "grid":
            raise ValueError("search is grid; it should be rf with tiles=packed: a grid has cut tiles")
        return self


DEFAULTS = Options()
