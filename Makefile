PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# One BLAS thread a test worker: two pools on the same cores only slow each other down.
TEST_ENV := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

.PHONY: test demo check lint types bench clean

test: $(STAMP)
	$(TEST_ENV) $(BIN)/python -m pytest -n 2

demo: $(STAMP)
	$(BIN)/python examples/mnist_cnn.py

check: lint types test

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(STAMP)
	$(BIN)/pyright

bench: $(STAMP)
	$(BIN)/python -m benchmarks speed

clean:
	rm -rf $(VENV) build dist .benchmarks .hypothesis .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -c constraints.txt -e '.[dev]'
	touch $@
