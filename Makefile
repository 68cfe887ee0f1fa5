# Two commands: `make demo` and `make test`. Everything lives in .venv of this checkout.
PYTHON ?= /usr/bin/python3
VENV   := .venv
BIN    := $(VENV)/bin
JOBS   ?= 2

.PHONY: help demo test test-all lint docs measure clean
.DEFAULT_GOAL := help

help: ## list these commands
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 18

$(VENV)/ready: requirements.lock pyproject.toml scripts/setup
	@PYTHON=$(PYTHON) scripts/setup $(VENV)

demo: $(VENV)/ready ## watch a hostile model fail, on a sample project behind a real wall
	@$(BIN)/agent-security demo

test: $(VENV)/ready ## the fast suite: no root, no engine, no browser
	@$(BIN)/python -m pytest -n $(JOBS) -m "not engine and not browser and not slow and not terminal"

test-all: $(VENV)/ready lint ## everything: engine, browser, root and ordinary user
	@scripts/test-all $(VENV) $(JOBS)

lint: $(VENV)/ready ## ruff and mypy
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy

docs: $(VENV)/ready ## write the generated parts of the documents again
	@$(BIN)/python scripts/docs --write

measure: $(VENV)/ready ## the benchmarks; each prints medians and ratios from one run
	@set -e; for file in benchmarks/*.py; do echo "== $$file"; $(BIN)/python $$file; done

clean: ## remove what the commands above made here
	rm -rf $(VENV) .mypy_cache .ruff_cache .hypothesis
