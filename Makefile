# make demo and make test set up all they need in .venv; nothing else is required but Python 3.10 or newer with venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test test-datasets4 lint types bench fuzz sample clean

demo: $(READY)
	$(BIN)/medgen-bench demo

test: lint types test-datasets4
	$(BIN)/python -m medgen_scripts.make_sample --fetch-only
	$(BIN)/pytest -n 2 --dist loadgroup

# The data set on the oldest major version that is supported; the suite itself runs on the newest.
test-datasets4: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target .cache/datasets4 'datasets==4.0.0'
	PYTHONPATH=.cache/datasets4 $(BIN)/pytest -p no:cacheprovider tests/test_medgen_bench_*.py

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# mypy does not follow an editable install's finder, so it is shown the import names as links.
types: $(READY)
	mkdir -p .typing
	ln -sfn ../metrics .typing/medgen_metrics
	ln -sfn ../scripts .typing/medgen_scripts
	ln -sfn ../dataset_card .typing/medgen_card
	MYPYPATH=.typing:. $(BIN)/mypy -p medgen_metrics -p medgen_scripts -p medgen_card -m medgen_bench

bench: $(READY)
	$(BIN)/python -m tests.bench

# Coverage-guided fuzzing of what reads anyone's bytes; not part of `make test`, whose property tests are hypothesis's.
fuzz: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check atheris
	for target in em jsonl image verdict; do $(BIN)/python -W ignore -m tests.fuzz $$target 60 || exit 1; done

sample: $(READY)
	$(BIN)/python -m medgen_scripts.make_sample

$(READY): setup.cfg pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test]'
	touch $(READY)

# Without `out`: replies in it were paid for.
clean:
	rm -rf $(VENV) .typing build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .cache
