// Package dump writes what a workspace remembers as lines of JSON, and reads
// such lines into a workspace: targets, sessions with what was said in them,
// memories of every type with all that they have said, the identity and the soul.
//
//	err := service.Dump(ctx, ws, writer, dump.Options{})          // constant memory
//	loaded, err := service.Load(ctx, actor, reader)               // all of it or nothing
//
// A file begins with a header and ends with a line that counts the others and
// has their SHA-256, so that a file that was cut off or changed is known. It is
// read whole before anything is written; then one transaction writes it. What is
// there already stays as it is: a load that was broken off, or whose answer was
// lost, is sent again.
package dump

import (
	"encoding/json"
	"time"

	"cairn/internal/domain/memory"
	"cairn/internal/domain/transcript"
)

// Format and Version head every file.
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
	Vectors   bool             `json:"vectors"` // memory lines have theirs
	Counts    map[string]int64 `json:"counts"`
}

// Target is who or what there are memories about.
type Target struct {
	Row         int64      `json:"-"`
	Kind        string     `json:"kind"`
	Type        string     `json:"memory_type"`
	Key         string     `json:"key"`
	Display     string     `json:"memory_target"`
	Description string     `json:"description,omitempty"`
	Aliases     []string   `json:"aliases,omitempty"`
	CreatedAt   time.Time  `json:"created_at"`
	LastUsedAt  time.Time  `json:"last_used_at"`
	SummaryAt   *time.Time `json:"last_summary_at,omitempty"`
}

// Conversation is followed by its messages.
type Conversation struct {
	Row      int64    `json:"-"`
	Kind     string   `json:"kind"`
	ID       string   `json:"id"`
	Channel  string   `json:"channel"`
	Title    string   `json:"title,omitempty"`
	Reward   *float64 `json:"reward,omitempty"`
	Messages int      `json:"messages"`
}

// Message belongs to the conversation before it.
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
}

func (m Message) message() transcript.Message {
	out := transcript.Message{ID: m.ID, Seq: m.Seq, Role: m.Role, Content: m.Content, Name: m.Name,
		ToolCalls: m.ToolCalls, ToolCallID: m.ToolCallID}
	if m.Time != nil {
		out.Time = *m.Time
	}
	return out
}

// Evidence is a range of a conversation's messages, both ends included.
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

// Memory is one entry of any type, whatever its status.
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
	First        string          `json:"ref_memory_id,omitempty"`  // the session that it was first drawn from
	Histories    []string        `json:"ref_memory_ids,omitempty"` // and all of them, the latest last
	Evidence     *Evidence       `json:"evidence,omitempty"`
	EventTime    *time.Time      `json:"event_time,omitempty"`
	CreatedAt    time.Time       `json:"created_at"`
	UpdatedAt    time.Time       `json:"updated_at"`
	Retrieved    int             `json:"retrieve_count,omitempty"`
	RetrievedAt  *time.Time      `json:"last_retrieved_at,omitempty"`
	Revisions    []Revision      `json:"revisions"`
	Vector       []float32       `json:"vector,omitempty"` // of what is embedded
}

// Revision is what an entry said at a version.
type Revision struct {
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
}

// Document is a version of the identity or of the soul.
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
	Lines  int    `json:"lines"`  // before this one
	SHA256 string `json:"sha256"` // of all bytes before this line
}

// one is a line of any kind, as it is read.
type one struct {
	Target       *Target
	Conversation *Conversation
	Message      *Message
	History      *History
	Memory       *Memory
	Identity     *Document
	Soul         *Document
}

// decode reads a line of a kind that stands between the header and the end.
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
