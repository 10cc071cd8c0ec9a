package intake_test

import (
	"context"
	"os"
	"reflect"
	"testing"

	"cairn/internal/adapter/postgres/pgtest"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/transcript"
	format "cairn/internal/domain/transcript/intake"
	"cairn/internal/service/distill"
	"cairn/internal/service/intake"
	"cairn/internal/testkit"
)

// session reads the sample of a Claude Code session, which has all details but attachments.
func session(t *testing.T) []transcript.Conversation {
	t.Helper()
	file, err := os.Open("../../domain/transcript/intake/testdata/claude-code/sample.jsonl")
	testkit.Must(t, err)
	defer file.Close()
	result, err := format.Read("sample.jsonl", file, format.Options{})
	testkit.Must(t, err)
	result.Conversations[0].Messages[1].Media = []transcript.Media{{Kind: "image", MIME: "image/png"}}
	return result.Conversations
}

func TestImportStoresAllDetailsAndNothingTwice(t *testing.T) {
	db := pgtest.Open(t)
	importer, err := intake.New(intake.Ports{Store: db.Imports()})
	testkit.Must(t, err)
	want := session(t)
	for range 2 {
		testkit.Must(t, importer.Import(t.Context(), db.A.ID, want))
	}
	if n := db.Number(`select count(*) from conversations`); n != 1 {
		t.Fatalf("%d conversations", n)
	}
	var got transcript.Conversation
	id := int64(db.Number(`select id from conversations`))
	err = db.Store.Distill().Within(t.Context(), db.A.ID, func(ctx context.Context, tx distill.Tx) (err error) {
		got, err = tx.Transcripts().Conversation(ctx, id, 0, 100)
		return err
	})
	testkit.Must(t, err)
	for i, m := range want[0].Messages {
		if !reflect.DeepEqual(got.Messages[i].Details, m.Details) || got.Messages[i].Content != m.Content {
			t.Errorf("message %d is stored as %+v, want %+v", i, got.Messages[i].Details, m.Details)
		}
	}
}

func TestImportRefusesConversationsWithoutMessages(t *testing.T) {
	importer, err := intake.New(intake.Ports{Store: pgtest.Open(t).Imports()})
	testkit.Must(t, err)
	err = importer.Import(t.Context(), 1, []transcript.Conversation{{ID: "x"}})
	if fault.CodeOf(err) != fault.InvalidArgument {
		t.Errorf("got %v", err)
	}
	if _, err := intake.New(intake.Ports{}); err == nil {
		t.Error("a store is not required")
	}
}
