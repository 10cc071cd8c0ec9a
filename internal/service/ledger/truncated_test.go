package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/service/ledger"
	"cairn/internal/testkit"
)

// braced asks for a reply that decodes if it ends with a brace.
func (b *bundle) braced(step string) ledger.Question {
	return ledger.Question{Run: b.run, Step: step, Lang: "en", Repairs: 1,
		Request: llm.Request{Model: "scripted", Messages: llm.User("ask"), MaxTokens: 100},
		Decode: func(text string) error {
			if !strings.HasSuffix(text, "}") {
				return errors.New("not complete")
			}
			return nil
		}}
}

// A reply that ends at its limit of tokens is asked for once more with twice the limit. It is never repaired, and it
// does not use up the repairs.
func TestACutReplyGetsTwiceTheLimit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.model.answers(func(_ context.Context, n int, _ string) (llm.Reply, error) {
		r := said([]string{"{half", "invalid", "{}"}[min(n, 3)-1])
		if n == 1 {
			r.Finish = "length"
		}
		return r, nil
	})
	for range 2 { // the second time from the ledger
		text, problem, err := b.Ask(t.Context(), b.braced("once"))
		if testkit.Must(t, err); problem != nil || text != "{}" {
			t.Errorf("got %q, %v", text, problem)
		}
	}
	sent := b.model.requests()
	if len(sent) != 3 {
		t.Errorf("sent %q", sent)
	}
}

func TestAReplyThatIsCutTwiceIsAnError(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.model.answers(func(_ context.Context, n int, _ string) (llm.Reply, error) {
		r := said(fmt.Sprintf("{half %d", n))
		r.Finish = "length"
		return r, nil
	})
	for range 2 {
		_, _, err := b.Ask(t.Context(), b.braced("twice"))
		f, over := ledger.IsPermanent(err)
		if !ledger.IsTruncated(err) || !over || f.Code != fault.ModelContext || f.Hint == "" {
			t.Errorf("got %v, %+v", err, f)
		}
	}
	if n := len(b.model.requests()); n != 2 {
		t.Errorf("sent %d requests", n)
	}
}
