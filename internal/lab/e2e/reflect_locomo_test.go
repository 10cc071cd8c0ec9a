package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/internal/app/config"
	"cairn/internal/app/samples"
	"cairn/internal/domain/memory"
	domainreflection "cairn/internal/domain/reflection"
	"cairn/internal/domain/transcript"
	"cairn/internal/lab/apptest"
	evals "cairn/internal/service/evaluation"
	"cairn/internal/service/reflection"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// offlineDays uses the offline model instead of the scripted one. No conversation is worth
// distilling.
func offlineDays(c *config.Config) {
	c.BaseURL, c.APIKey, c.Model, c.Gate = "", "", "", "memos"
}

// friends returns a synthetic conversation of two people over three days in the form of LoCoMo:
// sessions with their own dates, both speakers by name.
func friends(t *testing.T) (out []transcript.Message) {
	t.Helper()
	for _, session := range []struct {
		at    string
		lines []string
	}{
		{"2024-05-08 13:56", []string{"Mira: Hey Tom! Good to hear from you.",
			"Tom: Hi Mira! What have you been up to?", "Mira: I started a pottery course in the old harbour last week.",
			"Tom: That is great. I repaired my grandfather's violin together with a luthier.",
			"Mira: I am allergic to the glaze that they use, so I wear gloves."}},
		{"2024-05-25 09:10", []string{"Mira: The pottery course ended with a small exhibition in the town hall.",
			"Tom: My sister and I visited the exhibition and bought your green bowl.",
			"Mira: I always fire my bowls twice."}},
		{"2024-06-09 20:00", []string{"Tom: I have been accepted by the city orchestra as second violin.",
			"Mira: Congratulations! My parents and I will come to your first concert in September."}},
	} {
		said := at(t, session.at)
		for i, line := range session.lines {
			who, text, _ := strings.Cut(line, ": ")
			role := transcript.User
			if who == "Tom" {
				role = transcript.Assistant
			}
			out = append(out, transcript.Message{Role: role, Name: who, Content: text,
				Time: said.Add(time.Duration(i) * time.Minute)})
		}
	}
	return out
}

func TestSessionsOnTheirOwnDatesBecomeANoteADayAndMemoriesThatPointToTheirTurns(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	t.Run("made up", func(t *testing.T) {
		t.Parallel()
		replay(t, friends(t))
	})
	t.Run("LoCoMo", func(t *testing.T) {
		t.Parallel()
		path := samples.Public("locomo/locomo8.json")
		if path == "" {
			t.Skip("public data is absent, set CAIRN_DATA")
		}
		talks, err := evals.OpenLocomo(path)
		testkit.Must(t, err)
		replay(t, firstDates(talks[0].Conversation.Messages, 6))
	})
}

// firstDates returns the messages of the first n dates.
func firstDates(messages []transcript.Message, n int) []transcript.Message {
	seen := map[string]bool{}
	for i, m := range messages {
		if seen[m.Time.Format(time.DateOnly)] = true; len(seen) > n {
			return messages[:i]
		}
	}
	return messages
}

// replay reflects on each date of a conversation with the rules, twice.
func replay(t *testing.T, messages []transcript.Message) {
	t.Helper()
	b := apptest.Open(t, offlineDays)
	id := imported(b, "friends", messages...)
	var dates []string
	for _, m := range messages {
		if d := m.Time.Format(time.DateOnly); !slices.Contains(dates, d) {
			dates = append(dates, d)
		}
	}
	for _, date := range dates {
		got := reflectOn(b, reflection.DateRequest{Date: date})
		if got.Status != domainreflection.Saved || len(got.Notes) == 0 {
			t.Errorf("%s came to %s with %d notes: %+v", date, got.Status, len(got.Notes), got.Runs)
		}
		for _, n := range got.Notes {
			points(t, id, messages, date, n)
		}
	}
	var kept []memory.Entry
	testkit.Must(t, b.Memory.Store.InWorkspace(t.Context(), b.Workspace.ID,
		func(_ context.Context, tx store.Tx) (err error) {
			kept, err = tx.PromptMemory().Memories(t.Context(), memory.PromptTypes, false, 1000)
			return err
		}))
	if len(kept) == 0 {
		t.Error("no memory was kept")
	}
	for _, e := range kept {
		points(t, id, messages, "", e)
	}
	t.Logf("%d dates, %d memories", len(dates), len(kept))
	rows := "select (select count(*) from cairn.runs) + (select count(*) from cairn.memories) + (select count(*) " +
		"from cairn.memory_revisions) + (select count(*) from cairn.llm_calls)"
	before := count(b, rows)
	for _, date := range dates {
		reflectOn(b, reflection.DateRequest{Date: date})
	}
	if n := count(b, rows); n != before {
		t.Errorf("a second time left %d rows more", n-before)
	}
	if n := count(b, fmt.Sprintf("select seq from cairn.conversation_marks where kind = 'reflection' and "+
		"conversation_id = %d", id)); n != len(messages)-1 {
		t.Errorf("the mark is at %d of %d messages", n, len(messages))
	}
}

// points checks that an entry references turns of its date that contain it.
func points(t *testing.T, conversation int64, messages []transcript.Message, date string, e memory.Entry) {
	t.Helper()
	if e.Evidence == nil || e.Evidence.Conversation != conversation || e.Evidence.ToSeq >= len(messages) {
		t.Errorf("%q points to %+v", e.Content, e.Evidence)
		return
	}
	_, words, found := strings.Cut(e.Content, ": ")
	if !found {
		words = e.Content
	}
	said := false
	for _, m := range messages[e.Evidence.FromSeq : e.Evidence.ToSeq+1] {
		said = said || strings.Contains(m.Content, strings.TrimRight(words, "."))
		if date != "" && m.Time.Format(time.DateOnly) != date {
			t.Errorf("%q of %s points to what was said at %s", e.Content, date, m.Time)
		}
	}
	if !said {
		t.Errorf("%q is not what was said in %d..%d", e.Content, e.Evidence.FromSeq, e.Evidence.ToSeq)
	}
}
