package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"cairn/internal/domain/distillation"
	"cairn/internal/domain/run"
)

// pollInterval is how often a waiting command reads the state of a run.
const pollInterval = 100 * time.Millisecond

// wait returns when every run has ended. It shows the progress on errs.
func (s *session) wait(ctx context.Context, refs []run.Ref, errs io.Writer) error {
	show := newProgress(errs, len(refs))
	defer show.finish()
	for i, ref := range refs {
		err := s.watch(ctx, ref, func(p distillation.Progress) { show.at(i, p) })
		if err != nil {
			return waited(ctx, err, "the run", "cairn runs wait "+ref.Run)
		}
	}
	return nil
}

// watch returns when a run has ended. Until then it calls report with the progress.
func (s *session) watch(ctx context.Context, ref run.Ref, report func(distillation.Progress)) error {
	ended, stop := s.Store.Ended(ref.Run)
	defer stop()
	for {
		p, err := s.Distill.Progress(ctx, ref)
		if err != nil {
			return err
		}
		if report(p); p.Status == run.Ended {
			s.awaited = append(s.awaited, ref)
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ended:
		case <-time.After(pollInterval):
		}
	}
}

// progress shows a bar on a terminal. It prints nothing elsewhere.
type progress struct {
	bar  *progressbar.ProgressBar
	runs int
}

// stepsPerRun is the length of one run on the bar.
const stepsPerRun = 100

func newProgress(w io.Writer, runs int) *progress {
	p := &progress{runs: runs}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.bar = progressbar.NewOptions(runs*stepsPerRun, progressbar.OptionSetWriter(w),
			progressbar.OptionClearOnFinish(), progressbar.OptionSetWidth(30),
			progressbar.OptionSetPredictTime(false))
	}
	return p
}

func (p *progress) at(i int, r distillation.Progress) {
	if p.bar == nil {
		return
	}
	line := string(r.Status)
	if n := len(r.Tasks); n > 0 {
		line = fmt.Sprintf("%d tasks, %d model calls", n, r.Calls)
	}
	if p.runs > 1 {
		line = fmt.Sprintf("%d/%d · %s", i+1, p.runs, line)
	}
	p.bar.Describe(line)
	_ = p.bar.Set(i*stepsPerRun + share(r))
}

// share is the completed part of a run, in steps of the bar.
func share(r distillation.Progress) int {
	if r.Status == run.Ended {
		return stepsPerRun
	}
	const chunked = 15
	if len(r.Tasks) == 0 {
		return chunked / 3
	}
	of := map[distillation.Stage]int{distillation.Chunked: 0, distillation.Recalled: 25, distillation.Extracted: 50,
		distillation.Packaged:  90,
		distillation.EndedTask: 100}
	done := 0
	for _, t := range r.Tasks {
		done += of[t.Stage]
	}
	return chunked + done*(stepsPerRun-chunked)/(100*len(r.Tasks))
}

func (p *progress) finish() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
