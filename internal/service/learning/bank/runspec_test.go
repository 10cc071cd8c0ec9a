package bank_test

import (
	"context"
	"crypto/sha256"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill/executor"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/learning/bank"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

func TestSpanOptionsAreFilledAndChecked(t *testing.T) {
	t.Parallel()
	got := bank.SpanOptions{}.WithDefaults()
	if got.K != 0 || got.TopN != bank.DefaultSpanOptions().TopN || got.Tokens == 0 {
		t.Errorf("%+v", got)
	}
	testkit.Must(t, got.Check())
	own := bank.SpanOptions{Spanning: executor.Spanning{Tokens: 24}, K: 5}.WithDefaults()
	if own.K != 5 || own.Tokens != 24 || own.Overlap != 0 {
		t.Errorf("%+v", own)
	}
	for what, bad := range map[string]func(*bank.SpanOptions){
		"fewer than no skills": func(o *bank.SpanOptions) { o.K = -1 },
		"too many memories":    func(o *bank.SpanOptions) { o.TopN = 1 << 20 },
		"a mode there is not":  func(o *bank.SpanOptions) { o.Mode = "sentence" },
	} {
		o := got
		bad(&o)
		if err := o.Check(); fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestAModelIsToldInBothLanguages(t *testing.T) {
	t.Parallel()
	m, err := bank.Model{Name: "m"}.WithInstructions()
	testkit.Must(t, err)
	for _, stage := range []prompt.Stage{prompt.Remember, prompt.Recite, prompt.Diagnose, prompt.Propose,
		prompt.Probe} {
		en, zh := m.Instructions[bank.InstructionKey(stage, "en")],
			m.Instructions[bank.InstructionKey(stage, "zh")]
		if en == "" || zh == "" || en == zh {
			t.Errorf("%s: %q, %q", stage, en, zh)
		}
	}
	if bank.LanguageOf([]transcript.Message{{Role: transcript.User, Content: "我住在京都"}}) != "zh" {
		t.Error("Chinese is not seen")
	}
}

func TestARunIsAcceptedOnceUnderAKey(t *testing.T) {
	t.Parallel()
	l := pgtest.OpenLearning(t)
	accept := func() (r run.Run) {
		testkit.Must(t, l.Within(func(ctx context.Context, tx store.Tx) (err error) {
			r, err = bank.AcceptRun(ctx, tx, run.NewAgentRun{Kind: run.Train, Key: "default/a", Generation: 1,
				ArgsSHA: sha256.Sum256([]byte("a")), WorkflowID: "w"}, l.Spec())
			return err
		}))
		return r
	}
	first := accept()
	if again := accept(); again.Ref != first.Ref || l.DB.Rows("runs", "outbox") != "runs 1, outbox 1" {
		t.Errorf("%v, then %v: %s", first.Ref, again.Ref, l.DB.Rows("runs", "outbox"))
	}
	spec, err := bank.DecodeReply[bank.RunSpec](first)
	if err != nil || spec.Model.Name != "scripted" {
		t.Errorf("%+v, %v", spec, err)
	}
	if _, err := bank.DecodeReply[bank.RunSpec](run.Run{Spec: []byte("{")}); err == nil {
		t.Error("a configuration that cannot be read")
	}
	bad := func(ctx context.Context, tx store.Tx) error {
		_, err := bank.AcceptRun(ctx, tx, run.NewAgentRun{Kind: run.Train, Key: "b"}, make(chan int))
		return err
	}
	if err := l.Within(bad); err == nil {
		t.Error("a configuration that cannot be written")
	}
}

func TestTheFirstResultOfAStepStays(t *testing.T) {
	t.Parallel()
	l := pgtest.OpenLearning(t)
	id := l.DB.Run()
	testkit.Must(t, l.Within(func(ctx context.Context, tx store.Tx) error {
		if _, err := bank.NeedStep[int](ctx, tx, id, "stage/0000"); err == nil {
			t.Error("a step that was not done has a result")
		}
		for _, n := range []int{7, 8} {
			testkit.Must(t, bank.SaveStep(ctx, tx, id, "stage/0000", 0, n))
		}
		got, done, err := bank.ReadStep[int](ctx, tx, id, "stage/0000")
		if err != nil || !done || got != 7 {
			t.Errorf("%d, %v, %v", got, done, err)
		}
		if _, _, err := bank.ReadStep[[]string](ctx, tx, id, "stage/0000"); err == nil {
			t.Error("a result of another type is read")
		}
		testkit.Must(t, tx.Training().DropStepResults(ctx, id, "stage/"))
		done, err = bank.IsDone(ctx, tx, id, "stage/0000")
		if err != nil || done {
			t.Errorf("dropped: %v, %v", done, err)
		}
		return nil
	}))
}
