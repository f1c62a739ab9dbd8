"""Graph files as the public compiler writes them, made of the recorded nodes and edges of its runs."""

import json
import re
from pathlib import Path

ORACLE = Path(__file__).parents[2] / "oracles" / "sam" / "examples.json"


def compiled() -> dict[str, dict]:
    """The recorded graphs by their expression."""
    cases = json.loads(ORACLE.read_text())["cases"]
    return {case["compile"]: case for case in cases if "compile" in case}


def public_text(case: dict) -> str:
    """One of them as a file, with labels over several lines and forks as invisible points."""
    names = {name for edge in case["edges"] for name in edge[:2]}
    lines = ["digraph SAM {", f'    comment="{case["graph_comment"]}"']
    lines += [_node(name, case["compile"]) for name in sorted(names, key=_number)]
    for source, target, kind, comment in case["edges"]:
        said = "" if comment is None else f' comment="{comment}"'
        label = kind + (f"_{comment}" if comment else "")
        lines.append(f'    {_number(source)} ->  {_number(target)} [label="{label}" type="{kind}"{said}]')
    return "\n".join([*lines, "}"])


def _number(name: str) -> int:
    return int(name.rpartition("#")[2])


def _node(name: str, expression: str) -> str:
    text = name.partition("#")[0]
    root = text.endswith("(root)")
    kind, *words = text.removesuffix("(root)").split("_")
    own = {"type": kind}
    if kind == "broadcast":
        return f'    {_number(name)} [comment="broadcast" shape=point style=invis type="broadcast"]'
    if kind in ("fiberlookup", "repeat"):
        own |= {"index": words[1], "tensor": words[0], "root": str(root).lower()}
    if kind == "fiberlookup":
        own |= {"mode": _mode(words[0], words[1], expression), "format": "compressed", "src": "true"}
    if kind == "fiberwrite" and words[1] == "vals":
        own |= {"tensor": words[0], "mode": "vals", "size": "1*B0_dim", "sink": "true"}
    elif kind == "fiberwrite":
        own |= {"index": words[1], "tensor": words[0], "mode": _mode(*words, expression)}
        own |= {"format": "compressed", "segsize": "2", "crdsize": "B0_dim", "sink": "true"}
    if kind == "arrayvals":
        own["tensor"] = words[0]
    if kind in ("intersect", "union", "repsiggen"):
        own["index"] = words[0]
    if kind == "crddrop":
        own |= dict(zip(("outer", "inner"), words[0].split(","), strict=True))
    if kind == "add":
        own["sub"] = "0"
    told = ",".join(f"{key}={value}" for key, value in own.items())
    attributes = " ".join(f'{key}="{value}"' for key, value in own.items())
    label = f"{kind}\n{' '.join(words)}"
    return f'    {_number(name)} [comment="{told}" label="{label}" color=green4 shape=box {attributes}]'


def _mode(tensor: str, variable: str, expression: str) -> str:
    variables = re.search(rf"\b{tensor}\(([^)]*)\)", expression)[1].split(",")
    return str(variables.index(variable))
