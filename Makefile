# Besides Go, make and git, this file installs everything that the project needs:
# tools with `go install` at pinned versions, servers as `cairn doctor` describes.

.DEFAULT_GOAL := help
SHELL := /bin/sh
GO ?= go
# No C: programs run on any Linux, and link a tenth faster.
export CGO_ENABLED ?= 0
FUZZTIME ?= 1m
# Tests wait for servers more than they compute: more of them at once than cores.
PARALLEL ?= 4
# Programs of tests are linked without symbols and notes for debuggers, which is
# half of linking; make lint vets them. A slow machine needs more than ten minutes.
TEST = GOGC=400 $(GO) test -vet=off -ldflags=-s -timeout 40m -parallel $(PARALLEL) $(1)
# Experiments in small say that a measurement works, not that Cairn does: make test
# leaves them out, as it does the tests that say that they are long.
EXPERIMENTS = $(addprefix $(shell $(GO) list -m)/internal/,service/evaluation service/evaluation/retrieval $(addprefix bench/,distillbench isolation soak sweepbench taubench turnbench))
# The packages that take longest come first, or one would be left to run alone.
PACKAGES = ./internal/e2e ./internal/app/cli ./internal/gateway/httpapi ./internal/adapter/postgres $$($(GO) list ./... | grep -vxF "$$(printf '%s\n' $(EXPERIMENTS))")
BIN := bin
BENCH = $(GO) run ./internal/bench/cmd/cairn-bench
TOOLS := $(BIN)/tools
RACE := $(shell command -v $${CC:-cc} >/dev/null 2>&1 && echo -race)

STATICCHECK   := $(TOOLS)/staticcheck-v0.8.2
WORKFLOWCHECK := $(TOOLS)/workflowcheck-v0.6.0
SQLC          := $(TOOLS)/sqlc-v1.31.1
GOLANGCI      := $(TOOLS)/golangci-lint-v2.15.0
ACTIONLINT    := $(TOOLS)/actionlint-v1.7.12

.PHONY: help
help: ## Show what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## Distill a sample conversation into a skill
	@test -x $(BIN)/cairn || echo "building Cairn: 1 to 3 minutes, once"
	@$(MAKE) --no-print-directory build
	@$(BIN)/cairn demo

.PHONY: test
test: ## Run the tests on a real Postgres and a real Temporal server, but for the long ones
	@$(call TEST,-short) $(PACKAGES)

.PHONY: test-all
test-all: ## Run every test, the long ones and experiments in small too, as CI does
	@$(call TEST) $(PACKAGES) $(EXPERIMENTS)

.PHONY: dev
dev: build ## Run Postgres, Temporal with its UI and a worker until Ctrl-C
	@$(BIN)/cairn dev

.PHONY: build
build: ## Build the command line and the worker into bin/
	@$(GO) build -buildvcs=auto -o $(BIN)/ ./starter ./worker && mv $(BIN)/starter $(BIN)/cairn

.PHONY: race
race: export CGO_ENABLED = 1
race: ## Run all tests under the race detector (needs a C compiler)
	$(call TEST,$(RACE)) $(PACKAGES) $(EXPERIMENTS)

.PHONY: chaos
chaos: ## Kill workers, Postgres and Temporal under 200 distillations, then count
	$(BENCH) chaos

.PHONY: soak
soak: ## Answer 2,000 messages while the worker is killed every 10 s, then count
	$(BENCH) soak

.PHONY: isolation
isolation: ## Do 10,000 operations in 50 workspaces at once and compare every answer with a model
	$(BENCH) isolation

.PHONY: clients
clients: build ## Run mem0's npm client, MCP's conformance suite and Inspector, and a skill validator against cairn serve (needs npm)
	$(BENCH) clients --cairn $(BIN)/cairn --report docs/reference/mcp-conformance.md

.PHONY: bench
bench: ## Run all benchmarks, the others too when one misses a goal
	@$(MAKE) --keep-going bench-distill bench-turns bench-tau bench-search

.PHONY: bench-distill
bench-distill: ## Measure a distillation against its critical path and a bare workflow
	$(BENCH) distill

.PHONY: bench-turns
bench-turns: ## Measure turns of 1, 2 and 4 model calls against a bare workflow
	$(BENCH) turns

.PHONY: bench-tau
bench-tau: ## Distil the 160 airline trajectories of τ-bench with the offline rules
	$(BENCH) tau

.PHONY: bench-search
bench-search: ## Measure skill search against the bare SQL, and hybrid retrieval beside the bare search by vector
	$(BENCH) search; skills=$$?; \
	$(BENCH) find --plot docs/reference/retrieval.svg && exit $$skills

.PHONY: bench-sweep
bench-sweep: ## Sweep 100,000 workspaces that are due at once, beside bare starts, while the worker is killed
	$(BENCH) sweep

.PHONY: bench-policy
bench-policy: ## Measure what a policy learns in a synthetic world, how fast it decides and learns, and how fast spans are remembered
	$(GO) test ./internal/domain/memoryskill/policy -run LearnsWhichSkills -v
	$(GO) test ./internal/domain/memoryskill/policy -run '^$$' -bench 'Decide|Update' -benchtime 20x
	$(GO) test ./internal/domain/memoryskill/policy -run '^$$' -bench 'Learning|Memory' -benchtime 1x
	$(GO) test ./internal/e2e -run '^$$' -bench Spans -benchtime 1x

.PHONY: bench-loop
bench-loop: ## Measure whether memory skills that learn and evolve remember more than fixed ones
	$(BENCH) loop

.PHONY: fuzz
fuzz: ## Run each fuzz target for a minute
	@for at in domain/llm:FuzzExtractJSON domain/skill:FuzzParseDocument domain/skill:FuzzDecodeDraft domain/skill:FuzzUnpack domain/skill:FuzzUnpackMembers domain/skill:FuzzCheckFile domain/skill:FuzzCanonical domain/skill:FuzzPatch domain/skill:FuzzNormalizeContent domain/transcript:FuzzDecodeTasks domain/transcript:FuzzParse domain/guard:FuzzRedact domain/guard:FuzzScan domain/transcript/fence:FuzzClosing domain/prompt:FuzzUserRoundTrip domain/lexical:FuzzTerms domain/recurrence:FuzzParse; do \
	  echo "$$at"; $(GO) test ./internal/$${at%%:*} -run '^$$' -fuzz "^$${at##*:}$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x || exit 1; done

.PHONY: vulncheck
vulncheck: ## Look for known vulnerabilities in dependencies (needs the network)
	$(GO) run golang.org/x/vuln/cmd/govulncheck@v1.1.4 ./...

.PHONY: module
module: ## Rename the Go module: make module NAME=git.example.org/team/cairn
	@$(GO) run .ci/module.go '$(NAME)'

.PHONY: generate
generate: $(SQLC) ## Write generated files anew
	cd schemas && ../$(SQLC) generate
	CAIRN_CONFIG=/dev/null $(GO) run ./starter serve --openapi schemas/openapi.json
	$(GO) run ./internal/app/reference/cmd
	$(GO) test -vet=off ./internal/app/cli -run TestHelpMatches -update

.PHONY: lint
lint: $(GOLANGCI) $(STATICCHECK) $(WORKFLOWCHECK) $(SQLC) $(ACTIONLINT) ## Check form, wording, vet, golangci-lint, staticcheck, workflow determinism, generated files
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo "gofmt would change:"; gofmt -l $$(git ls-files '*.go'); exit 1; }
	$(GO) vet ./...
	$(GOLANGCI) run ./...
	$(STATICCHECK) ./...
	$(WORKFLOWCHECK) ./workflows/...
	$(ACTIONLINT)
	GO=$(GO) .ci/words
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

# install builds a tool and names it after its version, so that a new version is a new file.
define install
mkdir -p $(TOOLS) && echo "installing $(1)" && GOBIN=$(abspath $(TOOLS)) $(GO) install $(1) && mv $(TOOLS)/$(notdir $(firstword $(subst @, ,$(1)))) $@
endef
