"""Checks of the arguments of ``fiberscope.simulate`` and the studies, before any work."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fiberscope.accelerators.configuration import leaf_keys
from fiberscope.accelerators.machine import EVENT, Accelerator
from fiberscope.base.errors import InputError
from fiberscope.results.recording.files import StateFiles
from fiberscope.results.recording.waveform import Waveform
from fiberscope.run.execute import RunOptions
from fiberscope.workloads.errors import suggest


def check_types(arguments: Mapping[str, object], prefix: str = "") -> None:
    """Check the types of arguments; None stands for an omitted argument, except for ``accelerator``.

    Args:
        arguments: values by the name of the argument, which is a key of ``_CHECKS``.
        prefix: prefix of the argument's name in messages.

    Raises:
        InputError: an argument has another type; the message has the expected type.
        KeyError: a name is no key of ``_CHECKS``.
    """
    for name, value in arguments.items():
        is_valid, expected = _CHECKS[name]
        if not is_valid(value) and (value is not None or name == _REQUIRED):
            raise InputError(f"{prefix}{name}={value!r}: it should be {expected}")


def _is_cycle(value: Any) -> bool:  # noqa: ANN401
    try:  # integers of numpy are valid too, but True is no number of cycles
        return not isinstance(value, bool) and operator.index(value) >= 1
    except TypeError:
        return False


def _is_boolean(value: object) -> bool:
    return isinstance(value, bool)


def _are_parts(value: object) -> bool:
    return isinstance(value, Mapping) and all(callable(part) for part in value.values())


def _are_names(value: object) -> bool:
    return (
        isinstance(value, Sequence)
        and not isinstance(value, str)
        and all(isinstance(item, str) for item in value)
    )


def _is_progress(value: object) -> bool:
    return callable(value) or isinstance(value, bool)


def _is_window(value: Any) -> bool:  # noqa: ANN401
    return isinstance(value, Sequence) and len(value) == 2 and all(isinstance(item, int) for item in value)


def _are_settings(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(key, str) for key in value)


_REQUIRED = "accelerator"  # the only argument that may not be None
# By argument: a predicate of valid values, and the text of the expected type for a message.
_CHECKS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "accelerator": (lambda value: isinstance(value, str | Accelerator), "a name or an Accelerator"),
    "settings": (_are_settings, 'a dict of parameters by dotted key, as in {"pe.count": 64}'),
    "tensors": (_are_settings, 'a dict of operands by name, as in {"A": a, "B": b}'),
    "config": (lambda value: isinstance(value, str | Path), "the path of a YAML file"),
    "exact": (_is_boolean, "True or False"),
    "cycle_limit": (_is_cycle, "a whole number of cycles from 1 on"),
    "waveform": (lambda value: isinstance(value, Waveform | str | Path), "a path or a fiberscope.Waveform"),
    "memory_trace": (lambda value: isinstance(value, str | Path), "the path of a file to write"),
    "timeline": (
        lambda value: isinstance(value, StateFiles | str | Path),
        "a path or a fiberscope.StateFiles",
    ),
    "parts": (_are_parts, 'a dict of classes by the name of the part, as in {"merger": MyMerger}'),
    "histograms": (_is_boolean, "True or False"),
    "checked": (_is_boolean, "True or False"),
    "values_only": (_is_boolean, "True or False"),
    "fidelity": (lambda value: isinstance(value, str), f'the name of a model, as in "{EVENT}"'),
    "chain": (lambda value: isinstance(value, str), 'products, as in "Y = A X; Z = Y W"'),
    "progress": (_is_progress, "a function of stage, work done and work in all, or False"),
    "drive": (callable, "a function of a machine, observers, a cycle limit and a progress callback"),
    # of ``ablate`` and ``compare``
    "matrices": (_are_names, 'a list of names, as in ["wiki-Vote"]'),
    "surrogates": (_is_boolean, "True or False"),
    "models": (_are_names, 'a list of names, as in ["simple"]'),
    "tell": (callable, "a function of a line"),
    # of a ``Waveform``
    "path": (lambda value: isinstance(value, str | Path), "the path of a file to write"),
    "window": (_is_window, "the first cycle and the one it ends before, as in (100, 600)"),
    "scopes": (_are_names, 'a list of patterns, as in ["pe0[0-3]"]'),
    "trigger": (lambda value: isinstance(value, str), 'a condition, as in "pe07 input_stall > 100"'),
    "cycles": (_is_cycle, "a whole number of cycles from 1 on"),
    "colours": (_is_boolean, "True or False"),
}


def merge_settings(
    accelerator: Accelerator[Any],
    settings: Mapping[str, object],
    keywords: Mapping[str, object],
    arguments: Iterable[str],
) -> dict[str, object]:
    """Merge settings with keywords such as ``pe__count=64``, by dotted key.

    A keyword with a double underscore is taken as a setting. Whether the machine has this setting is checked
    later, with the values.

    Args:
        accelerator: the machine.
        settings: the settings by dotted key.
        keywords: settings with double underscores for dots.
        arguments: the names of the other arguments, for suggestions.

    Raises:
        InputError: a keyword without a double underscore is neither a setting nor an argument, or a setting
            is given twice.
    """
    keys = {*(key.replace(".", "__") for key in leaf_keys(accelerator.configuration)), *arguments}
    merged = dict(settings)
    for keyword, value in keywords.items():
        key = keyword.replace("__", ".")
        if "__" not in keyword and keyword not in keys:
            advice = suggest(keyword, keys)
            raise InputError(
                f"{keyword} is no argument of simulate and no parameter of {accelerator.name}; {advice}"
            )
        if key in merged:
            raise InputError(f"{key} is given twice, in settings and as {keyword}; leave one out")
        merged[key] = value
    return merged


def check_part_names(accelerator: Accelerator[Any], parts: Iterable[str]) -> None:
    """Check that a machine has all parts to replace.

    Raises:
        InputError: the machine lacks a part; the message names the part.
    """
    for name in parts:
        if name not in accelerator.parts:
            advice = suggest(name, accelerator.parts) if accelerator.parts else "it has none"
            raise InputError(f"{accelerator.name} has no part {name} to replace; {advice}")


def check_options(accelerator: Accelerator[Any], options: RunOptions) -> None:
    """Check that an accelerator supports the fidelity and the options of a run.

    An option that is false, empty or None counts as not given.

    Raises:
        InputError: an option is not supported; the message names the option.
    """
    fidelity = options.fidelity
    check_part_names(accelerator, options.parts)
    if fidelity not in accelerator.models:
        raise InputError(
            f"{accelerator.name} has no {fidelity} model; {suggest(fidelity, accelerator.models)}"
        )
    component_options = {
        "cycle_limit": options.cycle_limit,
        "waveform": options.recorders.waveform,
        "memory_trace": options.recorders.memory_trace,
        "timeline": options.recorders.states,
        "histograms": options.histograms,
        "checked": options.checked,
        "parts": options.parts,
    }
    for name in (name for name, value in component_options.items() if value and fidelity != EVENT):
        raise InputError(f"{name} is for the {EVENT} model; a {fidelity} one has no components")
