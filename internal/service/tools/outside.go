package tools

import (
	"context"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/transcript"
	memories "cairn/internal/service/memory"
)

// outsiders are agents of other programs, which manage memories themselves.
var outsiders = []agent.Origin{agent.OriginUser, agent.OriginAgent}

// TargetRef is the target of a call from another program. Cairn's own agents get theirs from their
// run. No call has access outside its workspace.
type TargetRef struct {
	Type   string `json:"memory_type" jsonschema:"type of the target, as in read_meta_memory"`
	Target string `json:"memory_target" jsonschema:"name of the target, as in read_meta_memory; a new name creates a target; tool_guidelines for type tool"`
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
		Content   string         `json:"memory_content" jsonschema:"fact to remember: a statement that is clear without context"`
		WhenToUse string         `json:"when_to_use,omitempty" jsonschema:"situation in which this helps, in one sentence; for a tool guideline: exact name of the tool"`
		Metadata  map[string]any `json:"metadata,omitempty" jsonschema:"additional facts, for example when the statement was true"`
	}
	outsideUpdate struct {
		TargetRef
		ID       string         `json:"memory_id" jsonschema:"ID of the memory, from vector_retrieve_memory"`
		Content  string         `json:"memory_content" jsonschema:"complete new text of the memory"`
		Metadata map[string]any `json:"metadata,omitempty" jsonschema:"fields to change; null removes a field, other fields are kept"`
	}
	outsideDelete struct {
		TargetRef
		ID string `json:"memory_id" jsonschema:"ID of the memory, from vector_retrieve_memory"`
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

// SessionArgs is a session to remember: messages or a text.
type SessionArgs struct {
	Messages []SaidMessage `json:"messages,omitempty" jsonschema:"messages of the session, in order"`
	Query    string        `json:"query,omitempty" jsonschema:"text to remember, instead of messages"`
}

// SaidMessage is a message of a session.
type SaidMessage struct {
	Role    string `json:"role" jsonschema:"user, assistant, tool or system"`
	Name    string `json:"name,omitempty" jsonschema:"name of the speaker"`
	Content string `json:"content"`
	Time    string `json:"timestamp,omitempty" jsonschema:"time of the message, RFC 3339"`
}

// Bound limits the size of the arguments.
func (SessionArgs) Bound(p map[string]*jsonschema.Schema) {
	m := p["messages"]
	m.MinItems, m.MaxItems = jsonschema.Ptr(1), jsonschema.Ptr(maxSaid)
	m.Items.Properties["role"].Enum = []any{string(transcript.User), string(transcript.Assistant),
		string(transcript.Tool), string(transcript.System)}
	boundText(p["query"], 1, maxText)
}

// Limits of a session in a tool call. The API accepts longer ones.
const (
	maxSaid = 1000
	maxText = 100_000 // characters
)

// said converts the messages to a transcript.
func (s SessionArgs) said() (out []transcript.Message, err error) {
	for i, m := range s.Messages {
		one := transcript.Message{Seq: i, Role: transcript.Role(m.Role), Name: m.Name, Content: m.Content}
		if m.Time != "" {
			at, err := time.Parse(time.RFC3339, m.Time)
			if err != nil {
				return nil, fault.Newf(fault.InvalidArgument,
					"message %d has invalid timestamp %.40q: must be RFC 3339", i, m.Time)
			}
			one.Time = at
		}
		out = append(out, one)
	}
	return out, nil
}

// AcceptedSession is a stored session from which memories are being built.
type AcceptedSession struct {
	RequestID string `json:"request_id" jsonschema:"ID of the request; read its status at /v1/requests of the API"`
	Status    string `json:"status" jsonschema:"accepted, running or ended"`
}

// Take stores a session and starts building memories from it. The same operation returns the same request.
type Take func(ctx context.Context, a agent.Actor, messages []transcript.Message, text string) (AcceptedSession, error)

// MemoryServer returns the tools with which agents of other programs write long-term memory.
// RetrievalServer has the tools to read it.
func MemoryServer(l *memories.LongTermService, take Take) ([]Tool, error) {
	return collect(
		made(New(agent.ToolSpec{Name: "add_memory", Class: agent.Fast, Origins: outsiders,
			Description: "Remember one thing about a person, a kind of task or a tool, for later sessions. Search " +
				"for it first with vector_retrieve_memory, and do not add it twice. A tool has only " +
				"one guideline: adding another replaces it."},
			func(ctx context.Context, a agent.Actor, in outsideAdd) (itemsResult, error) {
				done, err := l.AddMemories(ctx, in.of(a),
					[]memories.NewMemory{{Content: in.Content, WhenToUse: in.WhenToUse, Metadata: in.Metadata}})
				return one(done, err)
			})),
		made(New(agent.ToolSpec{Name: "update_memory", Class: agent.Fast, Origins: outsiders, Destructive: true,
			Description: "Correct or complete one long-term memory. Its ID does not change."},
			func(ctx context.Context, a agent.Actor, in outsideUpdate) (itemsResult, error) {
				done, err := l.UpdateMemories(ctx, in.of(a),
					[]memories.ChangedMemory{{ID: in.ID, Content: in.Content, Metadata: in.Metadata}})
				return one(done, err)
			})),
		made(New(agent.ToolSpec{Name: "delete_memory", Class: agent.Fast, Origins: outsiders, Destructive: true,
			Description: "Forget one long-term memory that is wrong, outdated, or that the user wants forgotten. " +
				"To replace it by a new statement, update it instead."},
			func(ctx context.Context, a agent.Actor, in outsideDelete) (itemsResult, error) {
				done, err := l.DeleteMemories(ctx, in.of(a), []memories.DeleteRequest{{ID: in.ID}})
				return one(done, err)
			})),
		made(New(agent.ToolSpec{Name: "summary_memory", Class: agent.Fast, Origins: outsiders,
			Description: "Build long-term memories from a session or a text. The call stores the input; agents " +
				"then extract memories about people, tasks and tools in the background."},
			func(ctx context.Context, a agent.Actor, in SessionArgs) (AcceptedSession, error) {
				messages, err := in.said()
				if err != nil {
					return AcceptedSession{}, err
				}
				return take(ctx, a, messages, in.Query)
			})),
	)
}

// one returns the result of a call with one item.
func one(done []memories.ItemResult, err error) (itemsResult, error) {
	if err != nil {
		return itemsResult{}, err
	}
	return both(done, nil)
}
