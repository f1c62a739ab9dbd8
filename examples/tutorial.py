# %% [markdown]
# # A first hour with Fiberscope, in Python
#
# Each `# %%` begins a cell: open this file in an editor that knows them (VS Code, Spyder, PyCharm),
# convert it with `jupytext --to notebook tutorial.py`, or run it whole with `python tutorial.py`.

# %% [markdown]
# ## Run a machine
#
# Operands are scipy matrices in memory, dense arrays, files, names (`"wiki-Vote"`) or generators. A
# report shows itself as its summary: in a notebook in colours, at a prompt by `print(report)`.

# %%
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
from scipy import sparse

import fiberscope

a = sparse.random(300, 400, density=0.03, random_state=1)
b = sparse.random(400, 200, density=0.03, random_state=2)
report = fiberscope.simulate("gamma", a, b, pe__count=4, memory__channels=2)
print(report)

# %% [markdown]
# ## Ask the report
#
# Everything in the summary, and much more, is an attribute. Every cycle of every component is counted
# once.

# %%
merger = report.components["gamma.pe00.merger"]
assert merger.busy + merger.input_stall + merger.output_stall + merger.idle == merger.cycles
print(report.cycles, "cycles;", report.bottleneck)
print("the merger waits at", merger.input_stall_by_port, "and", merger.output_stall_by_port)

moved = sum(part.read_bytes + part.write_bytes for part in report.traffic.values())
print(f"{moved / report.traffic_minimum_bytes:.2f} times the least traffic")

# %% [markdown]
# ## Change the machine
#
# A parameter is a keyword, its dots written as double underscores, or a key of `settings`. `fiberscope
# info gamma` lists them with units and sources. A misspelt one is refused, with the nearest that exists.

# %%
try:
    fiberscope.simulate("gamma", a, b, pe__cuont=4)
except fiberscope.ConfigurationError as error:
    print(error)

# %% [markdown]
# More processing elements help until the memory is full. Where does that happen?

# %%
sweep = {}
for count in (1, 2, 4, 8):
    sweep[count] = fiberscope.simulate("gamma", a, b, pe__count=count, memory__channels=2)
    used = sweep[count].memory.utilization
    print(f"{count} elements: {sweep[count].cycles:6,} cycles, memory {used:.0%} used")
assert sweep[1].cycles > sweep[2].cycles > sweep[4].cycles
assert sweep[8].memory.utilization > sweep[1].memory.utilization

# %% [markdown]
# ## What the product is
#
# Each run is verified against scipy. A wrong product would have raised `VerificationError`.

# %%
assert report.verification.passed
assert report.product.nonzeros == (a @ b).nnz  # all values are positive: no sum vanishes

# %% [markdown]
# ## Keep and compare
#
# A report is one JSON document, the same for the same inputs apart from its part `host`.

# %%
folder = Path(mkdtemp())
report.write(folder / "report.json")
assert fiberscope.Report.read(folder / "report.json") == report

# %% [markdown]
# ## Look inside
#
# A waveform holds what every component did in every cycle; `fiberscope wave stall.vcd` opens it in
# GTKWave. Here 200 cycles of one processing element.

# %%
window = fiberscope.Waveform(folder / "stall.vcd", window=(100, 300), scopes=["pe00"])
fiberscope.simulate("gamma", a, b, pe__count=4, memory__channels=2, waveform=window)
print((folder / "stall.vcd").stat().st_size, "bytes of waveform")

# %% [markdown]
# ## Shapes that are odd
#
# Empty matrices, empty rows and single elements are matrices like any other.

# %%
empty = fiberscope.simulate("gamma", sparse.csr_array((5, 5)))
single = fiberscope.simulate("gamma", np.array([[3.0]]), np.array([[4.0]]))
print(repr(empty), repr(single))
assert single.operations["multiply"] == 1

# %% [markdown]
# ## Next
#
# Put a component of your own into the machine: `docs/how_to_add_a_component.md`.
