package dumpfile

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/guard"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/transcript"
)

// Wrong returns the error of a line of a dump.
func Wrong(line int, format string, args ...any) error {
	return fault.New(fault.InvalidArgument, fmt.Sprintf("line %d: ", line)+fmt.Sprintf(format, args...),
		"correct the file or create the dump again; nothing was loaded")
}

// Counts are the numbers of objects in a workspace.
type Counts struct {
	Workspace     string `json:"workspace"`
	Targets       int64  `json:"targets"`
	Histories     int64  `json:"histories"`
	Memories      int64  `json:"memories"`
	Active        int64  `json:"active_memories"`
	Revisions     int64  `json:"revisions"`
	Identities    int64  `json:"identity_versions"`
	Souls         int64  `json:"soul_versions"`
	Conversations int64  `json:"conversations"`
	Messages      int64  `json:"messages"`
	Model         string `json:"-"` // of the space that the workspace uses, empty if it has none yet
	Dims          int    `json:"-"`
}

// Normalize checks a memory of another program and brings it into the form that is stored.
func (m *LoadedMemory) Normalize(n int) (err error) {
	if fixed, ok := memory.FixedTarget(m.Type); ok {
		if m.Target = fixed.Key; m.WhenToUse == "" {
			return Wrong(n, "guideline without a tool")
		}
	}
	if slices.Contains(memory.Registered, m.Type) {
		if m.Named, err = memory.NewTarget(m.Type, cmp.Or(m.Target, unnamed)); err != nil {
			return Wrong(n, "%v", err)
		}
	}
	if m.Content, err = memory.NormalizeLong(m.Content); err != nil {
		return Wrong(n, "%v", err)
	}
	if m.WhenToUse, err = memory.NormalizeUse(m.WhenToUse); err != nil {
		return Wrong(n, "%v", err)
	}
	if err := m.Metadata.Check(); err != nil {
		return Wrong(n, "%v", err)
	}
	return m.Numbers(n)
}

// unnamed is the target of memories without a target.
const unnamed = "default"

// Kinds of lines, in the order of a file.
const (
	KindIdentity = "identity"
	KindSoul     = "soul"
)

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

// Message returns the message of a transcript.
func (m Message) Message() transcript.Message {
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

// IndexedEntry is a memory to index, with its vector if it has one.
type IndexedEntry struct {
	Entry  memory.Entry
	Vector []float32
}

// maxComponent is the highest number that a component of a stored vector can hold.
const maxComponent = 65504

// Whole refuses numbers that do not fit into their columns.
func Whole(line int, numbers ...int) error {
	for _, number := range numbers {
		if number < 0 || number > math.MaxInt32 {
			return Wrong(line, "number %d is out of range, must be 0 to %d", number, math.MaxInt32)
		}
	}
	return nil
}

// Numbers checks the numbers of a line.
func (c *Conversation) Numbers(line int) error {
	if c.Reward == nil {
		return nil
	}
	if err := fault.CheckNumber("reward", *c.Reward, -fault.MaxNumber, fault.MaxNumber); err != nil {
		return Wrong(line, "%v", err)
	}
	return nil
}

// Numbers checks the numbers of a line.
func (m *Memory) Numbers(line int) error {
	if err := fault.CheckNumber("importance", m.Importance, -fault.MaxNumber, fault.MaxNumber); err != nil {
		return Wrong(line, "%v", err)
	}
	for _, component := range m.Vector {
		if err := fault.CheckNumber("vector", float64(component), -maxComponent, maxComponent); err != nil {
			return Wrong(line, "%v", err)
		}
	}
	stored := []int{m.Version, m.Retrieved}
	evidence := []*Evidence{m.Evidence}
	for _, r := range m.Revisions {
		stored, evidence = append(stored, r.Version), append(evidence, r.Evidence)
	}
	for _, e := range evidence {
		if e == nil {
			continue
		}
		if e.ToSeq < e.FromSeq {
			return Wrong(line, "evidence of memory %s ends before it begins", m.ID)
		}
		stored = append(stored, e.FromSeq, e.ToSeq)
	}
	return Whole(line, stored...)
}

// LoadedMemory is a memory to load. Key is 0 if it existed before.
type LoadedMemory struct {
	Memory
	From          *memory.Evidence   // Evidence, if its conversation exists
	RevisionsFrom []*memory.Evidence // the same of each revision
	Named         memory.Target      // target to find or to register; zero if the dump contains it
}

// Entry returns the memory as an entry.
func (m *LoadedMemory) Entry() memory.Entry {
	return memory.Entry{Key: m.Key, ID: m.ID, Type: m.Type, Target: m.Target, Content: m.Content, Version: m.Version,
		Status: m.Status, Origin: m.Origin, Tainted: m.Tainted, Evidence: m.From, EventTime: m.EventTime,
		CreatedAt: m.CreatedAt, UpdatedAt: m.UpdatedAt, WhenToUse: m.WhenToUse, Metadata: m.Metadata,
		Author: m.Author, Importance: m.Importance, Targets: m.Targets, SupersededBy: m.SupersededBy,
		Retrieved: m.Retrieved, Moved: m.Moved, Approved: m.Approved, ConfirmedAt: m.ConfirmedAt}
}

// Revision returns a revision of the memory.
func (m *LoadedMemory) Revision(i int) memory.Revision {
	r := m.Revisions[i]
	return memory.Revision{Version: r.Version, Action: r.Action, Content: r.Content, Origin: r.Origin,
		Tainted: r.Tainted, Evidence: m.RevisionsFrom[i], CreatedAt: r.CreatedAt, Status: r.Status,
		WhenToUse: r.WhenToUse, Metadata: r.Metadata, Targets: r.Targets, Author: r.Author, Moved: r.Moved,
		ValidUntil: r.ValidUntil}
}

// Imported is the channel of conversations and the origin of what a file states without a valid signature.
const Imported = string(agent.OriginImport)

// Distrust replaces what only a signed file can state about a memory: who wrote it, and that its text was accepted.
func (m *LoadedMemory) Distrust() (quarantined bool) {
	m.Origin, m.Author = Imported, ""
	for i := range m.Revisions {
		r := &m.Revisions[i]
		r.Origin, r.Author = Imported, ""
		if r.Status != memory.Removed && Suspicious(guard.Caution, r.Content, r.WhenToUse, r.Metadata.Text()) {
			r.Status = memory.Quarantined
		}
	}
	if m.Status == memory.Active && Suspicious(guard.Caution, m.Content, m.WhenToUse, m.Metadata.Text()) {
		m.Status, quarantined = memory.Quarantined, true
	}
	return quarantined
}

// Distrust is the same for a conversation: it is imported, and has no outcome from which Cairn would learn.
func (c Conversation) Distrust() Conversation {
	c.Channel, c.Reward = Imported, nil
	return c
}

// Suspicious reports whether a text has a secret, or a finding of at least a level.
func Suspicious(level guard.Severity, texts ...string) bool {
	for _, text := range texts {
		if text == "" {
			continue
		}
		verdict := guard.Verdict(guard.Scan(text, guard.Strict))
		if len(guard.Secrets(text)) > 0 || verdict == guard.Dangerous || level == guard.Caution && verdict == level {
			return true
		}
	}
	return false
}

// Exact gives a target its ID as key and returns it.
func (t Target) Exact() Target {
	if id, err := memory.NewTarget(memory.Type(t.Type), t.Display); err == nil {
		t.Key, t.Display = id.Key, id.Display
	}
	return t
}
