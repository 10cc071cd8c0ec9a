// Package config is the one struct of settings: defaults, then a file, then the
// environment, then flags. Mains load it; nothing else reads the environment.
package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"

	"cairn/internal/domain/fault"
)

// File is where settings are read from when CAIRN_CONFIG names no other: lines
// of NAME=value with the names of the environment.
const File = "cairn.env"

// Config is every setting.
type Config struct {
	// Where things are.
	DatabaseURL       string `env:"DATABASE_URL" secret:"url"`
	TemporalAddress   string `env:"TEMPORAL_ADDRESS"`
	TemporalNamespace string `env:"TEMPORAL_NAMESPACE" envDefault:"default"`
	TemporalUI        string `env:"TEMPORAL_UI_URL"`
	Home              string `env:"CAIRN_HOME" envDefault:".cairn"` // data of the development stack, packages
	Workspace         string `env:"CAIRN_WORKSPACE" envDefault:"default"`

	// Models. Without a base URL and a key the offline rules answer.
	BaseURL    string `env:"OPENAI_BASE_URL"`
	APIKey     string `env:"OPENAI_API_KEY" secret:"all"`
	Model      string `env:"CAIRN_MODEL"`
	Structured string `env:"CAIRN_STRUCTURED_OUTPUT" envDefault:"auto"` // auto json_schema json_object none
	// JSON: model → micro-dollars per million tokens in and out
	Prices  string        `env:"CAIRN_PRICES"`
	Lease   time.Duration `env:"CAIRN_LLM_LEASE" envDefault:"30s"`    // of a call; a crash is noticed after it
	Timeout time.Duration `env:"CAIRN_LLM_TIMEOUT" envDefault:"120s"` // of one request
	// of a paid reply while the database is away: a restart, not an outage
	Hold time.Duration `env:"CAIRN_LLM_HOLD" envDefault:"20s"`
	// a worker that is silent for longer is taken for dead
	Heartbeat time.Duration `env:"CAIRN_HEARTBEAT" envDefault:"20s"`

	ModelNudge      string `env:"CAIRN_MODEL_NUDGE"`      // of reviews; CAIRN_MODEL when empty
	ModelReflection string `env:"CAIRN_MODEL_REFLECTION"` // of daily reflections; CAIRN_MODEL_NUDGE when empty

	// tokens that CAIRN_MODEL takes: a conversation that does not fit is compacted
	ModelWindow int `env:"CAIRN_MODEL_WINDOW" envDefault:"128000"`
	// that CAIRN_MODEL_NUDGE takes, which makes the records; CAIRN_MODEL_WINDOW when 0
	ModelWindowNudge int `env:"CAIRN_MODEL_WINDOW_NUDGE"`

	SkillsLLM        string `env:"SKILLS_LLM"` // all stages of distillation
	SkillsLLMChunk   string `env:"SKILLS_LLM_CHUNK"`
	SkillsLLMRewrite string `env:"SKILLS_LLM_REWRITE"`
	SkillsLLMExtract string `env:"SKILLS_LLM_EXTRACT"`
	SkillsLLMScripts string `env:"SKILLS_LLM_SCRIPTS"`
	SkillsLLMDocs    string `env:"SKILLS_LLM_DOCS"`
	SkillsLLMJudge   string `env:"SKILLS_LLM_JUDGE"`

	// Embeddings. Without a model the hashing embedder computes them.
	EmbeddingModel      string `env:"CAIRN_EMBEDDING_MODEL"`
	EmbeddingBaseURL    string `env:"CAIRN_EMBEDDING_BASE_URL"`
	EmbeddingAPIKey     string `env:"CAIRN_EMBEDDING_API_KEY" secret:"all"`
	EmbeddingDimensions int    `env:"CAIRN_EMBEDDING_DIMENSIONS" envDefault:"384"`

	// Skills.
	SkillsDir       string `env:"SKILLS_LOCAL_DIR"` // packages; inside Home when empty
	Mode            string `env:"SKILL_MODE" envDefault:"full"`
	Gate            string `env:"SKILL_GATE" envDefault:"auto"`
	MinToolMessages int    `env:"SKILL_MIN_TOOL_MESSAGES" envDefault:"5"`
	MinMessages     int    `env:"SKILL_MIN_MESSAGES" envDefault:"6"`
	MaxTasks        int    `env:"SKILL_MAX_TASKS" envDefault:"8"`
	ToolOutputChars int    `env:"SKILL_TOOL_OUTPUT_CHARS" envDefault:"1500"`
	InputTokens     int    `env:"SKILL_CHUNK_INPUT_TOKENS" envDefault:"24000"`
	Concurrency     int    `env:"SKILL_CONCURRENCY" envDefault:"5"`
	HistoryMessages int    `env:"SKILL_HISTORY_MESSAGES" envDefault:"20"`
	HistoryChars    int    `env:"SKILL_HISTORY_CHARS" envDefault:"5000"`
	// keep secrets from models, and secrets and a case's own values out of skills
	Redact bool `env:"SKILL_REDACT" envDefault:"true"`
	// have a model judge each draft, 0–10: one more call
	Quality bool `env:"SKILL_QUALITY" envDefault:"true"`
	// a new skill below it is a draft: kept, not found
	MinQuality float64 `env:"SKILL_MIN_QUALITY" envDefault:"6"`
	// new skills, and changes of those in force, wait for approval
	RequireApproval bool `env:"SKILL_REQUIRE_APPROVAL" envDefault:"false"`
	// of each skill, beside those still needed; 0 keeps all
	KeepVersions   int     `env:"SKILL_KEEP_VERSIONS" envDefault:"10"`
	StrictEvidence bool    `env:"SKILL_STRICT_EVIDENCE" envDefault:"false"`
	RecallTopK     int     `env:"SKILL_RECALL_TOP_K" envDefault:"5"`
	RecallMinSim   float64 `env:"SKILL_RECALL_MIN_SIM" envDefault:"0.35"`
	MergeSim       float64 `env:"SKILL_MERGE_SIM" envDefault:"0.88"`
	MinConfidence  float64 `env:"SKILL_MIN_CONFIDENCE" envDefault:"0.7"`
	Repairs        int     `env:"SKILL_JSON_REPAIRS" envDefault:"2"`
	NameStyle      string  `env:"SKILL_NAME_STYLE" envDefault:"hyphen"`

	// Where packages are kept: a folder, or a bucket of Alibaba OSS.
	Backend         string `env:"SKILLS_REPO_BACKEND" envDefault:"local"` // local or oss, in either case
	OSSDir          string `env:"SKILLS_OSS_DIR" envDefault:"skill_memory/"`
	OSSEndpoint     string `env:"OSS_ENDPOINT"`
	OSSRegion       string `env:"OSS_REGION"`
	OSSBucket       string `env:"OSS_BUCKET_NAME"`
	OSSKeyID        string `env:"OSS_ACCESS_KEY_ID" secret:"all"`
	OSSKeySecret    string `env:"OSS_ACCESS_KEY_SECRET" secret:"all"`
	OSSSessionToken string `env:"OSS_SESSION_TOKEN" secret:"all"`
	OSSSignature    string `env:"OSS_SIGNATURE_VERSION" envDefault:"v4"`

	// Packages that no version came to use are deleted after twice this.
	PackageGrace time.Duration `env:"SKILL_ARTIFACT_GC_GRACE" envDefault:"168h"`

	// Conversations.
	// of a frozen prompt, counted from its creation
	SessionTTL time.Duration `env:"CAIRN_SESSION_TTL" envDefault:"30m"`
	// without a turn, after which its workflow ends
	ConversationClose time.Duration `env:"CAIRN_CONVERSATION_CLOSE" envDefault:"24h"`
	// after which its workflow continues as new, at the latest
	ConversationTurns int `env:"CAIRN_CONVERSATION_TURNS" envDefault:"500"`
	// of a conversation, from which on it is compacted although the window has room; 0 means the window alone
	TurnHistoryTokens int `env:"CAIRN_TURN_HISTORY_TOKENS" envDefault:"24000"`
	// of what callers put away; what conversations put away lives as long as they do
	OffloadTTL time.Duration `env:"CAIRN_OFFLOAD_TTL" envDefault:"168h"`
	// of one tool result, in prompts
	ToolResultChars int `env:"CAIRN_TOOL_RESULT_CHARS" envDefault:"8000"`
	// of one model response in a conversation
	ReplyTokens int           `env:"CAIRN_REPLY_TOKENS" envDefault:"2000"`
	ToolTimeout time.Duration `env:"CAIRN_TOOL_TIMEOUT" envDefault:"20s"` // of one tool call

	// Commands of skills. They are offered to conversations whose workspace has set
	// tools.shell, and run by workers of the queue cairn-sandbox only.
	Shell bool `env:"CAIRN_SHELL" envDefault:"off"`
	// programs, separated by commas
	ShellCommands string `env:"CAIRN_SHELL_COMMANDS" envDefault:"python3,bash,sh,node,cat,ls,head,tail,wc,grep,sort,uniq,cut,tr,diff,jq,date,sha256sum"`
	// of a command, on the clock and of processor for each of its processes; less than CAIRN_TOOL_TIMEOUT
	ShellTimeout time.Duration `env:"CAIRN_SHELL_TIMEOUT" envDefault:"10s"`
	// of all its processes
	ShellMemoryMB int `env:"CAIRN_SHELL_MEMORY_MB" envDefault:"512"`
	// of all its files, which are in memory
	ShellDiskMB int `env:"CAIRN_SHELL_DISK_MB" envDefault:"64"`
	// at once, threads included
	ShellProcesses int `env:"CAIRN_SHELL_PROCESSES" envDefault:"32"`
	// of what it prints; more ends it
	ShellOutputBytes int `env:"CAIRN_SHELL_OUTPUT_BYTES" envDefault:"65536"`
	// commands at once in one worker
	SandboxSlots int `env:"CAIRN_SANDBOX_SLOTS" envDefault:"4"`

	// Gateway.
	Listen string `env:"CAIRN_LISTEN" envDefault:"127.0.0.1:8080"` // host:port; port 0 takes a free one
	// before the paths of links, such as https://cairn.example; empty leaves them relative
	PublicBaseURL string `env:"PUBLIC_BASE_URL"`
	RequestBytes  int64  `env:"CAIRN_REQUEST_BYTES" envDefault:"16777216"` // of one request's body
	// requests a second for each key in one gateway, twice as many at once; 0 means no limit
	RateLimit float64 `env:"CAIRN_RATE_LIMIT" envDefault:"50"`
	// where mem0's routes are: prefix, under /mem0, or root, there and at the root
	Mem0Compat string `env:"MEM0_COMPAT" envDefault:"prefix"`
	MCPName    string `env:"CAIRN_MCP_NAME" envDefault:"cairn"` // of the MCP server
	// open to everybody who reaches the address, key (with scope admin), or off
	Metrics string `env:"CAIRN_METRICS" envDefault:"open"`

	// Processes.
	// of what workflows carry, each the base64 of 32 bytes, separated by commas: the first encrypts, all decrypt;
	// empty leaves it plain. The same in every process
	PayloadKeys string `env:"CAIRN_PAYLOAD_KEYS" secret:"all"`
	// host:port at which a worker shows its counts under /metrics, to everybody who reaches it; empty for nowhere
	WorkerMetrics string `env:"CAIRN_WORKER_METRICS"`
	DatabaseConns int    `env:"CAIRN_DATABASE_CONNS" envDefault:"16"`
	LLMSlots      int    `env:"CAIRN_LLM_SLOTS" envDefault:"200"` // model activities at once in one worker
	// one database activity; a crash in it is noticed after that
	DatabaseStep time.Duration `env:"CAIRN_DATABASE_STEP" envDefault:"15s"`
	// that wait for tasks of each kind on each queue; too few and new workflows wait for one another
	Pollers     int           `env:"CAIRN_POLLERS" envDefault:"8"`
	StopTimeout time.Duration `env:"CAIRN_STOP_TIMEOUT" envDefault:"20s"`
	// how often what is due is looked for; 0 means never
	SweepEvery time.Duration `env:"CAIRN_SWEEP_EVERY" envDefault:"1m"`
	// within how much time after it is due a workspace's own place to start built-in tasks is; 0 starts them at once
	SweepJitter time.Duration `env:"CAIRN_SWEEP_JITTER" envDefault:"15m"`
	// documents of a workspace from which the worker builds a graph over its vectors; 0 builds none
	GraphFrom int `env:"CAIRN_GRAPH_FROM" envDefault:"50000"`
	// the login that builds them, which may act as cairn_owner; empty means that of DATABASE_URL
	GraphURL string `env:"CAIRN_GRAPH_DATABASE_URL" secret:"url"`
	LogLevel string `env:"CAIRN_LOG" envDefault:"warn"` // debug info warn error
}

// Load reads the settings. Overrides are flags, by the names of the environment.
func Load(environ []string, overrides map[string]string) (Config, error) {
	values := env.ToMap(environ)
	path, named := values["CAIRN_CONFIG"]
	if path == "" {
		path = File
	}
	file, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) && !named {
		err = nil
	}
	if err != nil {
		return Config{}, err
	}
	all := map[string]string{}
	for _, layer := range []map[string]string{file, values, overrides} {
		maps.Copy(all, layer)
	}
	if err := resolveAliases(all); err != nil {
		return Config{}, err
	}
	var c Config
	if err := env.ParseWithOptions(&c, env.Options{Environment: all,
		FuncMap: map[reflect.Type]env.ParserFunc{reflect.TypeFor[bool](): parseSwitch}}); err != nil {
		return Config{}, fault.Wrap(err, fault.Misconfigured, "a setting cannot be read",
			"`cairn config` lists the settings and their defaults")
	}
	return c, c.validate()
}

// parseSwitch reads on and off beside what Go takes for true and false.
func parseSwitch(value string) (any, error) {
	switch strings.ToLower(value) {
	case "on":
		return true, nil
	case "off":
		return false, nil
	}
	return strconv.ParseBool(value)
}

func readFile(path string) (map[string]string, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the settings: %w", err)
	}
	out := map[string]string{}
	for i, line := range strings.Split(string(raw), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			return nil, fault.New(fault.Misconfigured, fmt.Sprintf("%s, line %d: no NAME=value", path, i+1),
				"write one setting a line, such as CAIRN_MODEL=gpt-4o-mini")
		}
		out[strings.TrimSpace(name)] = strings.Trim(strings.TrimSpace(value), `"'`)
	}
	return out, nil
}

func (c Config) validate() error {
	for _, err := range slices.Concat(c.choices(), c.ranges()) {
		if err != nil {
			return err
		}
	}
	if c.Shell && c.ShellTimeout >= c.ToolTimeout {
		return fault.New(fault.Misconfigured,
			fmt.Sprintf("CAIRN_SHELL_TIMEOUT is %v, and no tool is waited for longer than CAIRN_TOOL_TIMEOUT, %v",
				c.ShellTimeout, c.ToolTimeout), "set CAIRN_TOOL_TIMEOUT some seconds higher")
	}
	if (c.BaseURL != "" || c.APIKey != "") && c.Model == "" && c.SkillsLLM == "" {
		return fault.New(fault.Misconfigured, "a model endpoint is set, but no model",
			"set CAIRN_MODEL to a model of that endpoint")
	}
	return nil
}

// choices check the settings that are one of several words.
func (c Config) choices() []error {
	return []error{
		oneOf("SKILL_MODE", c.Mode, "full", "simple"),
		oneOf("SKILL_GATE", c.Gate, "auto", "memos", "off"),
		oneOf("SKILL_NAME_STYLE", c.NameStyle, "hyphen", "underscore"),
		oneOf("SKILLS_REPO_BACKEND", strings.ToLower(c.Backend), "local", "oss"),
		oneOf("CAIRN_STRUCTURED_OUTPUT", c.Structured, "auto", "json_schema", "json_object", "none"),
		oneOf("MEM0_COMPAT", c.Mem0Compat, "prefix", "root"),
		oneOf("CAIRN_METRICS", c.Metrics, "open", "key", "off"),
		oneOf("CAIRN_LOG", c.LogLevel, "debug", "info", "warn", "error"),
	}
}

// ranges check the settings that are numbers.
func (c Config) ranges() []error {
	return []error{
		between("CAIRN_REQUEST_BYTES", float64(c.RequestBytes), 1<<10, 1<<30),
		between("CAIRN_RATE_LIMIT", c.RateLimit, 0, 1e6),
		between("SKILL_CONCURRENCY", float64(c.Concurrency), 1, 100),
		between("SKILL_MAX_TASKS", float64(c.MaxTasks), 1, 100),
		between("SKILL_JSON_REPAIRS", float64(c.Repairs), 0, 2),
		between("SKILL_TOOL_OUTPUT_CHARS", float64(c.ToolOutputChars), 100, 1e6),
		between("SKILL_CHUNK_INPUT_TOKENS", float64(c.InputTokens), 500, 1e6),
		between("SKILL_RECALL_TOP_K", float64(c.RecallTopK), 0, 20),
		between("SKILL_RECALL_MIN_SIM", c.RecallMinSim, 0, 1),
		between("SKILL_MERGE_SIM", c.MergeSim, 0, 1),
		between("SKILL_MIN_CONFIDENCE", c.MinConfidence, 0, 1),
		between("SKILL_MIN_QUALITY", c.MinQuality, 0, 10),
		between("SKILL_KEEP_VERSIONS", float64(c.KeepVersions), 0, 10_000),
		between("CAIRN_EMBEDDING_DIMENSIONS", float64(c.EmbeddingDimensions), 8, 4000),
		between("CAIRN_GRAPH_FROM", float64(c.GraphFrom), 0, 1e9),
		between("CAIRN_LLM_LEASE in seconds", c.Lease.Seconds(), 0.2, 3600),
		between("CAIRN_POLLERS", float64(c.Pollers), 2, 100),
		between("CAIRN_LLM_HOLD in seconds", c.Hold.Seconds(), 0, 600),
		between("CAIRN_DATABASE_STEP in seconds", c.DatabaseStep.Seconds(), 1, 600),
		between("CAIRN_SESSION_TTL in minutes", c.SessionTTL.Minutes(), 0.01, 24*60),
		between("CAIRN_CONVERSATION_CLOSE in hours", c.ConversationClose.Hours(), 0.0001, 24*90),
		between("CAIRN_CONVERSATION_TURNS", float64(c.ConversationTurns), 1, 1000),
		between("CAIRN_MODEL_WINDOW", float64(c.ModelWindow), 1000, 1e8),
		between("CAIRN_MODEL_WINDOW_NUDGE", float64(c.ModelWindowNudge), 0, 1e8),
		between("CAIRN_OFFLOAD_TTL in hours", c.OffloadTTL.Hours(), 0.001, 24*366),
		between("CAIRN_TURN_HISTORY_TOKENS", float64(c.TurnHistoryTokens), 0, 1e6),
		between("CAIRN_TOOL_RESULT_CHARS", float64(c.ToolResultChars), 100, 1e6),
		between("CAIRN_REPLY_TOKENS", float64(c.ReplyTokens), 16, 1e6),
		between("CAIRN_TOOL_TIMEOUT in seconds", c.ToolTimeout.Seconds(), 0.1, 600),
		between("CAIRN_SHELL_TIMEOUT in seconds", c.ShellTimeout.Seconds(), 0.1, 600),
		between("CAIRN_SHELL_MEMORY_MB", float64(c.ShellMemoryMB), 16, 1<<20),
		between("CAIRN_SHELL_DISK_MB", float64(c.ShellDiskMB), 1, 1<<20),
		between("CAIRN_SHELL_PROCESSES", float64(c.ShellProcesses), 1, 4096),
		between("CAIRN_SHELL_OUTPUT_BYTES", float64(c.ShellOutputBytes), 1<<10, 1<<20),
		between("CAIRN_SANDBOX_SLOTS", float64(c.SandboxSlots), 1, 1000),
		between("CAIRN_SWEEP_EVERY in seconds", c.SweepEvery.Seconds(), 0, 3600),
		between("CAIRN_SWEEP_JITTER in minutes", c.SweepJitter.Minutes(), 0, 6*60),
		between("CAIRN_HEARTBEAT in seconds", c.Heartbeat.Seconds(), 1, 600),
	}
}

func oneOf(name, value string, allowed ...string) error {
	for _, a := range allowed {
		if value == a {
			return nil
		}
	}
	return fault.New(fault.Misconfigured, fmt.Sprintf("%s is %q", name, value),
		"use one of: "+strings.Join(allowed, ", "))
}

func between(name string, v, low, high float64) error {
	if v < low || v > high {
		return fault.New(fault.Misconfigured, fmt.Sprintf("%s is %v", name, v),
			fmt.Sprintf("use a number from %v to %v", low, high))
	}
	return nil
}

// Offline tells whether the offline rules stand in for a model.
func (c Config) Offline() bool { return c.BaseURL == "" && c.APIKey == "" }

// Setting is one setting as it is shown.
type Setting struct{ Name, Value string }

// Settings lists the settings in force, secrets masked.
func (c Config) Settings() []Setting {
	var out []Setting
	v := reflect.ValueOf(c)
	for i := range v.NumField() {
		f := v.Type().Field(i)
		out = append(out, Setting{Name: f.Tag.Get("env"),
			Value: mask(f.Tag.Get("secret"), fmt.Sprint(v.Field(i).Interface()))})
	}
	return out
}
