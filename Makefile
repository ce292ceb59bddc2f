# What a person types. Every target runs what CI runs.

CARGO ?= cargo
TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)
BIN := $(TARGET_DIR)/release/iogauge
PREFIX ?= /usr/local

.DEFAULT_GOAL := build

.PHONY: run build test attack fuzz truth bench versus-fio versus-disk versus-sweep repeat versus-suite versus-db report-bench audit fmt lint doc man completions install clean help

help: ## This list
	@sed -nE 's/^([a-z-]+):.*## (.*)/make \1\t\2/p' Makefile | expand -t 18

build: ## The release binary
	$(CARGO) build --release -p iogauge

run: build ## Build, then find the capacity of the storage under this directory
	$(BIN) find . --rm

test: ## Every test; installs what they need where it can
	scripts/install-test-deps.sh
	scripts/test.sh

attack: ## The tests that try to make iogauge do harm; ends with how many were tried, and held
	scripts/install-test-deps.sh
	scripts/attack.sh

fuzz: ## Every parser on made-up input, a minute each; FUZZ_SECONDS=600 for longer
	scripts/fuzz.sh

truth: ## The search against devices whose capacity is known, 400 seeds each; prints a table
	IOGAUGE_TRUTH_SEEDS=400 $(CARGO) test --profile truth -p iogauge-lab --test truth -- --nocapture

bench: ## Microbenchmarks of the hot path
	$(CARGO) bench -p iogauge-benches

versus-fio: build ## iogauge beside fio on this machine
	benches/versus_fio.sh

versus-disk: build ## iogauge beside fio on this machine's disk, by engine, pattern and depth
	benches/versus_disk.sh

versus-sweep: build ## The search beside an exhaustive sweep of fio's on this machine
	benches/versus_sweep.sh

repeat: build ## The same search again and again on this machine's disk, beside what it predicted
	benches/repeat.sh

versus-suite: build ## The database matrix beside fio running the same on this machine
	benches/versus_suite.sh

versus-db: ## Databases through iogauge beside their own tools on this machine
	bash -c 'source scripts/rocksdb-env.sh; $(CARGO) build --release -p iogauge "$${rocksdb_features[@]}" && \
	$(CARGO) build --release -p iogauge-db --examples "$${rocksdb_features[@]}"'
	benches/versus_db.sh

report-bench: build ## Time and size of a report of many runs
	benches/report.sh

audit: ## Advisories, licences, bans and sources of the dependencies
	CARGO="$(CARGO)" scripts/audit.sh

fmt: ## Format the code
	$(CARGO) fmt --all

lint: ## Formatting and clippy, warnings as errors
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings

doc: ## API documentation, warnings as errors, and links of the pages
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --no-deps --workspace
	scripts/check-links.sh

man: build ## Manual pages into target/man
	mkdir -p $(TARGET_DIR)/man
	$(BIN) man $(TARGET_DIR)/man

completions: build ## Completions of bash, zsh and fish into target/completions
	mkdir -p $(TARGET_DIR)/completions
	$(BIN) completions bash >$(TARGET_DIR)/completions/iogauge
	$(BIN) completions zsh >$(TARGET_DIR)/completions/_iogauge
	$(BIN) completions fish >$(TARGET_DIR)/completions/iogauge.fish

install: man completions ## Install under PREFIX (/usr/local); honours DESTDIR
	install -Dm755 $(BIN) $(DESTDIR)$(PREFIX)/bin/iogauge
	install -d $(DESTDIR)$(PREFIX)/share/man/man1
	install -m644 $(TARGET_DIR)/man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1/
	install -Dm644 $(TARGET_DIR)/completions/iogauge $(DESTDIR)$(PREFIX)/share/bash-completion/completions/iogauge
	install -Dm644 $(TARGET_DIR)/completions/_iogauge $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_iogauge
	install -Dm644 $(TARGET_DIR)/completions/iogauge.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/iogauge.fish

clean: ## Remove what was built
	$(CARGO) clean
