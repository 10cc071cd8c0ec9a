package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"cairn/internal/domain/fault"
)

func (c Config) validate() error {
	for _, one := range c.choices() {
		if !slices.Contains(one.allowed, one.value) {
			return fault.New(fault.Misconfigured, fmt.Sprintf("invalid %s %q", one.name, one.value),
				"use one of: "+strings.Join(one.allowed, ", "))
		}
	}
	for _, one := range c.ranges() {
		if !(one.value >= one.low && one.value <= one.high) { // NaN, too
			return fault.New(fault.Misconfigured, fmt.Sprintf("invalid %s: %s is out of range", one.name,
				strings.TrimSpace(number(one.value)+" "+one.unit)), "use a value from "+one.String())
		}
	}
	if c.Shell && c.ShellTimeout >= c.ToolTimeout {
		return fault.New(fault.Misconfigured,
			fmt.Sprintf("CAIRN_SHELL_TIMEOUT is %v, but CAIRN_TOOL_TIMEOUT ends each tool call after %v",
				c.ShellTimeout, c.ToolTimeout), "set CAIRN_TOOL_TIMEOUT some seconds higher than CAIRN_SHELL_TIMEOUT")
	}
	if c.MicrosPerDay == 0 {
		return fault.New(
			fault.Misconfigured,
			"invalid CAIRN_MICROS_PER_DAY: 0 would refuse all model calls with a price",
			"use a number of micro-dollars such as 50000000, or unlimited",
		)
	}
	if err := c.checkRetention(); err != nil {
		return err
	}
	if _, err := c.Contexts(); err != nil {
		return err
	}
	if _, err := c.Proxies(); err != nil {
		return err
	}
	if _, err := c.Origins(); err != nil {
		return err
	}
	if err := c.checkConsole(); err != nil {
		return err
	}
	if (c.BaseURL != "" || c.APIKey != "") && c.Model == "" && c.SkillsLLM == "" {
		return fault.New(fault.Misconfigured, "a model endpoint is configured, but no model",
			"set CAIRN_MODEL to a model of that endpoint")
	}
	if c.TranscribeModel != "" && c.Offline() && c.TranscribeBaseURL == "" && c.TranscribeAPIKey == "" {
		return fault.New(fault.Misconfigured, "a model of transcription is configured, but no endpoint",
			"set CAIRN_TRANSCRIBE_BASE_URL or CAIRN_TRANSCRIBE_API_KEY")
	}
	return nil
}

// minRetention is the shortest retention.
const minRetention = 24 * time.Hour

func (c Config) checkRetention() error {
	for name, keep := range map[string]time.Duration{"CAIRN_RETENTION_CALLS": c.RetentionCalls,
		"CAIRN_RETENTION_RUNS": c.RetentionRuns, "CAIRN_RETENTION_OPLOG": c.RetentionOplog,
		"CAIRN_RETENTION_AUDIT": c.RetentionAudit} {
		if keep != 0 && keep < minRetention {
			return fault.New(fault.Misconfigured, fmt.Sprintf("invalid %s: %s is shorter than a day", name, keep),
				"use 24h or more, or 0 to keep all")
		}
	}
	return nil
}

// choice is a variable with a fixed set of values.
type choice struct {
	name, value string
	allowed     []string
}

func (c Config) choices() []choice {
	return []choice{
		{"SKILL_MODE", c.Mode, []string{"full", "simple"}},
		{"SKILL_GATE", c.Gate, []string{"auto", "memos", "off"}},
		{"SKILL_NAME_STYLE", c.NameStyle, []string{"hyphen", "underscore"}},
		{"SKILL_PROFILE", c.Profile, []string{"agent", "seed"}},
		{"SKILLS_REPO_BACKEND", strings.ToLower(c.Backend), []string{"local", "oss"}},
		{"LLM_CACHE", c.LLMCache, []string{"auto", "openai", "anthropic", "off"}},
		{"CAIRN_STRUCTURED_OUTPUT", c.Structured, []string{"auto", "json_schema", "json_object", "none"}},
		{"MEM0_COMPAT", c.Mem0Compat, []string{"prefix", "root"}},
		{"CAIRN_METRICS", c.Metrics, []string{"key", "open", "off"}},
		{"CAIRN_LOG", c.LogLevel, []string{"debug", "info", "warn", "error"}},
	}
}

// interval is a numeric variable with its range, both included.
type interval struct {
	name, unit       string // unit of all three numbers, such as seconds; empty for plain numbers
	value, low, high float64
}

// String formats the range, such as "0.2 to 3600 seconds".
func (i interval) String() string {
	return strings.TrimSpace(number(i.low) + " to " + number(i.high) + " " + i.unit)
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func (c Config) ranges() []interval {
	return []interval{
		{"CAIRN_REQUEST_BYTES", "", float64(c.RequestBytes), 1 << 10, 1 << 30},
		{"CAIRN_LLM_REPLY_BYTES", "", float64(c.ReplyBytes), 1 << 10, 1 << 30},
		{"CAIRN_RATE_LIMIT", "", c.RateLimit, 0, 1e6},
		{"CAIRN_BATCH_BYTES", "", float64(c.BatchBytes), 0, 1e12},
		{"SKILL_CONCURRENCY", "", float64(c.Concurrency), 1, 100},
		{"SKILL_MAX_TASKS", "", float64(c.MaxTasks), 1, 100},
		{"SKILL_JSON_REPAIRS", "", float64(c.Repairs), 0, 2},
		{"SKILL_TOOL_OUTPUT_CHARS", "", float64(c.ToolOutputChars), 100, 1e6},
		{"SKILL_RECALL_TOP_K", "", float64(c.RecallTopK), 0, 20},
		{"SKILL_RECALL_MIN_SIM", "", c.RecallMinSim, 0, 1},
		{"SKILL_MERGE_SIM", "", c.MergeSim, 0, 1},
		{"SKILL_MIN_CONFIDENCE", "", c.MinConfidence, 0, 1},
		{"SKILL_MIN_QUALITY", "", c.MinQuality, 0, 10},
		{"SKILL_KEEP_VERSIONS", "", float64(c.KeepVersions), 0, 10_000},
		{"CAIRN_EMBEDDING_DIMENSIONS", "", float64(c.EmbeddingDimensions), 8, 4000},
		{"CAIRN_EMBEDDING_PREVIOUS_DIMENSIONS", "", float64(c.EmbeddingPreviousDimensions), 8, 4000},
		{"CAIRN_GRAPH_FROM", "", float64(c.GraphFrom), 0, 1e9},
		{"CAIRN_LLM_LEASE", "seconds", c.Lease.Seconds(), 0.2, 3600},
		{"CAIRN_OPEN_ADDS", "", float64(c.OpenAdds), 0, 1e6},
		{"CAIRN_POLLERS", "", float64(c.Pollers), 2, 100},
		{"CAIRN_LLM_HOLD", "seconds", c.Hold.Seconds(), 0, 600},
		{"CAIRN_DATABASE_STEP", "seconds", c.DatabaseStep.Seconds(), 1, 600},
		{"CAIRN_SESSION_TTL", "minutes", c.SessionTTL.Minutes(), 0.01, 24 * 60},
		{"CAIRN_CONVERSATION_CLOSE", "hours", c.ConversationClose.Hours(), 0.0001, 24 * 90},
		{"CAIRN_CONVERSATION_TURNS", "", float64(c.ConversationTurns), 1, 1000},
		{"CAIRN_MODEL_WINDOW", "", float64(c.ModelWindow), 1000, 1e8},
		{"CAIRN_MODEL_WINDOW_NUDGE", "", float64(c.ModelWindowNudge), 0, 1e8},
		{"CAIRN_OFFLOAD_TTL", "hours", c.OffloadTTL.Hours(), 0.001, 24 * 366},
		{"CAIRN_TURN_HISTORY_TOKENS", "", float64(c.TurnHistoryTokens), 0, 1e6},
		{"CAIRN_TOOL_RESULT_CHARS", "", float64(c.ToolResultChars), 100, 1e6},
		{"CAIRN_REPLY_TOKENS", "", float64(c.ReplyTokens), 16, 1e6},
		{"CAIRN_TOOL_TIMEOUT", "seconds", c.ToolTimeout.Seconds(), 0.1, 600},
		{"CAIRN_SHELL_TIMEOUT", "seconds", c.ShellTimeout.Seconds(), 0.1, 600},
		{"CAIRN_SHELL_MEMORY_MB", "", float64(c.ShellMemoryMB), 16, 1 << 20},
		{"CAIRN_SHELL_DISK_MB", "", float64(c.ShellDiskMB), 1, 1 << 20},
		{"CAIRN_SHELL_PROCESSES", "", float64(c.ShellProcesses), 1, 4096},
		{"CAIRN_SHELL_OUTPUT_BYTES", "", float64(c.ShellOutputBytes), 1 << 10, 1 << 20},
		{"CAIRN_SANDBOX_SLOTS", "", float64(c.SandboxSlots), 1, 1000},
		{"CAIRN_SWEEP_EVERY", "seconds", c.SweepEvery.Seconds(), 0, 3600},
		{"CAIRN_SWEEP_JITTER", "minutes", c.SweepJitter.Minutes(), 0, 6 * 60},
		{"CAIRN_TRACE_IDLE", "minutes", c.TraceIdle.Minutes(), 0, 24 * 60},
		{"CAIRN_HEARTBEAT", "seconds", c.Heartbeat.Seconds(), 1, 600},
	}
}

// Values describes the allowed values of variables, by name. Variables that accept any value of
// their type are missing.
func Values() map[string]string {
	var c Config
	out := map[string]string{}
	for _, one := range c.choices() {
		out[one.name] = strings.Join(one.allowed, ", ")
	}
	for _, one := range c.ranges() {
		out[one.name] = one.String()
	}
	return out
}
