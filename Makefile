# Two commands are enough: `make reproduce` and `make test`. Both set up their own .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: reproduce reproduce-full test lint format safety regions
.PHONY: bench-newton bench-screening clean

reproduce: $(VENV)/installed-paper      ## the paper's experiments in about a minute
	$(BIN)/wideberth reproduce --quick

reproduce-full: $(VENV)/installed-paper ## all of them, under an hour
	$(BIN)/wideberth reproduce

test: $(VENV)/installed-test            ## run the test suite
	$(BIN)/python -m pytest -n 2

lint: $(VENV)/installed-lint            ## check style, formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/installed-lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

safety: $(VENV)/installed-test          ## try to catch a screening rule being wrong
	OMP_NUM_THREADS=1 $(BIN)/python tests/safety.py

regions: $(VENV)/installed-test         ## how much each region screens
	$(BIN)/python -m wideberth.paper.regions

bench-newton: $(VENV)/installed-test    ## the Newton solver beside its peers
	$(BIN)/python benchmarks/newton.py

bench-screening: $(VENV)/installed-test ## what screening costs
	$(BIN)/python benchmarks/screening.py

clean:
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed-%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$*]"
	@touch $@
