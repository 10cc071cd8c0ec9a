package ledger

import (
	"context"
	"errors"
	"fmt"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/run"
)

// Question is a request whose answer has to decode, with its repairs.
type Question struct {
	Run      run.Ref
	Step     string // its place in the ledger; each repair is another round of it
	Lang     string // of what a repair says
	Request  llm.Request
	Parallel int                     // as of Call
	Repairs  int                     // further rounds at most
	Decode   func(text string) error // says what is wrong with an answer, in words for the model; nil takes any
	// of the first round, when a transaction of the caller's has asked for its admission
	Admitted   *AdmittedCall
	StoreReply func(run.CallKey) StoreReply // stores the reply to a round; nil has it stored alone
}

// AdmittedCall is a request with the admission that it got in a transaction of its caller's.
type AdmittedCall struct {
	Request   CallRequest
	Admission Admission
}

// Ask puts q to its model, once more for each repair that is allowed while the
// answer does not decode. The last answer is returned with its problem.
func (l *Ledger) Ask(ctx context.Context, q Question) (text string, problem, err error) {
	req := q.Request
	for round := 0; ; round++ {
		reply, err := l.round(ctx, q, round, req)
		if err != nil {
			return "", nil, err
		}
		if reply.Refusal != "" {
			return "", nil, fault.New(fault.ModelRefused, fmt.Sprintf("%s: the model declined", q.Step), "")
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

// IsPermanent tells trouble that another attempt would only meet again, as the code
// and the reason with which a task or a run ends.
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
