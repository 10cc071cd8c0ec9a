package e2e_test

import (
	"strings"
	"testing"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/approval"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/prompt"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/library"
	memories "cairn/internal/service/memory"
	"cairn/internal/testkit"
)

// told returns the message that a request answers, with the context before it.
func told(c openaitest.Call) string {
	for i := len(c.Messages) - 1; i >= 0; i-- {
		if c.Messages[i].Role == llm.RoleUser && prompt.WithoutContext(c.Messages[i].Content) != c.Messages[i].Content {
			return c.Messages[i].Content
		}
	}
	return ""
}

// pinned returns the context in the row of a turn.
func pinned(b *apptest.Bundle, message string) string {
	b.T.Helper()
	return strings.Join(column[string](b, "select context from cairn.turns where message_id = $1", message), "|")
}

// Volatile context is part of the message. It is equal in all requests and attempts of a turn
// and is never part of the frozen prompt.
func TestTheTimeIsToldWithTheMessageAndPinned(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	exec(b, "update cairn.workspaces set time_zone = 'Asia/Tokyo' where id = $1", b.Workspace.ID)
	b.Model.On(openaitest.Rule{Stage: "turn", Results: new(0), Times: 1, Status: 500, Reply: "try again"})
	b.Model.On(openaitest.Rule{Stage: "turn", Results: new(0), CallsFunc: looking})
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "It is late."})
	before := time.Now()
	b.Say("c", 1, "What time is it?")
	context := pinned(b, "m1")
	tokyo, err := time.LoadLocation("Asia/Tokyo")
	testkit.Must(t, err)
	lines := strings.Split(context, "\n")
	var at time.Time
	if len(lines) > 1 {
		stamp, _, _ := strings.Cut(lines[1], " (Asia/Tokyo, UTC+09:00).")
		at, err = time.ParseInLocation("It is Monday, 2 January 2006, 15:04", stamp, tokyo)
	}
	if err != nil || at.Before(before.Add(-2*time.Minute)) || at.After(time.Now().Add(2*time.Minute)) {
		t.Fatalf("the context is %q, %v", context, err)
	}
	all := asked(b, "turn")
	if len(all) != 3 {
		t.Fatalf("%d requests, want a failure, a look and an answer", len(all))
	}
	for i, r := range all {
		if told(r) != context+"What time is it?" {
			t.Errorf("request %d says %q", i+1, told(r))
		}
		if strings.Contains(r.Messages[0].Content, at.Format("2 January 2006")) {
			t.Errorf("the frozen prompt holds a date")
		}
	}
	if n := count(b, "select count(*) from cairn.messages where content like '%<context>%'"); n != 0 {
		t.Errorf("the transcript holds %d contexts", n)
	}
}

func TestNewsIsToldWithTheMessage(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	exec(b, `update cairn.workspaces set settings = '{"write_approval": {"skills": "all"}}' where id = $1`,
		b.Workspace.ID)
	b.Model.On(openaitest.Rule{Stage: "turn", Last: llm.RoleUser, Match: "^improve", Calls: []llm.ToolCall{
		saying("skill_patch", map[string]string{"name": "deploy-web", "old_string": "Run the tests.",
			"new_string": "Run all the tests."})}})
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "All right."})
	save := func(name string) {
		_, err := b.Library.Save(t.Context(), by(b, agent.OriginUser),
			library.SaveArgs{Name: name, Description: "About " + strings.Repeat(name+" ", 3),
				Content: strings.ReplaceAll(procedure, "site", name), AllowSimilar: true})
		testkit.Must(t, err)
	}
	save("deploy-web")
	b.Say("c", 1, "Hello")
	if got := pinned(b, "m1"); strings.Contains(got, "deploy-web") {
		t.Errorf("what the prompt holds is told as news: %s", got)
	}
	save("cook-rice")
	b.Say("c", 2, "improve it")
	b.Say("d", 9, "Hello") // another conversation of the same session
	for _, m := range []string{"m2", "m9"} {
		if got := pinned(b, m); !strings.Contains(got,
			"New or changed since the index of skills was read: cook-rice.") {
			t.Errorf("%s is told %s", m, got)
		}
	}
	waiting := pendingChanges(t, b)
	if len(waiting) != 1 {
		t.Fatalf("%d changes wait", len(waiting))
	}
	_, err := b.Library.ApproveChange(t.Context(), b.Workspace.ID, waiting[0].ID, approval.Decision{})
	testkit.Must(t, err)
	const approved = "A person has approved the proposed change of: deploy-web."
	b.Say("c", 3, "And now?")
	if got := pinned(b, "m3"); !strings.Contains(got, approved) || !strings.Contains(got, "cook-rice, deploy-web") {
		t.Errorf("after the approval: %s", got)
	}
	b.Say("c", 4, "And now?")
	if got := pinned(b, "m4"); strings.Contains(got, approved) {
		t.Errorf("the approval is told twice: %s", got)
	}
}

// The agent that answers from long-term memory gets the current targets, although its prompt is
// frozen.
func TestFreshTargetsAreToldWithTheMessage(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	exec(b, `update cairn.workspaces set settings = '{"agent": "remy"}' where id = $1`, b.Workspace.ID)
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "All right."})
	b.Say("c", 1, "Hello")
	if got := pinned(b, "m1"); strings.Contains(got, "memories about") {
		t.Errorf("what the prompt holds is told as news: %s", got)
	}
	_, err := b.LongTerm.AddTargets(t.Context(), by(b, agent.OriginUser),
		[]memories.NewTarget{{Type: memory.Personal, Target: "Ada"}})
	testkit.Must(t, err)
	b.Say("c", 2, "Hello again")
	last := asked(b, "turn")
	if got := pinned(b, "m2"); !strings.Contains(got, "personal(Ada)") || told(last[len(last)-1]) != got+"Hello again" {
		t.Errorf("told %s", got)
	}
	if prefix(t, last[0]) != prefix(t, last[len(last)-1]) {
		t.Error("the prompt changed within its session")
	}
}

// An agent can search the text of other conversations if it names the source chunks. The sources
// memory and notes do not contain that text.
func TestWhatWasSaidIsLookedUpWordForWord(t *testing.T) {
	t.Parallel()
	b := apptest.Open(t)
	for match, sources := range map[string][]string{"^where": {"chunks"}, "^who": {"memory", "notes"}} {
		b.Model.On(openaitest.Rule{Stage: "turn", Last: llm.RoleUser, Match: match,
			Calls: []llm.ToolCall{saying("memory_search",
				map[string]any{"query": "parcel in the locker", "sources": sources})}})
	}
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "All right."})
	last := func() string { all := asked(b, "turn"); return all[len(all)-1].Last }
	b.Say("c", 1, "The parcel is in locker 47.")
	b.Say("d", 1, "where is it?")
	if got := last(); !strings.Contains(got, "The parcel is in locker 47.") ||
		!strings.Contains(got, `"type":"turn"`) || !strings.Contains(got, `"conversation":"c"`) {
		t.Errorf("found %s", got)
	}
	b.Say("d", 2, "who knows?")
	if got := last(); strings.Contains(got, "locker 47") {
		t.Errorf("among facts and notes it found %s", got)
	}
}
