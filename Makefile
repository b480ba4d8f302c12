# Every target sets up what it needs: a virtual environment in .venv, made with $(PYTHON) (3.11 or newer).
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEMO_READY := $(VENV)/.ready-demo
DOCS_READY := $(VENV)/.ready-docs

.PHONY: demo test test-all lint docs pictures pages notebooks bench bench-short clean

demo: $(DEMO_READY)
	$(BIN)/python examples/demo.py demo-output

# Two processes, each on one core; tests of one group share a process, and what is expensive to make.
PYTEST = OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadgroup

test: $(READY)
	$(PYTEST) -m "not slow"

# What `make test` leaves out: the slow tests, and far more examples of every property. The rest would only run again.
test-all: $(READY)
	HYPOTHESIS_PROFILE=thorough $(PYTEST) -m "slow or hypothesis"

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tools/layers.py

# The documentation site, in site/; needs no network once its environment is there. Whatever Sphinx warns of is an error.
docs: $(DOCS_READY)
	rm -rf site
	PYTHONDONTWRITEBYTECODE=1 $(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --fresh-env \
	  --conf-dir tools/docs --doctree-dir build/doctrees . site
	@echo "The site is built: open site/index.html"

pictures: $(DEMO_READY)
	$(BIN)/python examples/pictures.py docs/pictures

# What the pages show, and the notebooks made of them; the tests fail if either is not up to date.
pages: $(READY)
	$(BIN)/python tools/pages.py --write docs/*.md docs/journeys/*.md

notebooks: $(READY)
	$(BIN)/python tools/notebooks.py --write

# Every benchmark, and one table of what was measured beside its targets; the short form takes a few minutes.
bench: $(READY)
	$(BIN)/python tools/bench.py --page

bench-short: $(READY)
	$(BIN)/python tools/bench.py --short

define install
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "bayesdp needs Python 3.11 or newer; name one with: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' || \
	  { echo "this Python cannot make virtual environments; on Debian: apt install python3-venv" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --disable-pip-version-check $(2) -e ".[$(1)]"
endef

# The demo needs a small part of what the tests need: no Spark, no Java, no other engine.
$(DEMO_READY): pyproject.toml constraints.txt
	$(call install,demo,--no-compile)
	@touch $@

$(DOCS_READY): pyproject.toml constraints.txt
	$(call install,docs)
	@touch $@ $(DEMO_READY)

$(READY): pyproject.toml constraints.txt
	$(call install,dev)
	@touch $@ $(DEMO_READY) $(DOCS_READY)

clean:
	rm -rf $(VENV) demo-output site build .mypy_cache .pytest_cache .ruff_cache .hypothesis
