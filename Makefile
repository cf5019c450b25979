PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# Small matrices and small networks gain nothing from a second thread, and two pools on the same cores slow each other
# down by more than tenfold when anything else runs.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

.PHONY: test demo check lint types bench clean

test: $(STAMP)
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 --dist loadgroup

demo: $(STAMP)
	$(ONE_THREAD) $(BIN)/python examples/mnist_cnn.py

check: lint types test

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(STAMP)
	$(BIN)/pyright

bench: $(STAMP)
	$(ONE_THREAD) $(BIN)/python -m benchmarks speed

clean:
	rm -rf $(VENV) build dist .benchmarks .hypothesis .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -c constraints.txt -e '.[dev]'
	touch $@
