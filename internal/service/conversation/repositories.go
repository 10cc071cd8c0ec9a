package conversation

import (
	"context"
	"encoding/json"
	"time"

	"cairn/internal/domain/nudge"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/ledger"
)

// Tx is one workspace's rows in one transaction.
type Tx interface {
	Runs() RunRepository
	Steps() StepRepository
	Conversations() Repository
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
	HoldRun(ctx context.Context, id int64) (bool, error) // the same against its end only; false when it has ended
	EndRun(ctx context.Context, id int64, outcome run.Outcome, reason string, result any) error
	OweRun(ctx context.Context, id int64) error
	InputTokens(ctx context.Context, id int64) (int, error) // that a run's requests have cost
}

// StepRepository reads and writes what the models of runs have said, and the effects of their calls.
type StepRepository interface {
	LockRun(ctx context.Context, id int64) (run.Run, []Step, error) // until the transaction is over
	LockTurn(ctx context.Context, conversation, id int64, first int) (Conversation, run.Run, []Step, error)
	Job(ctx context.Context, id int64) (run.Run, []Step, Turn, error)                                                    // the turn that the run answers, if it does
	Thread(ctx context.Context, id int64, channel, lang string, t Turn, after int) (Session, bool, []TurnMessage, error) // what a request of a turn is made of
	Resume(ctx context.Context, id int64, r StepResume) (StepResume, bool, error)                                        // false when the run has ended
	PutStep(ctx context.Context, id int64, s Step) error
	EndCall(ctx context.Context, id int64, c Call) (Call, error)    // with what the model is told: the first result that was stored
	VoidOp(ctx context.Context, op string) (json.RawMessage, error) // the effect of an operation; one without can have none any more
}

// Repository is conversations.
type Repository interface {
	// OpenConversation makes or finds a conversation and locks it, with the turn of
	// a message, if it has one, and what its workspace chose.
	OpenConversation(ctx context.Context, name, channel, title, message string) (Conversation, *Turn, settings.Settings, error)
	LockConversation(ctx context.Context, id int64) (Conversation, error)
	Said(ctx context.Context, c Conversation) error
	Counted(ctx context.Context, c Conversation) error
	SetNotice(ctx context.Context, conversation int64, notice string) error
	CloseConversation(ctx context.Context, conversation int64, c nudge.Counters, ended bool) error
}

// TurnRepository reads and writes turns.
type TurnRepository interface {
	PutTurn(ctx context.Context, t Turn, n NewRun) (run.Run, error) // with its run
	EndTurn(ctx context.Context, t Turn) error
	News(ctx context.Context, t Turn, frozen time.Time) (SessionChanges, error)
	PinContext(ctx context.Context, t Turn, told string) (string, error) // as it is stored; of a turn that has none and whose run is held
}

// TranscriptRepository reads and writes messages.
type TranscriptRepository interface {
	PutMessages(ctx context.Context, c Conversation, turn int, ms []transcript.Message) error // of a turn, after those that c has
	Messages(ctx context.Context, conversation int64, after, to int) ([]TurnMessage, error)
	IndexSaid(ctx context.Context, c Conversation, ms []transcript.Message) error
}

// SessionRepository reads and writes frozen sessions.
type SessionRepository interface {
	LiveSession(ctx context.Context, channel, lang string) (Session, bool, error)
	LockSessions(ctx context.Context, channel string) error
	SessionEpoch(ctx context.Context) (int64, error)
	PutSession(ctx context.Context, s Session, lives time.Duration) (Session, bool, error) // false when sessions were revoked since its epoch
	KeepSession(ctx context.Context, id int64, s Session) (Session, error)                 // the one that the run keeps: the first that was set
	SessionByID(ctx context.Context, id int64) (Session, error)
	RevokeSessions(ctx context.Context) (int, error)
}

// WorkspaceRepository reads and writes the workspace.
type WorkspaceRepository interface {
	Settings(ctx context.Context) (settings.Settings, error)
	NudgesToday(ctx context.Context) (int, error)
}
