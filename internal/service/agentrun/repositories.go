package agentrun

import (
	"context"
	"encoding/json"
	"time"

	"cairn/internal/domain/conversation"
	"cairn/internal/domain/media"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/ledger"
)

// Tx accesses the rows of one workspace in one transaction.
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
	Run(ctx context.Context, id string) (run.Run, error)
	PutRun(ctx context.Context, r run.NewRun) (run.Run, error)
	RunOf(ctx context.Context, kind run.Kind, key string) (run.Run, bool, error)
	StartRun(ctx context.Context, id string) (bool, error)
	// RequireOpenRun locks the run against its end. It returns false if the run has ended.
	RequireOpenRun(ctx context.Context, id string) (bool, error)
	EndRun(ctx context.Context, id string, outcome run.Outcome, reason string, result any) error
	EnqueueRun(ctx context.Context, id string) error
	InputTokens(ctx context.Context, id string) (int, error) // input tokens of all requests of the run
}

// StepRepository reads and writes model responses and the results of their tool calls.
type StepRepository interface {
	// locks the run until the end of the transaction
	LockRun(ctx context.Context, id string) (run.Run, []run.Step, error)
	LockTurn(ctx context.Context, conversation int64, id string, first int) (conversation.Conversation, run.Run,
		[]run.Step, error)
	// Job reads the run, its steps and, for a turn, the turn.
	Job(ctx context.Context, id string) (run.Run, []run.Step, conversation.Turn, error)
	// Thread reads the session and the messages for a request of a turn.
	Thread(ctx context.Context, id, channel, lang string, t conversation.Turn, after int) (conversation.Session, bool,
		[]conversation.TurnMessage, error)
	// Resume returns false if the run has ended.
	Resume(ctx context.Context, id string, r conversation.StepResume) (conversation.StepResume, bool, error)
	PutStep(ctx context.Context, id string, s run.Step) error
	// EndCall stores the result of a call and returns the first stored result.
	EndCall(ctx context.Context, id string, c run.ToolCall) (run.ToolCall, error)
	// VoidOp returns the effect of an operation. An operation without an effect is voided.
	VoidOp(ctx context.Context, op string) (json.RawMessage, error)
}

// ConversationRepository reads and writes conversations.
type ConversationRepository interface {
	LockConversation(ctx context.Context, id int64) (conversation.Conversation, error)
	SaveCounters(ctx context.Context, c conversation.Conversation) error
	SetNotice(ctx context.Context, conversation int64, notice string) error
}

// TurnRepository reads and writes turns.
type TurnRepository interface {
	EndTurn(ctx context.Context, t conversation.Turn) error
	// DeliverReply makes the delivery of the reply of an ended turn. A withdrawn reply is not sent, and what the chat
	// shows of it is deleted.
	DeliverReply(ctx context.Context, t conversation.Turn, withdrawn bool) error
	News(ctx context.Context, t conversation.Turn, frozen time.Time) (conversation.SessionChanges, error)
	// PinContext stores the context of a turn if it has none and returns the stored one. The run
	// must be locked.
	PinContext(ctx context.Context, t conversation.Turn, text string) (string, error)
}

// TranscriptRepository reads and writes messages.
type TranscriptRepository interface {
	// PutMessages appends messages of a turn to the conversation.
	PutMessages(ctx context.Context, c conversation.Conversation, turn int, ms []transcript.Message) error
	Messages(ctx context.Context, conversation int64, after, to int) ([]conversation.TurnMessage, error)
	IndexSaid(ctx context.Context, c conversation.Conversation, ms []transcript.Message) error
	// Attachments reads the images and recordings of the turns after one turn up to another, in the order of the
	// messages.
	Attachments(ctx context.Context, conversation int64, after, to int) ([]conversation.Attachment, error)
	// EndRecording deletes the content of a recording whose words are known, or cannot be, which problem states.
	EndRecording(ctx context.Context, id int64, problem media.Problem) error
	// ReplaceText replaces the text of a user's message, unless it is not the given one.
	ReplaceText(ctx context.Context, conversation int64, seq int, was, becomes string) error
}

// SessionRepository reads and writes frozen sessions.
type SessionRepository interface {
	LiveSession(ctx context.Context, channel, lang string) (conversation.Session, bool, error)
	LockSessions(ctx context.Context, channel string) error
	SessionEpoch(ctx context.Context) (int64, error)
	// PutSession returns false if sessions were revoked since the session's epoch.
	PutSession(ctx context.Context, s conversation.Session, lives time.Duration) (conversation.Session, bool, error)
	// KeepSession stores the session of the run and returns the first one stored.
	KeepSession(ctx context.Context, id string, s conversation.Session) (conversation.Session, error)
	SessionByID(ctx context.Context, id int64) (conversation.Session, error)
	RevokeSessions(ctx context.Context) (int, error)
}

// WorkspaceRepository reads the settings and counters of the workspace.
type WorkspaceRepository interface {
	Settings(ctx context.Context) (settings.Settings, error)
	NudgesToday(ctx context.Context) (int, error)
}
