package ledger

import (
	"context"
	"errors"
	"fmt"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/run"
)

// Question is a request whose reply must decode. Failed replies are repaired in further rounds.
type Question struct {
	Run      run.Ref
	Step     string // key in the ledger; each repair is a further round
	Lang     string // language of repair messages
	Request  llm.Request
	Parallel int                     // see Ledger.Call
	Repairs  int                     // maximum number of further rounds
	Decode   func(text string) error // the error describes the problem to the model; nil accepts any reply
	// Admitted is the first round, if the caller's transaction has admitted it.
	Admitted *AdmittedCall
	// returns the function that stores the reply of a round; nil stores it alone
	StoreReply func(run.CallKey) StoreReply
}

// AdmittedCall is a request with the admission from the caller's transaction.
type AdmittedCall struct {
	Request   CallRequest
	Admission Admission
}

// Ask sends q to its model and repeats it with a repair message while the reply does not decode. It
// returns the last reply and its problem.
func (l *Ledger) Ask(ctx context.Context, q Question) (text string, problem, err error) {
	req := q.Request
	for round := 0; ; round++ {
		reply, err := l.round(ctx, q, round, req)
		if err != nil {
			return "", nil, err
		}
		if reply.Refusal != "" {
			return "", nil, fault.New(fault.ModelRefused, fmt.Sprintf("%s: model refused", q.Step), "")
		}
		if q.Decode != nil {
			problem = q.Decode(reply.Text)
		}
		if problem == nil || round >= q.Repairs {
			return reply.Text, problem, nil
		}
		req.Messages = append(req.Messages, llm.Repair(q.Lang, reply.Text, problem)...)
	}
}

func (l *Ledger) round(ctx context.Context, q Question, n int, req llm.Request) (llm.Reply, error) {
	k := run.CallKey{Ref: q.Run, Step: q.Step, Round: n}
	var keep StoreReply
	if q.StoreReply != nil {
		keep = q.StoreReply(k)
	}
	if n == 0 && q.Admitted != nil && q.Admitted.Admission.Verdict != Full {
		return l.Execute(ctx, q.Admitted.Request, q.Admitted.Admission, keep)
	}
	return l.call(ctx, k, req, q.Parallel, keep)
}

// IsPermanent reports whether retrying cannot fix err. The returned fault has the code and reason
// with which the task or run ends.
func IsPermanent(err error) (*fault.Error, bool) {
	var model *llm.Error
	if errors.As(err, &model) {
		f := model.Fault()
		return f, !fault.Table[f.Code].Retryable
	}
	var f *fault.Error
	if !errors.As(err, &f) {
		return nil, false
	}
	switch f.Code {
	case fault.ModelInvalid, fault.ModelRefused, fault.ModelRejected, fault.ModelAuth, fault.ModelContext,
		fault.QuotaExceeded, fault.OpReused:
		return f, true
	}
	return nil, false
}
