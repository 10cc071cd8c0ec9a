package bank_test

import (
	"context"
	"strings"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/learning"
	"cairn/internal/domain/transcript"
	"cairn/internal/lab/pgtest"
	banks "cairn/internal/service/learning/bank"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

func caseWants(t *testing.T, what string, err error, code fault.Code) {
	t.Helper()
	if fault.CodeOf(err) != code {
		t.Errorf("%s: %v, want %s", what, err, code)
	}
}

func open(l *pgtest.Learning) []learning.Case {
	l.DB.T.Helper()
	out, err := l.Cases.List(l.DB.T.Context(), l.DB.A.ID, "", 10)
	testkit.Must(l.DB.T, err)
	return out
}

func failed(op, question string) banks.FailedQuestion {
	return banks.FailedQuestion{Op: op, Source: banks.FromFeedback, Question: question, Gold: []string{" nine ", ""}}
}

func TestAFailureCountsOnceForEachOperation(t *testing.T) {
	t.Parallel()
	l := pgtest.OpenLearning(t)
	for _, c := range []struct {
		op, question string
		failures     int
	}{{"1", "How many trees?", 1}, {"1", "How many trees?", 1}, {"2", "how  many TREES?", 2}} {
		got, err := l.Cases.RecordFailure(t.Context(), l.DB.A.ID, failed(c.op, c.question))
		testkit.Must(t, err)
		if got.Failures != c.failures || len(got.Gold) != 1 || got.Gold[0] != "nine" {
			t.Errorf("%+v, want %d failures", got, c.failures)
		}
	}
	if got := open(l); len(got) != 1 || got[0].Key != banks.Key("How many trees?") {
		t.Errorf("%+v", got)
	}
	_, err := l.Cases.RecordFailure(t.Context(), l.DB.A.ID, failed("1", "Where is the key?"))
	caseWants(t, "an operation for another question", err, fault.OpReused)
}

func TestAFailureIsChecked(t *testing.T) {
	t.Parallel()
	l := pgtest.OpenLearning(t)
	long := strings.Repeat("why ", 2000)
	for what, c := range map[string]struct {
		f    banks.FailedQuestion
		code fault.Code
	}{
		"no question":     {failed("1", "  "), fault.InvalidArgument},
		"no operation":    {failed("", "Where?"), fault.InvalidArgument},
		"a long question": {failed("1", long), fault.TooLarge},
		"a long answer":   {banks.FailedQuestion{Op: "1", Question: "Where?", Prediction: long}, fault.TooLarge},
		"too many answers": {banks.FailedQuestion{Op: "1", Question: "Where?", Gold: make([]string, 99)},
			fault.TooLarge},
		"another bank": {banks.FailedQuestion{Op: "1", Question: "Where?", Bank: "other"}, fault.NotFound},
	} {
		_, err := l.Cases.RecordFailure(t.Context(), l.DB.A.ID, c.f)
		caseWants(t, what, err, c.code)
	}
}

func TestASuccessTakesFailuresAwayOnce(t *testing.T) {
	t.Parallel()
	l := pgtest.OpenLearning(t)
	for _, op := range []string{"1", "2"} {
		_, err := l.Cases.RecordFailure(t.Context(), l.DB.A.ID, failed(op, "How many trees?"))
		testkit.Must(t, err)
	}
	praise := banks.PositiveFeedback{Op: "3", Question: "How many trees?"}
	for range 2 {
		counts, err := l.Cases.RecordSuccess(t.Context(), l.DB.A.ID, praise)
		if err != nil || !counts {
			t.Errorf("counts %v, %v", counts, err)
		}
		if got := open(l); len(got) != 1 || got[0].Failures != 1 {
			t.Errorf("%+v", got)
		}
	}
	_, err := l.Cases.RecordSuccess(t.Context(), l.DB.A.ID, banks.PositiveFeedback{Op: "4", Bank: "other"})
	testkit.Must(t, err)
}

func TestACaseExpires(t *testing.T) {
	t.Parallel()
	l := pgtest.OpenLearning(t)
	_, err := l.Cases.RecordFailure(t.Context(), l.DB.A.ID, failed("1", "How many trees?"))
	testkit.Must(t, err)
	l.DB.Exec("update cases set failed_at = now() - make_interval(secs => $1)", banks.Window.Seconds()+60)
	if got := open(l); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestTracesAreImportedOnce(t *testing.T) {
	t.Parallel()
	l := pgtest.OpenLearning(t)
	for range 2 {
		n, err := l.Cases.Import(t.Context(), l.DB.A.ID, "", pgtest.Lessons(3))
		testkit.Must(t, err)
		if rows := l.DB.Rows("conversations", "cases"); n != 6 || rows != "conversations 3, cases 6" {
			t.Errorf("%d questions: %s", n, rows)
		}
	}
	testkit.Must(t, l.Within(func(ctx context.Context, tx store.Tx) error {
		bank, _, err := tx.Banks().BankNamed(ctx, "default")
		testkit.Must(t, err)
		ids, by, err := banks.ByConversation(ctx, tx, bank.ID)
		if err != nil || len(ids) != 3 || len(by[ids[0]]) != 2 {
			t.Errorf("%v, %v", ids, err)
		}
		return nil
	}))
	bad := pgtest.Lessons(1)
	bad[0].Questions[0].Question = ""
	_, err := l.Cases.Import(t.Context(), l.DB.A.ID, "", bad)
	caseWants(t, "an empty question", err, fault.InvalidArgument)
	_, err = l.Cases.Import(t.Context(), l.DB.A.ID, "", []banks.ImportedTrace{{ID: "x"}})
	caseWants(t, "no messages", err, fault.InvalidArgument)
	_, err = banks.ParseTraces([]byte("{"))
	caseWants(t, "a broken file", err, fault.InvalidArgument)
}

func TestACorrectionIsACaseOnce(t *testing.T) {
	t.Parallel()
	l := pgtest.OpenLearning(t)
	said := []transcript.Message{{Seq: 0, Role: transcript.User, Content: "How many lemon trees are there?"},
		{Seq: 1, Role: transcript.Assistant, Content: "There are two."},
		{Seq: 2, Role: transcript.User, Content: "No, that is wrong. There are nine lemon trees."}}
	for range 2 {
		testkit.Must(t, l.Within(func(ctx context.Context, tx store.Tx) error {
			head, err := l.Banks.ReadHead(ctx, tx, "default")
			testkit.Must(t, err)
			id, err := tx.Transcripts().PutConversation(ctx, transcript.Conversation{ID: "c", Messages: said}, "import")
			testkit.Must(t, err)
			return banks.RecordCorrections(ctx, tx, head.ID, id, 0, 2)
		}))
	}
	if got := open(l); len(got) != 1 || got[0].Source != banks.FromCorrection || got[0].Failures != 1 ||
		got[0].Question != said[0].Content || got[0].Prediction != said[1].Content {
		t.Errorf("%+v", got)
	}
}
