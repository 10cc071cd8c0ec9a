package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	domainconversation "cairn/internal/domain/conversation"
	"cairn/internal/domain/llm"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/conversation"
	"cairn/internal/testkit"
)

// Wherever the worker dies during a compaction, the message gets a reply, there is one
// compaction and one note, and stored replies are not requested again.
func TestACompactionSurvivesCrashes(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.OpenIdle(t, smallWindow)
	b.Model.On(openaitest.Rule{Stage: "flush", Results: new(1), Times: 1, Barrier: "flush", Drop: true})
	b.Model.On(openaitest.Rule{Stage: "offload", Times: 1, Barrier: "record", Drop: true})
	b.Model.On(openaitest.Rule{Stage: "flush", Results: new(0),
		Calls: []llm.ToolCall{saying("note_append",
			map[string]string{"observation": "Crates went to warehouses W-7000 and up."})}})
	b.Model.On(openaitest.Rule{Stage: "flush", Reply: "Nothing to save."})
	b.Model.On(openaitest.Rule{Stage: "offload", ReplyFunc: snapshotOf})
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "Noted."})
	worker := b.StartProcess()
	for n := range 4 { // the last of them just fits
		b.Say("c", n, crates(n))
	}
	if n := len(asked(b, "flush")) + len(asked(b, "offload")); n != 0 {
		t.Fatalf("%d calls before the conversation is too long", n)
	}
	send(b, b.Message("c", "last", "Where is crate 2? "+chatter(8)))
	for _, held := range []string{"flush", "record"} {
		testkit.Must(t, b.Model.AwaitBarrier(t.Context(), held, 1))
		worker.Kill()
		b.Model.Release(held)
		worker = b.StartProcess()
	}
	if got := answered(b, "c", "last"); got.Reply != "Noted." || got.Status != domainconversation.StatusEnded {
		t.Errorf("answered %+v", got)
	}
	for key, n := range b.Model.Paid() {
		if n > 1 {
			t.Errorf("call %s was answered %d times", key, n)
		}
	}
	counts := []struct {
		what string
		n    int
		sql  string
	}{
		{"records", 1, "select count(*) from cairn.compactions"},
		{"notes", 1, "select count(*) from cairn.memories where type = 'note'"},
		{"runs of reviews and records", 2, "select count(*) from cairn.runs where kind in ('flush', 'offload') and " +
			"outcome = 'completed'"},
		{"answered calls of reviews and records", 3, "select count(*) from cairn.llm_calls c join cairn.runs r on " +
			"r.id = c.run_id where r.kind in ('flush', 'offload') and c.state = 'done'"},
		{"calls to the turn's model", 1, fmt.Sprintf("select count(*) from cairn.llm_calls c join cairn.runs r on " +
			"r.id = c.run_id where r.business_key like '%%/last' and c.state = 'done'")},
	}
	for _, c := range counts {
		if n := count(b, c.sql); n != c.n {
			t.Errorf("%d %s, want %d", n, c.what, c.n)
		}
	}
	validThreads(t, b)
}

// A worker can die between the model's reply and the compaction. The reply was paid for and is
// used once.
func TestARecordIsWrittenOnceOfAReplyThatWasStored(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for what, die := range map[string]func(t *testing.T, b *apptest.Bundle, temporal *testkit.Proxy, kill func()){
		"after the reply, without a notice": func(t *testing.T, b *apptest.Bundle, temporal *testkit.Proxy,
			kill func()) {
			temporal.Cut()
			b.Model.Release("record")
			testkit.Eventually(t, "the reply is stored", func() bool {
				return count(b, "select count(*) from cairn.llm_calls c join cairn.runs r on r.id = c.run_id where "+
					"r.kind = 'offload' and c.state = 'done'") == 1
			})
			kill()
			if n := count(b, "select count(*) from cairn.compactions"); n != 0 {
				t.Errorf("%d records are written", n)
			}
		},
		"the record is being written": func(t *testing.T, b *apptest.Bundle, _ *testkit.Proxy, kill func()) {
			written := holdRecords(t, b)
			kill()
			written()
			if n := count(b, "select count(*) from cairn.compactions"); n != 0 {
				t.Errorf("%d records are written", n)
			}
		},
		"after the record, without a notice": func(t *testing.T, b *apptest.Bundle, temporal *testkit.Proxy,
			kill func()) {
			written := holdRecords(t, b)
			temporal.Cut()
			written()
			testkit.Eventually(t, "the record is written", func() bool {
				return count(b, "select count(*) from cairn.compactions") == 1
			})
			kill()
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			b := apptest.OpenIdle(t, smallWindow)
			b.Model.On(openaitest.Rule{Stage: "offload", Times: 1, Barrier: "record", ReplyFunc: snapshotOf})
			b.Model.On(openaitest.Rule{Stage: "flush", Reply: "Nothing to save."})
			b.Model.On(openaitest.Rule{Stage: "turn", Reply: "Noted."})
			temporal := testkit.NewProxy(t, "tcp", b.Config.TemporalAddress)
			worker := b.StartProcess("TEMPORAL_ADDRESS=" + temporal.Address())
			for n := range 4 { // the last of them just fits
				b.Say("c", n, crates(n))
			}
			send(b, b.Message("c", "last", "Where is crate 2? "+chatter(8)))
			testkit.Must(t, b.Model.AwaitBarrier(t.Context(), "record", 1))
			blobs := column[string](b, "select encode(sha256, 'hex') from cairn.offload_uses order by position")
			die(t, b, temporal, worker.Kill)
			b.StartProcess()
			if got := answered(b, "c", "last"); got.Reply != "Noted." || got.Status != domainconversation.StatusEnded {
				t.Errorf("answered %+v", got)
			}
			if n := len(asked(b, "offload")); n != 1 {
				t.Errorf("the model was asked %d times", n)
			}
			for key, n := range b.Model.Paid() {
				if n > 1 {
					t.Errorf("call %s was answered %d times", key, n)
				}
			}
			if after := column[string](b,
				"select encode(sha256, 'hex') from cairn.offload_uses order by position"); len(blobs) == 0 ||
				!slices.Equal(after, blobs) || count(b, "select count(*) from cairn.offload_blobs") != len(blobs) {
				t.Errorf("put away %q, and before the crash %q", after, blobs)
			}
			for sql, want := range map[string]int{
				"select count(*) from cairn.compactions where degraded = ''":                       1,
				"select count(*) from cairn.runs where kind = 'offload'":                           1,
				"select count(*) from cairn.runs where kind = 'offload' and outcome = 'completed'": 1,
				`select count(*) from cairn.llm_calls c join cairn.runs r on r.id = c.run_id
					where r.kind = 'offload'`: 1,
				"select count(*) from cairn.llm_calls c join cairn.runs r on r.id = c.run_id where r.business_key " +
					"like '%/last' and c.state = 'done'": 1,
			} {
				if n := count(b, sql); n != want {
					t.Errorf("%d rows, want %d: %s", n, want, sql)
				}
			}
			validThreads(t, b)
		})
	}
}

// holdRecords lets the model reply and blocks the write of the compaction until callOff is
// called.
func holdRecords(t *testing.T, b *apptest.Bundle) (callOff func()) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), b.AdminURL)
	testkit.Must(t, err)
	tx, err := conn.Begin(t.Context())
	testkit.Must(t, err)
	_, err = tx.Exec(t.Context(), "lock table cairn.compactions in share mode")
	testkit.Must(t, err)
	b.Model.Release("record")
	testkit.Eventually(t, "the record waits to be written", func() bool {
		return count(b, "select count(*) from pg_stat_activity where datname = current_database() and "+
			"wait_event_type = 'Lock'") == 1
	})
	return func() {
		t.Helper()
		testkit.Must(t, tx.Rollback(t.Context()))
		testkit.Must(t, conn.Close(t.Context()))
	}
}

// If no model writes a compaction, or none can be waited for, a rule writes it, and
// what was said is found all the same; and a record is made of the one before.
func TestAConversationIsNeverCutWithoutARecordOfAModel(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t, smallWindow)
	b.Model.On(openaitest.Rule{Stage: "turn", Match: "too long for you", Times: 2, Status: 400,
		Reply: `{"error":{"message":"This model's maximum context length is 500 ` +
			`tokens.","code":"context_length_exceeded"}}`})
	b.Model.On(openaitest.Rule{Stage: "turn", Match: "Where is crate 2", Results: new(0),
		Offers: []string{"grep_content"}, Calls: []llm.ToolCall{
			saying("grep_content", map[string]any{"pattern": "crate number 2 "})}})
	b.Model.On(openaitest.Rule{Stage: "turn", Last: llm.RoleTool, ReplyFunc: func(c openaitest.Call) string {
		return "Found: " + c.Messages[len(c.Messages)-1].Content
	}})
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "Noted."})
	b.Model.On(openaitest.Rule{Stage: "nudge", Reply: "Nothing to save."})
	b.Model.On(openaitest.Rule{Stage: "flush", Reply: "Nothing to save."})
	b.Model.On(openaitest.Rule{Stage: "offload", ReplyFunc: func(c openaitest.Call) string {
		if strings.Contains(c.Messages[1].Content, "spoilt") || len(c.Messages) > 2 {
			return "hello"
		}
		return snapshotOf(c)
	}})
	row := func(t *testing.T, conversationID string) (records, requests, degraded int) {
		t.Helper()
		testkit.Must(t, b.Admin().QueryRow(t.Context(), `select count(*), count(*) filter (where degraded <> '') `+
			`from cairn.compactions where conversation_id = $1`, view(b, conversationID).ID).Scan(&records, &degraded))
		testkit.Must(t, b.Admin().QueryRow(t.Context(), `select count(*) from cairn.llm_calls c join cairn.runs r `+
			`on r.id = c.run_id where r.conversation_id = $1 and r.kind in ('offload', 'flush')`,
			view(b, conversationID).ID).Scan(&requests))
		return records, requests, degraded
	}
	finds := func(t *testing.T, conversationID string, n int, change ...func(*conversation.Request)) {
		t.Helper()
		if got := b.Say(conversationID, n, "Where is crate 2?", change...); !strings.Contains(got.Reply, "W-7002") {
			t.Errorf("answered %q", got.Reply)
		}
	}
	t.Run("a model that spoils its records", func(t *testing.T) {
		for n := range 5 {
			b.Say("spoilt", n, "spoilt: "+crates(n))
		}
		finds(t, "spoilt", 5)
		var record string
		testkit.Must(t, b.Admin().QueryRow(t.Context(), "select r.workflow_id from cairn.compactions c join "+
			"cairn.runs r on r.id = c.run_id where c.conversation_id = $1", view(b, "spoilt").ID).Scan(&record))
		b.Record(record, "Offload/degraded")
		if records, requests, degraded := row(t, "spoilt"); records != 1 || degraded != 1 || requests != 3 {
			t.Errorf("%d records, %d of them by rule, %d requests", records, degraded, requests)
		}
	})
	t.Run("a voice that cannot wait", func(t *testing.T) {
		for n := range 5 {
			b.Say("voice", n, crates(n), on("voice"))
		}
		finds(t, "voice", 5, on("voice"))
		if records, requests, degraded := row(t, "voice"); records != 1 || degraded != 1 || requests != 0 {
			t.Errorf("%d records, %d of them by rule, %d requests", records, degraded, requests)
		}
	})
	t.Run("again and again", func(t *testing.T) {
		for n := range 10 {
			b.Say("long", n, crates(n))
		}
		finds(t, "long", 10)
		records, requests, degraded := row(t, "long")
		if records < 2 || degraded != 0 || requests != 2*records {
			t.Errorf("%d records, %d of them by rule, %d requests", records, degraded, requests)
		}
		before := 0
		for _, c := range asked(b, "offload") {
			if strings.Contains(c.Messages[1].Content, "Earlier in this conversation") {
				before++
			}
		}
		if before != records-1 {
			t.Errorf("%d of %d records were made of the one before", before, records)
		}
	})
	t.Run("a model that takes less than is known", func(t *testing.T) {
		for n := range 3 {
			b.Say("narrow", n, crates(n))
		}
		if got := b.Say("narrow", 3, "Is this too long for you?"); got.Reply != "Noted." {
			t.Errorf("answered %q", got.Reply)
		}
		if records, requests, degraded := row(t, "narrow"); records != 1 || degraded != 0 || requests != 2 {
			t.Errorf("%d records, %d of them by rule, %d requests", records, degraded, requests)
		}
		last := asked(b, "turn")
		if text := last[len(last)-1].Messages[1].Content; !strings.Contains(text, "Earlier in this conversation: ") {
			t.Errorf("the last request begins with %.80q", text)
		}
		finds(t, "narrow", 4)
	})
	t.Run("an exchange of another agent that is longer than the window", func(t *testing.T) {
		r := observed(b, "watched", 0, "hi")
		r.Messages[len(r.Messages)-1].Content = strings.Repeat(chatter(2)+"\n", 40)
		_, err := b.App.Messages.SendMessage(t.Context(), r)
		testkit.Must(t, err)
		finds(t, "watched", 1)
	})
	validThreads(t, b)
}
