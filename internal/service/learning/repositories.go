package learning

import (
	"context"
	"encoding/json"
	"time"

	"cairn/internal/domain/memory"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/longterm"
	"cairn/internal/service/memoryagent"
)

// BankTx is banks and what belongs to them.
type BankTx interface {
	Banks() BankRepository
	BankContents() BankContentRepository
	Leases() LeaseRepository
}

// BankRepository reads and writes banks and their versions.
type BankRepository interface {
	PutBank(ctx context.Context, name string) (BankRow, error)
	BankNamed(ctx context.Context, name string) (BankRow, bool, error)
	BankOf(ctx context.Context, id int64) (BankRow, error)
	Banks(ctx context.Context) ([]BankSummary, error)
	// AdvanceBank moves the head; false when it was not at base any more.
	AdvanceBank(ctx context.Context, id int64, base, number int) (bool, error)
	LastVersion(ctx context.Context, id int64) (int, error)
	BankVersion(ctx context.Context, id int64, number int) (Version, error)
	BankVersions(ctx context.Context, id int64, most int) ([]Version, error)
}

// BankContentRepository reads and writes what versions of banks hold.
type BankContentRepository interface {
	PutBankVersion(ctx context.Context, id int64, v Version) error
	PutMemorySkills(ctx context.Context, versions []memoryskill.Version) error
	MemorySkills(ctx context.Context, ids []string) ([]memoryskill.Version, error)
	PutBlob(ctx context.Context, kind, sha string, blob []byte) error
	Blob(ctx context.Context, kind, sha string) ([]byte, error)
	DropBlobs(ctx context.Context, shas []string) error
	SkillStats(ctx context.Context, bank int64) (map[string]memoryskill.Stats, error)
	PutSkillStats(ctx context.Context, bank int64, stats map[string]memoryskill.Stats) error
}

// LeaseRepository reads and writes leases of banks.
type LeaseRepository interface {
	TakeLease(ctx context.Context, s memory.Scope, holder string, lives time.Duration) (longterm.Lease, bool, error)
	FreeLease(ctx context.Context, s memory.Scope, l longterm.Lease) error
	FenceOf(ctx context.Context, s memory.Scope) (int64, error)
}

// LearningTx is what is known of how live decisions turned out.
type LearningTx interface {
	Outcomes() OutcomeRepository
	Updates() UpdateRepository
	Probes() ProbeRepository
}

// OutcomeRepository reads and writes outcomes of choices.
type OutcomeRepository interface {
	// PutOutcomes notes one outcome for some decisions; the first one of an
	// operation stays, and a decision that was erased has none.
	PutOutcomes(ctx context.Context, decisions []string, o Outcome) error
	// Outcomes are those of decisions, by operation and decision.
	Outcomes(ctx context.Context, decisions []string) ([]Outcome, error)
	// Learnable are sampled decisions with an outcome that no update has learnt
	// from, made on a version from oldest on; the oldest decision first.
	Learnable(ctx context.Context, bank int64, oldest, most int) ([]string, error)
	// Claim gives decisions to an update; one that another has is left alone.
	Claim(ctx context.Context, run int64, decisions []string) error
	// LockExploration makes who else would explore wait until the transaction ends.
	LockExploration(ctx context.Context) error
	// Explored counts the decisions of the last 24 hours that were sampled.
	Explored(ctx context.Context) (int, error)
	// Newcomers are the skills that versions up to number brought, the latest first;
	// what a version took over from the one before is not among them.
	RecentSkills(ctx context.Context, bank int64, number, most int) ([]RecentSkills, error)
}

// UpdateRepository reads and writes updates of policies.
type UpdateRepository interface {
	// PutUpdate keeps an update in the shadow; one that the run has made is returned instead.
	PutUpdate(ctx context.Context, bank int64, u PolicyUpdate) (PolicyUpdate, error)
	// MoveUpdate brings an update to its state, with what is known then; false when
	// it was not in the state before any more.
	MoveUpdate(ctx context.Context, bank int64, before string, u PolicyUpdate) (bool, error)
	// OpenUpdate is the one in the shadow or on canary: a bank has one at most.
	OpenUpdate(ctx context.Context, bank int64) (PolicyUpdate, bool, error)
	Updates(ctx context.Context, bank int64, most int) ([]PolicyUpdate, error)
	// CanaryScores are what was said of answers since an update's canary began: of
	// those that its decisions are behind, and of those of its version's policy.
	CanaryScores(ctx context.Context, bank int64, u PolicyUpdate) (candidate, incumbent []float64, err error)
	// CanaryLate tells whether a canary has gone on for as long as one may.
	CanaryLate(ctx context.Context, u PolicyUpdate) (bool, error)
}

// ProbeRepository reads and writes probes.
type ProbeRepository interface {
	// LockProbes makes who else would spend of the day's probes wait until the
	// transaction ends.
	LockProbes(ctx context.Context) error
	// ProbesSpent are those of the last 24 hours; a run that has made none yet is one.
	ProbesSpent(ctx context.Context) (int, error)
	PutProbe(ctx context.Context, p Probe) error
	ProbesOf(ctx context.Context, run int64) ([]Probe, error)
	// EndProbe brings an open probe to its state; false when it is not open any more.
	EndProbe(ctx context.Context, p Probe) (bool, error)
	// Probes are those of a bank, of the latest run first.
	Probes(ctx context.Context, bank int64, most int) ([]Probe, error)
	// Behind are memories with the decisions that have written them.
	Behind(ctx context.Context, memories []string) ([]MemoryUse, error)
}

// TrainingTx is what choices, cases and training keep, in one transaction.
type TrainingTx interface {
	Decisions() DecisionRepository
	Cases() CaseRepository
	Rounds() RoundRepository
	Training() TrainingRepository
}

// DecisionRepository reads and writes choices.
type DecisionRepository interface {
	PutDecision(ctx context.Context, d Decision) error
	DecisionAt(ctx context.Context, id string) (Decision, bool, error)
	EndDecision(ctx context.Context, id string, o SpanOutcome) error
	Decisions(ctx context.Context, run int64) ([]Decision, error)
	MemoryUse(ctx context.Context, run int64) ([]MemoryUse, error)
	ShownTo(ctx context.Context, run, conversation int64) error
}

// CaseRepository reads and writes hard cases.
type CaseRepository interface {
	PutCase(ctx context.Context, c Case) (Case, error)
	CaseOf(ctx context.Context, id int64) (Case, error)
	SucceedCase(ctx context.Context, bank int64, key, op string) error
	ExpireCases(ctx context.Context, bank int64, window time.Duration) (int64, error)
	OpenCases(ctx context.Context, bank int64, most int) ([]Case, error)
	KnownCases(ctx context.Context, bank int64) ([]Case, error)
}

// RoundRepository reads and writes rounds of evolution.
type RoundRepository interface {
	PutRound(ctx context.Context, bank, run int64, base int) (Round, error)
	RoundOf(ctx context.Context, run int64) (Round, error)
	SaveRound(ctx context.Context, r Round) error
	Rounds(ctx context.Context, bank int64, most int) ([]Round, error)
}

// TrainingRepository reads and writes stages of training.
type TrainingRepository interface {
	PutTrained(ctx context.Context, run int64, step string, conversation int64, result any) error
	Trained(ctx context.Context, run int64, step string, into any) (bool, error)
	TrainedUnder(ctx context.Context, run int64, prefix string) (map[string]json.RawMessage, error)
	DropTrained(ctx context.Context, run int64, prefix string) error
}

// Tx is one workspace's rows in one transaction.
type Tx interface {
	BankTx
	LearningTx
	TrainingTx
	Runs() RunRepository
	Workspace() WorkspaceRepository
	Transcripts() TranscriptRepository
	Operations() OperationRepository
}

// RunRepository reads and writes runs.
type RunRepository interface {
	Run(ctx context.Context, id int64) (run.Run, error)
	RunOf(ctx context.Context, kind run.Kind, key string) (run.Run, bool, error)
	EnqueueRun(ctx context.Context, id int64) error
	StartRun(ctx context.Context, id int64) (bool, error)
	EndRun(ctx context.Context, id int64, outcome run.Outcome, reason string, result any) error
	Usage(ctx context.Context, id int64) (run.Usage, error)
	PutAgentRun(ctx context.Context, r memoryagent.NewRun) (run.Run, error)
	OpenRunOf(ctx context.Context, kind run.Kind, conversation int64) (int64, bool, error)
}

// WorkspaceRepository reads and writes the workspace.
type WorkspaceRepository interface {
	Settings(ctx context.Context) (settings.Settings, error)
	// WorkspaceKey stands for the workspace in workflows.
	WorkspaceKey(ctx context.Context) (string, error)
	Mark(ctx context.Context, conversation int64, kind run.Kind) (int, error)
	SetMark(ctx context.Context, conversation int64, kind run.Kind, seq int, id int64) error
	LockConversation(ctx context.Context, id int64) (agentrun.Conversation, error)
}

// TranscriptRepository reads and writes what was said, and what is remembered near it.
type TranscriptRepository interface {
	PutConversation(ctx context.Context, c transcript.Conversation, channel string) (int64, error)
	Conversation(ctx context.Context, id int64, from, to int) (transcript.Conversation, error)
	TurnOf(ctx context.Context, conversation int64, message string) (agentrun.Turn, bool, error)
	Neighbours(ctx context.Context, vector []float32, space int16, most int) ([]Neighbour, error)
}

// OperationRepository reads and writes the log of operations.
type OperationRepository interface {
	// Do runs an effect under an operation id once; result is what the first one
	// has left in it.
	Do(ctx context.Context, op string, args, result any, effect func() error) error
}
