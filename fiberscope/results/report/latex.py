"""LaTeX tables in the style of the package booktabs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TypeAlias

LatexRows: TypeAlias = Sequence[Sequence[str]]
_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "†": r"\dag{}",
    "±": r"$\pm$",
}
_UNITS = {"mm2]": r"mm\textsuperscript{2}]", "[us]": r"[$\mu$s]", "[uJ]": r"[$\mu$J]"}
_POWER = re.compile(r"(-?\d\.\d+)e([+-]\d+)")


def escape_latex(text: str) -> str:
    """Escape text for LaTeX; powers of ten and units become formulas.

    A text that is a single number such as ``1.5e-03`` becomes a power of ten. A number within a longer text
    stays as it is. Units are ``mm2]`` at the end of brackets, ``[us]`` and ``[uJ]``.
    """
    power = _POWER.fullmatch(text)
    if power:
        return rf"${power[1]} \times 10^{{{int(power[2])}}}$"
    for unit, formula in _UNITS.items():
        if unit in text:
            head, _, tail = text.partition(unit)
            return f"{escape_latex(head)}{formula}{escape_latex(tail)}"
    escaped = "".join(_SPECIAL.get(character, character) for character in text)
    return escaped.replace(" +- ", r" $\pm$ ")


def format_latex_tabular(
    heads: Sequence[str],
    blocks: Iterable[tuple[str, LatexRows]],
    groups: Sequence[tuple[str, int]] = (),
    labels: int = 1,
) -> str:
    """Return a tabular: first columns left-aligned, the others right-aligned, with a rule between blocks.

    Args:
        heads: the heads of the columns.
        blocks: rows of text, with a title in a row of its own; an empty title is not printed.
        groups: heads over several columns, from the second column on, with the number of columns of each;
            only for one label column.
        labels: the number of left-aligned columns.
    """
    lines = [
        rf"\begin{{tabular}}{{{'l' * labels}{'r' * (len(heads) - labels)}}}",
        r"\toprule",
        *_group_lines(groups),
    ]
    lines.append(_format_row(heads))
    for title, rows in blocks:
        spanned = rf"\multicolumn{{{len(heads)}}}{{l}}{{\textit{{{escape_latex(title)}}}}} \\"
        lines += [r"\midrule", *([spanned] if title else []), *map(_format_row, rows)]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


def _group_lines(groups: Sequence[tuple[str, int]]) -> list[str]:
    """Return the row of group heads, and the row of rules below them; empty without groups."""
    if not groups:
        return []
    cells = [rf"\multicolumn{{{count}}}{{c}}{{{escape_latex(name)}}}" for name, count in groups]
    rules, column = [], 2  # columns count from 1, and the first has the labels
    for _name, count in groups:
        rules.append(rf"\cmidrule(lr){{{column}-{column + count - 1}}}")
        column += count
    return [f" & {' & '.join(cells)} \\\\", " ".join(rules)]


def _format_row(cells: Sequence[str]) -> str:
    return f"{' & '.join(map(escape_latex, cells))} \\\\"


def format_latex_float(caption: str, label: str, tabulars: Iterable[str], notes: Iterable[str] = ()) -> str:
    """Return a float with a caption above its tabulars, and notes below.

    Args:
        caption: plain text.
        label: the label for references, which is not escaped.
        tabulars: results of ``format_latex_tabular``.
        notes: lines of plain text.
    """
    lines = [r"% \usepackage{booktabs} belongs in the preamble.", r"\begin{table}", r"\centering"]
    lines += [rf"\caption{{{escape_latex(caption)}}}", rf"\label{{{label}}}"]
    for index, tabular in enumerate(tabulars):
        lines += ["", r"\medskip", tabular] if index else [tabular]
    for note in notes:
        lines += ["", rf"{{\footnotesize {escape_latex(note)}}}"]
    return "\n".join([*lines, r"\end{table}", ""])
