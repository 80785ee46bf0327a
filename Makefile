# Everything one types in a clone.  `make` alone lists it.
#
#   PYTHON=  the interpreter that makes the environment; a torch it has is used as it is
#   VENV=    where the environment lives

VENV   ?= .venv
PYTHON ?= $(if $(wildcard $(VENV)/bin/python),$(VENV)/bin/python,python3)
BIN    := $(VENV)/bin
TESTS  ?=

.DEFAULT_GOAL := help
.PHONY: help run test test-long check docs readme page plant-faults bench clean setup-run setup-dev

help: ## list what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: setup-run ## measure this machine, run an example, say why it is not faster
	$(BIN)/roofline measure --device cpu --quick
	$(BIN)/roofline run -o layernorm.roof examples/layernorm.py
	$(BIN)/roofline report layernorm.roof -o report.html

test: setup-dev ## the whole CPU test suite; TESTS= narrows it
	$(BIN)/python -m pytest -n 2 $(TESTS)

test-long: setup-dev ## long fuzzing and exhaustive tables, before a release
	$(BIN)/python -m pytest -n 2 --dist worksteal -m long --timeout 1800 $(TESTS)

check: setup-dev ## format, lint, types, import layers, file sizes
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/file_size.py
	@if [ -d web/node_modules ]; then cd web && npm run --silent check; \
	  else echo "types of the page's script not checked: no web/node_modules (cd web && npm ci)"; fi

docs: setup-dev ## the documentation, in docs/_build: html and a manual page
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	$(BIN)/sphinx-build -W --keep-going -q -b man docs docs/_build/man

readme: setup-dev ## run the two commands; put their output and picture into the README
	$(BIN)/python tools/readme.py
	$(BIN)/python -m tools.picture report.html docs/img/report.png

page: ## bundle the interactive page (needs node and npm)
	cd web && npm ci --no-audit --no-fund && npm run build

plant-faults: setup-dev ## plant faults one by one; every one must turn a test red
	$(BIN)/python tools/plant_faults.py

bench: setup-dev ## start-up and counting costs, as ratios
	$(BIN)/python benchmarks/startup.py

clean: ## remove the environment and everything that was built
	rm -rf $(VENV) docs/_build build dist layernorm.roof report.html
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

setup-run setup-dev:
	@$(PYTHON) -c '' 2>/dev/null || { \
	  echo "roofline: no interpreter $(PYTHON); install Python 3.11 or newer, or name one with PYTHON=" >&2; \
	  exit 2; }
	@$(PYTHON) tools/setup.py $(VENV) $(subst setup-,,$@)
