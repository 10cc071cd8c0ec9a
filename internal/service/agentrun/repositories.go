package agentrun

import (
	"context"
	"encoding/json"
	"time"

	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/ledger"
)

// Tx is one workspace's rows in one transaction.
type Tx interface {
	Runs() RunRepository
	Steps() StepRepository
	Conversations() ConversationRepository
	Turns() TurnRepository
	Transcripts() TranscriptRepository
	Sessions() SessionRepository
	Workspace() WorkspaceRepository
	Calls() ledger.Repository
}

// RunRepository reads and writes runs.
type RunRepository interface {
	Run(ctx context.Context, id int64) (run.Run, error)
	PutRun(ctx context.Context, r NewRun) (run.Run, error)
	RunOf(ctx context.Context, kind run.Kind, key string) (run.Run, bool, error)
	StartRun(ctx context.Context, id int64) (bool, error)
	// the same against its end only; false when it has ended
	RequireOpenRun(ctx context.Context, id int64) (bool, error)
	EndRun(ctx context.Context, id int64, outcome run.Outcome, reason string, result any) error
	EnqueueRun(ctx context.Context, id int64) error
	InputTokens(ctx context.Context, id int64) (int, error) // that a run's requests have cost
}

// StepRepository reads and writes what the models of runs have said, and the effects of their calls.
type StepRepository interface {
	LockRun(ctx context.Context, id int64) (run.Run, []Step, error) // until the transaction is over
	LockTurn(ctx context.Context, conversation, id int64, first int) (Conversation, run.Run, []Step, error)
	// the turn that the run answers, if it does
	Job(ctx context.Context, id int64) (run.Run, []Step, Turn, error)
	// what a request of a turn is made of
	Thread(ctx context.Context, id int64, channel, lang string, t Turn, after int) (Session, bool, []TurnMessage, error)
	// false when the run has ended
	Resume(ctx context.Context, id int64, r StepResume) (StepResume, bool, error)
	PutStep(ctx context.Context, id int64, s Step) error
	// with what the model is told: the first result that was stored
	EndCall(ctx context.Context, id int64, c Call) (Call, error)
	// the effect of an operation; one without can have none any more
	VoidOp(ctx context.Context, op string) (json.RawMessage, error)
}

// ConversationRepository is conversations.
type ConversationRepository interface {
	LockConversation(ctx context.Context, id int64) (Conversation, error)
	SaveCounters(ctx context.Context, c Conversation) error
	SetNotice(ctx context.Context, conversation int64, notice string) error
}

// TurnRepository reads and writes turns.
type TurnRepository interface {
	EndTurn(ctx context.Context, t Turn) error
	News(ctx context.Context, t Turn, frozen time.Time) (SessionChanges, error)
	// as it is stored; of a turn that has none and whose run is held
	PinContext(ctx context.Context, t Turn, told string) (string, error)
}

// TranscriptRepository reads and writes messages.
type TranscriptRepository interface {
	// of a turn, after those that c has
	PutMessages(ctx context.Context, c Conversation, turn int, ms []transcript.Message) error
	Messages(ctx context.Context, conversation int64, after, to int) ([]TurnMessage, error)
	IndexSaid(ctx context.Context, c Conversation, ms []transcript.Message) error
}

// SessionRepository reads and writes frozen sessions.
type SessionRepository interface {
	LiveSession(ctx context.Context, channel, lang string) (Session, bool, error)
	LockSessions(ctx context.Context, channel string) error
	SessionEpoch(ctx context.Context) (int64, error)
	// false when sessions were revoked since its epoch
	PutSession(ctx context.Context, s Session, lives time.Duration) (Session, bool, error)
	// the one that the run keeps: the first that was set
	KeepSession(ctx context.Context, id int64, s Session) (Session, error)
	SessionByID(ctx context.Context, id int64) (Session, error)
	RevokeSessions(ctx context.Context) (int, error)
}

// WorkspaceRepository reads and writes the workspace.
type WorkspaceRepository interface {
	Settings(ctx context.Context) (settings.Settings, error)
	NudgesToday(ctx context.Context) (int, error)
}
