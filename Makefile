PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DOCS := .venv-docs
STAMP := $(VENV)/.installed

# Small matrices and small networks gain nothing from a second thread, and two pools on the same cores slow each other
# down by more than tenfold when anything else runs.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

.PHONY: test test-all versions demo check lint types docs bench clean

test: $(STAMP)
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 --dist loadgroup -m "not slow"

# With what simulates for long, and with 17 times the examples, other ones every time, for each property.
test-all: $(STAMP)
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 --dist loadgroup --hypothesis-profile=long

# The product on the lowest and the highest versions that it claims to work with; `make versions CORNERS=ray-lowest` on
# some of them.
versions:
	$(ONE_THREAD) $(PYTHON) tests/versions.py $(CORNERS)

demo: $(STAMP)
	$(ONE_THREAD) $(BIN)/python examples/mnist_cnn.py

check: lint types test

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(STAMP)
	$(BIN)/pyright

# Into site/. The variable silences an announcement of the theme's authors, which is about no page of ours.
docs: $(DOCS)/.installed
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --strict

bench: $(STAMP)
	$(ONE_THREAD) $(BIN)/python -m benchmarks speed

clean:
	rm -rf $(VENV) .venv-versions $(DOCS) build dist site .benchmarks .hypothesis .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -c constraints.txt pip # Python 3.11's own knows no dependency groups
	$(BIN)/python -m pip install -c constraints.txt -e '.[all]' --group dev
	touch $@

$(DOCS)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python -m pip install -c constraints.txt pip
	$(DOCS)/bin/python -m pip install -c constraints.txt --group docs # of the package only the source is read
	touch $@
