# You need Go, make and git. This file installs the tools with `go install` at pinned
# versions. Cairn installs the servers; `cairn doctor` checks them.

.DEFAULT_GOAL := help
SHELL := /bin/sh
GO ?= go
# Without C, programs run on any Linux, and linking is 10 % faster.
export CGO_ENABLED ?= 0
FUZZTIME ?= 1m
# Tests mostly wait for servers, so more of them run in parallel than there are cores.
PARALLEL ?= 4
# Test programs are linked without debug information, which halves linking time. They
# are vetted by make lint. A slow machine needs more than Go's default of ten minutes.
TEST = GOGC=400 $(GO) test -vet=off -ldflags=-s -timeout 40m -parallel $(PARALLEL) $(1)
# The slowest packages come first, so that they do not run alone at the end.
ALL = ./internal/lab/e2e ./internal/app/cli ./internal/gateway/httpapi ./internal/store ./...
# make test leaves out the experiments, which check measurements and not Cairn, and also
# tests that call testkit.Long.
PACKAGES = $$($(GO) list $(ALL) | grep -vE '/internal/lab/(bench/|world$$)')
# The packages of what make test leaves out.
LONG = $$(grep -rlE 'testkit\.Long|testing\.Short' --include='*_test.go' . | xargs -n1 dirname | sort -u) \
	./internal/lab/bench/... ./internal/lab/world ./internal/service/evaluation/...
BIN := bin
BENCH = $(GO) run ./internal/lab/bench/cmd/cairn-bench
TOOLS := $(BIN)/tools
RACE := $(shell command -v $${CC:-cc} >/dev/null 2>&1 && echo -race)

STATICCHECK   := $(TOOLS)/staticcheck-v0.8.2
WORKFLOWCHECK := $(TOOLS)/workflowcheck-v0.6.0
SQLC          := $(TOOLS)/sqlc-v1.31.1
GOLANGCI      := $(TOOLS)/golangci-lint-v2.15.0
ACTIONLINT    := $(TOOLS)/actionlint-v1.7.12

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## Distill a sample conversation into a skill
	@$(MAKE) --no-print-directory build
	@$(BIN)/cairn demo

.PHONY: test
test: ## Run the tests, except the long ones, on a real Postgres and Temporal server
	@$(call TEST,-short) $(PACKAGES)

.PHONY: test-all
test-all: ## Run all tests and small runs of the experiments
	@$(call TEST) $(ALL)

.PHONY: test-long
test-long: ## Run what make test leaves out, with the other tests of the same packages
	@$(call TEST) $(LONG)

.PHONY: test-console
test-console: export CAIRN_TEST_CONSOLE = 1
test-console: ## Test the web console in a headless Chromium (Debian's package, or CAIRN_CHROMIUM)
	@.ci/chromium
	@$(call TEST) ./internal/gateway/console/... ./internal/lab/browsertest

.PHONY: screenshots
screenshots: export CAIRN_TEST_CONSOLE = 1
screenshots: export CAIRN_SCREENSHOTS = $(CURDIR)/docs/console
screenshots: ## Take the screenshots of docs/console with a headless Chromium
	@.ci/chromium
	@$(call TEST) -count=1 -run TestScreenshots ./internal/lab/browsertest

.PHONY: dev
dev: build ## Run Postgres, Temporal with its UI and a worker until Ctrl-C
	@$(BIN)/cairn dev

.PHONY: build
build: ## Build the command line and the worker into bin/
	@GO='$(GO)' .ci/build $(BIN)

.PHONY: wheel
wheel: ## Write the Python package cairn-server for this platform into dist/ (needs Python with pip; VERSION=0.0.9)
	@GO='$(GO)' .ci/wheel dist

.PHONY: race
race: export CGO_ENABLED = 1
race: ## Run the tests of make test under the race detector (needs a C compiler)
	$(call TEST,-short $(RACE)) $(PACKAGES)

.PHONY: chaos
chaos: ## Kill workers, Postgres and Temporal during 200 distillations, then count losses
	$(BENCH) chaos

.PHONY: soak
soak: ## Answer 2,000 messages while the worker is killed every 10 s, then count losses
	$(BENCH) soak

.PHONY: soak-restore
soak-restore: ## Answer 2,000 messages with kills of the worker and a restore of the database in the middle
	$(BENCH) soak --restore

.PHONY: chaos-stream
chaos-stream: ## Kill the worker 200 times during streamed chats and compare with the stored replies (about 12 minutes)
	$(BENCH) stream-chaos

.PHONY: chaos-add
chaos-add: ## Add 500 sessions while the worker is killed every 3 s and Postgres and Temporal crash (about 3 minutes)
	$(BENCH) add --chaos

.PHONY: chaos-channels
chaos-channels: ## Kill gateway and worker every 5 s while 50 people write over fakes of chat platforms (about 8 minutes)
	$(BENCH) channel-chaos

.PHONY: isolation
isolation: ## Compare 10,000 concurrent operations in 50 workspaces with a model of the API
	$(BENCH) isolation

.PHONY: production
production: build ## Fail over, restore, drain and attack a deployment with PgBouncer and a replica (15 to 25 minutes)
	$(BENCH) production --cairn $(BIN)/cairn --worker $(BIN)/worker

.PHONY: release-check
release-check: ## Run what takes longer than .ci/run, before a release (several hours; needs root, Python, npm and a C compiler)
	.ci/with-postgres 15 $(MAKE) test-all
	.ci/with-postgres 17 $(MAKE) test-all
	.ci/with-postgres 18 $(MAKE) test-all
	@$(MAKE) race wheel clients openai-sdk channels-sdk peers chaos soak soak-restore isolation chaos-add production
	.ci/try-wheel dist

.PHONY: clients
clients: build ## Run mem0's clients (npm, Python), MCP's conformance suite and Inspector, and a skill validator
	$(BENCH) clients --cairn $(BIN)/cairn --report docs/reference/mcp-conformance.md

.PHONY: peers
peers: build ## Compare Cairn with the Python packages of mem0 and LangMem (needs Python and a package index)
	$(BENCH) peers --cairn $(BIN)/cairn

.PHONY: openai-sdk
openai-sdk: build ## Run OpenAI's clients for Go, JavaScript and Python (needs npm, Python and a package index)
	$(GO) test -count=1 -run OfOpenAI ./internal/lab/e2e
	$(BENCH) openai-sdk --cairn $(BIN)/cairn

.PHONY: channels-sdk
channels-sdk: ## Run the SDKs of chat platforms with the fakes of the tests (needs Python and a package index)
	$(BENCH) channels-sdk

.PHONY: bench
bench: ## Run the benchmarks distill, turns, tau and search
	@$(MAKE) --keep-going bench-distill bench-turns bench-tau bench-search

.PHONY: bench-distill
bench-distill: ## Compare a distillation with its critical path and a bare workflow
	$(BENCH) distill

.PHONY: bench-tokens
bench-tokens: ## Count the tokens that distillations send to models, with and without a cache
	$(BENCH) tokens

.PHONY: bench-turns
bench-turns: ## Compare turns of 1, 2 and 4 model calls with a bare workflow
	$(BENCH) turns
	$(BENCH) turns --storage

.PHONY: bench-retention
bench-retention: ## Run 10 days of 1,000 turns and remove old records after each (about 10 minutes)
	$(BENCH) retention

.PHONY: bench-add
bench-add: ## Compare adds to memory with one model call with a bare workflow
	$(BENCH) add --model 0ms,20ms,200ms --callers 1,16,64

.PHONY: bench-stream
bench-stream: build ## Measure how long text takes from the model to the client of a streamed chat
	$(BENCH) stream --cairn $(BIN)/cairn

.PHONY: bench-tau
bench-tau: ## Distill the 160 airline trajectories of τ-bench with the offline model
	$(BENCH) tau

.PHONY: bench-search
bench-search: ## Compare skill search with plain SQL, and hybrid retrieval with vector search
	$(BENCH) search; skills=$$?; \
	$(BENCH) find --plot docs/reference/retrieval.svg && exit $$skills

.PHONY: bench-retrieval
bench-retrieval: ## Search 100,000 and 1,000,000 generated rows (about 25 minutes, 5 GB of temporary files)
	$(BENCH) retrieval --suite needle --size 1000,3000,20000,100000
	$(BENCH) retrieval --suite growth --embedder none --size 1000,5000,20000,100000,1000000 --plot docs/reference/retrieval-growth.svg
	$(BENCH) http-search
	$(BENCH) http-search --words --sizes 1000000 --vocabulary z --subject 1000000 --mem0 0

.PHONY: bench-load
bench-load: ## Save 20,000 memories in batches, and load a dump of them
	$(BENCH) load

.PHONY: bench-console
bench-console: ## Measure the pages of the web console over 10,000 rows in each table
	$(BENCH) console

.PHONY: bench-sweep
bench-sweep: ## Sweep 100,000 due workspaces while the worker is killed, and compare with plain starts
	$(BENCH) sweep

.PHONY: bench-policy
bench-policy: ## Measure what a policy learns in a synthetic world, and its speed
	$(GO) test ./internal/domain/memoryskill/policy -run LearnsWhichSkills -v
	$(GO) test ./internal/domain/memoryskill/policy -run '^$$' -bench 'Decide|Update' -benchtime 20x
	$(GO) test ./internal/domain/memoryskill/policy -run '^$$' -bench 'Learning|Memory' -benchtime 1x
	$(GO) test ./internal/lab/e2e -run '^$$' -bench Spans -benchtime 1x

.PHONY: bench-loop
bench-loop: ## Test the plumbing of learning in an offline world (no evidence about language models)
	$(BENCH) loop

.PHONY: fuzz
fuzz: ## Run each fuzz target for a minute
	@for at in domain/llm:FuzzExtractJSON domain/skill:FuzzParseDocument domain/skill:FuzzDecodeDraft domain/skill:FuzzUnpack domain/skill:FuzzUnpackMembers domain/skill:FuzzCheckFile domain/skill:FuzzCanonical domain/skill:FuzzPatch domain/skill:FuzzNormalizeContent domain/transcript:FuzzDecodeTasks domain/transcript:FuzzParse domain/guard:FuzzRedact domain/guard:FuzzScan domain/transcript/fence:FuzzClosing domain/prompt:FuzzUserRoundTrip domain/lexical:FuzzTerms domain/recurrence:FuzzParse service/ledger:FuzzDivide; do \
	  echo "$$at"; $(GO) test ./internal/$${at%%:*} -run '^$$' -fuzz "^$${at##*:}$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x || exit 1; done

.PHONY: fuzz-http
fuzz-http: build ## Send generated requests to a gateway for two minutes (needs Python and a package index)
	@.ci/fuzz-http

.PHONY: vulncheck
vulncheck: ## Check dependencies for known vulnerabilities (needs the network)
	$(GO) run golang.org/x/vuln/cmd/govulncheck@v1.1.4 ./...

.PHONY: module
module: ## Rename the Go module: make module NAME=git.example.org/team/cairn
	@$(GO) run .ci/module.go '$(NAME)'

.PHONY: generate
generate: $(SQLC) ## Write generated code, reference pages and golden help
	cd schemas && ../$(SQLC) generate
	CAIRN_CONFIG=/dev/null $(GO) run ./starter serve --openapi schemas/openapi.json
	$(GO) run ./internal/app/reference/cmd
	$(GO) test -vet=off ./internal/app/cli -run TestHelpMatches -update

.PHONY: lint
lint: $(GOLANGCI) $(STATICCHECK) $(WORKFLOWCHECK) $(SQLC) $(ACTIONLINT) ## Check style, wording, workflow determinism, workflow files and generated files
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo "gofmt would change:"; gofmt -l $$(git ls-files '*.go'); exit 1; }
	$(GO) vet ./...
	$(GOLANGCI) run ./...
	$(STATICCHECK) ./...
	$(WORKFLOWCHECK) ./workflows/...
	$(ACTIONLINT)
	GO=$(GO) .ci/words
	GO=$(GO) .ci/house
	cd schemas && ../$(SQLC) diff
	@CAIRN_CONFIG=/dev/null $(GO) run ./starter serve --openapi - | diff schemas/openapi.json - || { echo "schemas/openapi.json is stale: run make generate"; exit 1; }
	$(GO) test -vet=off ./internal/app/reference
	$(GO) mod tidy -diff

$(GOLANGCI):
	@$(call install,github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0)
$(STATICCHECK):
	@$(call install,honnef.co/go/tools/cmd/staticcheck@v0.8.2)
$(WORKFLOWCHECK):
	@$(call install,go.temporal.io/sdk/contrib/tools/workflowcheck@v0.6.0)
$(ACTIONLINT):
	@$(call install,github.com/rhysd/actionlint/cmd/actionlint@v1.7.12)
$(SQLC):
	@$(call install,github.com/sqlc-dev/sqlc/cmd/sqlc@v1.31.1)

# install builds a tool into a file that is named after its version.
define install
mkdir -p $(TOOLS) && echo "installing $(1)" && GOBIN=$(abspath $(TOOLS)) $(GO) install $(1) && mv $(TOOLS)/$(notdir $(firstword $(subst @, ,$(1)))) $@
endef
