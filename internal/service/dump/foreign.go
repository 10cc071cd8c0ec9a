package dump

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"cairn/internal/domain/dumpfile"
	"cairn/internal/domain/memory"
	"cairn/internal/store"
)

// node is a line of a ReMe dump: a memory, or a row of ReMe's vector store, which has most fields
// in its metadata.
type node struct {
	MemoryID  string  `json:"memory_id"`
	UniqueID  string  `json:"unique_id"`
	Type      string  `json:"memory_type"`
	Target    string  `json:"memory_target"`
	WhenToUse string  `json:"when_to_use"`
	Content   any     `json:"content"`
	Created   string  `json:"time_created"`
	Modified  string  `json:"time_modified"`
	Author    string  `json:"author"`
	Score     float64 `json:"score"`
	// Fields of a row of POST /v1/memories that ReMe does not have.
	EventTime  *time.Time `json:"event_time"`
	Importance float64    `json:"importance"`

	Metadata memory.Metadata `json:"metadata"`
}

// foreignTypes maps names of memory types in other programs.
var foreignTypes = map[string]memory.Type{"personal": memory.Personal, "procedural": memory.Procedural,
	"task": memory.Procedural, "tool": memory.Guideline, "summary": memory.Summary}

// foreign decodes a line of another program's dump. It returns nil for lines that are not memories:
// identities and raw transcripts.
func foreign(n int, raw []byte) (*dumpfile.LoadedMemory, error) {
	var v node
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil, dumpfile.Wrong(n, "invalid JSON of a memory: %v", err)
	}
	text := func(known string, name string) string {
		if known == "" {
			known, _ = v.Metadata[name].(string)
		}
		delete(v.Metadata, name)
		return known
	}
	kind := text(v.Type, "memory_type")
	if kind == "history" || kind == "identity" {
		return nil, nil
	}
	content, _ := v.Content.(string)
	// In a row of the vector store, the outer content is the embedded text.
	if held, ok := v.Metadata["content"].(string); ok && held != "" {
		v.WhenToUse, content = content, held
		delete(v.Metadata, "content")
	}
	m := &dumpfile.LoadedMemory{Memory: dumpfile.Memory{Kind: KindMemory, Type: foreignTypes[kind],
		Target: text(v.Target, "memory_target"), Content: content, WhenToUse: text(v.WhenToUse, "when_to_use"),
		Author: text(v.Author, "author"), Importance: cmp.Or(v.Importance, v.Score), EventTime: v.EventTime, Version: 1,
		Status: memory.Active, Origin: "import", CreatedAt: moment(text(v.Created, "time_created")),
		UpdatedAt: moment(text(v.Modified, "time_modified"))}}
	if m.Type == "" || content == "" {
		return nil, dumpfile.Wrong(n, "neither a line of a Cairn dump nor a memory: memory_type %q", kind)
	}
	if m.UpdatedAt.Before(m.CreatedAt) {
		m.UpdatedAt = m.CreatedAt
	}
	m.Metadata = memory.Metadata{}.With(v.Metadata)
	if id := cmp.Or(v.MemoryID, v.UniqueID); id != "" {
		m.Metadata["legacy_id"] = id
	}
	return m, m.Normalize(n)
}

// moment parses the local times of ReMe, which have no zone, as UTC.
func moment(text string) time.Time {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC()
		}
	}
	return time.Now().UTC().Truncate(time.Microsecond)
}

// resolve finds or creates the targets that a batch of another program's memories names, and gives
// the memories their IDs.
func (l *loading) resolve(ctx context.Context, to store.Tx, b *batch, out *LoadResult) error {
	keys := map[memory.Scope]string{}
	for _, m := range b.memories {
		if m.Named.Key != "" {
			key, known := keys[m.Named.Scope()]
			if !known {
				var err error
				if key, err = registered(ctx, to, m, out); err != nil {
					return err
				}
				keys[m.Named.Scope()] = key
			}
			m.Target = key
		}
		m.ID = memory.NewID(l.ws, m.Type, m.Target, m.Content, 0)
		m.Revisions = []dumpfile.Revision{{Version: 1, Action: memory.Add, Status: m.Status, Content: m.Content,
			WhenToUse: m.WhenToUse, Metadata: m.Metadata, Origin: m.Origin, Author: m.Author, CreatedAt: m.CreatedAt}}
	}
	return nil
}

// registered returns the key of the target that a memory names.
func registered(ctx context.Context, to store.Tx, m *dumpfile.LoadedMemory, out *LoadResult) (string, error) {
	known, found, err := to.Targets().Target(ctx, m.Named)
	if err != nil {
		return "", err
	}
	if found {
		out.Existing++
		return known.Key, nil
	}
	out.Targets++
	_, err = to.Load().LoadTargets(ctx, []dumpfile.Target{{Type: string(m.Named.Type), Key: m.Named.Key,
		Display: m.Named.Display, CreatedAt: m.CreatedAt, LastUsedAt: m.CreatedAt}})
	return m.Named.Key, err
}
