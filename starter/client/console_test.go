package client_test

import (
	"errors"
	"fmt"
	"iter"
	"net/url"
	"strings"
	"testing"
	"time"

	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/testkit"
	"cairn/starter/client"
)

// all returns the items of an iterator, which must not end with an error.
func all[T any](t *testing.T, items iter.Seq2[T, error]) (out []T) {
	t.Helper()
	for item, err := range items {
		testkit.Must(t, err)
		out = append(out, item)
	}
	return out
}

// first returns the first error of an iterator. Nothing may follow it.
func first[T any](t *testing.T, items iter.Seq2[T, error]) (found error) {
	t.Helper()
	for _, err := range items {
		if found != nil {
			t.Error("the iterator goes on after an error")
		}
		found = err
	}
	return found
}

// admin runs SQL as the administrator of the database.
func (b *bundle) admin(sql string, args ...any) {
	b.T.Helper()
	_, err := b.Admin().Exec(b.T.Context(), sql, args...)
	testkit.Must(b.T, err)
}

// remember has a turn of the conversation "kitchen" save a memory.
func (b *bundle) remember() client.TurnAnswer {
	b.T.Helper()
	b.Start()
	b.Model.On(openaitest.Rule{Stage: "turn", Results: new(0), Times: 1, Calls: []openaitest.ToolCall{{ID: "call_1",
		Name: "memory_save", Arguments: `{"content":"Ada likes green tea."}`}}})
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "Noted."})
	answer, err := b.client.Chat(b.T.Context(), "kitchen", "I like green tea.")
	testkit.Must(b.T, err)
	return answer
}

func TestATurnIsExaminedByProgram(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	answer := b.remember()
	b.App.Config.TemporalUI = "https://temporal.example"

	runs := all(t, b.client.Runs(ctx, client.RunFilter{Kind: "turn", Conversation: "kitchen", Status: "ended"}))
	if len(runs) != 1 || runs[0].ID != answer.Run || runs[0].Calls != 2 || runs[0].CostMicros != nil {
		t.Fatalf("%+v", runs)
	}
	if none := all(t, b.client.Runs(ctx, client.RunFilter{Model: "other"})); len(none) != 0 {
		t.Errorf("%+v", none)
	}
	line, err := b.client.RunTimeline(ctx, answer.Run)
	if err != nil || len(line.Spans) != 3 || len(line.ToolCalls) != 1 || line.ToolCalls[0].Tool != "memory_save" {
		t.Fatalf("%+v, %v", line, err)
	}
	call, err := b.client.ModelCall(ctx, answer.Run, line.Spans[0].Name, 0, false)
	if err != nil || call.Reply == nil || call.Reply.ToolCalls[0].Name != "memory_save" || len(call.Tools) == 0 {
		t.Errorf("%+v, %v", call, err)
	}
	if _, err := b.client.ModelCall(
		ctx,
		answer.Run,
		line.Spans[0].Name,
		7,
		false,
	); !errors.Is(
		err,
		client.ErrNotFound,
	) {
		t.Errorf("an unknown round: %v", err)
	}
	if _, err := b.client.ModelCall(ctx, answer.Run, line.Spans[0].Name, 0, true); err != nil {
		t.Error(err)
	}
	if seen := all(t, b.client.Audit(ctx, client.AuditFilter{Action: "prompt.unmask"})); len(seen) != 1 ||
		seen[0].Actor.Kind != "key" {
		t.Errorf("%+v", seen)
	}
	b.admin(`update cairn.llm_calls set cost_micros = 250 where run_id = $1`, answer.Run)
	usage, err := b.client.Usage(ctx, "", "")
	if err != nil || len(usage) != 1 || usage[0].Calls != 2 || usage[0].CostMicros != 500 || usage[0].Kind != "turn" {
		t.Errorf("%+v, %v", usage, err)
	}
	if _, err := b.client.Usage(ctx, "2027-01-02", "2027-01-01"); !errors.Is(err, client.ErrInvalidArgument) {
		t.Errorf("days in the wrong order: %v", err)
	}

	turns, err := b.client.TurnRecords(ctx, "kitchen", 1)
	if err != nil || len(turns) != 1 || turns[0].Run != answer.Run || len(turns[0].Remembered) != 1 {
		t.Fatalf("%+v, %v", turns, err)
	}
	talk, err := b.client.Conversation(ctx, "kitchen")
	if err != nil || talk.Turns != 1 || talk.WorkflowID == "" ||
		!strings.HasSuffix(talk.Link, url.PathEscape(talk.WorkflowID)) {
		t.Errorf("%+v, %v", talk, err)
	}
	evidence, err := b.client.MemoryEvidence(ctx, turns[0].Remembered[0].ID)
	if err != nil || len(evidence) != 1 || evidence[0].Conversation != "kitchen" ||
		evidence[0].Messages[0].Text != "I like green tea." {
		t.Errorf("%+v, %v", evidence, err)
	}
}

func TestConversationsAreListedByProgram(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	for _, c := range []string{"kitchen", "garden"} {
		_, err := b.client.Turn(
			ctx,
			client.TurnRequest{Conversation: c, MessageID: "m1", Text: "Hello."},
			client.Wait(0),
		)
		testkit.Must(t, err)
	}
	if found := all(t, b.client.Conversations(ctx, client.ConversationFilter{Query: "kitch"})); len(found) != 1 ||
		found[0].ID != "kitchen" {
		t.Errorf("%+v", found)
	}
	// More than a page, of equal times.
	b.admin(`insert into cairn.conversations (workspace_id, external_id, title, channel)
  select $1, 'import ' || i, 'import ' || i, 'import' from generate_series(1, 450) i`, b.Workspace.ID)
	seen := map[string]bool{}
	for _, c := range all(t, b.client.Conversations(ctx, client.ConversationFilter{})) {
		seen[c.ID] = true
	}
	if len(seen) != 452 {
		t.Errorf("%d conversations, want 452", len(seen))
	}
	for c, err := range b.client.Conversations(ctx, client.ConversationFilter{Channel: "import"}) {
		if err != nil || c.Channel != "import" {
			t.Errorf("%+v, %v", c, err)
		}
		break // and requests no second page
	}
	if err := first(t, b.client.Conversations(ctx, client.ConversationFilter{Channel: "x"})); !errors.Is(err,
		client.ErrInvalidArgument) {
		t.Errorf("an unknown channel: %v", err)
	}
}

func TestMemoriesAreExaminedByProgram(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	added, err := b.client.Add(ctx, client.NewMemory{Type: "personal", Target: "bob", Content: "Lives in Osaka."})
	testkit.Must(t, err)
	id := added.IDs[0]
	_, err = b.client.Update(ctx, id, "Lives in Kyoto.")
	testkit.Must(t, err)
	b.admin(`update cairn.memory_revisions set created_at = now() - interval '2 days' where version = 1`)
	b.admin(`update cairn.memories set created_at = now() - interval '2 days'`)
	then := all(t, b.client.Memories(ctx, client.MemoryFilter{AsOf: time.Now().Add(-24 * time.Hour)}))
	if len(then) != 1 || then[0].Content != "Lives in Osaka." || !then[0].Changed || then[0].Now != "Lives in Kyoto." {
		t.Errorf("%+v", then)
	}
	_, err = b.client.Delete(ctx, id)
	testkit.Must(t, err)
	for range 2 {
		back, err := b.client.Restore(ctx, id, 1, client.RequestID("back"))
		if err != nil || len(back.IDs) != 1 || back.IDs[0] != id {
			t.Fatalf("%+v, %v", back, err)
		}
	}
	now := all(t, b.client.Memories(ctx, client.MemoryFilter{Type: "personal", Target: "bob", Status: "active"}))
	if len(now) != 1 || now[0].Content != "Lives in Osaka." || now[0].Version != 4 {
		t.Errorf("%+v", now)
	}
	if views := all(t, b.client.MemoryViews(ctx, id)); len(views) != 0 {
		t.Errorf("%+v", views)
	}
	if err := first(t, b.client.MemoryViews(ctx, "0000000000000000")); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("an unknown memory: %v", err)
	}
}

func TestSkillsAreExaminedByProgram(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ScriptR1()
	b.Start()
	report := b.Distill(apptest.C1())
	name := report.Tasks[0].Skill
	evidence, err := b.client.SkillEvidence(t.Context(), name, 0)
	if err != nil || len(evidence) != 1 || len(evidence[0].Messages) == 0 {
		t.Errorf("%+v, %v", evidence, err)
	}
	if uses := all(t, b.client.SkillUses(t.Context(), name)); len(uses) != 0 {
		t.Errorf("%+v", uses)
	}
	if _, err := b.client.SkillEvidence(t.Context(), name, 9); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("an unknown version: %v", err)
	}
}

func TestAWorkspaceIsManagedByProgram(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	secret, made, err := b.client.CreateKey(ctx, client.NewKey{Name: "shop", Scopes: []string{"read"}})
	testkit.Must(t, err)
	reader := b.open(client.Config{URL: b.server.URL, Key: secret})
	if _, err := reader.Keys(ctx); !errors.Is(err, client.ErrOutOfScope) {
		t.Errorf("a reader lists keys: %v", err)
	}
	keys, err := b.client.Keys(ctx)
	if err != nil || len(keys) != 2 || keys[1].ID != made.ID || keys[1].RevokedAt != nil {
		t.Errorf("%+v, %v", keys, err)
	}
	h, err := b.App.Keys.Principal(ctx, secret)
	testkit.Must(t, err)
	_, err = b.Sessions.SignIn(ctx, "", h)
	testkit.Must(t, err)
	sessions, err := b.client.Sessions(ctx)
	if err != nil || len(sessions) != 1 || sessions[0].Name != "shop" {
		t.Fatalf("%+v, %v", sessions, err)
	}
	testkit.Must(t, b.client.EndSession(ctx, sessions[0].ID))
	if err := b.client.EndSession(ctx, sessions[0].ID); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("an ended session: %v", err)
	}
	testkit.Must(t, b.client.RevokeKey(ctx, made.ID))
	if keys, err = b.client.Keys(ctx); err != nil || keys[1].RevokedAt == nil {
		t.Errorf("%+v, %v", keys, err)
	}

	changed, err := b.client.ChangeSettings(ctx, map[string]any{"nudge": map[string]any{"every": 7}})
	if err != nil || fmt.Sprint(changed["nudge"].(map[string]any)["every"]) != "7" {
		t.Errorf("%v, %v", changed, err)
	}
	if is, err := b.client.Settings(ctx); err != nil || fmt.Sprint(is) != fmt.Sprint(changed) {
		t.Errorf("%v, %v", is, err)
	}
	if _, err := b.client.ChangeSettings(ctx, map[string]any{"nudge": 7}); !errors.Is(err, client.ErrInvalidArgument) {
		t.Errorf("an invalid setting: %v", err)
	}
	described, err := b.client.SettingDescriptions(ctx)
	if err != nil || len(described) < 20 || described[0].Description == "" {
		t.Errorf("%d descriptions, %v", len(described), err)
	}
	events := all(t, b.client.Audit(ctx, client.AuditFilter{Since: time.Now().Add(-time.Hour), Until: time.Now().
		Add(time.Hour)}))
	actions := ""
	for _, e := range events {
		actions = e.Action + " " + actions
	}
	if actions != "key.create key.create console.sign_in console.sign_out key.revoke settings.change " {
		t.Errorf("audit %s", actions)
	}
}

func TestDeliveriesAreManagedByProgram(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	b.admin(`insert into cairn.outbox (workspace_id, kind, key, due_at)
  values ($1, 'embed', '9', now() + interval '1 h')`, b.Workspace.ID)
	tasks := all(t, b.client.Outbox(ctx))
	if len(tasks) != 1 || tasks[0].Kind != "embed" {
		t.Fatalf("%+v", tasks)
	}
	testkit.Must(t, b.client.RetryOutboxTask(ctx, tasks[0].ID))
	if again := all(t, b.client.Outbox(ctx)); again[0].DueAt.After(time.Now().Add(time.Minute)) {
		t.Errorf("%+v", again)
	}

	gateway, _, err := b.App.Keys.CreateGateway(ctx, "desk", "desk", nil)
	testkit.Must(t, err)
	b.admin(`insert into cairn.pairings (account, user_id, name, code, purpose, expires_at)
  values ('desk', '7', 'Ada', 'AAAABBBB', 'approve', now() + interval '1 h')`)
	person, err := b.open(client.Config{URL: b.server.URL, Key: gateway}).ApprovePerson(ctx, "AAAABBBB")
	if err != nil || person.Name != "Ada" {
		t.Fatalf("%+v, %v", person, err)
	}
	b.admin(`update cairn.identities set workspace_id = $1`, b.Workspace.ID)
	if people := all(t, b.client.People(ctx)); len(people) != 1 || people[0].User != "7" {
		t.Errorf("%+v", people)
	}
	b.admin(`with route as (insert into cairn.channel_routes (workspace_id, account, chat, conversation)
  values ($1, 'desk', '7', 'desk/7') returning id)
insert into cairn.deliveries (workspace_id, route_id, source, body, state, reason, ended_at)
select $1, id, v, '{"text": "Hello."}', 'dead', 'unreachable', now() from route, (values ('1'), ('2')) s(v)`,
		b.Workspace.ID)
	dead := all(t, b.client.Deliveries(ctx, "dead"))
	if len(dead) != 2 || dead[0].Place.Chat != "7" || dead[0].Reason != "unreachable" {
		t.Fatalf("%+v", dead)
	}
	testkit.Must(t, b.client.RetryDelivery(ctx, dead[0].ID))
	testkit.Must(t, b.client.DropDelivery(ctx, dead[1].ID))
	states := ""
	for _, d := range all(t, b.client.Deliveries(ctx, "")) {
		states += d.State + " "
	}
	if states != "ready dropped " {
		t.Errorf("states %s", states)
	}
	if err := b.client.DropDelivery(ctx, dead[1].ID); err == nil {
		t.Error("a dropped delivery was dropped again")
	}
}
