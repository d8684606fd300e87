# Two commands are enough: `make reproduce` and `make test`. Both set up their own .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: reproduce test lint format clean

reproduce: $(VENV)/installed-all        ## run the main job on the bundled data
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

clean:
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed-%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$*]"
	@touch $@
