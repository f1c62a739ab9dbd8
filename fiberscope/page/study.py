"""Data of the page of a study: the runs of a store, by column."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import isnan
from typing import TYPE_CHECKING, Any, Final

from fiberscope.accelerators.quantities import BANDWIDTH, FREQUENCY, SIZE
from fiberscope.accelerators.sampling import Sample
from fiberscope.base.errors import InputError
from fiberscope.base.version import __version__
from fiberscope.page.measures import add_rates, measures, select_rows
from fiberscope.results.report.short_names import shorten_names
from fiberscope.results.report.surrogates import DAGGER, SURROGATE, format_footnote

if TYPE_CHECKING:
    import pandas as pd

    from fiberscope.results.store import Store

MAX_RUNS: Final = 2000  # about 3 MB of data
# Columns that identify runs; those in DISTINGUISHING are shown at first if their values differ between runs.
DISTINGUISHING: Final = ("machine", "accelerator", "workload", "command", "fidelity")
IDENTITIES: Final = ("status", *DISTINGUISHING, "workload_source", "version")
SENTENCES: Final = ("bottleneck", "reason", "worker_kind")  # columns of text
LARGE_COLUMNS: Final = ("report", "config", "kinds", "settings")  # read for the selected runs only
ALWAYS_SHOWN: Final = ("status", "cycles", "traffic_bytes", "bottleneck")  # at first, in any case
UNITS: Final = ((SIZE, "bytes"), (BANDWIDTH, "bytes/s"), (FREQUENCY, "Hz"))
DIGEST_LETTERS: Final = 12  # of a run's digest on the page

Column = dict[str, Any]


def study_data(
    store: Store, title: str = "", max_runs: int = MAX_RUNS, *, all_sources: bool = False
) -> dict[str, Any]:
    """Return the data of a store for a page, which ``scripts/data.js`` reads.

    Args:
        store: a store with at least one run.
        title: the title of the page; "Study" and the name of the store if empty.
        max_runs: the maximum number of runs, selected by ``measures.select_rows``.
        all_sources: whether to include runs of older sources.

    Raises:
        InputError: the store is empty.
    """
    from fiberscope.results.store.store import describe_hidden_rows  # noqa: PLC0415  (needs the extra sweep)

    hidden_count = 0 if all_sources else store.hidden()
    query = f"SELECT * EXCLUDE ({', '.join(LARGE_COLUMNS)}) FROM runs"
    rows = store.table(query, all_sources=all_sources).to_pandas()
    if rows.empty:
        raise InputError(f"{store.address}: holds no runs yet")
    parameters = sorted(store.parameters())
    frame = add_rates(_sort_rows(_mark_surrogates(rows), parameters))
    runs = select_rows(frame, max_runs)
    large = _read_large_columns(store, runs["digest"])
    keys, units = _find_parameter_keys(large, parameters), _find_parameter_units(large)
    columns = [column for column in _build_columns(runs, parameters, keys, units) if column is not None]
    return {
        "kind": "study",
        "title": title or f"Study {store.name}",
        "made_by": __version__,
        "versions": sorted(runs["version"].dropna().unique()),
        "total": len(frame),
        "failed": int((frame["status"] != "done").sum()),
        "notices": [
            *([describe_hidden_rows(hidden_count)] if hidden_count else []),
            *_write_notices(frame, runs),
        ],
        "numbers": [number + 1 for number in runs.index],  # among all runs, as the selection keeps the index
        "ids": [digest[:DIGEST_LETTERS] for digest in runs["digest"]],
        "columns": columns,
        **({"spreads": spreads} if (spreads := _compute_half_widths(runs)) else {}),
        "short_names": _shorten_names(runs),
        "telling": [column["name"] for column in columns if column.pop("telling")],
        **_encode_families([row["kinds"] for row in large]),
        "settings": _collect_settings(runs["accelerator"].fillna(""), [row["config"] for row in large]),
    }


def _mark_surrogates(frame: pd.DataFrame) -> pd.DataFrame:
    """Mark surrogates with daggers, and drop the column of machines if it equals the accelerators."""
    if frame["machine"].equals(frame["accelerator"]):
        frame = frame.drop(columns="machine")
    is_surrogate = frame["workload_source"] == SURROGATE
    return frame.assign(workload=frame["workload"].mask(is_surrogate, frame["workload"] + DAGGER))


def _sort_rows(frame: pd.DataFrame, parameters: Sequence[str]) -> pd.DataFrame:
    """Sort rows by request, so that a run has the same number in every view of a store."""
    order = ["accelerator", "workload", "command", "fidelity", *parameters, "digest"]
    return frame.sort_values(order, ignore_index=True, kind="stable")


def _compute_half_widths(runs: pd.DataFrame) -> list[float | None]:
    """Return the half-width of each run's interval of cycles, as a fraction of the cycles.

    A run without an estimate has None. The list is empty if no run has an estimate.
    """
    if runs["cycles_low"].isna().all():
        return []
    spreads = (runs["cycles_high"] - runs["cycles_low"]) / 2 / runs["cycles"]
    return [None if isnan(spread) else float(f"{spread:.3g}") for spread in spreads.astype("float64")]


def _format_sampling(texts: pd.Series[str]) -> pd.Series[str]:
    """Return sampling requests as text."""
    return texts.map(lambda text: str(Sample(**json.loads(text))), na_action="ignore")


def _write_notices(frame: pd.DataFrame, runs: pd.DataFrame) -> list[str]:
    """Return sentences on surrogates, on estimated cycles, and on runs that the page leaves out."""
    surrogates = frame["workload"][frame["workload_source"] == SURROGATE].str.removesuffix(DAGGER)
    notices = [format_footnote(sorted(surrogates.unique()))] if len(surrogates) else []
    if estimates := int(frame["cycles_low"].notna().sum()):
        count = f"{estimates:,} run has" if estimates == 1 else f"{estimates:,} runs have"
        notices.append(
            f"{count} cycles that are estimated from a sample: ± and the bars of charts show the 95 % "
            "interval. Simulated time, rates and bandwidth have the same error; medians do not show it."
        )
    if len(runs) == len(frame):
        return notices
    return [
        *notices,
        f"This page has {len(runs):,} of {len(frame):,} runs: for each accelerator and workload the runs "
        "that no other run beats in both cycles and traffic, some failed runs, and an even sample of the "
        "rest. Charts, medians and counts cover only these runs; fiberscope results queries all runs.",
    ]


def _read_large_columns(store: Store, digests: Iterable[str]) -> list[Mapping[str, str | None]]:
    """Return configuration, families and settings of runs, each as JSON, in the order of the digests."""
    ordered_digests = list(digests)
    names = ", ".join(f"'{digest}'" for digest in ordered_digests)
    sql = f"SELECT digest, config, kinds, settings FROM runs WHERE digest IN ({names})"
    rows = {row["digest"]: row for row in store.table(sql).to_pylist()}
    return [rows[digest] for digest in ordered_digests]


def _find_parameter_keys(
    large: Sequence[Mapping[str, str | None]], parameters: Sequence[str]
) -> dict[str, str]:
    """Return the dotted key of each parameter's column; the column's name if no configuration has the key."""
    dotted = {key for row in large for key in json.loads(row["config"] or "{}")}
    names = {key.replace(".", "_"): key for key in sorted(dotted)}
    return {name: names.get(name.removeprefix("set_"), name) for name in parameters}


def _find_parameter_units(large: Sequence[Mapping[str, str | None]]) -> dict[str, str]:
    """Return the unit of each parameter that is given as a quantity, by dotted key."""
    entries = {key: value for row in large for key, value in json.loads(row["settings"] or "{}").items()}
    return {key: unit for key, value in entries.items() if (unit := _find_unit(value))}


def _find_unit(value: object) -> str:
    """Return the unit of the first kind of quantity that a setting can be; empty if it is none."""
    if not isinstance(value, str) or value.strip().isdigit():
        return ""
    for quantity, unit in UNITS:
        try:
            quantity.parse(value)
        except ValueError:
            continue
        return unit
    return ""


def _build_columns(
    runs: pd.DataFrame, parameters: Sequence[str], keys: Mapping[str, str], units: Mapping[str, str]
) -> Iterable[Column | None]:
    """Yield the columns of the page: identities, parameters, measures and texts, in this order."""
    for name in (name for name in IDENTITIES if name in runs):
        yield _build_column(
            runs, name, "identity", name.replace("_", " "), is_distinguishing=name in DISTINGUISHING
        )
    if runs["sampling"].notna().any():
        sampled = runs.assign(sampling=_format_sampling(runs["sampling"]))
        yield _build_column(sampled, "sampling", "identity", "sampling", is_distinguishing=True)
    for name in parameters:
        key = keys[name]
        yield _build_column(runs, name, "parameter", key, unit=units.get(key, ""), is_distinguishing=True)
    for measure in measures(list(runs.columns)):
        if measure.name not in parameters:
            yield _build_column(
                runs, measure.name, "measure", measure.label, unit=measure.unit, better=measure.better
            )
    for name in SENTENCES:
        yield _build_column(runs, name, "sentence", name)


def _build_column(
    runs: pd.DataFrame,
    name: str,
    role: str,
    label: str,
    *,
    is_distinguishing: bool = False,
    **attributes: str,
) -> Column | None:
    """Return a column with its values.

    Return None if the table lacks the column, or for a measure without values that is not ``ALWAYS_SHOWN``.

    The key ``telling`` says that ``is_distinguishing`` is set and that the values differ between runs.
    """
    if name not in runs or (name not in ALWAYS_SHOWN and role == "measure" and runs[name].isna().all()):
        return None
    values = runs[name]
    # a run without a parameter differs from a run with it; a missing identity is no difference
    differs = is_distinguishing and values.nunique(dropna=role == "identity") > 1
    is_number = values.dtype.kind in "iuf"
    plain_values = values.astype(object).where(values.notna(), None).tolist()
    encoded_values = (
        {"values": list(map(_round_number, plain_values))} if is_number else _encode_texts(plain_values)
    )
    is_shown = differs or name in ALWAYS_SHOWN
    kind = "number" if is_number else "text"
    head = {"name": name, "label": label, "role": role, "type": kind, "shown": is_shown, "unit": ""}
    return {**head, **attributes, "telling": differs, **encoded_values}


def _round_number(value: float | None) -> float | None:
    """Round a number to six significant digits; whole numbers keep all digits and become integers."""
    if not isinstance(value, float):
        return value
    return int(value) if value.is_integer() else float(f"{value:.6g}")


def _encode_texts(values: Sequence[object]) -> dict[str, Any]:
    """Encode texts as indices into a list of texts; -1 for a missing text."""
    texts = [None if value is None else _format_text(value) for value in values]
    distinct = sorted({text for text in texts if text is not None})
    codes = {text: code for code, text in enumerate(distinct)}
    return {"words": distinct, "codes": [-1 if text is None else codes[text] for text in texts]}


def _format_text(value: object) -> str:
    """Format a setting as on a command line."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _shorten_names(runs: pd.DataFrame) -> dict[str, str]:
    """Return the short name of each workload: the name that the study gives it, else a shortened name."""
    study_names = runs.dropna(subset="workload_name").set_index("workload")["workload_name"].to_dict()
    names = sorted(runs["workload"].dropna().unique())
    return dict(zip(names, shorten_names(names), strict=True)) | {
        str(name): study_names[name] for name in study_names
    }


def _encode_families(texts: Sequence[str | None]) -> dict[str, Any]:
    """Return the family names, and for each run its families: index, count, shares of states in 0.01 %."""
    families_by_run = [json.loads(text or "{}") for text in texts]
    names = list(dict.fromkeys(name for families in families_by_run for name in families))
    number = {name: index for index, name in enumerate(names)}
    rows = [
        [[number[name], family["count"], *_share_states(family)] for name, family in families.items()]
        for families in families_by_run
    ]
    return {"family_names": names, "families": rows}


def _share_states(family: Mapping[str, int]) -> list[int]:
    """Return the shares of the four states in units of 0.01 %."""
    cycles = [family[state] for state in ("busy", "input_stall", "output_stall", "idle")]
    return [round(10_000 * state_cycles / max(1, sum(cycles))) for state_cycles in cycles]


def _collect_settings(accelerators: Iterable[str], configs: Sequence[str | None]) -> dict[str, Any]:
    """Return the most common value of each setting by accelerator, and the differing settings of each run.

    This keeps the page small: the runs of a study differ in few settings.
    """
    configurations = [
        (machine, json.loads(config or "{}")) for machine, config in zip(accelerators, configs, strict=True)
    ]
    counts: dict[str, dict[str, Counter[str]]] = {}
    for machine, config in configurations:
        counts_by_key = counts.setdefault(machine, {})
        for key, value in config.items():
            counts_by_key.setdefault(key, Counter())[json.dumps(value)] += 1
    common = {
        machine: {key: json.loads(values.most_common(1)[0][0]) for key, values in keys.items()}
        for machine, keys in counts.items()
    }
    differences = [
        {key: value for key, value in config.items() if common[machine][key] != value}
        for machine, config in configurations
    ]
    return {"common": common, "own": differences}
