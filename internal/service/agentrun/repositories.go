package agentrun

import (
	"context"
	"encoding/json"
	"time"

	"cairn/internal/domain/llm"
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
	PutRun(ctx context.Context, r NewRun) (run.Run, error)
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
	LockRun(ctx context.Context, id string) (run.Run, []Step, error) // locks the run until the end of the transaction
	LockTurn(ctx context.Context, conversation int64, id string, first int) (Conversation, run.Run, []Step, error)
	// Job reads the run, its steps and, for a turn, the turn.
	Job(ctx context.Context, id string) (run.Run, []Step, Turn, error)
	// Thread reads the session and the messages for a request of a turn.
	Thread(ctx context.Context, id, channel, lang string, t Turn, after int) (Session, bool, []TurnMessage, error)
	// Resume returns false if the run has ended.
	Resume(ctx context.Context, id string, r StepResume) (StepResume, bool, error)
	PutStep(ctx context.Context, id string, s Step) error
	// EndCall stores the result of a call and returns the first stored result.
	EndCall(ctx context.Context, id string, c Call) (Call, error)
	// VoidOp returns the effect of an operation. An operation without an effect is voided.
	VoidOp(ctx context.Context, op string) (json.RawMessage, error)
}

// ConversationRepository reads and writes conversations.
type ConversationRepository interface {
	LockConversation(ctx context.Context, id int64) (Conversation, error)
	SaveCounters(ctx context.Context, c Conversation) error
	SetNotice(ctx context.Context, conversation int64, notice string) error
}

// TurnRepository reads and writes turns.
type TurnRepository interface {
	EndTurn(ctx context.Context, t Turn) error
	// DeliverReply makes the delivery of the reply of an ended turn. A withdrawn reply is not sent, and what the chat
	// shows of it is deleted.
	DeliverReply(ctx context.Context, t Turn, withdrawn bool) error
	News(ctx context.Context, t Turn, frozen time.Time) (SessionChanges, error)
	// PinContext stores the context of a turn if it has none and returns the stored one. The run
	// must be locked.
	PinContext(ctx context.Context, t Turn, text string) (string, error)
}

// TranscriptRepository reads and writes messages.
type TranscriptRepository interface {
	// PutMessages appends messages of a turn to the conversation.
	PutMessages(ctx context.Context, c Conversation, turn int, ms []transcript.Message) error
	Messages(ctx context.Context, conversation int64, after, to int) ([]TurnMessage, error)
	IndexSaid(ctx context.Context, c Conversation, ms []transcript.Message) error
	// Attachments reads the images and recordings of the turns after one turn up to another, in the order of the
	// messages.
	Attachments(ctx context.Context, conversation int64, after, to int) ([]Attachment, error)
	// EndRecording deletes the content of a recording whose words are known, or cannot be, which problem states.
	EndRecording(ctx context.Context, id int64, problem media.Problem) error
	// ReplaceText replaces the text of a user's message, unless it is not the given one.
	ReplaceText(ctx context.Context, conversation int64, seq int, was, becomes string) error
}

// Attachment is an image or a recording of a message. Its content is read when a request with it is sent.
type Attachment struct {
	ID        int64
	SHA256    string // in hexadecimal digits
	Kind      media.Kind
	Type      string // MIME type
	Bytes     int
	Turn, Seq int           // of its message
	Ended     bool          // of a recording: its words are in the message, or Problem states why not
	Problem   media.Problem // of a recording
}

// url names the attachment in requests.
func (a Attachment) url() string { return llm.AttachmentURL(a.Type, a.SHA256) }

// SessionRepository reads and writes frozen sessions.
type SessionRepository interface {
	LiveSession(ctx context.Context, channel, lang string) (Session, bool, error)
	LockSessions(ctx context.Context, channel string) error
	SessionEpoch(ctx context.Context) (int64, error)
	// PutSession returns false if sessions were revoked since the session's epoch.
	PutSession(ctx context.Context, s Session, lives time.Duration) (Session, bool, error)
	// KeepSession stores the session of the run and returns the first one stored.
	KeepSession(ctx context.Context, id string, s Session) (Session, error)
	SessionByID(ctx context.Context, id int64) (Session, error)
	RevokeSessions(ctx context.Context) (int, error)
}

// WorkspaceRepository reads the settings and counters of the workspace.
type WorkspaceRepository interface {
	Settings(ctx context.Context) (settings.Settings, error)
	NudgesToday(ctx context.Context) (int, error)
}
