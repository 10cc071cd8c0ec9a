// Package ledger makes model calls happen once. The exact request is stored
// before it is sent and the reply before anybody uses it, under the key
// (workspace, run, step, round): a second attempt returns the stored reply, or
// sends the stored request again. Between a reply leaving the endpoint and its
// being stored there is a window that nobody can close; a call caught in it is
// counted as unknown, never hidden.
package ledger

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/ports"
	"cairn/internal/domain/run"
)

// Verdict is what the ledger answers to a request.
type Verdict string

const (
	Send       Verdict = "send"        // the row is ours: send Admission.Request
	Stored     Verdict = "stored"      // the reply is known: Admission.Reply
	Busy       Verdict = "busy"        // another attempt holds a live lease
	Full       Verdict = "full"        // as many calls of this run as allowed are in flight
	OverBudget Verdict = "over_budget" // the workspace's day is spent
)

// CallRequest is what a caller wants to send.
type CallRequest struct {
	Asked    llm.Request
	Key      run.CallKey
	Holder   run.Holder
	Lease    time.Duration
	Request  llm.PreparedRequest
	SHA      [sha256.Size]byte
	Reserve  int64 // tokens held against the day's budget until the reply is known
	Micros   int64 // micro-dollars that they may cost, 0 when the model's price is unknown
	Parallel int   // calls of this run in flight at once, 0 for any number
}

// Admission is the ledger's answer to a CallRequest.
type Admission struct {
	Verdict Verdict
	Request llm.PreparedRequest // what is to be sent: the stored bytes, when there were some
	Reply   llm.Reply           // with Stored
	Wait    time.Duration       // with Busy: until the other's lease runs out
	Reason  string              // with OverBudget
}

// Store keeps the ledger's rows. Each method is one transaction, and the clock
// of leases is the database's.
type Store interface {
	BeginCall(ctx context.Context, w CallRequest) (Admission, error)
	ExtendCall(ctx context.Context, k run.CallKey, h run.Holder, lease time.Duration) error
	ReplaceCall(ctx context.Context, k run.CallKey, h run.Holder, p llm.PreparedRequest, sha [sha256.Size]byte) error
	// the first stored reply
	EndCall(ctx context.Context, k run.CallKey, r llm.Reply, costMicros *int64) (llm.Reply, error)
	FailCall(ctx context.Context, k run.CallKey, h run.Holder, class, message string, unknown bool) error
}

// BusyError says that another attempt is at the call now; After it, that
// attempt has stored a reply or lost its lease.
type BusyError struct{ After time.Duration }

func (e *BusyError) Error() string {
	return fmt.Sprintf("another attempt is making this call; its lease ends in %s", e.After.Round(time.Millisecond))
}

// Ports are what the ledger works with.
type Ports struct {
	Store         Store
	Model         llm.Model
	Prices        llm.Prices
	Lease         time.Duration // renewed every third of it while a call is open
	StoreRetryFor time.Duration // how long a paid reply is held while the database is away; 0 gives it up at once
	Log           *slog.Logger  // hears of requests that were turned down; nil keeps them quiet
}

// Ledger calls one model once.
type Ledger struct{ Ports }

// New makes the ledger. A required port that is nil is an error.
func New(p Ports) (*Ledger, error) {
	err := ports.Require("ledger", map[string]any{"Store": p.Store, "Model": p.Model})
	if err != nil {
		return nil, err
	}
	return &Ledger{Ports: p}, nil
}

// Call returns the reply to req under key k, paying at most once for each reply
// that could be stored. Parallel bounds the run's calls in flight, 0 for any
// number; the call waits its turn.
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

// Prepare readies a call. A caller that has more to store with the request asks
// Repository for its Admission, in a transaction of its own, and then Execute.
func (l *Ledger) Prepare(k run.CallKey, req llm.Request, parallel int) (CallRequest, error) {
	prepared, err := l.Model.Prepare(req)
	if err != nil {
		return CallRequest{}, fmt.Errorf("prepare %s: %w", k.Step, err)
	}
	most := reserve(prepared, req.MaxTokens)
	request := CallRequest{Asked: req, Key: k, Holder: uuid.New(), Lease: l.Lease, Request: prepared,
		SHA: sha256.Sum256(prepared.Body), Reserve: int64(most.Input + most.Output), Parallel: parallel}
	request.Micros, _ = l.Prices.Cost(prepared.Model, most)
	return request, nil
}

// Repository is the ledger's rows in a transaction of a caller's.
type Repository interface {
	AdmitCall(ctx context.Context, w CallRequest) (Admission, error)
	// StoreReply fails the transaction with ErrReplyExists when another reply is stored.
	StoreReply(ctx context.Context, k run.CallKey, r llm.Reply, costMicros *int64) (llm.Reply, error)
}

// ErrReplyExists is a reply that another attempt was first to store.
var ErrReplyExists = errors.New("another attempt has stored a reply")

// StoreReply stores a reply with what its caller makes of it, all or nothing, and
// returns it as it is stored.
type StoreReply func(ctx context.Context, reply llm.Reply, costMicros *int64) (llm.Reply, error)

// try is keep for replies that may be more than their caller can bear: one that
// makes it panic is an error, or each further attempt would pay for it again.
func (keep StoreReply) try(ctx context.Context, reply llm.Reply, cost *int64) (stored llm.Reply, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("keep a reply: %v", r)
		}
	}()
	return keep(ctx, reply, cost)
}

// Execute returns the reply to a request that got its admission. With keep the reply is
// stored by it; what keep cannot store is stored alone, so that a reply that its
// caller can make nothing of is not lost.
func (l *Ledger) Execute(ctx context.Context, request CallRequest, admission Admission, keep StoreReply) (llm.Reply,
	error) {
	k, req := request.Key, request.Asked
	switch admission.Verdict {
	case Stored:
		return admission.Reply, nil
	case Busy:
		return llm.Reply{}, &BusyError{After: admission.Wait}
	case OverBudget:
		return llm.Reply{}, fault.New(fault.QuotaExceeded, admission.Reason,
			"raise the workspace's budget, or retry the run tomorrow: cairn runs retry")
	}
	reply, err := l.send(ctx, request, req, admission.Request)
	if err != nil {
		return llm.Reply{}, err
	}
	var cost *int64
	if micros, known := l.Prices.Cost(reply.Model, reply.Usage); known {
		cost = &micros
	}
	// The reply is paid: it is stored even when the caller has been cancelled. When
	// another attempt stored one before, both go on with that one.
	return l.keep(ctx, k, reply, cost, keep)
}

// keep stores a reply. It is paid, so a database that is away for a moment is
// waited for.
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

// admit asks until a place among the run's calls is free.
func (l *Ledger) admit(ctx context.Context, w CallRequest) (Admission, error) {
	const first, most = 5 * time.Millisecond, 100 * time.Millisecond
	for wait := first; ; wait = min(2*wait, most) {
		t, err := l.Store.BeginCall(ctx, w)
		if err != nil || t.Verdict != Full {
			return t, err
		}
		select {
		case <-ctx.Done():
			return Admission{}, ctx.Err()
		case <-time.After(wait):
		}
	}
}

// send makes the request under a lease that it keeps alive, and writes down a
// failure. An endpoint that does not know something of the request gets it once
// more without.
func (l *Ledger) send(ctx context.Context, w CallRequest, req llm.Request, p llm.PreparedRequest) (llm.Reply, error) {
	stop := l.keepLease(ctx, w)
	defer stop()
	reply, err := l.Model.Send(ctx, p)
	for plainer, ok := llm.Plainer(req, err); ok; plainer, ok = llm.Plainer(plainer, err) {
		reply, err = l.sendInstead(ctx, w, plainer)
	}
	if err == nil {
		return reply, nil
	}
	var failed *llm.Error
	class, unknown := "", true // a cancelled caller cannot tell what the endpoint did
	if errors.As(err, &failed) {
		class, unknown = string(failed.Class), failed.Sent && failed.Status == 0
		l.logRejected(w, failed)
	}
	if storeErr := l.Store.FailCall(context.WithoutCancel(ctx), w.Key, w.Holder, class, err.Error(),
		unknown); storeErr != nil {
		return llm.Reply{}, errors.Join(err, storeErr)
	}
	return llm.Reply{}, fmt.Errorf("%s: %w", w.Key.Step, err)
}

// sendInstead stores and sends a plainer request than the one that was turned down.
func (l *Ledger) sendInstead(ctx context.Context, w CallRequest, plainer llm.Request) (llm.Reply, error) {
	prepared, err := l.Model.Prepare(plainer)
	if err != nil {
		return llm.Reply{}, fmt.Errorf("prepare a plainer request: %w", err)
	}
	if err := l.Store.ReplaceCall(ctx, w.Key, w.Holder, prepared, sha256.Sum256(prepared.Body)); err != nil {
		return llm.Reply{}, fmt.Errorf("store a plainer request: %w", err)
	}
	return l.Model.Send(ctx, prepared)
}

// keepLease extends the lease until the returned function is called.
func (l *Ledger) keepLease(ctx context.Context, w CallRequest) (stop func()) {
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
				// A missed extension costs at most a second request, which the ledger counts.
				_ = l.Store.ExtendCall(ctx, w.Key, w.Holder, w.Lease)
			}
		}
	}()
	return func() { cancel(); <-done }
}

// bytesPerToken is the usual rule of thumb for English JSON.
const bytesPerToken = 4

// defaultReply is the reply length, in tokens, that is reserved when the request sets none.
const defaultReply = 2000

// reserve is what a request may use, as far as can be told before it is sent.
func reserve(p llm.PreparedRequest, maxTokens int) llm.Usage {
	if maxTokens == 0 {
		maxTokens = defaultReply
	}
	return llm.Usage{Input: len(p.Body) / bytesPerToken, Output: maxTokens}
}
