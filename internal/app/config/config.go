// Package config holds the configuration of all programs as one struct. Its values come from the
// defaults, then a file, then environment variables, then flags; later sources override earlier
// ones. Programs call Load once; no other package reads the environment.
//
//	c, err := config.Load(os.Environ(), map[string]string{"CAIRN_WORKSPACE": "support"})
package config

import (
	"fmt"
	"reflect"
	"time"

	"cairn/internal/domain/settings"
)

// File is the default configuration file. CAIRN_CONFIG selects another one. The file holds lines
// of NAME=value with the names of environment variables.
const File = "cairn.env"

// Config is the complete configuration. The comment of a field describes its environment variable in
// docs/reference/config.md; a comment between empty lines is the heading of a section there.
type Config struct {
	// Servers and data

	// URL of the Postgres database. If empty, commands start the development stack.
	DatabaseURL string `env:"DATABASE_URL" secret:"url"`
	// Address of the Temporal server, host:port. If empty, commands start the development stack.
	TemporalAddress string `env:"TEMPORAL_ADDRESS"`
	// Temporal namespace.
	TemporalNamespace string `env:"TEMPORAL_NAMESPACE" envDefault:"default"`
	// URL of the Temporal UI, for links to workflows. If empty, no links are printed.
	TemporalUI string `env:"TEMPORAL_UI_URL"`
	// Folder of packages and of the development stack's data. If cairn was installed as a package, the default is
	// $XDG_DATA_HOME/cairn, else ~/.local/share/cairn.
	Home string `env:"CAIRN_HOME" envDefault:".cairn"`
	// Workspace of commands.
	Workspace string `env:"CAIRN_WORKSPACE" envDefault:"default"`
	// Minimum level of log messages.
	LogLevel string `env:"CAIRN_LOG" envDefault:"warn"`

	// Models

	// Base URL of an OpenAI-compatible endpoint. If this and OPENAI_API_KEY are empty, the offline model is used.
	BaseURL string `env:"OPENAI_BASE_URL"`
	// API key of the model endpoint.
	APIKey string `env:"OPENAI_API_KEY" secret:"all"`
	// Model for all model calls that have no model of their own. Required with an endpoint.
	Model string `env:"CAIRN_MODEL"`
	// File to which the replies of the model are recorded, see `cairn eval memskill --record`. Requests that it
	// contains are not sent again.
	Record string `env:"CAIRN_RECORD"`
	// Recording whose replies are used instead of a model endpoint, see `cairn eval memskill --replay`.
	Replay string `env:"CAIRN_REPLAY"`
	// How the endpoint returns JSON.
	Structured string `env:"CAIRN_STRUCTURED_OUTPUT" envDefault:"auto"`
	// How requests mark the transcript that several calls share for the endpoint's cache. auto chooses by the host of
	// the endpoint and the name of the model; endpoints that cache by themselves need no mark.
	LLMCache string `env:"LLM_CACHE" envDefault:"auto"`
	// Context length in tokens: a number, and model=number for models that differ, separated by commas. Requests of
	// distillation use at most three quarters of it.
	LLMContext string `env:"LLM_CONTEXT" envDefault:"128000"`
	// Prices as JSON: model to micro-dollars per million input and output tokens, and of cached and written input.
	// If empty, list prices are used.
	Prices string `env:"CAIRN_PRICES"`
	// Maximum cost of all model calls of the deployment in a UTC day, in micro-dollars (1000000 is 1 $), or
	// unlimited. In addition, micros_per_day limits each workspace. Set the same value for all processes.
	MicrosPerDay settings.Spend `env:"CAIRN_MICROS_PER_DAY" envDefault:"unlimited"`
	// Lease of a model call. After a crash, another worker repeats the call when the lease ends.
	Lease time.Duration `env:"CAIRN_LLM_LEASE" envDefault:"30s"`
	// Timeout of one request to the endpoint.
	Timeout time.Duration `env:"CAIRN_LLM_TIMEOUT" envDefault:"120s"`
	// Maximum size of a response of the model endpoint in bytes. A larger one fails the call with model_invalid.
	ReplyBytes int64 `env:"CAIRN_LLM_REPLY_BYTES" envDefault:"4194304"`
	// How long a worker tries to store a received reply while the database is not available.
	Hold time.Duration `env:"CAIRN_LLM_HOLD" envDefault:"20s"`
	// Heartbeat timeout of activities. A worker that is silent for longer is considered dead.
	Heartbeat time.Duration `env:"CAIRN_HEARTBEAT" envDefault:"20s"`
	// Model of reviews. If empty, CAIRN_MODEL is used.
	ModelNudge string `env:"CAIRN_MODEL_NUDGE"`
	// Model of daily reflections. If empty, CAIRN_MODEL_NUDGE is used.
	ModelReflection string `env:"CAIRN_MODEL_REFLECTION"`
	// Context length of CAIRN_MODEL in tokens. A conversation that does not fit is compacted.
	ModelWindow int `env:"CAIRN_MODEL_WINDOW" envDefault:"128000"`
	// Context length of CAIRN_MODEL_NUDGE in tokens, which writes compactions. If 0, CAIRN_MODEL_WINDOW is used.
	ModelWindowNudge int `env:"CAIRN_MODEL_WINDOW_NUDGE"`
	// Model of all stages of distillation. If empty, CAIRN_MODEL is used.
	SkillsLLM string `env:"SKILLS_LLM"`
	// Model that divides a conversation into tasks. If empty, SKILLS_LLM is used.
	SkillsLLMSegment string `env:"SKILLS_LLM_SEGMENT"`
	// Model that extracts and merges skills. If empty, SKILLS_LLM is used. Endpoints cache a transcript for each model.
	SkillsLLMExtract string `env:"SKILLS_LLM_EXTRACT"`
	// Model that writes scripts and reference documents of skills. If empty, SKILLS_LLM is used.
	SkillsLLMFiles string `env:"SKILLS_LLM_FILES"`
	// Model that scores drafts and compares updates. If empty, SKILLS_LLM is used.
	SkillsLLMJudge string `env:"SKILLS_LLM_JUDGE"`

	// Images and voice messages

	// Models that take images, separated by commas, or * for all. For other models, users are told that images are
	// not read.
	ImageModels string `env:"CAIRN_IMAGE_MODELS"`
	// Model that transcribes voice messages (/v1/audio/transcriptions). If empty, users are told that they are not
	// read.
	TranscribeModel string `env:"CAIRN_TRANSCRIBE_MODEL"`
	// Base URL of the endpoint of transcription. If empty, OPENAI_BASE_URL is used.
	TranscribeBaseURL string `env:"CAIRN_TRANSCRIBE_BASE_URL"`
	// API key of the endpoint of transcription. If empty, OPENAI_API_KEY is used.
	TranscribeAPIKey string `env:"CAIRN_TRANSCRIBE_API_KEY" secret:"all"`

	// Embeddings

	// Embedding model. If empty, the built-in hashing embedder is used.
	EmbeddingModel string `env:"CAIRN_EMBEDDING_MODEL"`
	// Base URL of the embedding endpoint. If empty, OPENAI_BASE_URL is used.
	EmbeddingBaseURL string `env:"CAIRN_EMBEDDING_BASE_URL"`
	// API key of the embedding endpoint. If empty, OPENAI_API_KEY is used.
	EmbeddingAPIKey string `env:"CAIRN_EMBEDDING_API_KEY" secret:"all"`
	// Number of dimensions of embeddings.
	EmbeddingDimensions int `env:"CAIRN_EMBEDDING_DIMENSIONS" envDefault:"384"`
	// Previous embedding model. It serves workspaces that still use its vectors; see cairn reembed.
	EmbeddingPreviousModel string `env:"CAIRN_EMBEDDING_PREVIOUS_MODEL"`
	// Base URL of the previous model's endpoint. If empty, CAIRN_EMBEDDING_BASE_URL is used.
	EmbeddingPreviousBaseURL string `env:"CAIRN_EMBEDDING_PREVIOUS_BASE_URL"`
	// API key of the previous model's endpoint. If empty, CAIRN_EMBEDDING_API_KEY is used.
	EmbeddingPreviousAPIKey string `env:"CAIRN_EMBEDDING_PREVIOUS_API_KEY" secret:"all"`
	// Number of dimensions of the previous model's embeddings.
	EmbeddingPreviousDimensions int `env:"CAIRN_EMBEDDING_PREVIOUS_DIMENSIONS" envDefault:"384"`

	// YAML file with parameters of searches; the settings search.* of a workspace override it.
	SearchProfile string `env:"CAIRN_SEARCH_PROFILE"`

	// Skills

	// Extraction mode: full also writes scripts and reference documents.
	Mode string `env:"SKILL_MODE" envDefault:"full"`
	// Gate that selects the conversations to distill.
	Gate string `env:"SKILL_GATE" envDefault:"auto"`
	// Minimum number of tool messages for the gate.
	MinToolMessages int `env:"SKILL_MIN_TOOL_MESSAGES" envDefault:"5"`
	// Minimum number of messages for the gate.
	MinMessages int `env:"SKILL_MIN_MESSAGES" envDefault:"6"`
	// Maximum number of tasks of one conversation.
	MaxTasks int `env:"SKILL_MAX_TASKS" envDefault:"8"`
	// Maximum length of one tool result in prompts of distillation, in characters.
	ToolOutputChars int `env:"SKILL_TOOL_OUTPUT_CHARS" envDefault:"1500"`
	// Maximum number of model calls of one distillation at once.
	Concurrency int `env:"SKILL_CONCURRENCY" envDefault:"5"`
	// Maximum number of earlier messages that give context to a task.
	HistoryMessages int `env:"SKILL_HISTORY_MESSAGES" envDefault:"20"`
	// Maximum length of these earlier messages, in characters.
	HistoryChars int `env:"SKILL_HISTORY_CHARS" envDefault:"5000"`
	// Whether secrets are removed from prompts, and secrets and personal values from skills.
	Redact bool `env:"SKILL_REDACT" envDefault:"true"`
	// Whether a model rates each draft by eight criteria. Costs one more model call per draft.
	Quality bool `env:"SKILL_QUALITY" envDefault:"true"`
	// Minimum score of a new skill. A skill with a lower score stays a draft, which searches do not find.
	MinQuality float64 `env:"SKILL_MIN_QUALITY" envDefault:"6"`
	// Whether new skills and changes of active skills require approval.
	RequireApproval bool `env:"SKILL_REQUIRE_APPROVAL" envDefault:"false"`
	// Number of versions kept of each skill, in addition to versions in use. 0 keeps all.
	KeepVersions int `env:"SKILL_KEEP_VERSIONS" envDefault:"10"`
	// Whether a draft must cite its evidence messages.
	StrictEvidence bool `env:"SKILL_STRICT_EVIDENCE" envDefault:"false"`
	// Number of existing skills that are compared with a task.
	RecallTopK int `env:"SKILL_RECALL_TOP_K" envDefault:"5"`
	// Minimum cosine similarity of a search result.
	RecallMinSim float64 `env:"SKILL_RECALL_MIN_SIM" envDefault:"0.35"`
	// Minimum cosine similarity at which a draft is merged with an existing skill.
	MergeSim float64 `env:"SKILL_MERGE_SIM" envDefault:"0.88"`
	// Minimum confidence of a draft, if the model states one. Drafts below it are rejected.
	MinConfidence float64 `env:"SKILL_MIN_CONFIDENCE" envDefault:"0.7"`
	// Maximum number of repair requests after a reply that is not valid JSON.
	Repairs int `env:"SKILL_JSON_REPAIRS" envDefault:"2"`
	// Style of folder and skill names in packages.
	NameStyle string `env:"SKILL_NAME_STYLE" envDefault:"hyphen"`
	// Sections of new skills: those that help an agent most, or those of MemOS.
	Profile string `env:"SKILL_PROFILE" envDefault:"agent"`

	// Package storage

	// Where packages are stored: a local folder or a bucket of Alibaba Cloud OSS.
	Backend string `env:"SKILLS_REPO_BACKEND" envDefault:"local"`
	// Local folder of packages. If empty, packages are stored in CAIRN_HOME.
	SkillsDir string `env:"SKILLS_LOCAL_DIR"`
	// Folder in the bucket.
	OSSDir string `env:"SKILLS_OSS_DIR" envDefault:"skill_memory/"`
	// Endpoint of OSS.
	OSSEndpoint string `env:"OSS_ENDPOINT"`
	// Region of the bucket.
	OSSRegion string `env:"OSS_REGION"`
	// Name of the bucket.
	OSSBucket string `env:"OSS_BUCKET_NAME"`
	// Access key ID.
	OSSKeyID string `env:"OSS_ACCESS_KEY_ID" secret:"all"`
	// Access key secret.
	OSSKeySecret string `env:"OSS_ACCESS_KEY_SECRET" secret:"all"`
	// Security token of temporary credentials.
	OSSSessionToken string `env:"OSS_SESSION_TOKEN" secret:"all"`
	// Signature version.
	OSSSignature string `env:"OSS_SIGNATURE_VERSION" envDefault:"v4"`
	// Grace period of unused packages. A package without a skill version is deleted after twice this time.
	PackageGrace time.Duration `env:"SKILL_ARTIFACT_GC_GRACE" envDefault:"168h"`
	// How long backups of the database are kept. Unused packages are kept for at least this time, because a
	// restored database can refer to them. Erased packages are not kept.
	BackupRetention time.Duration `env:"CAIRN_BACKUP_RETENTION" envDefault:"840h"`

	// Retention

	// How long model calls are kept with their requests and replies. 0 keeps them for ever, as in the other
	// retentions. A retention must not be shorter than a day or than the retention of the Temporal namespace.
	RetentionCalls time.Duration `env:"CAIRN_RETENTION_CALLS" envDefault:"720h"`
	// How long the steps, tool calls and results of ended runs are kept. A run keeps its kind, times and outcome.
	// Trainings, evolutions and evaluations stay whole.
	RetentionRuns time.Duration `env:"CAIRN_RETENTION_RUNS" envDefault:"2160h"`
	// How long the log of operations is kept, by which a repeated operation has one effect.
	RetentionOplog time.Duration `env:"CAIRN_RETENTION_OPLOG" envDefault:"720h"`
	// How long the audit log is kept.
	RetentionAudit time.Duration `env:"CAIRN_RETENTION_AUDIT" envDefault:"9600h"`

	// Conversations

	// Lifetime of a prompt session, counted from its creation.
	SessionTTL time.Duration `env:"CAIRN_SESSION_TTL" envDefault:"30m"`
	// Time without a turn after which the workflow of a conversation ends.
	ConversationClose time.Duration `env:"CAIRN_CONVERSATION_CLOSE" envDefault:"24h"`
	// Maximum number of turns after which the workflow of a conversation continues as new.
	ConversationTurns int `env:"CAIRN_CONVERSATION_TURNS" envDefault:"500"`
	// Tokens of a conversation above which it is compacted even if the model has room. 0 disables this limit.
	TurnHistoryTokens int `env:"CAIRN_TURN_HISTORY_TOKENS" envDefault:"24000"`
	// How long content that callers offload is kept. Content that conversations offload is kept with them.
	OffloadTTL time.Duration `env:"CAIRN_OFFLOAD_TTL" envDefault:"168h"`
	// Maximum length of one tool result in prompts of conversations, in characters.
	ToolResultChars int `env:"CAIRN_TOOL_RESULT_CHARS" envDefault:"8000"`
	// Maximum length of one model response in a conversation, in tokens.
	ReplyTokens int `env:"CAIRN_REPLY_TOKENS" envDefault:"2000"`
	// Timeout of one tool call.
	ToolTimeout time.Duration `env:"CAIRN_TOOL_TIMEOUT" envDefault:"20s"`

	// Commands of skills

	// Whether agents can run commands of skills. Workspaces also need the setting tools.shell, and a worker has
	// to serve the queue cairn-sandbox.
	Shell bool `env:"CAIRN_SHELL" envDefault:"off"`
	// Programs that commands can run, separated by commas.
	ShellCommands string `env:"CAIRN_SHELL_COMMANDS" envDefault:"python3,bash,sh,node,cat,ls,head,tail,wc,grep,sort,uniq,cut,tr,diff,jq,date,sha256sum"`
	// Time limit of a command, both wall-clock time and processor time of each process. Must be less than
	// CAIRN_TOOL_TIMEOUT.
	ShellTimeout time.Duration `env:"CAIRN_SHELL_TIMEOUT" envDefault:"10s"`
	// Memory limit of all processes of a command, in MiB.
	ShellMemoryMB int `env:"CAIRN_SHELL_MEMORY_MB" envDefault:"512"`
	// Limit of all files of a command, which are stored in memory, in MiB.
	ShellDiskMB int `env:"CAIRN_SHELL_DISK_MB" envDefault:"64"`
	// Maximum number of processes and threads of a command at once.
	ShellProcesses int `env:"CAIRN_SHELL_PROCESSES" envDefault:"32"`
	// Maximum output of a command in bytes. More output ends the command.
	ShellOutputBytes int `env:"CAIRN_SHELL_OUTPUT_BYTES" envDefault:"65536"`
	// Maximum number of commands at once in one worker.
	SandboxSlots int `env:"CAIRN_SANDBOX_SLOTS" envDefault:"4"`

	// Gateway

	// Address of the HTTP gateway, host:port. Port 0 selects a free port.
	Listen string `env:"CAIRN_LISTEN" envDefault:"127.0.0.1:8080"`
	// Web console: on serves it at /console/, off does not, and host:port serves it at that address instead of
	// CAIRN_LISTEN.
	Console string `env:"CAIRN_CONSOLE" envDefault:"on"`
	// Base URL of links in responses, such as https://cairn.example. If empty, links are relative.
	PublicBaseURL string `env:"PUBLIC_BASE_URL"`
	// Maximum size of a request body in bytes.
	RequestBytes int64 `env:"CAIRN_REQUEST_BYTES" envDefault:"16777216"`
	// Requests per second for each API key and gateway; bursts can have twice as many. 0 disables the limit.
	RateLimit float64 `env:"CAIRN_RATE_LIMIT" envDefault:"50"`
	// Bytes per second of batches of memories for each API key; CAIRN_RATE_LIMIT does not count batches. 0 disables the
	// limit.
	BatchBytes int64 `env:"CAIRN_BATCH_BYTES" envDefault:"8388608"`
	// Proxies whose X-Forwarded-For names the client: addresses or networks such as 10.0.0.0/8, separated by commas.
	TrustedProxies string `env:"CAIRN_TRUSTED_PROXIES"`
	// Location of the mem0 routes: prefix serves them under /mem0, root also at the root.
	Mem0Compat string `env:"MEM0_COMPAT" envDefault:"prefix"`
	// Models that requests to the OpenAI-compatible API may name as cairn/MODEL, separated by commas. The model
	// cairn is always CAIRN_MODEL.
	APIModels string `env:"CAIRN_API_MODELS"`
	// Origins of web pages that may call the OpenAI-compatible API, separated by commas, or * for all.
	APIOrigins string `env:"CAIRN_API_ORIGINS"`
	// File with the accounts of chat platforms, for `cairn gateway`. See docs/how-to/channels.md.
	Channels string `env:"CAIRN_CHANNELS"`
	// Name of the MCP server.
	MCPName string `env:"CAIRN_MCP_NAME" envDefault:"cairn"`
	// Access to /metrics: key (requires an operator key with the scope metrics), open to all clients, or off.
	Metrics string `env:"CAIRN_METRICS" envDefault:"key"`

	// Workers and processes

	// Keys that encrypt workflow payloads: base64 of 32 bytes each, separated by commas. The first key encrypts,
	// all keys decrypt. If empty, payloads are not encrypted. All processes need the same keys.
	PayloadKeys string `env:"CAIRN_PAYLOAD_KEYS" secret:"all"`
	// Address at which a worker serves /metrics without authentication, host:port. If empty, it serves none.
	WorkerMetrics string `env:"CAIRN_WORKER_METRICS"`
	// Maximum number of database connections of a process.
	DatabaseConns int `env:"CAIRN_DATABASE_CONNS" envDefault:"16"`
	// Pooler between Cairn and Postgres: transaction for PgBouncer and similar poolers in transaction mode.
	DatabasePooler string `env:"CAIRN_DATABASE_POOLER"`
	// Connection string without the pooler, for notifications. Without it, a waiting caller polls.
	DatabaseDirectURL string `env:"CAIRN_DATABASE_DIRECT_URL" secret:"url"`
	// Maximum number of model activities at once in one worker.
	LLMSlots int `env:"CAIRN_LLM_SLOTS" envDefault:"200"`
	// Timeout of a database activity. After a crash, the activity is repeated when the timeout ends.
	DatabaseStep time.Duration `env:"CAIRN_DATABASE_STEP" envDefault:"15s"`
	// Maximum number of adds to memory that the deployment may have open at once. Further ones are refused with
	// rate_limited; memory.open_adds limits each workspace. 0 disables the limit.
	OpenAdds int `env:"CAIRN_OPEN_ADDS" envDefault:"2000"`
	// Number of pollers for each kind of task and each queue. Too few delay new workflows.
	Pollers int `env:"CAIRN_POLLERS" envDefault:"8"`
	// How long a stopping process waits for activities and requests in progress.
	StopTimeout time.Duration `env:"CAIRN_STOP_TIMEOUT" envDefault:"20s"`
	// How long a stopping gateway still serves requests while /readyz reports that it stops, so that load
	// balancers send no more of them. A gateway with a development stack stops at once.
	DrainDelay time.Duration `env:"CAIRN_DRAIN_DELAY" envDefault:"5s"`
	// Interval of the sweep, which scans for due tasks. 0 disables the sweep.
	SweepEvery time.Duration `env:"CAIRN_SWEEP_EVERY" envDefault:"1m"`
	// Period over which the starts of built-in tasks are spread across workspaces. 0 starts them when they are due.
	SweepJitter time.Duration `env:"CAIRN_SWEEP_JITTER" envDefault:"15m"`
	// Time without spans after which a conversation that OpenTelemetry exporters send is imported.
	TraceIdle time.Duration `env:"CAIRN_TRACE_IDLE" envDefault:"10m"`
	// Number of documents of a workspace from which a worker builds a vector index (HNSW graph). 0 builds none.
	GraphFrom int `env:"CAIRN_GRAPH_FROM" envDefault:"50000"`
	// URL of the database login that builds these indexes and can act as cairn_owner. If empty, DATABASE_URL is used.
	GraphURL string `env:"CAIRN_GRAPH_DATABASE_URL" secret:"url"`

	files map[string]string // of secrets, by the names of their variables
}

// Offline reports whether the offline model is used.
func (c Config) Offline() bool { return c.BaseURL == "" && c.APIKey == "" && c.Replay == "" }

// Other is an environment variable that is not part of Config.
type Other struct{ Name, Description string }

// Others lists the variables that single packages read.
func Others() []Other {
	return []Other{
		{"CAIRN_CONFIG", "Configuration file. The default is cairn.env, which may be missing."},
		{"NAME_FILE", "File with the value of the secret NAME, for example OPENAI_API_KEY_FILE. It is read at start " +
			"and works for every secret of this page. If Postgres or a model endpoint rejects the secret, " +
			"the file is read again. Setting both NAME and NAME_FILE is an error."},
		{"CAIRN_CACHE", "Folder of installed development servers. If empty, the user's cache folder is used."},
		{"CAIRN_DATA", "Folder of public data sets for `cairn eval`."},
		{"CAIRN_URL", "URL of the gateway for the Go client, the examples and `cairn import watch`."},
		{"CAIRN_KEY", "API key for the Go client, the examples and `cairn import watch`."},
		{"CAIRN_MODE", "Default retrieval mode of the Go client."},
		{"CAIRN_TOP_K", "Default number of memories of the Go client."},
		{"CAIRN_WAIT", "Default waiting time of the Go client."},
		{"TEMPORAL_API_KEY", "API key of Temporal Cloud. The Temporal client also reads the other standard " +
			"TEMPORAL_ variables, such as those for TLS and headers."},
	}
}

// Setting is the printed form of one variable.
type Setting struct{ Name, Value string }

// Settings lists all variables with their current values. Secrets are masked.
func (c Config) Settings() []Setting {
	var out []Setting
	v := reflect.ValueOf(c)
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() {
			continue
		}
		out = append(out, Setting{Name: f.Tag.Get("env"),
			Value: mask(f.Tag.Get("secret"), fmt.Sprint(v.Field(i).Interface()))})
	}
	return out
}
