package readmodel

import "time"

// HealthFact is something that the rows of a workspace say.
type HealthFact struct {
	Code   HealthCode
	Name   string // of the model, the queue, the run or the day
	Detail string
	Count  int64
	Since  time.Time
}

// WorkerBeat is when a worker of a queue was alive last.
type WorkerBeat struct {
	Queue  string
	SeenAt time.Time
	Live   bool // lately
}

// HealthCode identifies a reason.
type HealthCode string

// The reasons, the most severe first.
const (
	SchemaBehind        HealthCode = "schema_behind"
	TemporalUnreachable HealthCode = "temporal_unreachable"
	NoWorker            HealthCode = "no_worker"
	ModelErrors         HealthCode = "model_errors"
	BudgetExhausted     HealthCode = "budget_exhausted"
	OutboxStuck         HealthCode = "outbox_stuck"
	EmbeddingBehind     HealthCode = "embedding_behind"
	CallsUnknown        HealthCode = "calls_unknown"
	ReflectionFailed    HealthCode = "reflection_failed"
	ReflectionUnheard   HealthCode = "reflection_unheard"
	ShellUnavailable    HealthCode = "shell_unavailable"
	LearningFrozen      HealthCode = "learning_frozen"
	OfflineModel        HealthCode = "offline_model"
)
