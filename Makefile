# make run: the page on http://127.0.0.1:7860.  make test: the tests, in WORKERS processes; NEEDS=tests/everything.txt leaves
# none out, as in CI.  make check: the linter.
# make bench-page: what the page costs.  make measure: every result of the documents that is missing or older than the code.
PYTHON ?= python3
VENV ?= .venv
PORT ?=
WORKERS ?= 3
NEEDS ?= tests/requirements.txt
BIN = $(VENV)/bin
DEV = $(VENV)/$(basename $(notdir $(NEEDS))).stamp

.PHONY: run test check bench-page measure clean

run: $(VENV)/run.stamp
	$(BIN)/python app.py $(if $(PORT),--port $(PORT)) --open

test: $(DEV)
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile

check: $(DEV)
	$(BIN)/ruff check .

bench-page: $(DEV)
	$(BIN)/python -m tests.page.bench

measure: $(DEV)
	$(BIN)/python -m lopa_core measure --all --resume --render

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or newer is needed: give one with PYTHON=/path/to/python3.12")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/run.stamp: requirements.txt constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install -r requirements.txt -c constraints.txt
	touch $@

$(DEV): $(NEEDS) tests/requirements.txt requirements.txt constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install -r $(NEEDS) -c constraints.txt
	touch $@ $(VENV)/run.stamp

clean:
	rm -rf $(VENV) .pytest_cache .hypothesis .ruff_cache
