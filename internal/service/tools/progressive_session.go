package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/transcript/intake"
	memories "cairn/internal/service/memory"
)

type historyItem struct {
	Messages []any `json:"messages" jsonschema:"messages of the session, in order, in the format of chat APIs"`
}

// historyResult is the stored session, to whose ID other memories refer.
type historyResult struct {
	Text    string         `json:"text"`
	History memory.History `json:"history"`
}

func addHistoryMemory(o Options, l *memories.LongTermService) (Tool, error) {
	d := definition{spec: agent.ToolSpec{Name: "add_history_memory", Class: agent.Fast, Idempotent: true,
		Description: "Store the transcript of one session. A repeated session is stored once."},
		bound: func(p map[string]*jsonschema.Schema) {
			p["messages"].MinItems, p["messages"].MaxItems = jsonschema.Ptr(1), jsonschema.Ptr(memories.SessionMessages)
			p["messages"].Types, p["messages"].Type = nil, "array"
			p["messages"].Items = &jsonschema.Schema{Type: "object"}
		}}
	return progressive(o, d, func(ctx context.Context, a agent.Actor, items []given[historyItem],
		_ []memories.ItemResult) (historyResult, error) {
		raw, err := json.Marshal(items[0].Value.Messages)
		if err != nil {
			return historyResult{}, err
		}
		messages, err := intake.Messages("messages", raw)
		if err != nil {
			return historyResult{}, err
		}
		h, err := l.AddHistory(ctx, a, messages)
		return historyResult{Text: fmt.Sprintf("kept memory_id=%s, %d messages", h.ID, h.Messages), History: h}, err
	})
}

type readItem struct {
	ID        string `json:"memory_id" jsonschema:"ref_memory_id of a memory, or ID of a memory to read its session"`
	Query     string `json:"query,omitempty" jsonschema:"return only parts of the transcript that match this text"`
	MaxTokens int    `json:"max_tokens,omitempty" jsonschema:"maximum size of a page in tokens"`
	Offset    int    `json:"offset,omitempty" jsonschema:"next_offset of the previous page"`
}

// readResult is the result of reading transcripts.
type readResult struct {
	Text     string             `json:"text" jsonschema:"transcripts, each after a line with its ID"`
	Sessions []memories.Session `json:"sessions" jsonschema:"sessions that were read, without their text"`
}

func readHistoryMemory(o Options, l *memories.LongTermService) (Tool, error) {
	d := definition{spec: agent.ToolSpec{Name: "read_history_memory", Class: agent.Fast, ReadOnly: true,
		Idempotent: true, Description: "Read the transcript of the session that a memory comes from, page by " +
			"page, or only the parts that match a query."},
		bound: func(p map[string]*jsonschema.Schema) {
			nonEmpty("memory_id")(p)
			p["max_tokens"].Minimum, p["max_tokens"].Maximum = jsonschema.Ptr(100.0),
				jsonschema.Ptr(float64(memories.MaxSessionTokens))
			p["max_tokens"].Default = []byte("4000")
			p["offset"].Minimum = jsonschema.Ptr(0.0)
		}}
	if o.Multiple {
		d.list, d.member, d.most = "memory_ids", "memory_id", memories.ReadSessions
		d.shared = []string{"query", "max_tokens", "offset"}
		d.spec.Description = fmt.Sprintf("Read the transcripts of the sessions that memories come from, at "+
			"most %d per call, page by page, or only the parts that match a query.", memories.ReadSessions)
	}
	return progressive(o, d, func(ctx context.Context, a agent.Actor, items []given[readItem],
		bad []memories.ItemResult) (readResult, error) {
		first := items[0].Value
		in := memories.ReadArgs{Query: first.Query, MaxTokens: first.MaxTokens, Offset: first.Offset}
		for _, one := range items {
			in.IDs = append(in.IDs, one.Value.ID)
		}
		sessions, err := l.ReadHistory(ctx, a, in)
		if err != nil {
			return readResult{}, err
		}
		out := readResult{}
		var parts []string
		for i, s := range sessions {
			part := fmt.Sprintf("id: %s\n%s", s.ID, s.Text)
			switch {
			case s.Status == memories.Failed:
				part = fmt.Sprintf("id: %s\n%s", s.ID, line(s.ItemResult, false))
			case s.NextOffset > 0:
				part += fmt.Sprintf("\n(more: read on with offset %d)", s.NextOffset)
			}
			s.Index, s.Text = items[i].Index, ""
			parts, out.Sessions = append(parts, part), append(out.Sessions, s)
		}
		for _, b := range bad {
			parts, out.Sessions = append(parts, line(b, true)), append(out.Sessions, memories.Session{ItemResult: b})
		}
		out.Text = strings.Join(parts, "\n\n")
		return out, nil
	})
}

type summaryItem struct {
	Summary  string         `json:"summary_memory" jsonschema:"topic and results of the session, in a few sentences, with names"`
	Metadata map[string]any `json:"metadata,omitempty" jsonschema:"additional facts"`
}

func addSummaryMemory(o Options, l *memories.LongTermService) (Tool, error) {
	d := definition{spec: agent.ToolSpec{Name: "add_summary_memory", Class: agent.Fast,
		Description: "Store a short digest of this session for later searches. A session has only one: " +
			"another call replaces it."},
		bound: nonEmpty("summary_memory")}
	if !o.Metadata {
		d.drop = []string{"metadata"}
	}
	return progressive(o, d, func(ctx context.Context, a agent.Actor, items []given[summaryItem],
		_ []memories.ItemResult) (itemsResult, error) {
		done, err := l.AddSummary(ctx, a, memories.SummaryArgs{Content: items[0].Value.Summary,
			Metadata: items[0].Value.Metadata})
		if err != nil {
			return itemsResult{}, err
		}
		return both(done, nil)
	})
}
