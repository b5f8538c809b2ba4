# Targets are one line each; what they do is written in tracekit, its tests and pyproject.toml.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# one more than there are processors: many a test waits for a process, a server or a browser
TESTERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
# many processes import the same modules: what one of them compiles is kept for the others
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-all approve fuzz bench-ingest bench-analyze bench-replay bench-search bench-interference bench-serve bench-size bench-callgraph bench-growth bench-full bench-sources claims train docs reference check lint types fmt wheel-check clean

help: ## show the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/.user ## make the virtual environment and install tracekit into it

$(VENV)/.user: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --no-compile --constraint constraints.txt --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.user
	$(BIN)/pip install --quiet --no-compile --constraint constraints.txt --requirement requirements-dev.txt
	@touch $@

$(VENV)/.docs: $(VENV)/.user
	$(BIN)/pip install --quiet --no-compile --constraint constraints.txt 'tracekit[docs]'
	@touch $@

demo: setup ## make up a small trace and take it all the way to demo/report.html
	$(BIN)/tracekit run synth:small --out demo

demo/report.html:
	$(MAKE) demo

test: $(VENV)/.dev ## run the tests, but for those marked slow
	$(BIN)/python -m pytest -n $(TESTERS) -m "not slow"

test-all: $(VENV)/.dev ## run every test, the slow ones too
	$(BIN)/python -m pytest -n $(TESTERS)

approve: $(VENV)/.dev ## take the pages and summaries of today as the approved ones
	TRACEKIT_APPROVE=1 $(BIN)/python -m pytest -q tests/intake/sources/test_contract.py tests/intake/sources/test_stored.py tests/report/test_first_page.py tests/report/test_terminal.py

fuzz: $(VENV)/.dev ## 10,000 damaged inputs; calls, syncs, power and memory failing in turn; any order of events
	$(BIN)/python tests/support/harness.py

fmt: $(VENV)/.dev ## format code and SQL
	$(BIN)/ruff format . && $(BIN)/ruff check --fix . && $(BIN)/sqlfluff fix --quiet queries

lint: $(VENV)/.dev ## ruff, import-linter, sqlfluff
	$(BIN)/ruff format --check . && $(BIN)/ruff check . && $(BIN)/lint-imports && $(BIN)/sqlfluff lint queries

types: $(VENV)/.dev ## mypy, strict
	$(BIN)/mypy

bench-ingest: $(VENV)/.dev ## speed and memory of ingest, beside gzip
	$(BIN)/python bench/bench_ingest.py

bench-analyze: $(VENV)/.dev ## speed of the analytics, beside one scan of the columns
	$(BIN)/python bench/bench_analyze.py

bench-replay: $(VENV)/.dev ## placements per second, fast engine beside the plain one; also as with AVX2
	$(BIN)/python bench/bench_replay.py --avx2

bench-search: $(VENV)/.dev ## batch search, beside the same through a general library
	$(BIN)/python bench/bench_search.py

bench-interference: $(VENV)/.dev ## fit and placement down to the vCPU, beside plain forms
	$(BIN)/python -m bench.bench_interference

bench-serve: $(VENV)/.dev ## answers of tracekit serve at 5,000 node names and 100 requests a second
	$(BIN)/python bench/bench_serve.py

bench-size: $(VENV)/.dev ## steps of the sizing environment, and all policies but the agent
	$(BIN)/python bench/bench_size.py

bench-callgraph: $(VENV)/.dev ## speed and memory of the call graphs
	$(BIN)/python bench/bench_callgraph.py 50

bench-full: $(VENV)/.dev ## the main job at the trace's own size: each stage, then all at once
	$(BIN)/python bench/bench_full.py

bench-sources: $(VENV)/.dev ## every source on the real rows beside the project, known placements replayed
	$(BIN)/python bench/bench_sources.py

bench-growth: $(VENV)/.dev ## how time and memory of every verb grow; fails out of the stated bands
	$(BIN)/python bench/bench_growth.py

claims: $(VENV)/.dev demo/report.html ## run the experiments that claims are judged by, and record the verdicts
	$(BIN)/python tests/support/claims_support.py

train: $(VENV)/.dev demo/report.html ## train the network that comes with tracekit, as it was: seeded, some ten minutes
	$(BIN)/python tests/support/train_support.py

reference: $(VENV)/.dev ## write docs/reference anew from the code and from documents that it writes
	$(BIN)/python tests/support/schema_support.py && $(BIN)/python tests/support/docs_support.py

docs: reference $(VENV)/.docs demo/report.html ## the documentation as a site in build/site, with the demo's report as an example
	$(BIN)/zensical build --strict
	cp demo/report.html build/site/example-report.html

wheel-check: $(VENV)/.dev ## build the wheel, install it elsewhere and use it there
	$(BIN)/python -m pytest -q tests/test_wheel.py

check: lint types test-all ## everything that must be green

clean: ## remove what the other targets made
	rm -rf $(VENV) demo dist build .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis
