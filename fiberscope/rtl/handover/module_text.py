"""Ports and leading comments of a module of Verilog that Fiberscope has written."""

from __future__ import annotations

import re
from itertools import takewhile
from typing import Literal, cast

from fiberscope.hw.rtl.kit.interface import Wire

CONTRACT = "Contract of the ports."  # first words of the comments that state the contract
_PORT = re.compile(r"^\s*(?P<direction>input|output) (?:\[(?P<high>\d+):0\] )?(?P<name>\w+)", re.MULTILINE)


def module_ports(text: str, module: str) -> list[Wire]:
    """Return the ports of a module, in the order of its head; none if the text has no such module.

    Args:
        text: Verilog that has the module.
        module: the name of the module.
    """
    head = text.partition(f"module {module}(")[2].partition(");")[0]
    return [
        Wire(port["name"], cast(Literal["input", "output"], port["direction"]), int(port["high"] or 0) + 1)
        for port in _PORT.finditer(head)
    ]


def leading_comments(text: str) -> list[str]:
    """Return the comment lines at the head of a file, without their slashes."""
    lines = takewhile(lambda line: line.startswith("//"), text.splitlines())
    return [line.removeprefix("//").removeprefix(" ") for line in lines]


def contract_text(text: str) -> str:
    """Return the contract of the ports that the head of a file states."""
    lines = leading_comments(text)
    first = next((index for index, line in enumerate(lines) if line.startswith(CONTRACT)), len(lines))
    return "\n".join(lines[first:])
