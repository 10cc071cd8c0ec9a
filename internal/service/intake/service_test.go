package intake_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"cairn/internal/domain/conversation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/distill"
	"cairn/internal/service/intake"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// distills counts the conversations that are distilled.
type distills struct {
	accepted []string
	outcome  transcript.Verdict
}

func (d *distills) Accept(_ context.Context, r distill.Request) (run.Run, bool, error) {
	d.accepted, d.outcome = append(d.accepted, r.Conversation.ID), r.Spec.Outcome
	return run.Run{}, true, nil
}

func open(t *testing.T, store store.Imports) (*intake.Service, *distills) {
	t.Helper()
	d := &distills{}
	s := intake.New(
		intake.Ports{Store: store, Distills: d, DistillSpec: func() distill.Spec { return distill.Spec{} }},
	)
	return s, d
}

// files reads files of a text.
func files(t *testing.T, name, content string) (out []intake.File) {
	t.Helper()
	r := intake.Reader{}
	testkit.Must(t, r.Read(name, strings.NewReader(content), func(f intake.File) error {
		out = append(out, f)
		return nil
	}))
	return out
}

func TestAnImportKeepsAllDetailsAndStoresNothingTwice(t *testing.T) {
	db := pgtest.Open(t)
	s, _ := open(t, db.Imports())
	// The sample has all details but images.
	raw, err := os.ReadFile("../../domain/transcript/intake/testdata/claude-code/sample.jsonl")
	testkit.Must(t, err)
	request := intake.Request{Workspace: db.A.ID, Files: files(t, "sample.jsonl", string(raw))}
	first, err := s.Accept(t.Context(), request)
	testkit.Must(t, err)
	again, err := s.Accept(t.Context(), request)
	testkit.Must(t, err)
	if !first[0].New || again[0].New || first[0].ID != again[0].ID || first[0].StoredAt != nil {
		t.Errorf("accepted as %+v, then as %+v", first, again)
	}
	for range 2 {
		testkit.Must(t, s.StoreConversations(t.Context(), db.A, first[0].ID))
	}
	if n := db.Number(`select count(*) from conversations`); n != 1 {
		t.Fatalf("%d conversations", n)
	}
	if n := db.Number(`select count(*) from outbox where kind = 'import'`); n != 0 {
		t.Errorf("%d tasks are left", n)
	}
	var got transcript.Conversation
	id := int64(db.Number(`select id from conversations`))
	err = db.Store.InWorkspaceByKeys(t.Context(), db.A.ID, func(ctx context.Context, tx store.Tx) (err error) {
		got, err = tx.Transcripts().Conversation(ctx, id, 0, 100)
		return err
	})
	testkit.Must(t, err)
	for i, m := range request.Files[0].Result.Conversations[0].Messages {
		if !reflect.DeepEqual(got.Messages[i].Details, m.Details) || got.Messages[i].Content != m.Content {
			t.Errorf("message %d is stored as %+v, want %+v", i, got.Messages[i].Details, m.Details)
		}
	}
	one, err := s.Get(t.Context(), db.A.ID, first[0].ID)
	testkit.Must(t, err)
	if one.StoredAt == nil || one.Stored != 1 || len(one.Conversations) != 1 ||
		one.Report.Messages != len(got.Messages) {
		t.Errorf("the import is %+v", one)
	}
}

// threeTalks holds three conversations.
const threeTalks = `{"messages":[{"role":"user","content":"one"}]}
{"messages":[{"role":"user","content":"two"}]}
{"messages":[{"role":"user","content":"three"}]}
`

func TestAnInterruptedImportContinues(t *testing.T) {
	db := pgtest.Open(t)
	var d *distills
	killed := false
	// The process is killed once, when the second conversation is accepted to distill and before it is counted.
	dying := store.Imports{Store: db.Intercept(func(_ context.Context, run func() error) error {
		if len(d.accepted) == 2 && !killed {
			killed = true
			return errors.New("killed")
		}
		return run()
	})}
	s, d := open(t, dying)
	made, err := s.Accept(t.Context(), intake.Request{Workspace: db.A.ID, Files: files(t, "talks.jsonl", threeTalks),
		Distill: true, Outcome: transcript.Failure})
	testkit.Must(t, err)
	if err := s.StoreConversations(t.Context(), db.A, made[0].ID); err == nil {
		t.Fatal("the interruption is not reported")
	}
	if n := db.Number(`select stored from imports`); n != 1 {
		t.Errorf("%d conversations are stored before the interruption", n)
	}
	testkit.Must(t, s.StoreConversations(t.Context(), db.A, made[0].ID))
	one, err := s.Get(t.Context(), db.A.ID, made[0].ID)
	testkit.Must(t, err)
	if one.Stored != 3 || len(one.Conversations) != 3 || one.StoredAt == nil {
		t.Errorf("the import is %+v", one)
	}
	// The second one is accepted twice, which distill recognizes.
	if len(d.accepted) != 4 || d.accepted[1] != d.accepted[2] || d.outcome != transcript.Failure {
		t.Errorf("distilled %v with outcome %s", d.accepted, d.outcome)
	}
}

func TestAnErasedFileIsNotStored(t *testing.T) {
	db := pgtest.Open(t)
	s, _ := open(t, db.Imports())
	made, err := s.Accept(t.Context(), intake.Request{Workspace: db.A.ID, Files: files(t, "talks.jsonl", threeTalks)})
	testkit.Must(t, err)
	stored, err := db.Imports().Import(t.Context(), db.A.ID, made[0].ID)
	testkit.Must(t, err)
	db.Exec(`delete from imports`)
	testkit.Must(t, s.StoreConversations(t.Context(), db.A, made[0].ID))
	ok, err := db.Imports().PutConversation(t.Context(), db.A.ID, made[0].ID, stored.Stored,
		transcript.Conversation{
			ID:       "x",
			Messages: []transcript.Message{{Role: transcript.User, Content: "one"}},
		}, false)
	testkit.Must(t, err)
	if n := db.Number(`select count(*) from conversations`); ok || n != 0 {
		t.Errorf("%v: %d conversations of an erased file are stored", ok, n)
	}
	if _, err := s.Get(t.Context(), db.A.ID, made[0].ID); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("got %v", err)
	}
	if _, err := s.Reparse(t.Context(), db.A.ID, made[0].ID, 0); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("got %v", err)
	}
}

func TestAFileIsReadAgainFromItsStoredBytes(t *testing.T) {
	db := pgtest.Open(t)
	s, _ := open(t, db.Imports())
	made, err := s.Accept(t.Context(), intake.Request{Workspace: db.A.ID, Files: files(t, "talks.jsonl", threeTalks)})
	testkit.Must(t, err)
	testkit.Must(t, s.StoreConversations(t.Context(), db.A, made[0].ID))
	again, err := s.Reparse(t.Context(), db.A.ID, made[0].ID, 0)
	testkit.Must(t, err)
	if again.Stored != 0 || again.StoredAt != nil || len(again.Conversations) != 3 {
		t.Errorf("before the conversations are stored again: %+v", again)
	}
	testkit.Must(t, s.StoreConversations(t.Context(), db.A, made[0].ID))
	if n := db.Number(`select count(*) from conversations`); n != 3 {
		t.Errorf("%d conversations", n)
	}
	all, err := s.List(t.Context(), db.A.ID, 0, 10)
	testkit.Must(t, err)
	if len(all) != 1 || all[0].Stored != 3 || all[0].StoredAt == nil {
		t.Errorf("%+v", all)
	}
	if other, err := s.List(t.Context(), db.B.ID, 0, 10); err != nil || len(other) != 0 {
		t.Errorf("another workspace sees %+v, %v", other, err)
	}
}

func TestAnUploadIsReadCompletelyBeforeItIsStored(t *testing.T) {
	db := pgtest.Open(t)
	s, _ := open(t, db.Imports())
	upload := func(content string, outcome transcript.Verdict) (intake.ImportedFiles, error) {
		return s.Import(t.Context(), intake.Upload{Workspace: db.A.ID, Content: strings.NewReader(content),
			Outcome: outcome})
	}
	_, err := upload(threeTalks+`{"messages":[{"role":"odd"}]}`+"\n"+hello, "")
	if fault.CodeOf(err) != fault.InvalidArgument {
		t.Errorf("a damaged upload: %v", err)
	}
	if _, err := upload(hello, transcript.Success); fault.CodeOf(err) != fault.InvalidArgument {
		t.Errorf("an outcome without distill: %v", err)
	}
	if n := db.Number(`select count(*) from imports`); n != 0 {
		t.Errorf("%d imports are stored", n)
	}
	made, err := upload(threeTalks, "")
	testkit.Must(t, err)
	if len(made.Imports) != 1 || made.Imports[0].Name != "body" || made.Report.Conversations != 3 {
		t.Errorf("imported %+v", made)
	}
}

// turnsOf returns the lines of a session of Claude Code with questions and answers from first to last.
func turnsOf(session string, first, last int) (out string) {
	parent := "null"
	for i := first; i <= last; i++ {
		if i > 1 {
			parent = fmt.Sprintf("%q", fmt.Sprint("a", i-1))
		}
		at := fmt.Sprintf(`"timestamp":"2026-11-20T10:%02d:00Z","version":"2.1.0"`, i)
		out += fmt.Sprintf(`{"type":"user","uuid":"u%[1]d","parentUuid":%[2]s,"sessionId":%[3]q,`+
			`"message":{"role":"user","content":"question %[1]d"},%[4]s}`+"\n", i, parent, session, at)
		out += fmt.Sprintf(`{"type":"assistant","uuid":"a%[1]d","parentUuid":"u%[1]d","sessionId":%[2]q,"message":`+
			`{"id":"m%[1]d","role":"assistant","content":[{"type":"text","text":"answer %[1]d"}]},%[3]s}`+"\n",
			i, session, at)
	}
	return out
}

func TestALaterImportOfASessionContinuesItsConversation(t *testing.T) {
	db := pgtest.Open(t)
	s, d := open(t, db.Imports())
	store := func(content string) conversation.Import {
		t.Helper()
		made, err := s.Accept(t.Context(), intake.Request{Workspace: db.A.ID, Files: files(t, "s.jsonl", content),
			Distill: true})
		testkit.Must(t, err)
		testkit.Must(t, s.StoreConversations(t.Context(), db.A, made[0].ID))
		one, err := s.Get(t.Context(), db.A.ID, made[0].ID)
		testkit.Must(t, err)
		return one
	}
	first, grown := store(turnsOf("s1", 1, 2)), store(turnsOf("s1", 1, 4))
	again := store(turnsOf("s1", 1, 3)) // an earlier version that arrives late
	for _, other := range []conversation.Import{grown, again} {
		if other.Stored != 1 || !reflect.DeepEqual(other.Conversations, first.Conversations) {
			t.Errorf("the session is stored as %+v, before as %+v", other, first)
		}
	}
	if n := db.Number(`select count(*) from messages`); n != 8 {
		t.Errorf("%d messages are stored, want each of 8 once", n)
	}
	if want := []string{first.Conversations[0], first.Conversations[0]}; !reflect.DeepEqual(d.accepted, want) {
		t.Errorf("distilled %v, want %v", d.accepted, want)
	}
	rewritten := store(strings.Replace(turnsOf("s1", 1, 3), "question 1", "other question", 1))
	if n := db.Number(`select count(*) from conversations`); n != 2 || rewritten.Stored != 1 {
		t.Errorf("%d conversations after a rewrite, %+v", n, rewritten)
	}
	store(strings.ReplaceAll(turnsOf("s2", 1, 2), "question", "request"))
	if n := db.Number(`select count(*) from conversations`); n != 2+1 {
		t.Errorf("%d conversations with another session", n)
	}
}

func TestEachConversationOfASessionIsContinued(t *testing.T) {
	db := pgtest.Open(t)
	s, _ := open(t, db.Imports())
	const talks = 25
	store := func(answer string) {
		t.Helper()
		text := ""
		for i := range talks {
			text += fmt.Sprintf(`{"session_id":"s","messages":[{"role":"user","content":"question %d"}%s]}`+"\n", i,
				answer)
		}
		made, err := s.Accept(t.Context(), intake.Request{Workspace: db.A.ID, Files: files(t, "s.jsonl", text)})
		testkit.Must(t, err)
		testkit.Must(t, s.StoreConversations(t.Context(), db.A, made[0].ID))
	}
	store("")
	store(`,{"role":"assistant","content":"yes"}`)
	conversations := db.Number(`select count(*) from conversations`)
	messages := db.Number(`select count(*) from messages`)
	if conversations != talks || messages != 2*talks {
		t.Errorf("%d conversations, %d messages", conversations, messages)
	}
}

func TestAnErasedSessionIsNotContinued(t *testing.T) {
	db := pgtest.Open(t)
	s, _ := open(t, db.Imports())
	store := func(content string) {
		t.Helper()
		made, err := s.Accept(t.Context(), intake.Request{Workspace: db.A.ID, Files: files(t, "s.jsonl", content)})
		testkit.Must(t, err)
		testkit.Must(t, s.StoreConversations(t.Context(), db.A, made[0].ID))
	}
	store(turnsOf("s1", 1, 2))
	db.Exec(`update conversations set external_id = 'erased/1'`)
	store(turnsOf("s1", 1, 3))
	if n := db.Number(`select next_seq from conversations where external_id = 'erased/1'`); n != 4 {
		t.Errorf("the erased conversation has %d messages", n)
	}
}
