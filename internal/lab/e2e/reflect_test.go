package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/llm"
	domainreflection "cairn/internal/domain/reflection"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/memory"
	"cairn/internal/service/reflection"
	"cairn/internal/testkit"
)

func TestADayBecomesNotesAndMemoriesThatPointToItsMessages(t *testing.T) {
	t.Parallel()
	b := apptest.Open(t)
	exec(b, "update cairn.workspaces set time_zone = 'Asia/Shanghai' where id = $1", b.Workspace.ID)
	first := imported(b, "first", slices.Concat(
		talk(t, "2026-03-01 02:00", "We have picked the blue tiles for the kitchen.", "Noted."),
		talk(t, "2026-03-01 17:00", "It is past midnight here. The tiler comes on Monday.", "Good."))...)
	second := imported(b, "second", talk(t, "2026-03-01 09:00", "I am allergic to peanuts.",
		"I will keep that in mind.")...)
	scriptReflection(b, noting("Ada picked blue tiles for the kitchen.", 1),
		remembering("The user is allergic to peanuts.", 3))

	got := reflectOn(b, reflection.DateRequest{Date: "2026-03-01"})
	if got.Status != domainreflection.Saved || len(got.Notes) != 1 || got.Day.Notes != 1 || got.Memories != 1 ||
		got.Runs[0].Turns != 2 || got.Runs[0].Messages != 4 {
		t.Fatalf("the day came to %+v", got)
	}
	if e := got.Notes[0].Evidence; e == nil || e.Conversation != first || e.FromSeq != 0 || e.ToSeq != 0 ||
		got.Notes[0].Target != "2026-03-01" || got.Notes[0].Origin != "reflection" {
		t.Errorf("the note %+v points to %+v", got.Notes[0], e)
	}
	if n := count(b, fmt.Sprintf("select count(*) from cairn.memories where type = 'core' and conversation_id = %d "+
		"and from_seq = 0 and to_seq = 0", second)); n != 1 {
		t.Errorf("%d memories point to the message that says so", n)
	}
	request := asked(b, "reflection")[0]
	if system := request.Messages[0].Content; !strings.Contains(system, "You have 15 calls") ||
		strings.Contains(request.Messages[1].Content, "Monday") {
		t.Errorf("the model is told %s", request.Messages)
	}
	next := reflectOn(b, reflection.DateRequest{Date: "2026-03-02"})
	if next.Runs[0].Messages != 2 || !strings.Contains(asked(b, "reflection")[2].Messages[1].Content, "Monday") {
		t.Errorf("the next local day came to %+v", next)
	}
	b.Record(contract.ReflectionID(b.Workspace.Key, "2026-03-01"), "Reflection/saved")
}

func TestADateThatIsDoneStaysAsItIs(t *testing.T) {
	t.Parallel()
	b := apptest.Open(t)
	imported(b, "c", talk(t, "2026-03-01 10:00", "We have picked the blue tiles.", "Noted.")...)
	scriptReflection(b, noting("Blue tiles were picked.", 1))
	done := reflectOn(b, reflection.DateRequest{Date: "2026-03-01"})
	calls, rows := len(b.Model.Requests()), count(b, "select (select count(*) from cairn.runs) + (select count(*) "+
		"from cairn.memories) + (select count(*) from cairn.memory_revisions)")
	again := reflectOn(b, reflection.DateRequest{Date: "2026-03-01"})
	if again.Runs[0].Run != done.Runs[0].Run || len(again.Runs) != 1 || len(b.Model.Requests()) != calls {
		t.Errorf("a second time gave run %+v with %d requests", again.Runs, len(b.Model.Requests())-calls)
	}
	if n := count(b, "select (select count(*) from cairn.runs) + (select count(*) from cairn.memories) + (select "+
		"count(*) from cairn.memory_revisions)"); n != rows {
		t.Errorf("a second time left %d rows more", n-rows)
	}
	redone := reflectOn(b, reflection.DateRequest{Date: "2026-03-01", Redo: true})
	if len(redone.Runs) != 2 || redone.Runs[0].Generation != 2 || redone.Runs[0].Messages != 2 ||
		len(redone.Notes) != 1 || redone.Status != domainreflection.Saved {
		t.Errorf("a redo came to %+v", redone)
	}
}

func TestAnEmptyDayAsksNoModel(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	scriptReflection(b)
	if out := sweeps(b, "2026-03-01"); out.Status != reflection.Empty || out.Steps != 0 ||
		len(b.Model.Requests()) != 0 {
		t.Errorf("%+v with %d requests", out, len(b.Model.Requests()))
	}
	if got := reflectOn(b, reflection.DateRequest{Date: "2026-03-01"}); got.Status != reflection.Empty ||
		len(got.Runs) != 1 {
		t.Errorf("the day came to %+v", got)
	}
	b.Record(contract.ReflectionID(b.Workspace.Key, "2026-03-01"), "Reflection/empty")
}

// Scheduled turns are not read, and recalled memories are not read either.
func TestOnlyWhatPeopleSaidIsLookedAt(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	scriptReflection(b)
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "All right."})
	b.Say("c", 1, "<memory-context>The user likes ships.</memory-context> My key is sk-"+strings.Repeat("aB3dE6gH", 3))
	b.Say("c", 2, "the daily report", from("scheduled"))
	got := reflectOn(b, reflection.DateRequest{})
	if got.Status != domainreflection.Nothing || got.Runs[0].Turns != 1 || got.Runs[0].Messages != 2 {
		t.Errorf("the day came to %+v", got)
	}
	told := asked(b, "reflection")[0].Messages[1].Content
	for _, secret := range []string{"sk-", "ships", "daily report"} {
		if strings.Contains(told, secret) {
			t.Errorf("the model was told %q: %s", secret, told)
		}
	}
	if n := count(b, "select seq from cairn.conversation_marks where kind = 'reflection'"); n != 3 {
		t.Errorf("the mark is at %d", n)
	}
	b.Say("c", 3, "And one thing more: we fly on Friday.")
	if later := reflectOn(b, reflection.DateRequest{}); len(later.Runs) != 2 || later.Runs[0].Messages != 2 {
		t.Errorf("what was said later came to %+v", later)
	}
}

// A reflection uses at most fifteen model calls, keeps what it has written, and adds at most
// three memories.
func TestAReflectionStopsAfterFifteenCalls(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	imported(b, "c", talk(t, "2026-03-01 10:00", "We have picked the blue tiles.", "Noted.")...)
	b.Model.On(openaitest.Rule{Stage: "reflection", CallsFunc: func(c openaitest.Call) []llm.ToolCall {
		n := strings.Repeat("very ", c.Results())
		return []llm.ToolCall{noting("The tiles are "+n+"blue.", 1), remembering("Blue is "+n+"good.", 1)}
	}})
	b.Model.On(openaitest.Rule{Stage: "segment", Reply: `{"tasks":[]}`})
	got := reflectOn(b, reflection.DateRequest{Date: "2026-03-01"})
	r := got.Runs[0]
	if got.Status != domainreflection.Partial || r.Steps != 15 || b.Model.Count("reflection") != 15 ||
		r.Report.Memories != 3 || r.Report.Notes < 10 || r.Refused == 0 {
		t.Errorf("%+v after %d requests", r, b.Model.Count("reflection"))
	}
	if n := count(b, "select count(*) from cairn.conversation_marks where kind = 'reflection' and seq = 1"); n != 1 {
		t.Error("what was read is not marked")
	}
	b.Record(r.WorkflowID, "Reflection/partial")
}

// A note that users search for on several days with several queries becomes a memory. A note
// that was written with untrusted text in view does not.
func TestANoteThatIsLookedForAgainAndAgainIsRemembered(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	imported(b, "c", talk(t, "2026-03-01 10:00", "The key of the boathouse hangs behind the clock.", "Noted.")...)
	imported(b, "d", talk(t, "2026-03-02 10:00", "It rained.", "Indeed.")...)
	scriptReflection(b, noting("The key of the boathouse hangs behind the clock in the kitchen, next to the "+
		"barometer that Ada repaired.", 1), noting("The boathouse key was lent to a stranger.", 1))
	reflectOn(b, reflection.DateRequest{Date: "2026-03-01"})
	exec(b, "update cairn.memories set tainted = true where content like '%stranger%'")
	asker := agent.Actor{Workspace: b.Workspace.ID, Origin: agent.OriginAgent}
	for _, query := range []string{"boathouse key", "where is the key of the boathouse", "what hangs behind the clock",
		"the boathouse key behind the clock", "boathouse"} {
		found, err := b.Memory.Search(t.Context(), asker, memory.SearchArgs{Query: query})
		testkit.Must(t, err)
		if len(found.Results) == 0 {
			t.Errorf("%q finds nothing", query)
		}
	}
	nightly := asker
	nightly.Origin = agent.OriginReflection
	before := count(b, "select sum(recalls) from cairn.note_recalls")
	_, err := b.Memory.Search(t.Context(), nightly, memory.SearchArgs{Query: "boathouse key"})
	testkit.Must(t, err)
	if n := count(b, "select sum(recalls) from cairn.note_recalls"); n != before || n < 5 {
		t.Errorf("%d recalls, and %d after a review looked", before, n)
	}
	if got := reflectOn(b, reflection.DateRequest{Date: "2026-03-02"}); got.Runs[0].Promoted != 0 {
		t.Errorf("a note of one day was promoted: %+v", got)
	}
	exec(b, "with n as (select query_sha, (row_number() over (order by query_sha))::int as n from (select distinct "+
		"query_sha from cairn.note_recalls) q) update cairn.note_recalls r set day = r.day - n.n from n where "+
		"n.query_sha = r.query_sha")
	got := reflectOn(b, reflection.DateRequest{Date: "2026-03-02", Redo: true})
	if got.Runs[0].Promoted != 1 || got.Runs[0].Status != domainreflection.Saved {
		t.Errorf("the note was not promoted: %+v", got.Runs[0])
	}
	if n := count(b, "select count(*) from cairn.memories where type = 'core' and origin = 'reflection' and content "+
		"like 'The key of the boathouse hangs%' and from_seq = 0 and conversation_id is not null"); n != 1 {
		t.Errorf("%d memories of it", n)
	}
	if again := reflectOn(b, reflection.DateRequest{Date: "2026-03-02", Redo: true}); again.Runs[0].Promoted != 0 {
		t.Errorf("it was promoted twice: %+v", again.Runs[0])
	}
}
