package conversation

import (
	"strings"
	"time"

	"cairn/internal/domain/llm"
	"cairn/internal/domain/media"
	"cairn/internal/domain/nudge"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
)

// WithinTurn is between the ID of the message of a turn and the number of a message within it.
const WithinTurn = "\x1f"

// TurnMessageID returns the channel's message ID for the ID of any message of a turn.
func TurnMessageID(id string) string {
	of, _, _ := strings.Cut(id, WithinTurn)
	return of
}

// Record is the compaction of the first turns of a conversation. Requests start with it.
type Record struct {
	Upto    int // last turn that it covers, 0 without a record
	Content string
	Run     string // run that created it
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

// URL names the attachment in requests.
func (a Attachment) URL() string { return llm.AttachmentURL(a.Type, a.SHA256) }

// Conversation is the row of a conversation with the fields that turns need.
type Conversation struct {
	ID       int64
	Name     string // ID that the gateway uses
	Channel  string
	NextSeq  int
	NextTurn int
	Counters nudge.Counters // after the counted turns
	Counts   int            // number of counted turns
	Reviewed int            // last turn that a review has read
	Notice   string
	Last     ActivityWindow // zero if it was not read
}

// ActivityWindow describes the latest messages of a conversation when it was read. The messages of
// one session follow each other without a long pause.
type ActivityWindow struct {
	Now       time.Time  // database clock
	Session   int32      // sequence number of the session's first message, -1 without messages
	EventTime *time.Time // of the last message
}

// Turn is one user message and its reply.
type Turn struct {
	Conversation int64
	Number       int
	MessageID    string
	Mode         string
	Origin       string
	ArgsSHA      [32]byte
	Run          string
	Context      string
	FirstSeq     int
	ReplySeq     int // -1 without a reply
	Ended        bool
	Reason       string
	Facts        nudge.Turn
	Tainted      bool
	AcceptedAt   time.Time
	Record       Record // record of earlier turns at the time the run was read
	EndedAt      *time.Time
}

// SessionChanges are changes that the session of a turn does not contain.
type SessionChanges struct {
	Zone     string   // IANA time zone of the workspace
	Changed  []string // skills changed since the session was frozen
	Approved []string // skills whose changes from this conversation were approved since the previous turn
	Rejected []string
	Memories int // number of pending memory changes decided since the previous turn
}

// TurnMessage is a message with the number of its turn.
type TurnMessage struct {
	Turn int
	transcript.Message
}

// StepResume is stored when a run continues: the results of calls and the session to store, 0 for
// none. The returned value holds what was stored first and, for a turn, the data of its context.
type StepResume struct {
	Calls   []run.ToolCall
	Session int64
	Kept    int64 // session that the run has already, 0 to skip the check; returned as the current one

	Turn    *Turn     // turn whose context is not pinned, nil otherwise
	Frozen  time.Time // creation time of its session
	News    SessionChanges
	Context string // context pinned by another attempt
}

// Session is the frozen start of all requests of a channel for a limited time. Providers cache the
// prefix of a prompt, so it must not change between turns.
type Session struct {
	ID        int64
	Channel   string
	Lang      string
	Rendered  string
	Tools     []llm.Tool
	SHA       [32]byte // of Rendered and Tools
	Epoch     int64    // epoch of the workspace's sessions when the content was read
	CreatedAt time.Time
	ExpiresAt time.Time
}
