package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

const (
	reembedSteps     = 500              // batches before Reembed continues as new
	reembedBatchTime = 30 * time.Minute // limit of one batch, which a small machine embeds slowly
	reembedAgain     = time.Second      // pause before documents that were written meanwhile are embedded
	reembedHandOver  = 10               // passes after which a small rest is left to the outbox
)

// Reembed gives all documents of a workspace a vector in a space and then makes the workspace use
// it. It embeds documents in batches, each of which continues after the last one. Documents that
// are written meanwhile are found in a further pass.
func Reembed(ctx workflow.Context, in contract.ReembedInput) error {
	r := &reembedding{in: in, signals: workflow.GetSignalChannel(ctx, contract.SignalReembed)}
	again, err := r.run(ctx)
	if again {
		return workflow.NewContinueAsNewError(ctx, Reembed, r.in)
	}
	if err == nil {
		return nil
	}
	code, reason := explain(err)
	state := "failed"
	if temporal.IsCanceledError(err) {
		state, reason = "cancelled", ""
	} else {
		reason += " [" + code + "]"
	}
	detached, _ := workflow.NewDisconnectedContext(ctx)
	if failed := r.mark(detached, state, reason); failed != nil {
		return failed
	}
	return err
}

// reembedding is the state of Reembed.
type reembedding struct {
	in      contract.ReembedInput
	signals workflow.ReceiveChannel
	again   bool // the next batch begins with the first document
}

// run does everything but the end. Again is true if the workflow shall continue as new.
func (r *reembedding) run(ctx workflow.Context) (again bool, err error) {
	if !r.in.Begun {
		if err := perform(ctx, r.long("count the documents"), contract.ReembedBegin, r.in); err != nil {
			return false, err
		}
		r.in.Begun = true
	}
	for step := 0; ; step++ {
		if err := r.steer(ctx); err != nil {
			return false, err
		}
		if step >= reembedSteps || workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return true, nil
		}
		if done, err := r.step(ctx); err != nil || done {
			return false, err
		}
	}
}

// step embeds a batch. After the last one it makes the workspace use the space. Done is true if it
// does.
func (r *reembedding) step(ctx workflow.Context) (done bool, err error) {
	begun := workflow.Now(ctx)
	options := modelStep(r.timeouts(), "embed documents")
	options.StartToCloseTimeout, options.ScheduleToCloseTimeout = reembedBatchTime, 0 // retried without a limit
	batch, err := execute[contract.ReembedBatchResult](ctx, options, contract.ReembedBatch,
		contract.ReembedBatchInput{ReembedRef: r.in.ReembedRef, Rate: r.in.Rate, Again: r.again})
	if err != nil {
		return false, err
	}
	r.again = false
	if batch.Documents > 0 {
		return false, r.slow(ctx, batch.Documents, workflow.Now(ctx).Sub(begun))
	}
	setDetails(ctx, "Changing the space of the workspace, pass %d", r.in.Rounds+1)
	change, err := execute[contract.ReembedSwitchResult](ctx, r.long("change the space"), contract.ReembedSwitch,
		contract.ReembedSwitchInput{ReembedRef: r.in.ReembedRef, HandOver: r.in.Rounds >= reembedHandOver})
	if err != nil || change.Done {
		return true, err
	}
	r.in.Rounds++
	r.again = true
	return false, workflow.Sleep(ctx, reembedAgain)
}

// slow waits so that not more documents per second are embedded than allowed.
func (r *reembedding) slow(ctx workflow.Context, documents int, took time.Duration) error {
	if r.in.Rate == 0 {
		return nil
	}
	return workflow.Sleep(ctx, time.Duration(documents)*time.Second/time.Duration(r.in.Rate)-took)
}

// steer applies signals. While the re-embedding is paused, it waits for the next signal.
func (r *reembedding) steer(ctx workflow.Context) error {
	paused := r.in.Paused
	for {
		var action string
		if !r.signals.ReceiveAsync(&action) {
			if paused == r.in.Paused && !paused {
				return nil
			}
			if paused != r.in.Paused {
				if err := r.mark(ctx, map[bool]string{true: "paused", false: "running"}[paused], ""); err != nil {
					return err
				}
				r.in.Paused = paused
				continue
			}
			setDetails(ctx, "Paused")
			if err := workflow.Await(ctx, func() bool { return r.signals.Len() > 0 }); err != nil {
				return err
			}
			continue
		}
		paused = action == contract.PauseReembed
	}
}

func (r *reembedding) mark(ctx workflow.Context, state, reason string) error {
	return perform(ctx, databaseStep(r.timeouts(), "record the state"), contract.ReembedMark,
		contract.ReembedMarkInput{ReembedRef: r.in.ReembedRef, State: state, Reason: reason})
}

// long returns the options of a database step that may take long.
func (r *reembedding) long(summary string) workflow.ActivityOptions {
	return eraseStep(r.timeouts(), summary)
}

func (r *reembedding) timeouts() contract.StepTimeouts {
	t := defaultTimeouts()
	if r.in.Heartbeat > 0 {
		t.Heartbeat = r.in.Heartbeat
	}
	return t
}
