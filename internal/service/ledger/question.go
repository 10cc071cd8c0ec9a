package ledger

import (
	"context"
	"errors"
	"fmt"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/modelcall"
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
	Request   modelcall.Request
	Admission modelcall.Admission
}

// Ask sends q to its model and repeats it with a repair message while the reply does not decode. It
// returns the last reply and its problem. A reply that ends at its limit of tokens is not decoded: the request
// is sent once more with twice the limit, and then fails with a TruncatedError.
func (l *Ledger) Ask(ctx context.Context, q Question) (text string, problem, err error) {
	req := q.Request
	extended := 0 // rounds with a higher limit, which are no repairs
	for round := 0; ; round++ {
		reply, err := l.round(ctx, q, round, req)
		if err != nil {
			return "", nil, err
		}
		if reply.Refusal != "" {
			return "", nil, fault.New(fault.ModelRefused, fmt.Sprintf("%s: model refused", q.Step), "")
		}
		if reply.Truncated() && q.Decode != nil {
			if extended > 0 {
				return "", nil, &TruncatedError{Step: q.Step, Limit: req.MaxTokens}
			}
			extended++
			req.MaxTokens = 2 * max(req.MaxTokens, reply.Usage.Output, 1)
			continue
		}
		if q.Decode != nil {
			problem = q.Decode(reply.Text)
		}
		if problem == nil || round-extended >= q.Repairs {
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
	if n == 0 && q.Admitted != nil && q.Admitted.Admission.Verdict != modelcall.Full {
		return l.Execute(ctx, q.Admitted.Request, q.Admitted.Admission, keep)
	}
	return l.call(ctx, k, req, q.Parallel, keep)
}

// TruncatedError means that a reply ended at its limit of tokens, also after the limit was doubled.
type TruncatedError struct {
	Step  string
	Limit int // tokens
}

func (e *TruncatedError) Error() string {
	return fmt.Sprintf("%s: the reply was cut off at %d tokens", e.Step, e.Limit)
}

// IsTruncated reports whether a reply was cut off at its limit of tokens.
func IsTruncated(err error) bool {
	var cut *TruncatedError
	return errors.As(err, &cut)
}

// fault converts e to the error that users see. Failures of this code are not remembered.
func (e *TruncatedError) fault() *fault.Error {
	return fault.New(
		fault.ModelContext,
		e.Error(),
		"use a model with a longer output, or distill a shorter conversation",
	)
}

// IsPermanent reports whether retrying cannot fix err. The returned fault has the code and reason
// with which the task or run ends.
func IsPermanent(err error) (*fault.Error, bool) {
	var model *llm.Error
	if errors.As(err, &model) {
		f := model.Fault()
		return f, !fault.Table[f.Code].Retryable
	}
	var cut *TruncatedError
	if errors.As(err, &cut) {
		return cut.fault(), true
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
