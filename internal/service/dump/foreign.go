package dump

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"cairn/internal/domain/memory"
)

// node is a line of a ReMe dump: a memory, or a row of ReMe's vector store, which has most fields
// in its metadata.
type node struct {
	MemoryID  string          `json:"memory_id"`
	UniqueID  string          `json:"unique_id"`
	Type      string          `json:"memory_type"`
	Target    string          `json:"memory_target"`
	WhenToUse string          `json:"when_to_use"`
	Content   any             `json:"content"`
	Created   string          `json:"time_created"`
	Modified  string          `json:"time_modified"`
	Author    string          `json:"author"`
	Score     float64         `json:"score"`
	Metadata  memory.Metadata `json:"metadata"`
}

// foreignTypes maps names of memory types in other programs.
var foreignTypes = map[string]memory.Type{"personal": memory.Personal, "procedural": memory.Procedural,
	"task": memory.Procedural, "tool": memory.Guideline, "summary": memory.Summary}

// foreign decodes a line of another program's dump. Skip is true for lines that are not memories:
// identities and raw transcripts.
func foreign(n int, raw []byte) (out Memory, skip bool, err error) {
	var v node
	if err := json.Unmarshal(raw, &v); err != nil {
		return out, false, wrong(n, "invalid JSON of a memory: %v", err)
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
		return out, true, nil
	}
	content, _ := v.Content.(string)
	// In a row of the vector store, the outer content is the embedded text.
	if held, ok := v.Metadata["content"].(string); ok && held != "" {
		v.WhenToUse, content = content, held
		delete(v.Metadata, "content")
	}
	out = Memory{Kind: KindMemory, Type: foreignTypes[kind], Target: text(v.Target, "memory_target"), Content: content,
		WhenToUse: text(v.WhenToUse, "when_to_use"), Author: text(v.Author, "author"),
		Importance: v.Score, Version: 1, Status: memory.Active, Origin: "import",
		CreatedAt: moment(text(v.Created, "time_created")), UpdatedAt: moment(text(v.Modified, "time_modified"))}
	if out.Type == "" || content == "" {
		return out, false, wrong(n, "neither a line of a Cairn dump nor a ReMe memory: memory_type %q", kind)
	}
	if fixed, ok := memory.FixedTarget(out.Type); ok {
		out.Target = fixed.Key
		if out.WhenToUse == "" {
			return out, false, wrong(n, "guideline without a tool")
		}
	}
	if out.UpdatedAt.Before(out.CreatedAt) {
		out.UpdatedAt = out.CreatedAt
	}
	out.Metadata = memory.Metadata{}.With(v.Metadata)
	if v.MemoryID == "" {
		v.MemoryID = v.UniqueID
	}
	if v.MemoryID != "" {
		out.Metadata["legacy_id"] = v.MemoryID
	}
	return out, false, out.Metadata.Check()
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

// unnamed is the target of memories without a target.
const unnamed = "default"

// foreign loads a line of another program's dump under a new Cairn ID.
func (l *loading) foreign(ctx context.Context, n int, raw []byte) error {
	if len(raw) == 0 {
		return nil
	}
	m, skip, err := foreign(n, raw)
	if err != nil {
		return err
	}
	if skip {
		l.out.Skipped++
		return nil
	}
	if slices.Contains(memory.Registered, m.Type) {
		if m.Target == "" {
			m.Target = unnamed
		}
		t, err := memory.NewTarget(m.Type, m.Target)
		if err != nil {
			return wrong(n, "%v", err)
		}
		known, found, err := l.to.Present().FindTarget(ctx, t)
		if err != nil {
			return err
		}
		if found {
			t = known
		} else if _, err := l.to.Rows().LoadTarget(ctx,
			Target{Type: string(t.Type), Key: t.Key, Display: t.Display, CreatedAt: m.CreatedAt,
				LastUsedAt: m.CreatedAt}); err != nil {
			return err
		}
		l.count(&l.out.Targets, !found)
		m.Target = t.Key
	}
	if m.Content, err = memory.NormalizeLong(m.Content); err == nil {
		m.WhenToUse, err = memory.NormalizeUse(m.WhenToUse)
	}
	if err != nil {
		return wrong(n, "%v", err)
	}
	m.ID = memory.NewID(l.ws, m.Type, m.Target, m.Content, 0)
	m.Revisions = []Revision{{Version: 1, Action: memory.Add, Status: m.Status, Content: m.Content,
		WhenToUse: m.WhenToUse, Metadata: m.Metadata, Origin: m.Origin, Author: m.Author, CreatedAt: m.CreatedAt}}
	return l.memory(ctx, m)
}
