package learning

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"cairn/internal/domain/memory"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/conversation"
	"cairn/internal/service/ledger"
	"cairn/internal/service/longterm"
	"cairn/internal/service/memoryagent"
)

// Neighbour is a stored memory that is near to a span.
type Neighbour struct {
	ID      string
	Content string
	Vector  []float32
}

// BankTx is banks and what belongs to them.
type BankTx interface {
	PutBank(ctx context.Context, name string) (BankRow, error)
	BankNamed(ctx context.Context, name string) (BankRow, bool, error)
	BankOf(ctx context.Context, id int64) (BankRow, error)
	Banks(ctx context.Context) ([]Listed, error)
	// AdvanceBank moves the head; false when it was not at base any more.
	AdvanceBank(ctx context.Context, id int64, base, number int) (bool, error)
	LastVersion(ctx context.Context, id int64) (int, error)
	BankVersion(ctx context.Context, id int64, number int) (Version, error)
	BankVersions(ctx context.Context, id int64, most int) ([]Version, error)
	PutBankVersion(ctx context.Context, id int64, v Version) error
	PutMemorySkills(ctx context.Context, versions []memoryskill.Version) error
	MemorySkills(ctx context.Context, ids []string) ([]memoryskill.Version, error)
	PutBlob(ctx context.Context, kind, sha string, blob []byte) error
	Blob(ctx context.Context, kind, sha string) ([]byte, error)
	DropBlobs(ctx context.Context, shas []string) error
	SkillStats(ctx context.Context, bank int64) (map[string]memoryskill.Stats, error)
	PutSkillStats(ctx context.Context, bank int64, stats map[string]memoryskill.Stats) error

	TakeLease(ctx context.Context, s memory.Scope, holder string, lives time.Duration) (longterm.Lease, bool, error)
	FreeLease(ctx context.Context, s memory.Scope, l longterm.Lease) error
	FenceOf(ctx context.Context, s memory.Scope) (int64, error)
}

// Tx is one workspace's rows in one transaction.
type Tx interface {
	BankTx

	Run(ctx context.Context, id int64) (run.Run, error)
	RunOf(ctx context.Context, kind run.Kind, key string) (run.Run, bool, error)
	PutAgentRun(ctx context.Context, r memoryagent.NewRun) (run.Run, error)
	OpenRunOf(ctx context.Context, kind run.Kind, conversation int64) (int64, bool, error)
	OweRun(ctx context.Context, id int64) error
	StartRun(ctx context.Context, id int64) (bool, error)
	EndRun(ctx context.Context, id int64, outcome run.Outcome, reason string, result any) error
	Usage(ctx context.Context, id int64) (run.Usage, error)

	PutConversation(ctx context.Context, c transcript.Conversation, channel string) (int64, error)
	Conversation(ctx context.Context, id int64, from, to int) (transcript.Conversation, error)
	LockConversation(ctx context.Context, id int64) (conversation.Conversation, error)
	Mark(ctx context.Context, conversation int64, kind run.Kind) (int, error)
	SetMark(ctx context.Context, conversation int64, kind run.Kind, seq int, id int64) error
	Settings(ctx context.Context) (settings.Settings, error)
	// WorkspaceKey stands for the workspace in workflows.
	WorkspaceKey(ctx context.Context) (string, error)

	Neighbours(ctx context.Context, vector []float32, space int16, most int) ([]Neighbour, error)
	PutDecision(ctx context.Context, d Decision) error
	DecisionAt(ctx context.Context, id string) (Decision, bool, error)
	EndDecision(ctx context.Context, id string, o SpanOutcome) error
	Decisions(ctx context.Context, run int64) ([]Decision, error)

	// Do runs an effect under an operation id once; result is what the first one
	// has left in it.
	Do(ctx context.Context, op string, args, result any, effect func() error) error
	TurnOf(ctx context.Context, conversation int64, message string) (conversation.Turn, bool, error)
	Met(ctx context.Context, run int64) ([]Met, error)
	LearningTx
	UpdateTx
	ProbeTx

	PutCase(ctx context.Context, c Case) (Case, error)
	CaseOf(ctx context.Context, id int64) (Case, error)
	SucceedCase(ctx context.Context, bank int64, key, op string) error
	ExpireCases(ctx context.Context, bank int64, window time.Duration) (int64, error)
	OpenCases(ctx context.Context, bank int64, most int) ([]Case, error)
	KnownCases(ctx context.Context, bank int64) ([]Case, error)

	PutRound(ctx context.Context, bank, run int64, base int) (Round, error)
	RoundOf(ctx context.Context, run int64) (Round, error)
	SaveRound(ctx context.Context, r Round) error
	Rounds(ctx context.Context, bank int64, most int) ([]Round, error)

	PutTrained(ctx context.Context, run int64, step string, conversation int64, result any) error
	Trained(ctx context.Context, run int64, step string, into any) (bool, error)
	TrainedUnder(ctx context.Context, run int64, prefix string) (map[string]json.RawMessage, error)
	DropTrained(ctx context.Context, run int64, prefix string) error
	ShownTo(ctx context.Context, run, conversation int64) error
}

// Store opens transactions.
type Store interface {
	WithEvolve(ctx context.Context, ws int64, fn func(context.Context, Tx) error) error
}

// Embedder turns texts into vectors.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
	Dims() int
}

// Starter brings runs to Temporal.
type Starter interface {
	Start(ctx context.Context, workspaceKey, channel string, r run.Run) error
}

// Service is the use-case.
type Service struct {
	Store    Store
	LongTerm *longterm.LongTerm
	Ledger   *ledger.Ledger
	Embedder Embedder
	Space    int16
	Starter  Starter      // nil without Temporal
	Log      *slog.Logger // of what needs a look; nil is none
}

// start saves the wait for the relay, which starts what this could not.
func (s *Service) start(ctx context.Context, workspaceKey string, r run.Run) {
	if s.Starter != nil && r.Status != run.Ended {
		_ = s.Starter.Start(ctx, workspaceKey, "import", r) // the relay notes what is wrong
	}
}
