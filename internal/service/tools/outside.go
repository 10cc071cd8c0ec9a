package tools

import (
	"context"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/longterm"
)

// outsiders are the agents of other programs, which look after memories themselves.
var outsiders = []agent.Origin{agent.OriginUser, agent.OriginAgent}

// TargetRef is the target of a call from outside. Our own agents have theirs from what
// runs them; no call reaches beyond its workspace either way.
type TargetRef struct {
	Type   string `json:"memory_type" jsonschema:"type of the target, as read_meta_memory has it"`
	Target string `json:"memory_target" jsonschema:"who or what it is about, as read_meta_memory has it; a new one is made; tool_guidelines of type tool"`
}

func (t TargetRef) of(a agent.Actor) agent.Actor {
	a.Subject = agent.MemoryScope{Type: t.Type, Target: t.Target}
	return a
}

func boundAbout(p map[string]*jsonschema.Schema) {
	p["memory_type"].Enum = enum([]memory.Type{memory.Personal, memory.Procedural, memory.Guideline})
	boundText(p["memory_target"], 1, memory.TargetRunes)
}

type (
	outsideAdd struct {
		TargetRef
		Content   string         `json:"memory_content" jsonschema:"what is to be remembered: a statement that can be understood by itself"`
		WhenToUse string         `json:"when_to_use,omitempty" jsonschema:"the situation in which this helps, in one sentence; of a tool's guideline: the exact name of the tool"`
		Metadata  map[string]any `json:"metadata,omitempty" jsonschema:"facts beside the statement, such as when it was true"`
	}
	outsideUpdate struct {
		TargetRef
		ID       string         `json:"memory_id" jsonschema:"id of the memory, as vector_retrieve_memory shows it"`
		Content  string         `json:"memory_content" jsonschema:"all of what it says from now on"`
		Metadata map[string]any `json:"metadata,omitempty" jsonschema:"members that change; null takes one away, the others stay"`
	}
	outsideDelete struct {
		TargetRef
		ID string `json:"memory_id" jsonschema:"id of the memory, as vector_retrieve_memory shows it"`
	}
)

func (outsideAdd) Bound(p map[string]*jsonschema.Schema) {
	boundAbout(p)
	nonEmpty("memory_content")(p)
}

func (outsideUpdate) Bound(p map[string]*jsonschema.Schema) {
	boundAbout(p)
	nonEmpty("memory_id", "memory_content")(p)
}

func (outsideDelete) Bound(p map[string]*jsonschema.Schema) {
	boundAbout(p)
	nonEmpty("memory_id")(p)
}

// SessionArgs are a session to be remembered, messages or a text.
type SessionArgs struct {
	Messages []SaidMessage `json:"messages,omitempty" jsonschema:"the session in its order"`
	Query    string        `json:"query,omitempty" jsonschema:"a text to be remembered, in place of messages"`
}

// SaidMessage is a message of a session.
type SaidMessage struct {
	Role    string `json:"role" jsonschema:"user, assistant, tool or system"`
	Name    string `json:"name,omitempty" jsonschema:"who says it"`
	Content string `json:"content"`
	Time    string `json:"timestamp,omitempty" jsonschema:"when it was said, RFC 3339"`
}

// Bound bounds what may be sent.
func (SessionArgs) Bound(p map[string]*jsonschema.Schema) {
	m := p["messages"]
	m.MinItems, m.MaxItems = jsonschema.Ptr(1), jsonschema.Ptr(mostSaid)
	m.Items.Properties["role"].Enum = []any{string(transcript.User), string(transcript.Assistant),
		string(transcript.Tool), string(transcript.System)}
	boundText(p["query"], 1, mostText)
}

// Bounds of a session that a tool is given; the API takes longer ones.
const (
	mostSaid = 1000
	mostText = 100_000 // characters
)

// said are the messages as a transcript has them.
func (s SessionArgs) said() (out []transcript.Message, err error) {
	for i, m := range s.Messages {
		one := transcript.Message{Seq: i, Role: transcript.Role(m.Role), Name: m.Name, Content: m.Content}
		if m.Time != "" {
			at, err := time.Parse(time.RFC3339, m.Time)
			if err != nil {
				return nil, fault.Newf(fault.InvalidArgument,
					"the timestamp of message %d is %.40q, and must be RFC 3339", i, m.Time)
			}
			one.Time = at
		}
		out = append(out, one)
	}
	return out, nil
}

// AcceptedSession tells that a session is durable, and is being made memories of.
type AcceptedSession struct {
	RequestID string `json:"request_id" jsonschema:"under which the API's /v1/requests tells what became of it"`
	Status    string `json:"status" jsonschema:"accepted, running or ended"`
}

// Take has a session made memories of. The same operation gives the same request.
type Take func(ctx context.Context, a agent.Actor, messages []transcript.Message, text string) (AcceptedSession, error)

// MemoryServer is what other programs' agents may write of long-term memory, beside
// what RetrievalServer has them read.
func MemoryServer(l *longterm.Service, take Take) ([]Tool, error) {
	return collect(
		made(New(agent.ToolSpec{Name: "add_memory", Class: agent.Fast, Origins: outsiders,
			Description: "Remember one thing about a person, a kind of task or a tool, for later sessions. What is " +
				"remembered already is not added twice: look for it first with vector_retrieve_memory. A tool has " +
				"one guideline: adding another replaces it."},
			func(ctx context.Context, a agent.Actor, in outsideAdd) (itemsResult, error) {
				done, err := l.AddMemories(ctx, in.of(a),
					[]longterm.NewMemory{{Content: in.Content, WhenToUse: in.WhenToUse, Metadata: in.Metadata}})
				return one(done, err)
			})),
		made(New(agent.ToolSpec{Name: "update_memory", Class: agent.Fast, Origins: outsiders, Destructive: true,
			Description: "Correct or complete one long-term memory. It keeps its id."},
			func(ctx context.Context, a agent.Actor, in outsideUpdate) (itemsResult, error) {
				done, err := l.UpdateMemories(ctx, in.of(a),
					[]longterm.ChangedMemory{{ID: in.ID, Content: in.Content, Metadata: in.Metadata}})
				return one(done, err)
			})),
		made(New(agent.ToolSpec{Name: "delete_memory", Class: agent.Fast, Origins: outsiders, Destructive: true,
			Description: "Forget one long-term memory that is wrong, out of date, or that the user wants forgotten. " +
				"Where a new statement takes its place, update it instead."},
			func(ctx context.Context, a agent.Actor, in outsideDelete) (itemsResult, error) {
				done, err := l.DeleteMemories(ctx, in.of(a), []longterm.DeleteRequest{{ID: in.ID}})
				return one(done, err)
			})),
		made(New(agent.ToolSpec{Name: "summary_memory", Class: agent.Fast, Origins: outsiders,
			Description: "Have a session, or a text, made long-term memories of: agents find out whom and what it " +
				"tells of and keep what is worth it. It is kept at once; the memories follow in the background."},
			func(ctx context.Context, a agent.Actor, in SessionArgs) (AcceptedSession, error) {
				messages, err := in.said()
				if err != nil {
					return AcceptedSession{}, err
				}
				return take(ctx, a, messages, in.Query)
			})),
	)
}

// one is the result of a call with one item.
func one(done []longterm.ItemResult, err error) (itemsResult, error) {
	if err != nil {
		return itemsResult{}, err
	}
	return both(done, nil)
}
