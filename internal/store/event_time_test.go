package store_test

import (
	"context"
	"testing"
	"time"

	"cairn/internal/domain/memory"
	"cairn/internal/domain/transcript"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// A memory gets the date that a model names if one of its source messages is from that day, and
// otherwise the time of the latest. A user's date is kept.
func TestADerivedMemoryHasATimeOfItsSources(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, last := time.Date(2024, 3, 1, 9, 0, 0, 0, time.UTC), time.Date(2024, 3, 5, 18, 0, 0, 0, time.UTC)
	within, outside := time.Date(2024, 3, 5, 0, 0, 0, 0, time.UTC), time.Date(2023, 3, 4, 0, 0, 0, 0, time.UTC)
	put := func(id string, times ...time.Time) (conversation int64) {
		c := transcript.Conversation{ID: id}
		for _, at := range times {
			c.Messages = append(c.Messages, transcript.Message{Role: transcript.User, Content: "Hello.", Time: at})
		}
		b.in(b.a, func(ctx context.Context, q store.Tx) (err error) {
			conversation, err = q.Transcripts().PutConversation(ctx, c, "import")
			return err
		})
		return conversation
	}
	dated, undated := put("dated", first, last), put("undated", time.Time{}, time.Time{})
	for i, c := range []struct {
		what         string
		origin       string
		conversation int64 // 0 for none
		named, want  *time.Time
	}{
		{"nothing named", "agent", dated, nil, &last},
		{"a day of the sources", "agent", dated, &within, &within},
		{"another day", "agent", dated, &outside, &last},
		{"another day, by a user", "user", dated, &outside, &outside},
		{"sources without times", "agent", undated, nil, nil},
		{"named, sources without times", "agent", undated, &outside, &outside},
		{"no sources", "agent", 0, &outside, &outside},
		{"no sources, nothing named", "agent", 0, nil, nil},
	} {
		w := memory.Writer{Origin: c.origin, Op: c.what}
		if c.conversation != 0 {
			w.Evidence = &memory.Evidence{Conversation: c.conversation, FromSeq: 0, ToSeq: 1}
		}
		long := memory.Entry{Type: memory.Personal, Target: "ada", Content: c.what, EventTime: c.named}
		short := memory.Entry{Type: memory.Core, EventTime: c.named}
		b.in(b.a, func(ctx context.Context, q store.Tx) error {
			testkit.Must(t, q.LongTerm().AddLongTerm(ctx, []*memory.Entry{&long}, w))
			return q.PromptMemory().WriteMemories(ctx, memory.Plan{Steps: []memory.Step{{Action: memory.Add,
				Entry: &short, Content: c.what}}}, w)
		})
		for _, e := range []memory.Entry{long, short} {
			if (e.EventTime == nil) != (c.want == nil) || c.want != nil && !e.EventTime.Equal(*c.want) {
				t.Errorf("case %d, %s, %s: event time %v, want %v", i, e.Type, c.what, e.EventTime, c.want)
			}
		}
	}
}
