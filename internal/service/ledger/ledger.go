// Package ledger makes each model call once. It stores the exact request before sending it and the
// reply before anything uses it, under the key (workspace, run, step, round). A second attempt
// returns the stored reply or sends the stored request again.
//
// A crash after the endpoint has replied and before the reply is stored cannot be avoided. Such a
// call is counted as unknown.
package ledger

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/modelcall"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/store"
)

// Delays between the attempts at a call whose endpoint does not state one. They double.
const (
	firstDelay = time.Second
	lastDelay  = time.Minute
)

// delay returns the wait after an attempt, counted from 1.
func delay(attempt int) time.Duration {
	wait := firstDelay
	for ; attempt > 1 && wait < lastDelay; attempt-- {
		wait *= 2
	}
	return min(wait, lastDelay)
}

// BusyError means that another attempt is making the call. When After has passed, it has stored a
// reply or lost its lease.
type BusyError struct{ After time.Duration }

func (e *BusyError) Error() string {
	return fmt.Sprintf("another attempt is making this call; its lease ends in %s", e.After.Round(time.Millisecond))
}

// Ports are the dependencies of the ledger.
type Ports struct {
	Store  *store.Store
	Model  llm.Model
	Prices llm.Prices
	Cap    settings.Spend // of all workspaces in a UTC day; 0 and settings.Unlimited are no limit
	Lease  time.Duration  // renewed every third of its duration while a call is open
	// how long to retry storing a reply while the database is unavailable; 0 disables retries
	StoreRetryFor time.Duration
	Log           *slog.Logger // logs rejected requests; may be nil
	Files         *store.Store // reads the files that requests name; nil if they name none
}

// Ledger makes calls to one model endpoint.
type Ledger struct{ Ports }

// New returns a Ledger.
func New(p Ports) *Ledger {
	return &Ledger{Ports: p}
}

// Call returns the reply to req under key k. A reply that was stored is never paid for again.
// Parallel limits the run's calls in flight, 0 for no limit; if the limit is reached, Call waits.
func (l *Ledger) Call(ctx context.Context, k run.CallKey, req llm.Request, parallel int) (llm.Reply, error) {
	return l.call(ctx, k, req, parallel, nil)
}

func (l *Ledger) call(ctx context.Context, k run.CallKey, req llm.Request, parallel int, keep StoreReply) (llm.Reply,
	error) {
	request, err := l.Prepare(k, req, parallel)
	if err != nil {
		return llm.Reply{}, err
	}
	admission, err := l.admit(ctx, request)
	if err != nil {
		return llm.Reply{}, fmt.Errorf("open ledger entry %s: %w", k.Step, err)
	}
	return l.Execute(ctx, request, admission, keep)
}

// Prepare prepares a call. A caller that stores more in the same transaction gets the admission
// from Repository and then calls Execute.
func (l *Ledger) Prepare(k run.CallKey, req llm.Request, parallel int) (modelcall.Request, error) {
	prepared, err := l.Model.Prepare(req)
	if err != nil {
		return modelcall.Request{}, fmt.Errorf("prepare %s: %w", k.Step, err)
	}
	most := reserve(prepared, req)
	request := modelcall.Request{Asked: req, Key: k, Holder: uuid.New(), Lease: l.Lease, Request: prepared,
		SHA: sha256.Sum256(prepared.Body), Reserve: int64(most.Input + most.Output), Parallel: parallel, Cap: l.Cap}
	request.Micros, _ = l.Prices.Cost(prepared.Model, most)
	return request, nil
}

// StoreReply stores a reply together with the caller's own data, in one transaction, and returns
// the stored reply.
type StoreReply func(ctx context.Context, reply llm.Reply, costMicros *int64) (llm.Reply, error)

// try calls keep and converts a panic into an error. Otherwise each retry would pay for a reply
// that the caller cannot handle.
func (keep StoreReply) try(ctx context.Context, reply llm.Reply, cost *int64) (stored llm.Reply, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("keep a reply: %v", r)
		}
	}()
	return keep(ctx, reply, cost)
}

// Execute returns the reply to an admitted request. If keep is set, it stores the reply. If keep
// fails, the reply is stored alone, so that it is not lost.
func (l *Ledger) Execute(ctx context.Context, request modelcall.Request, admission modelcall.Admission,
	keep StoreReply) (llm.Reply,
	error) {
	k, req := request.Key, request.Asked
	switch admission.Verdict {
	case modelcall.Stored:
		return admission.Reply, nil
	case modelcall.Busy:
		return llm.Reply{}, &BusyError{After: admission.Wait}
	case modelcall.OverBudget:
		return llm.Reply{}, fault.New(fault.QuotaExceeded, admission.Reason,
			"raise the limit, or wait for the next UTC day; then resume the run with `cairn runs retry RUN`")
	}
	reply, err := l.send(ctx, request, req, admission)
	if err != nil {
		return llm.Reply{}, err
	}
	var cost *int64
	if micros, known := l.Prices.Cost(reply.Model, reply.Usage); known {
		cost = &micros
	}
	// The reply is paid for, so it is stored even if the caller was canceled. If another attempt
	// has stored one first, that one is used.
	return l.keep(ctx, k, reply, cost, keep)
}

// keep stores a reply. Because the reply is paid for, it retries while the database is unavailable.
func (l *Ledger) keep(ctx context.Context, k run.CallKey, reply llm.Reply, cost *int64, with StoreReply) (llm.Reply,
	error) {
	ctx = context.WithoutCancel(ctx)
	const first, most = 50 * time.Millisecond, time.Second
	for wait, until := first, time.Now().Add(l.StoreRetryFor); ; wait = min(2*wait, most) {
		var stored llm.Reply
		var err error
		if with != nil {
			if stored, err = with.try(ctx, reply, cost); err != nil && !fault.Table[fault.CodeOf(err)].Retryable {
				with = nil
			}
		}
		if with == nil {
			stored, err = l.Store.EndCall(ctx, k, reply, cost)
		}
		if err == nil {
			return stored, nil
		}
		if !fault.Table[fault.CodeOf(err)].Retryable || time.Now().After(until) {
			return llm.Reply{}, fmt.Errorf("store the reply of %s: %w", k.Step, err)
		}
		time.Sleep(wait)
	}
}

// admit asks for admission until the run is below its limit of calls.
func (l *Ledger) admit(ctx context.Context, w modelcall.Request) (modelcall.Admission, error) {
	const first, most = 5 * time.Millisecond, 100 * time.Millisecond
	for wait := first; ; wait = min(2*wait, most) {
		t, err := l.Store.BeginCall(ctx, w)
		if err != nil || t.Verdict != modelcall.Full {
			return t, err
		}
		select {
		case <-ctx.Done():
			return modelcall.Admission{}, ctx.Err()
		case <-time.After(wait):
		}
	}
}

// send sends the request, renews the lease meanwhile and records a failure. If the endpoint does
// not support a feature of the request, send tries once more without it.
func (l *Ledger) send(ctx context.Context, w modelcall.Request, req llm.Request, a modelcall.Admission) (llm.Reply,
	error) {
	stop := l.keepLease(ctx, w)
	defer stop()
	reply, err := l.post(ctx, w, a.Request)
	for plainer, ok := llm.Plainer(req, err); ok; plainer, ok = llm.Plainer(plainer, err) {
		reply, err = l.sendInstead(ctx, w, plainer)
	}
	if err == nil {
		return reply, nil
	}
	var failed *llm.Error
	f := modelcall.Failed{Unknown: true} // after cancellation, the outcome at the endpoint is unknown
	if errors.As(err, &failed) {
		f.Class, f.Unknown, f.Status = string(failed.Class), failed.Sent && failed.Status == 0, failed.Status
		failed.Role = cmp.Or(failed.Role, w.Asked.Label.Stage)
		if failed.Class == llm.Retryable && ctx.Err() == nil {
			failed.RetryAfter = cmp.Or(failed.RetryAfter, delay(a.Attempt))
			f.RetryIn = failed.RetryAfter
		}
		l.logRejected(w, failed)
		err = l.conceal(w, failed)
	}
	f.Message = err.Error()
	if storeErr := l.Store.FailCall(context.WithoutCancel(ctx), w.Key, w.Holder, f); storeErr != nil {
		return llm.Reply{}, errors.Join(err, storeErr)
	}
	return llm.Reply{}, fmt.Errorf("%s: %w", w.Key.Step, err)
}

// post sends a request, as a stream if Emit is set.
func (l *Ledger) post(ctx context.Context, w modelcall.Request, p llm.PreparedRequest) (llm.Reply, error) {
	if l.Files != nil {
		p.Files = func(ctx context.Context, sha256 string) ([]byte, error) {
			return l.Files.AttachmentContent(ctx, w.Key.Workspace, sha256)
		}
	}
	if streamer, ok := l.Model.(llm.Streamer); ok && w.Emit != nil {
		return streamer.Stream(ctx, p, w.Emit)
	}
	return l.Model.Send(ctx, p)
}

// sendInstead stores and sends a simpler request than the rejected one.
func (l *Ledger) sendInstead(ctx context.Context, w modelcall.Request, plainer llm.Request) (llm.Reply, error) {
	prepared, err := l.Model.Prepare(plainer)
	if err != nil {
		return llm.Reply{}, fmt.Errorf("prepare a simpler request: %w", err)
	}
	if err := l.Store.ReplaceCall(ctx, w.Key, w.Holder, prepared, sha256.Sum256(prepared.Body)); err != nil {
		return llm.Reply{}, fmt.Errorf("store a simpler request: %w", err)
	}
	return l.post(ctx, w, prepared)
}

// keepLease renews the lease until the returned function is called.
func (l *Ledger) keepLease(ctx context.Context, w modelcall.Request) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(max(w.Lease/3, time.Millisecond))
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				// A missed renewal costs at most a second request, which the ledger counts.
				_ = l.Store.ExtendCall(ctx, w.Key, w.Holder, w.Lease)
			}
		}
	}()
	return func() { cancel(); <-done }
}

// bytesPerToken is an estimate for English JSON.
const bytesPerToken = 4

// defaultReply is the number of tokens reserved for the reply if the request sets no limit.
const defaultReply = 2000

// reserve estimates the usage of a request before it is sent.
func reserve(p llm.PreparedRequest, r llm.Request) llm.Usage {
	return llm.Usage{Input: len(p.Body)/bytesPerToken + llm.EstimateFiles(r), Output: cmp.Or(r.MaxTokens, defaultReply)}
}
