package distill

import (
	"context"
	"encoding/json"
	"time"

	"cairn/internal/domain/distillation"
	"cairn/internal/domain/index"
	"cairn/internal/domain/run"
	"cairn/internal/domain/skill"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/ledger"
)

// Tx accesses the rows of one workspace in one transaction.
type Tx interface {
	Runs() RunRepository
	Tasks() TaskRepository
	Drafts() DraftRepository
	Transcripts() TranscriptRepository
	Packages() PackageRepository
	Skills() SkillRepository
	Calls() CallRepository
}

// RunRepository reads and writes runs.
type RunRepository interface {
	Run(ctx context.Context, id string) (run.Run, error)
	RunState(ctx context.Context, id string) (run.Run, error) // without the configuration
	RunSpec(ctx context.Context, id string) (json.RawMessage, error)
	StartRun(ctx context.Context, id string) (bool, error)
	Reopen(ctx context.Context, r run.Run, workflowID string) error
	EndRun(ctx context.Context, id string, outcome run.Outcome, reason string, result any) error
	Progress(ctx context.Context, id string) (distillation.Progress, error)
	Usage(ctx context.Context, id string) (run.Usage, error)
}

// TaskRepository reads and writes tasks and cached failures.
type TaskRepository interface {
	RunTask(ctx context.Context, id string, key string) (run.Run, distillation.Task, error)
	PutTasks(ctx context.Context, ts []distillation.Task) error
	Tasks(ctx context.Context, id string) ([]distillation.Task, error)
	Task(ctx context.Context, id string, key string) (distillation.Task, error)
	HoldTask(ctx context.Context, t distillation.Task) (bool, error)
	EndTask(ctx context.Context, t distillation.Task) error
	Memo(ctx context.Context, key [32]byte, fresh time.Duration) (distillation.CachedFailure, bool, error)
	PutMemo(ctx context.Context, key [32]byte, m distillation.CachedFailure) error
}

// DraftRepository reads and writes drafts, files and packages of tasks.
type DraftRepository interface {
	SaveRecall(ctx context.Context, t distillation.Task) error
	SaveDraft(ctx context.Context, t distillation.Task, notes []string) error
	SaveBase(ctx context.Context, t distillation.Task) error
	SaveQuality(ctx context.Context, t distillation.Task, notes []string) error
	SaveComparison(ctx context.Context, t distillation.Task, notes []string) error
	SaveWritten(ctx context.Context, t distillation.Task, kind string, files []distillation.WrittenFile) error
	Written(ctx context.Context, t distillation.Task) ([]distillation.WrittenFile, error)
	SavePackage(ctx context.Context, t distillation.Task) error
}

// TranscriptRepository reads and writes conversations.
type TranscriptRepository interface {
	Conversation(ctx context.Context, id int64, from, to int) (transcript.Conversation, error)
	Channel(ctx context.Context, conversation int64) (string, error)
}

// PackageRepository reads and writes packages.
type PackageRepository interface {
	TouchPackage(ctx context.Context, sha [32]byte, key string, bytes int) error
	AbandonPackage(ctx context.Context, t distillation.Task) (bool, error) // true if the task or its package was erased
	ForgetPackage(ctx context.Context, sha [32]byte) error
}

// SkillRepository reads and writes skills.
type SkillRepository interface {
	SkillNamed(ctx context.Context, name string) (skill.Head, error)
	SkillHead(ctx context.Context, id int64) (skill.Head, error)
	Version(ctx context.Context, id int64, number int) (skill.Version, error)
	// LearntFrom returns conversations that the skill was learnt from, except one, the latest first.
	LearntFrom(ctx context.Context, id, except int64, max int) ([]int64, error)
	Search(ctx context.Context, q index.Query) ([]index.Hit, error)
}

// CallRepository reads and writes model calls.
type CallRepository interface {
	ledger.Repository
	Calls(ctx context.Context, ref run.Ref) ([]run.Call, error)
	// PinModels stores the models of a run, unless it has some, and returns its configuration.
	PinModels(ctx context.Context, ref run.Ref, models map[string]string) (json.RawMessage, error)
}
