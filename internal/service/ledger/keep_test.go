package ledger_test

import (
	"context"
	"testing"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/modelcall"
	"cairn/internal/domain/run"
	"cairn/internal/service/ledger"
	"cairn/internal/store"
)

// away is a store whose database does not answer the first calls of EndCall.
type away struct {
	*store.Store
	left int
}

func (a *away) EndCall(ctx context.Context, k run.CallKey, r llm.Reply, cost *int64) (llm.Reply, error) {
	if a.left--; a.left >= 0 {
		return llm.Reply{}, fault.New(fault.Unavailable, "the database does not answer", "")
	}
	return r, nil
}

func (a *away) BeginCall(_ context.Context, w modelcall.Request) (modelcall.Admission, error) {
	return modelcall.Admission{Verdict: modelcall.Send, Request: w.Request}, nil
}

type once struct{ sent int }

func (o *once) Prepare(llm.Request) (llm.PreparedRequest, error) {
	return llm.PreparedRequest{Body: []byte("{}")}, nil
}
func (o *once) Send(context.Context, llm.PreparedRequest) (llm.Reply, error) {
	o.sent++
	return llm.Reply{Text: "paid"}, nil
}

func TestAPaidReplyOutlivesARestartOfTheDatabase(t *testing.T) {
	t.Parallel()
	model := &once{}
	l := ledger.Ledger{Ports: ledger.Ports{Store: &away{left: 3}, Model: model, Lease: 1e9, StoreRetryFor: time.Minute}}
	reply, err := l.Call(t.Context(), run.CallKey{Step: "s"}, llm.Request{}, 0)
	if err != nil || reply.Text != "paid" || model.sent != 1 {
		t.Errorf("reply %q after %d requests, %v", reply.Text, model.sent, err)
	}
}

func TestAReplyIsGivenUpWhenTheDatabaseStaysAway(t *testing.T) {
	t.Parallel()
	store := &away{left: 1000}
	l := ledger.Ledger{Ports: ledger.Ports{Store: store, Model: &once{}, Lease: time.Second,
		StoreRetryFor: time.Millisecond}}
	if _, err := l.Call(t.Context(), run.CallKey{Step: "s"}, llm.Request{},
		0); fault.CodeOf(err) != fault.Unavailable || store.left < 990 {
		t.Errorf("%d tries left, %v", store.left, err)
	}
}
