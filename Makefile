# Two commands are enough: `make reproduce` and `make test`. Both set up their own .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OLDEST_TESTS := $(addprefix tests/, \
	estimators/test_estimators.py contract/test_sklearn_checks.py estimators/test_pipeline.py \
	estimators/test_certify.py measurement/test_radius.py estimators/test_interoperation.py \
	test_plotting.py estimators/test_model_selection.py cli/test_cli_report.py \
	data/test_untrusted.py noise/test_shapes.py problem/test_problem.py \
	problem/test_endpoints.py solvers/test_conic.py test_arguments.py \
	problem/test_labels.py noise/test_covariance.py contract/test_metamorphic.py \
	estimators/test_trained_radius.py problem/test_rounding.py \
	noise/test_error_bars.py solvers/test_measured.py estimators/test_measured_svc.py \
	estimators/test_categories.py)

.PHONY: reproduce reproduce-full test contract test-oldest test-machines lint format
.PHONY: accessibility
.PHONY: safety ramp statistics torture mutants fuzz faults
.PHONY: regions bench bench-full bench-guard bench-guard-update bench-profile
.PHONY: bench-screening bench-choice bench-scale bench-sparse bench-labels bench-ties
.PHONY: bench-small
.PHONY: docs linkcheck linkcheck-external release clean

reproduce: $(VENV)/installed-test       ## a part of the paper's experiments, 1–3 minutes
	$(BIN)/wideberth reproduce --quick

reproduce-full: $(VENV)/installed-test  ## all of them, under an hour
	$(BIN)/wideberth reproduce

test: $(VENV)/installed-test            ## run the test suite
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

contract: $(VENV)/installed-test        ## what every implementation must do, in minutes
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2 tests/contract

test-oldest: $(VENV)-oldest/installed   ## what meets dependencies, on the oldest allowed
	OMP_NUM_THREADS=1 $(VENV)-oldest/bin/python -m pytest -n 2 $(OLDEST_TESTS)

# OpenBLAS ignores a name it does not know: the kernels found are printed first.
CORES ?= Prescott Nehalem Haswell SkylakeX
test-machines: $(VENV)/installed-test   ## numerical tests on kernels of other processors
	for core in $(CORES); do \
		export OPENBLAS_CORETYPE=$$core OMP_NUM_THREADS=1; \
		$(BIN)/python -m threadpoolctl -i numpy && $(BIN)/python -m pytest -q -n 2 \
		$(addprefix tests/, kernels noise problem screening solvers) || exit 1; \
	done

lint: $(VENV)/installed-lint            ## check style, formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/installed-lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

safety: $(VENV)/installed-test          ## try to catch a screening rule being wrong
	OMP_NUM_THREADS=1 $(BIN)/python tests/campaigns/safety.py

ramp: $(VENV)/installed-test            ## hold the ramp loss against its definition
	OMP_NUM_THREADS=1 $(BIN)/python tests/campaigns/ramp.py

statistics: $(VENV)/installed-test      ## attack populations, chances, probabilities
	OMP_NUM_THREADS=1 $(BIN)/python tests/campaigns/populations.py

torture: $(VENV)/installed-test         ## a thousand numerically awful problems
	OMP_NUM_THREADS=1 $(BIN)/python tests/campaigns/torture.py
	OMP_NUM_THREADS=1 $(BIN)/python tests/campaigns/kinks.py

SEED ?= 1
COUNT ?= 100
mutants: $(VENV)/installed-test         ## make mistakes at random; the tests must notice
	$(BIN)/python tools/mutants.py --seed $(SEED) --count $(COUNT)

fuzz: $(VENV)/installed-test            ## a million odd files and arguments; an hour
	OMP_NUM_THREADS=1 $(BIN)/python -W ignore tests/campaigns/fuzz.py

faults: $(VENV)/installed-test          ## interruptions, no home, many processes
	OMP_NUM_THREADS=1 $(BIN)/python tests/campaigns/faults.py

accessibility: $(VENV)/installed-test   ## hold the reports against axe-core (needs npm)
	npm install --silent --no-save --prefix $(VENV) axe-core
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -k "axe or audit_would" tests

regions: $(VENV)/installed-test         ## how much each region screens
	$(BIN)/python -m wideberth_paper.regions

bench: $(VENV)-bench/installed-bench    ## beside other solvers, about ten minutes
	$(VENV)-bench/bin/python -m benchmarks.run --readme

bench-full: $(VENV)-bench/installed-bench-dro ## everything, under two hours
	$(VENV)-bench/bin/python -m benchmarks.run --plan full

bench-guard: $(VENV)/installed-test     ## passes and kernel calls against stored ones
	$(BIN)/python -m benchmarks.guard

bench-guard-update: $(VENV)/installed-test ## store them
	$(BIN)/python -m benchmarks.guard --update

bench-profile: $(VENV)/installed-test   ## where the time of our own solvers goes
	$(BIN)/python -m benchmarks.profile_solvers

bench-screening: $(VENV)/installed-test ## what screening costs and brings
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.screening

bench-choice: $(VENV)-bench/installed-bench ## what auto chooses, beside other solvers
	OMP_NUM_THREADS=1 $(VENV)-bench/bin/python -m benchmarks.choice --peers

bench-scale: $(VENV)/installed-test     ## out of core and on Dask, beside memory
	$(BIN)/python -m benchmarks.scale

bench-sparse: $(VENV)-bench/installed-bench ## box noise, norm penalties, wide data
	OMP_NUM_THREADS=1 $(VENV)-bench/bin/python -m benchmarks.sparse

bench-labels: $(VENV)/installed-test    ## wrong labels: what the ramp costs and brings
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.labels

bench-ties: $(VENV)/installed-test      ## rows that repeat, in products X @ w
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.ties

bench-small: $(VENV)-bench/installed-bench ## small problems, many classes, searches
	OMP_NUM_THREADS=1 $(VENV)-bench/bin/python -m benchmarks.small

docs: $(VENV)/installed-docs            ## the documentation: docs/_build/html/index.html
	OMP_NUM_THREADS=1 $(BIN)/sphinx-build --quiet --fail-on-warning --keep-going \
		docs docs/_build/html

linkcheck: docs                         ## every link and anchor within the documentation
	$(BIN)/python tools/check_links.py docs/_build/html

linkcheck-external: docs                ## the addresses outside; needs the network
	$(BIN)/sphinx-build --quiet -b linkcheck docs docs/_build/linkcheck

release:                                ## build sdist and wheel, and try both
	rm -rf dist $(VENV)-release
	$(PYTHON) -m venv $(VENV)-release/build
	$(VENV)-release/build/bin/python -m pip install --quiet build twine
	compiler=$$($(VENV)-release/build/bin/python tools/compiler.py) && \
		eval "$$compiler" && $(VENV)-release/build/bin/python -m build --quiet
	$(VENV)-release/build/bin/twine check --strict dist/*
	$(PYTHON) tools/contents.py dist/*
	for file in dist/*.tar.gz dist/*.whl; do \
		rm -rf $(VENV)-release/empty && $(PYTHON) -m venv $(VENV)-release/empty && \
		$(call install,$(VENV)-release/empty/bin/python,pandas "$$file[cli]") && \
		$(VENV)-release/empty/bin/python tools/pages.py docs/install.md \
			docs/first-model.md || exit 1; \
	done

clean:
	rm -rf docs/_build docs/api docs/gallery
	rm -rf $(VENV) $(VENV)-bench $(VENV)-oldest $(VENV)-release benchmarks/.cache dist build
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .mutants

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

KERNELS := setup.py $(wildcard $(addprefix src/wideberth/kernels/*., pyx pxd h))

# Kernels are compiled on installation: $(call install,PYTHON,WHAT).
install = compiler=$$($(1) tools/compiler.py) && eval "$$compiler" && \
	$(1) -m pip install --quiet --disable-pip-version-check $(2)

$(VENV)/installed-%: pyproject.toml $(KERNELS) | $(BIN)/python
	$(call install,$(BIN)/python,--editable ".[$*]" --editable ./paper)
	@touch $@

# Apart from the others: what the peers bring must not change what the tests see.
$(VENV)-bench/installed-%: pyproject.toml $(KERNELS)
	$(PYTHON) -m venv $(VENV)-bench
	$(call install,$(VENV)-bench/bin/python,--editable ".[$*]" --editable ./paper)
	@touch $@

$(VENV)-oldest/installed: pyproject.toml $(KERNELS)
	$(PYTHON) -m venv $(VENV)-oldest
	$(call install,$(VENV)-oldest/bin/python,$$($(PYTHON) tools/lower_bounds.py test) \
		--editable . --editable ./paper)
	@touch $@
