# Builds, checks and runs everything; `make` lists what there is.
# Needs Python >= 3.11, a JDK >= 17, Rust >= 1.88 and Maven; scripts/check_prerequisites.sh says what lacks.

PYTHON ?= python3
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# Kept outside the clone, so that a second clone builds in seconds: Rust's objects and the Pulsar server.
CACHE := $(or $(PYSPARK_PULSAR_CACHE),$(if $(XDG_CACHE_HOME),$(XDG_CACHE_HOME)/pyspark-pulsar,$(HOME)/.cache/pyspark-pulsar))
export PYSPARK_PULSAR_CACHE := $(CACHE)
export CARGO_TARGET_DIR := $(CACHE)/cargo-target
# One interpreter for all that Rust builds, or pyo3 is compiled again and again.
export PYO3_PYTHON := $(CURDIR)/.venv/bin/python
# Spark's workers and the tools of the tests must be those of the virtual environment.
export PYSPARK_PYTHON := $(PYO3_PYTHON)
unexport SPARK_HOME PYSPARK_DRIVER_PYTHON PYTHONPATH
# Where bytecode is not kept, each process that Spark starts compiles the whole package: half of the time of a short task.
unexport PYTHONDONTWRITEBYTECODE
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Bytecode comes with the first import: most of what is installed is never imported.
export PIP_COMPILE := 0

BIN := .venv/bin
KERNEL := kernel/Cargo.toml
VENV_DONE := .venv/.requirements-installed
BUILD_DONE := .venv/.package-installed
BUILD_INPUTS := $(shell find kernel jvm -name target -prune -o -type f -not -name '*.pyc' -print 2>/dev/null)
CARGO_TESTS := --locked --release --manifest-path $(KERNEL)

.PHONY: help
help: ## List the targets
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | column -t -s '|' 2>/dev/null \
	  || sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/  make \1: \2/p' $(MAKEFILE_LIST)

.PHONY: check-prerequisites check-lint-prerequisites
check-prerequisites:
	@bash scripts/check_prerequisites.sh $(PYTHON)
check-lint-prerequisites:
	@bash scripts/check_prerequisites.sh $(PYTHON) lint

$(VENV_DONE): requirements/dev.txt | check-prerequisites
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --require-hashes --requirement requirements/dev.txt
	@touch $@

# An editable install: changed Python files count at once, changed Rust and Java files after the next `make build`.
$(BUILD_DONE): $(VENV_DONE) pyproject.toml $(BUILD_INPUTS)
	PATH="$(CURDIR)/.venv/bin:$$PATH" python -m pip install --quiet --no-deps --no-build-isolation \
	  --config-settings build-args=--locked --editable .
	@touch $@

# What Spark Connect needs lies beside the environment, so that tests show that nothing else needs pandas.
CONNECT_DONE := .venv/connect/.requirements-installed
$(CONNECT_DONE): requirements/connect.txt $(VENV_DONE)
	$(BIN)/python -m pip install --quiet --require-hashes --no-deps --upgrade --target $(@D) --requirement $<
	@touch $@

# Earlier versions of PySpark that the package takes; on the path they come before that of the environment.
OLDEST_SPARK := .venv/spark-4.1
FORMER_SPARK := .venv/spark-4.2
$(OLDEST_SPARK)/.requirements-installed $(FORMER_SPARK)/.requirements-installed: \
  .venv/spark-%/.requirements-installed: requirements/spark-%.txt scripts/unpack_pyspark.py $(VENV_DONE)
	rm -rf $(@D)
	$(BIN)/python scripts/unpack_pyspark.py $< $(@D)
	@touch $@

# The PySpark of the other connector that bench/peers compares with.
PEER_SPARK := .venv/peer-spark
$(PEER_SPARK)/.requirements-installed: requirements/peer-spark.txt $(VENV_DONE)
	$(BIN)/python -m pip install --quiet --require-hashes --no-deps --upgrade --target $(@D) --requirement $<
	@touch $@

# Spark's classes, parsed and checked. A JVM with other classes, or another JVM, does without it.
SPARK_CLASSES := .venv/spark-classes.jsa
$(SPARK_CLASSES): tests/programs/spark_classes.py $(VENV_DONE)
	JDK_JAVA_OPTIONS="-XX:TieredStopAtLevel=1 -Xlog:disable" \
	  SPARK_SUBMIT_OPTS="-XX:ArchiveClassesAtExit=$@.new" $(BIN)/spark-submit $< >$@.log 2>&1 || { cat $@.log; exit 1; }
	@if [ -e $@.new ]; then mv -f $@.new $@; else touch $@; fi

# PySpark's bytecode, which Spark's Python processes would compile anew, each of them.
SPARK_BYTECODE := .venv/.spark-bytecode-added
FORMER_BYTECODE := .venv/.former-bytecode-added
$(SPARK_BYTECODE): tests/programs/spark_bytecode.py $(VENV_DONE) $(OLDEST_SPARK)/.requirements-installed
	$(BIN)/python $< "$$(env -u PYTHONPATH $(BIN)/python -c 'import pyspark; print(pyspark.__path__[0])')"
	$(BIN)/python $< $(OLDEST_SPARK)/pyspark
	@touch $@
$(FORMER_BYTECODE): tests/programs/spark_bytecode.py $(FORMER_SPARK)/.requirements-installed
	$(BIN)/python $< $(FORMER_SPARK)/pyspark
	@touch $@

.PHONY: venv
venv: $(VENV_DONE) ## Make .venv with all tools, from the hash-locked requirements/dev.txt

.PHONY: build
build: $(BUILD_DONE) ## Compile the kernel and the catalog, and install the package into .venv, editable

.PHONY: jar
jar: $(VENV_DONE) ## Compile the catalog's jar alone, after a change in jvm
	$(BIN)/python jvm/build_jar.py

# What builds and checks wheels lies in an environment of its own: Zig is large.
WHEELS := .venv/wheels
WHEELS_DONE := $(WHEELS)/.requirements-installed
$(WHEELS_DONE): requirements/wheels.txt $(VENV_DONE)
	$(PYTHON) -m venv $(WHEELS)
	$(WHEELS)/bin/python -m pip install --quiet --require-hashes --requirement $<
	@touch $@

.PHONY: wheel wheels sdist
wheel: $(WHEELS_DONE) jar ## Build the wheel that is given to users of this kind of machine into dist/, and check it
	rm -f dist/*.whl
	$(WHEELS)/bin/python scripts/build_wheels.py --out dist
	$(WHEELS)/bin/python scripts/check_wheel.py dist/*.whl

wheels: $(WHEELS_DONE) jar ## Build and check the wheels for Linux on x86_64 and aarch64; make wheels PLATFORMS=linux-aarch64
	rm -f dist/*.whl
	$(WHEELS)/bin/python scripts/build_wheels.py --out dist $(or $(PLATFORMS),linux-x86_64 linux-aarch64)
	$(WHEELS)/bin/python scripts/check_wheel.py dist/*.whl

sdist: $(WHEELS_DONE) ## Build the source distribution, and a wheel of it in an empty environment, to see that it can be
	rm -rf dist/*.tar.gz dist/from-source
	$(WHEELS)/bin/python -m build --quiet --sdist --outdir dist .
	$(WHEELS)/bin/python -m pip wheel --quiet --no-deps --wheel-dir dist/from-source dist/*.tar.gz
	rm -r dist/from-source

# The package stays editable, with the kernel that users get, until `make build` compiles one again.
WHEEL_KERNEL := .venv/wheel-kernel/.installed
$(WHEEL_KERNEL): $(BUILD_DONE) $(WHEELS_DONE) scripts/build_wheels.py
	rm -rf $(@D)
	$(WHEELS)/bin/python scripts/build_wheels.py --out $(@D)
	cd $(@D) && $(CURDIR)/$(BIN)/python -m zipfile --extract *.whl .
	cp $(@D)/pyspark_pulsar/_kernel*.so src/pyspark_pulsar/_kernel.so.new
	mv -f src/pyspark_pulsar/_kernel.so.new src/pyspark_pulsar/_kernel.abi3.so
	@touch $@

.PHONY: wheel-kernel
wheel-kernel: $(WHEEL_KERNEL) ## Put the kernel of the wheel into .venv in place of that of make build, as benchmarks do

.PHONY: test-wheel
test-wheel: server ## Try the wheel in dist/: from an empty environment to rows, and beside a Spark that pip does not know
	WHEEL="$$(echo $(CURDIR)/dist/*.whl)" $(BIN)/python -m pytest \
	  tests/integration/package/test_first_minutes.py tests/integration/package/test_own_spark.py

# The emulator and a Python for that processor come from Debian.
.PHONY: test-emulated
test-emulated: $(WHEELS_DONE) ## Run kernel calls of the aarch64 wheel in dist/ under an emulator
	scripts/debian_root.sh $(CACHE)/debian-arm64 --alone qemu-user:amd64 python3.13:arm64 libstdc++6:arm64
	$(WHEELS)/bin/python scripts/emulate_aarch64.py $(CACHE)/debian-arm64 dist/*aarch64.whl

.PHONY: lint-workflows
lint-workflows: $(WHEELS_DONE) ## Check .github/workflows: zizmor, and actionlint where Go is there
	$(WHEELS)/bin/zizmor --offline --quiet .github/workflows
	$(if $(shell command -v go),GOBIN=$(CURDIR)/.venv/go GOFLAGS=-mod=mod go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.12 && .venv/go/actionlint)

.PHONY: third-party
third-party: $(BUILD_DONE) ## Write the licences of what is linked in, and the list of what pip brings along, after a change of dependencies
	$(BIN)/python scripts/third_party.py

.PHONY: release
release: $(VENV_DONE) ## Set the version everywhere and date the changes; make release VERSION=0.1.0 (docs/releasing.md)
	$(BIN)/python scripts/release.py $(VERSION)

.PHONY: check-release
check-release: $(WHEELS_DONE) ## See that a tag is the version and that its changes are dated, and write them to dist/notes.md; make check-release TAG=v0.1.0
	$(WHEELS)/bin/python scripts/release.py --check "$(TAG)" >dist/notes.md

.PHONY: server fetched-server
server: $(BUILD_DONE) fetched-server ## Fetch the Pulsar server into the cache
fetched-server: $(VENV_DONE)
	@PYTHONPATH=src $(BIN)/python -c 'from pyspark_pulsar.tools.standalone import fetch_server; fetch_server()'

.PHONY: demo
demo: server ## Show the whole thing against a real Pulsar server
	$(BIN)/python examples/demo.py

# Each part notes its seconds; a part that fails does not stop the others. The longest begin first, three at a time: each
# waits for servers most of its time.
JOBS := 3
PART = $(PYTHON) scripts/test_times.py run $@
.PHONY: test
test: check-lint-prerequisites check-browser ## Everything that CI runs, in parts, and a table of their seconds; a real Pulsar server at the end
	@$(PYTHON) scripts/test_times.py forget
	@$(PYTHON) scripts/test_times.py run install-and-build $(MAKE) --no-print-directory --jobs $(JOBS) --output-sync=target \
	  build lint-python fetched-server $(INSTALLED)
	@status=0; $(MAKE) --no-print-directory --jobs $(JOBS) --output-sync=target --keep-going \
	  test-unit check-kernel $(PARTS) simulate $(EARLIER) test-docs || status=$$?; \
	  $(PYTHON) scripts/test_times.py show; exit $$status

.PHONY: test-one
test-one: server $(SPARK_CLASSES) $(SPARK_BYTECODE) ## One test, file or folder; make test-one TEST=tests/integration/source/test_bounds.py TEST_SEED=7
	$(BIN)/python -m pytest '$(TEST)'

.PHONY: format
format: $(VENV_DONE) ## Format all code
	$(BIN)/ruff format
	$(BIN)/ruff check --fix --quiet || true
	cargo fmt --all --manifest-path $(KERNEL)

.PHONY: lint lint-python lint-kernel
lint: lint-python lint-kernel ## Formatting, ruff, English, mypy, layer contracts, clippy
lint-python: $(VENV_DONE)
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/python scripts/english
	$(BIN)/mypy
	$(BIN)/mypy --config-file tests/mypy.ini tests
	PYTHONPATH=src $(BIN)/lint-imports --no-cache
lint-kernel: $(VENV_DONE)
	cargo fmt --all --check --manifest-path $(KERNEL)
	cargo clippy --quiet $(CARGO_TESTS) --all-targets -- -D warnings
	cargo clippy --quiet $(CARGO_TESTS) --features python -- -D warnings
	cargo clippy --quiet $(CARGO_TESTS) -p pyspark-pulsar-fuzz --all-targets -- -D warnings

# One after the other: cargo's commands wait for each other.
.PHONY: check-kernel
check-kernel:
	@$(PART) $(MAKE) --no-print-directory --jobs 1 lint-kernel test-kernel fuzz

.PHONY: test-kernel
test-kernel: $(VENV_DONE) ## The kernel's own tests
	cargo test --quiet $(CARGO_TESTS)

.PHONY: test-unit
test-unit: $(BUILD_DONE) ## Tests that need no server
	cargo fetch --quiet --locked --manifest-path $(KERNEL)  # crates of all platforms, whose licences are looked at
	$(PART) $(BIN)/python -m pytest tests/unit tests/property

# A part for each folder. Each starts servers of its own on free ports. pytest's exit code 5 (no test ran) is a failure like
# any other.
PARTS := $(addprefix test-,package cluster checkpoint source tier stream schema catalog security sink monitoring newest-server)
EARLIER := test-oldest-spark test-former-linkage
.PHONY: test-integration test-former-spark $(EARLIER) $(PARTS)
# The tests start JVMs by the hundred, most of them Spark's, and each lives for seconds: loading classes and compiling them
# as for days would be most of the tests' processor time.
test-one test-integration test-former-spark $(EARLIER) $(PARTS): export JDK_JAVA_OPTIONS := \
  -XX:TieredStopAtLevel=1 -XX:SharedArchiveFile=$(CURDIR)/$(SPARK_CLASSES) -Xlog:disable
$(PARTS): $(SPARK_CLASSES)
test-integration test-former-spark $(EARLIER) $(PARTS): $(SPARK_BYTECODE)
test-integration: server ## Tests against real Pulsar servers; each folder of tests/integration alone: make test-source, test-tier, ...
	@$(MAKE) --no-print-directory --jobs $(JOBS) --output-sync=target $(PARTS) $(EARLIER)
test-package: $(CONNECT_DONE) $(WHEELS_DONE)
test-package test-cluster test-checkpoint test-source test-tier test-stream test-schema test-catalog test-security test-sink \
  test-monitoring: test-%: server
	$(PART) $(BIN)/python -m pytest tests/integration/$*
# The newest server version is fetched at the first run.
test-newest-server: server
	$(PART) $(BIN)/python -m pytest tests/integration/servers

DOCS_DONE := .venv/.docs-requirements-installed
$(DOCS_DONE): requirements/docs.txt $(VENV_DONE)
	$(BIN)/python -m pip install --quiet --require-hashes --requirement $<
	@touch $@

# What the tests want beside the build.
INSTALLED := $(DOCS_DONE) $(WHEELS_DONE) $(CONNECT_DONE) $(SPARK_CLASSES) $(SPARK_BYTECODE) \
  $(FORMER_SPARK)/.requirements-installed

.PHONY: docs
docs: export PYTHONPATH := src
docs: $(VENV_DONE) $(DOCS_DONE) ## Write the generated pages and build the site into site/
	$(BIN)/python scripts/generate_docs.py
	$(BIN)/python scripts/generate_charts.py
	$(BIN)/python scripts/server_matrix.py
	rm -rf site
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs site

.PHONY: docs-output
docs-output: server $(SPARK_CLASSES) $(SPARK_BYTECODE) ## Run the programs of the pages, and write their output below them
	WRITE_OUTPUT=1 $(BIN)/python -m pytest tests/integration/package/test_docs_snippets.py

.PHONY: check-browser test-docs
check-browser:
	@bash scripts/find_browser.sh >/dev/null
test-docs: check-browser $(BUILD_DONE) $(DOCS_DONE) ## Build the site, and look at every page with a browser
	$(PART) $(BIN)/python -m pytest tests/docs

# The same jar, and of each kind of query one. Each run looks up in the version between what the jar refers to.
# What depends on Spark and its plans; what the package's own processes do, or a server's rights, is tested on the newest.
OF_CATALOG := dataframes_make_tables_and_append_by_name metadata_columns_are_named_in_any_case \
  a_stream_from_table_to_table stream_in_sql_and_a_stream_in_complete_mode options_of_a_read_and_time_travel \
  only_the_columns_of_a_query_are_decoded filters_narrow_each_query_by_itself a_limit_ends_tasks_and_leaves_no_traceback \
  a_small_topic_is_broadcast_and_the_plan_shows_the_read changes_of_a_table_with_a_key \
  the_output_of_show_create_table_creates_the_same_table a_cancelled_statement_leaves_no_half_table
OF_STREAMS := restarts_while_a_producer_sends_neither_lose_nor_repeat[plain] \
  available_now_reads_the_messages_present_at_its_start
test-oldest-spark: export PYTHONPATH := $(CURDIR)/$(OLDEST_SPARK)
test-oldest-spark: server ## Some of the tests on PySpark 4.1, the oldest that the package takes
	$(BIN)/python -c 'import pyspark; assert pyspark.__version__ == "4.1.0", pyspark.__version__'
	$(PART) $(BIN)/python -m pytest $(addprefix tests/integration/,package/test_linkage.py package/test_without_jar.py \
	  $(addprefix catalog/test_catalog.py::test_,$(OF_CATALOG)) \
	  $(addprefix stream/test_streaming.py::test_,$(OF_STREAMS)) \
	  $(addprefix sink/test_exactly_once.py::test_,a_job_stores_each_row_once a_failed_job_stores_no_row) \
	  $(addprefix source/test_columnar_reads.py::test_,the_plan_shows_columnar_reads a_stream_hands_over_columns) \
	  $(addprefix tier/test_sql.py::test_,every_cell the_plan_has_filters_columns_and_the_table) \
	  checkpoint/test_queries.py::test_queries_of_each_kind_continue[rocksdb-2])
test-former-spark test-former-linkage: export PYTHONPATH := $(CURDIR)/$(FORMER_SPARK)
test-former-linkage: $(BUILD_DONE) $(FORMER_SPARK)/.requirements-installed
	$(PART) $(BIN)/python -m pytest tests/integration/package/test_linkage.py
test-former-spark: server $(FORMER_BYTECODE) ## A few of them on PySpark 4.2
	$(BIN)/python -c 'import pyspark; assert pyspark.__version__ == "4.2.0", pyspark.__version__'
	$(BIN)/python -m pytest $(addprefix tests/integration/,package/test_linkage.py \
	  $(addprefix catalog/test_catalog.py::test_,dataframes_make_tables_and_append_by_name changes_of_a_table_with_a_key \
	    metadata_columns_are_named_in_any_case only_the_columns_of_a_query_are_decoded) \
	  stream/test_streaming.py::test_restarts_while_a_producer_sends_neither_lose_nor_repeat[plain])

# SECONDS is a variable of the shell's own, so only one from the command line counts.
RUN_SECONDS := $(if $(findstring command,$(origin SECONDS)),$(SECONDS),60)
# The coverage is that of the kernel's own code: its dependencies are those that `make build` compiled.
.PHONY: fuzz
fuzz: $(VENV_DONE) ## Fuzz frames, entries and payloads for a minute in all; make fuzz SECONDS=3600 for longer
	RUSTC_WORKSPACE_WRAPPER="$(CURDIR)/kernel/fuzz/rustc-with-coverage" \
	  cargo build --quiet $(CARGO_TESTS) -p pyspark-pulsar-fuzz
	$(BIN)/python scripts/fuzz.py --seconds $(RUN_SECONDS) --programs $(CARGO_TARGET_DIR)/release \
	  --corpus $(CACHE)/fuzz

SIMULATED = $(BIN)/python tests/simulation/run.py --seconds $(RUN_SECONDS) \
  $(if $(SEED),--seed $(SEED))
.PHONY: simulate simulate-mutations
simulate: $(BUILD_DONE) ## Run sink, checkpoints and streams on simulated brokers, in many orders of events; make simulate SECONDS=3600 SEED=1
	$(SIMULATED)
	PYTHONHASHSEED=0 $(PART) $(BIN)/python -m pytest --confcutdir tests/simulation tests/simulation
simulate-mutations: $(BUILD_DONE) ## Take one protection away at a time, and expect a broken promise within SECONDS
	$(SIMULATED) --mutations
.PHONY: simulate-servers
simulate-servers: server ## Compare the simulated brokers with real ones, answer by answer; make simulate-servers VERSIONS="3.0.7 4.2.4"
	SIMULATED_VERSIONS="$(or $(VERSIONS),3.0.7 4.0.8 4.2.4)" $(BIN)/python -m pytest \
	  tests/integration/sink/test_simulated_answers.py

# A preview may fail: the matrix says in what. The newest version is checked with the oldest PySpark too.
SERVER_CHECKS = SERVER_RESULTS=tests/integration/servers/results.json $(BIN)/python -m pytest tests/integration/servers
.PHONY: test-servers
test-servers: server $(OLDEST_SPARK)/.requirements-installed ## Ten checks of each version of Pulsar, and the matrix of the docs; make test-servers VERSIONS="3.0.7 4.2.4"
	failed=""; newest="$$($(BIN)/python -c 'from pyspark_pulsar.tools.standalone import NEWEST_VERSION as it; print(it)')"; \
	for version in $(or $(VERSIONS),$$($(BIN)/python -c 'from pyspark_pulsar.tools.standalone import SERVER_VERSIONS as all; print(*all)')); do \
	  export PULSAR_VERSION="$$version"; \
	  $(SERVER_CHECKS) || case "$$version" in *-*) ;; *) failed="$$failed $$version" ;; esac; \
	  if [ "$$version" = "$$newest" ]; then \
	    PYTHONPATH=$(CURDIR)/$(OLDEST_SPARK) $(SERVER_CHECKS) || failed="$$failed $$version"; fi; done; \
	$(BIN)/python scripts/server_matrix.py; [ -z "$$failed" ] || { echo "failed:$$failed" >&2; exit 1; }

# Half an hour by default; a failed run is repeated by its seed.
.PHONY: soak soak-sink soak-tier soak-evolutions soak-checkpoint soak-epochs soak-growth
soak: server ## Kill and restart everything under a running stream; make soak MINUTES=30 SEED=1 CHECKPOINT=pulsar
	$(BIN)/python tests/soak/run.py source $(if $(MINUTES),--minutes $(MINUTES)) $(if $(SEED),--seed $(SEED)) \
	  $(if $(CHECKPOINT),--checkpoint $(CHECKPOINT)) $(if $(RESULT),--result $(RESULT))

soak-checkpoint: server ## Kill queries at every step, and two drivers on one checkpoint in Pulsar; make soak-checkpoint ROUNDS=100
	CRASH_STEPS=all $(BIN)/python -m pytest tests/integration/checkpoint/test_crashes.py
	$(BIN)/python tests/soak/run.py checkpoint $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(RESULT),--result $(RESULT))

soak-epochs: server ## Thousands of micro-batches on one checkpoint in Pulsar, and what is stored then; make soak-epochs EPOCHS=2000
	$(BIN)/python tests/soak/run.py epochs $(if $(EPOCHS),--epochs $(EPOCHS)) $(if $(RESULT),--result $(RESULT))

soak-growth: server ## Run one session for long, and see that memory, threads and files do not grow; make soak-growth EPOCHS=10000 QUERIES=500
	$(BIN)/python tests/soak/run.py growth $(if $(EPOCHS),--epochs $(EPOCHS)) $(if $(QUERIES),--queries $(QUERIES)) \
	  $(if $(RESULT),--result $(RESULT))

soak-sink: server ## Kill driver, workers and broker under an exactly-once sink; make soak-sink KILLS=100 SEED=1
	$(BIN)/python tests/soak/run.py sink $(if $(KILLS),--kills $(KILLS)) $(if $(SEED),--seed $(SEED)) \
	  $(if $(RESULT),--result $(RESULT))

soak-tier: server ## Kill tierers, two of which run at once, then play schema evolutions; make soak-tier KILLS=100 EVOLUTIONS=2000 SEED=1 FORMAT=delta
	$(BIN)/python tests/soak/run.py tier $(if $(KILLS),--kills $(KILLS)) $(if $(SEED),--seed $(SEED)) \
	  $(if $(FORMAT),--format $(FORMAT)) $(if $(RESULT),--result $(RESULT))
	@$(MAKE) --no-print-directory soak-evolutions RESULT=$(if $(RESULT),$(basename $(RESULT))_evolutions.json)

# Processor time of the server is mostly that of compiling, as in tests/integration.
soak-evolutions: export JDK_JAVA_OPTIONS := -XX:TieredStopAtLevel=1
soak-evolutions: server ## Change schemas of tiered topics at random, and compare each cell with the topic; make soak-evolutions EVOLUTIONS=2000 SEED=1
	$(BIN)/python tests/soak/run.py evolutions $(if $(EVOLUTIONS),--evolutions $(EVOLUTIONS)) \
	  $(if $(SEED),--seed $(SEED)) $(if $(RESULT),--result $(RESULT))

.PHONY: golden
golden: server ## Write the golden entries of the kernel's tests with the server's own Java client
	$(BIN)/python scripts/golden.py

.PHONY: test-scalable
test-scalable: export PYSPARK_PYTHON := $(CURDIR)/$(BIN)/python
test-scalable: server ## Tests of scalable topics against a preview of Pulsar 5; not part of make test
	$(BIN)/python -m pytest tests/scalable

# Code that a newer grpcio-tools generates asks for a newer protobuf than users have.
.PHONY: protocol
protocol: $(VENV_DONE) ## Generate the commands of the two protocols from their .proto files
	$(PYTHON) -m venv .venv/protocol
	.venv/protocol/bin/python -m pip install --quiet grpcio-tools==1.76.0
	.venv/protocol/bin/python -m grpc_tools.protoc -I src --python_out=src --pyi_out=src \
	  src/pyspark_pulsar/client/wire/commands.proto src/pyspark_pulsar/client/wire/bookkeeper.proto

.PHONY: lock
lock: ## Choose new versions for requirements/*.txt (needs uv)
	uv pip compile pyproject.toml --group dev --universal --python-version 3.11 \
	  --generate-hashes --no-emit-index-url --no-header --upgrade --quiet --output-file requirements/dev.txt
	uv pip compile --group docs --constraint requirements/dev.txt --universal --python-version 3.11 \
	  --generate-hashes --no-emit-index-url --no-header --upgrade --quiet --output-file requirements/docs.txt
	uv pip compile --group connect --constraint requirements/dev.txt --universal --python-version 3.11 \
	  --no-emit-package pyspark --no-emit-package py4j --no-emit-package pyarrow --no-emit-package protobuf \
	  --generate-hashes --no-emit-index-url --no-header --upgrade --quiet --output-file requirements/connect.txt
	uv pip compile --group wheels --constraint requirements/dev.txt --universal --python-version 3.11 \
	  --generate-hashes --no-emit-index-url --no-header --upgrade --quiet --output-file requirements/wheels.txt
	for version in 4.1.0 4.2.0; do \
	  echo "pyspark==$$version" | uv pip compile - --no-deps --no-annotate \
	    --generate-hashes --no-emit-index-url --no-header --quiet --output-file "requirements/spark-$${version%.*}.txt"; done
	printf 'pyspark==3.5.9\npy4j==0.10.9.7\n' | uv pip compile - --no-deps --no-annotate \
	  --generate-hashes --no-emit-index-url --no-header --quiet --output-file requirements/peer-spark.txt

.PHONY: clean
clean: ## Remove what was built in this clone; the cache outside of it stays
	rm -rf .venv dist site .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	rm -rf src/pyspark_pulsar/_kernel*.so src/pyspark_pulsar/jars

.PHONY: bench
bench: server $(WHEEL_KERNEL) ## Measure against the official client, the kernel against Python, direct reads, streams, sinks, the catalog, columns in SQL, thousands of topics, a year of ledgers, checkpoints and options; writes bench/results
	$(BIN)/python bench/client_side_by_side.py
	$(BIN)/python bench/kernel_codec.py
	$(BIN)/python bench/segments.py
	$(BIN)/python bench/streams.py
	$(BIN)/python bench/sinks.py
	$(BIN)/python bench/catalog.py
	$(BIN)/python bench/tier_scan.py
	$(BIN)/python bench/checkpoint.py
	$(BIN)/python bench/many_topics.py
	$(BIN)/python bench/sizing.py
	$(BIN)/python bench/knobs.py

.PHONY: bench-peers
bench-peers: server $(WHEEL_KERNEL) $(PEER_SPARK)/.requirements-installed ## Measure beside pulsar-spark, the official clients and what bounds all of them; writes bench/results/peers.json, its section in docs/benchmarks.md and its plots
	$(BIN)/python bench/peers
	$(BIN)/python bench/peers/page.py
