# `make` sets up and solves the bundled photographs; `make test` sets up and runs all tests.

PYTHON ?= python3
CORES ?= all
VENV := .venv
BIN := $(VENV)/bin

.PHONY: all setup test test-faults test-slurm bench resources reference check-reference docs pictures lint format lock clean
.DEFAULT_GOAL := all

all: setup
	@env -u JIGSAW_DATA $(BIN)/snakemake --cores $(CORES) --config only=bundled,mixed_bags
	@echo; cat results/tables/bundled.md; echo; cat results/tables/accuracy.md
	@echo; echo "All tables are in results/tables/, all pictures in results/pictures/. To look at them, open"
	@echo "results/report.html"

setup: $(VENV)/.complete

$(VENV)/.complete: requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "jigsaw needs Python 3.11 or newer; say which with: make PYTHON=python3.11"; exit 1; }
	@echo "Setting up $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

test: setup
	@$(BIN)/python -m pytest --numprocesses auto --dist loadfile

# Kills, damage, full disks and hostile input, for ten minutes and more; ends with a tally.
test-faults: setup
	@$(BIN)/python -m pytest --override-ini "addopts=-q --strict-markers" tests/faults

# On a real Slurm of one node, which is unpacked into .slurm and runs for as long as the test does.
test-slurm: setup
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements-slurm.txt
	@tests/slurm/install .slurm
	@$(BIN)/python -m pytest tests/slurm || [ $$? = 5 ]  # 5: skipped, and it has said why

bench: setup
	@$(BIN)/python benchmarks/bench.py $(if $(QUICK),--quick)

resources: setup
	@$(BIN)/python benchmarks/resources.py $(SIZES)

# All sets and bags with all presets, hours of work that may be interrupted, and then what is kept of it.
reference: setup
	@$(BIN)/snakemake --cores $(CORES) --config require_all=true
	@$(BIN)/jigsaw reference keep

# Some of the kept results, of the bundled photographs, made again and compared bit for bit.
check-reference: setup
	@env -u JIGSAW_DATA $(BIN)/jigsaw reference check --sample 3

docs: setup
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement docs/requirements.txt
	@$(BIN)/sphinx-build -W --keep-going --quiet docs build/docs
	@echo "The documentation is in build/docs/index.html."

pictures: setup
	@$(BIN)/python docs/make_pictures.py

lint: setup
	@$(BIN)/python -m pip --disable-pip-version-check check
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/snakefmt --check Snakefile workflow
	@$(BIN)/snakemake --lint

format: setup
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .
	@$(BIN)/snakefmt Snakefile workflow

lock:
	@$(PYTHON) -m venv $(VENV)-lock
	@$(VENV)-lock/bin/python -m pip install --quiet --upgrade .[dev]
	@{ echo "# Every version pinned; made by \`make lock\`."; \
	   $(VENV)-lock/bin/python -m pip freeze --exclude jigsaw; } > requirements.txt
	@$(VENV)-lock/bin/python -m pip install --quiet .[slurm]
	@{ echo "# What Slurm needs besides requirements.txt, every version pinned; made by \`make lock\`."; \
	   $(VENV)-lock/bin/python -m pip freeze --exclude jigsaw | grep -vxFf requirements.txt; } > requirements-slurm.txt
	@$(VENV)-lock/bin/python -m pip install --quiet .[docs]
	@{ echo "# What \`make docs\` needs besides; made by \`make lock\`."; \
	   $(VENV)-lock/bin/python -m pip freeze --exclude jigsaw | grep -vxFf requirements.txt \
	   | grep -vxFf requirements-slurm.txt; } > docs/requirements.txt
	@rm -r $(VENV)-lock

clean:
	rm -rf $(VENV) .slurm .snakemake build results/puzzles results/pictures results/plots results/report.html \
	  results/records results/tables results/logs results/images results/kernels
