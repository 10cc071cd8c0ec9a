// Package dump exports the memories of a workspace as lines of JSON and imports such files. A dump
// contains targets, sessions with their messages, memories of every type with all versions, the
// identity and the soul.
//
//	err := service.Dump(ctx, ws, writer, dump.Options{}) // uses constant memory
//	loaded, err := service.Load(ctx, actor, reader)      // continues if it is repeated
//
// A file starts with a header. It ends with a line that has the number of lines and their SHA-256,
// so that truncated or changed files are rejected, and a signature of the deployment. Without a valid
// signature, a load takes nothing from the file that only the deployment can know: who wrote a text,
// and that it was accepted. Load checks the whole file before it writes
// anything. Then it writes what memories refer to in one transaction, batches of 500 memories in
// one each, and the identity and the soul in the last. Each transaction is an operation of its own,
// so that a repeated load continues. Existing rows are not changed.
package dump

import (
	"encoding/json"
	"time"

	"cairn/internal/domain/memory"
	"cairn/internal/domain/transcript"
)

// Format and Version are stored in the header of every file.
const (
	Format  = "cairn-memory"
	Version = 1
)

// Kinds of lines, in the order of a file.
const (
	KindHeader       = "header"
	KindTarget       = "target"
	KindConversation = "conversation"
	KindMessage      = "message"
	KindHistory      = "history"
	KindMemory       = "memory"
	KindIdentity     = "identity"
	KindSoul         = "soul"
	KindEnd          = "end"
)

// Header is the first line.
type Header struct {
	Kind      string           `json:"kind"`
	Format    string           `json:"format"`
	Version   int              `json:"version"`
	Workspace string           `json:"workspace"`
	DumpedAt  time.Time        `json:"dumped_at"`
	Model     string           `json:"embedding_model"`
	Dims      int              `json:"embedding_dimensions"`
	Vectors   bool             `json:"vectors"` // memory lines include vectors
	Counts    map[string]int64 `json:"counts"`
}

// Target is the subject of memories.
type Target struct {
	Row         int64      `json:"-"`
	Kind        string     `json:"kind"`
	Type        string     `json:"memory_type"`
	Key         string     `json:"key"`
	Display     string     `json:"memory_target"`
	Description string     `json:"description,omitempty"`
	CreatedAt   time.Time  `json:"created_at"`
	LastUsedAt  time.Time  `json:"last_used_at"`
	SummaryAt   *time.Time `json:"last_summary_at,omitempty"`
}

// Conversation is followed by lines with its messages.
type Conversation struct {
	Row      int64    `json:"-"`
	Kind     string   `json:"kind"`
	ID       string   `json:"id"`
	Channel  string   `json:"channel"`
	Title    string   `json:"title,omitempty"`
	Reward   *float64 `json:"reward,omitempty"`
	Messages int      `json:"messages"`
}

// Message belongs to the preceding conversation.
type Message struct {
	Kind       string                `json:"kind"`
	Seq        int                   `json:"seq"`
	ID         string                `json:"id"`
	Role       transcript.Role       `json:"role"`
	Content    string                `json:"content"`
	Name       string                `json:"name,omitempty"`
	ToolCalls  []transcript.ToolCall `json:"tool_calls,omitempty"`
	ToolCallID string                `json:"tool_call_id,omitempty"`
	Time       *time.Time            `json:"time,omitempty"`
	transcript.Details
}

func (m Message) message() transcript.Message {
	out := transcript.Message{ID: m.ID, Seq: m.Seq, Role: m.Role, Content: m.Content, Name: m.Name,
		ToolCalls: m.ToolCalls, ToolCallID: m.ToolCallID, Details: m.Details}
	if m.Time != nil {
		out.Time = *m.Time
	}
	return out
}

// Evidence is a range of messages of a conversation, inclusive.
type Evidence struct {
	Conversation string `json:"conversation"`
	FromSeq      int    `json:"from_seq"`
	ToSeq        int    `json:"to_seq"`
}

// History is one session.
type History struct {
	Kind      string    `json:"kind"`
	ID        string    `json:"memory_id"`
	Range     Evidence  `json:"range"`
	Author    string    `json:"author,omitempty"`
	CreatedAt time.Time `json:"created_at"`
}

// Memory is one memory of any type and status.
type Memory struct {
	Key          int64           `json:"-"`
	Kind         string          `json:"kind"`
	ID           string          `json:"memory_id"`
	Type         memory.Type     `json:"memory_type"`
	Target       string          `json:"memory_target,omitempty"`
	Content      string          `json:"content"`
	SHA256       string          `json:"content_sha256"`
	WhenToUse    string          `json:"when_to_use,omitempty"`
	Metadata     memory.Metadata `json:"metadata,omitempty"`
	Version      int             `json:"version"`
	Status       memory.Status   `json:"status"`
	SupersededBy string          `json:"superseded_by,omitempty"`
	Origin       string          `json:"origin"`
	Author       string          `json:"author,omitempty"`
	Tainted      bool            `json:"tainted,omitempty"`
	Importance   float64         `json:"importance,omitempty"`
	Targets      []string        `json:"targets,omitempty"`
	First        string          `json:"ref_memory_id,omitempty"`  // session from which it was first extracted
	Histories    []string        `json:"ref_memory_ids,omitempty"` // all sessions it was extracted from, latest last
	Evidence     *Evidence       `json:"evidence,omitempty"`
	EventTime    *time.Time      `json:"event_time,omitempty"`
	CreatedAt    time.Time       `json:"created_at"`
	UpdatedAt    time.Time       `json:"updated_at"`
	Retrieved    int             `json:"retrieve_count,omitempty"`
	RetrievedAt  *time.Time      `json:"last_retrieved_at,omitempty"`
	Moved        bool            `json:"moved,omitempty"`        // of prompt memories: no prompt contains it
	Approved     bool            `json:"approved,omitempty"`     // of prompt memories: a person wrote or approved it
	ConfirmedAt  *time.Time      `json:"confirmed_at,omitempty"` // of prompt memories: when it was last said again
	Revisions    []Revision      `json:"revisions"`
	Vector       []float32       `json:"vector,omitempty"` // of the embedded text
}

// Revision is one version of a memory.
type Revision struct {
	// until when the previous version was valid, if this one ended it
	ValidUntil *time.Time `json:"valid_until,omitempty"`

	Version   int             `json:"version"`
	Action    memory.Action   `json:"action"`
	Status    memory.Status   `json:"status"`
	Content   string          `json:"content"`
	WhenToUse string          `json:"when_to_use,omitempty"`
	Metadata  memory.Metadata `json:"metadata,omitempty"`
	Targets   []string        `json:"targets,omitempty"`
	Origin    string          `json:"origin"`
	Author    string          `json:"author,omitempty"`
	Tainted   bool            `json:"tainted,omitempty"`
	Evidence  *Evidence       `json:"evidence,omitempty"`
	CreatedAt time.Time       `json:"created_at"`
	Moved     bool            `json:"moved,omitempty"`
}

// Document is a version of the identity or the soul.
type Document struct {
	Kind      string    `json:"kind"`
	Version   int       `json:"version"`
	Content   string    `json:"content"`
	Action    string    `json:"action"`
	Origin    string    `json:"origin"`
	Author    string    `json:"author,omitempty"`
	History   string    `json:"ref_memory_id,omitempty"`
	CreatedAt time.Time `json:"created_at"`
}

// End is the last line.
type End struct {
	Kind   string `json:"kind"`
	Lines  int    `json:"lines"`          // before this line
	SHA256 string `json:"sha256"`         // of all bytes before this line
	HMAC   string `json:"hmac,omitempty"` // of the same bytes, with the key of the deployment
}

// one is a decoded line of any kind.
type one struct {
	Target       *Target
	Conversation *Conversation
	Message      *Message
	History      *History
	Memory       *Memory
	Identity     *Document
	Soul         *Document
}

// decode decodes a line between the header and the last line.
func decode(kind string, raw []byte) (out one, known bool, err error) {
	read := func(into any) error { return json.Unmarshal(raw, into) }
	switch kind {
	case KindTarget:
		out.Target = &Target{}
		err = read(out.Target)
	case KindConversation:
		out.Conversation = &Conversation{}
		err = read(out.Conversation)
	case KindMessage:
		out.Message = &Message{}
		err = read(out.Message)
	case KindHistory:
		out.History = &History{}
		err = read(out.History)
	case KindMemory:
		out.Memory = &Memory{}
		err = read(out.Memory)
	case KindIdentity:
		out.Identity = &Document{}
		err = read(out.Identity)
	case KindSoul:
		out.Soul = &Document{}
		err = read(out.Soul)
	default:
		return out, false, nil
	}
	return out, true, err
}
