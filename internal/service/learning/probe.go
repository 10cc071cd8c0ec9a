package learning

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill/executor"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/service/memoryagent"
)

// FromProbe is where the outcome of a decision comes from when memory has asked
// itself.
const FromProbe = "probe"

// States of a probe. Only a score teaches anything.
const (
	ProbeOpen     = "open"
	ProbeScored   = "scored"
	ProbeUnscored = "unscored" // what it is about is gone, or learning was frozen
	ProbeError    = "error"    // something that is needed did not answer
)

// Probe is a question that was made from a conversation which was remembered: its
// answer is known, so what memory finds for it has a score.
type Probe struct {
	Run          int64      `json:"run"` // that made it
	Number       int        `json:"number"`
	Conversation int64      `json:"conversation"`
	Bank         int64      `json:"-"`
	Question     string     `json:"question"`
	Answer       string     `json:"answer"`
	Evidence     []int      `json:"evidence"` // messages of the conversation that hold the answer
	Decisions    []string   `json:"-"`        // of the spans with these
	State        string     `json:"state"`
	Score        *float64   `json:"score,omitempty"` // 0–1, share of the answer's words in what was found
	Note         string     `json:"note,omitempty"`
	CreatedAt    time.Time  `json:"created_at"`
	EndedAt      *time.Time `json:"ended_at,omitempty"`
}

// ProbeSpec is what the probing of a build is pinned to.
type ProbeSpec struct {
	Spec
	Lang   string `json:"lang"`
	Bank   string `json:"bank"`
	BankID int64  `json:"bank_id"`
	Build  int64  `json:"build"` // run whose decisions are probed
	TopN   int    `json:"top_n"` // memories that a question is answered from, at most
}

// Probed is what a probing came to.
type Probed struct {
	Outcome  run.Outcome `json:"outcome"`
	Bank     string      `json:"bank"`
	Probes   int         `json:"probes"`
	Scored   int         `json:"scored"`
	Unscored int         `json:"unscored,omitempty"`
	Errors   int         `json:"errors,omitempty"`
	Mean     float64     `json:"mean"` // of the scores
}

// probing is how many probes a workspace lets memory make in 24 hours: none where
// nothing can be learnt of them.
func probing(chosen settings.Settings) int {
	l := chosen.Memory.Learning
	if chosen.Memory.Builder != settings.BuilderSkills || l.Frozen || l.ExplorePerDay == 0 {
		return 0
	}
	return l.ProbesPerDay
}

// acceptProbe makes a probing durable when a build has ended and the day has room for
// one. It is a run of its own: a build does not wait for it, nor fail with it.
func (s *Service) acceptProbe(ctx context.Context, tx Tx, build run.Run, spec BuildSpec, made []Decision) error {
	chosen, err := tx.Workspace().Settings(ctx)
	if err != nil || probing(chosen) == 0 || !slices.ContainsFunc(made, answered) {
		return err
	}
	if err := tx.Probes().LockProbes(ctx); err != nil {
		return err
	}
	spent, err := tx.Probes().ProbesSpent(ctx)
	if err != nil || spent >= probing(chosen) {
		return err
	}
	key := fmt.Sprintf("build/%d", build.Ref.Run)
	asked := ProbeSpec{Spec: spec.Spec, Lang: spec.Lang, Bank: spec.Bank, BankID: spec.BankID, Build: build.Ref.Run, TopN: spec.Keeping.TopN}
	raw, err := json.Marshal(asked)
	if err != nil {
		return fmt.Errorf("encode the configuration: %w", err)
	}
	self, err := tx.Workspace().WorkspaceKey(ctx)
	if err != nil {
		return err
	}
	r, err := tx.Runs().PutAgentRun(ctx, memoryagent.NewRun{Kind: run.Probe, Key: key, Generation: 1, ArgsSHA: sha256.Sum256([]byte(key)), Conversation: build.Conversation, Spec: raw,
		WorkflowID: contract.ProbeID(self, build.Ref.Run)})
	if err != nil || r.Status == run.Ended {
		return err
	}
	return tx.Runs().EnqueueRun(ctx, r.Ref.Run)
}

// answered tells of a decision whose span a model has gone through.
func answered(d Decision) bool {
	return d.Outcome != nil && d.Outcome.Outcome != executor.LLMError
}

// OpenProbe marks a probing as picked up. Over is set when an earlier attempt has
// brought it to its end.
func (s *Service) OpenProbe(ctx context.Context, ref run.Ref) (over *Probed, err error) {
	err = s.Store.WithEvolve(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error {
		r, err := tx.Runs().Run(ctx, ref.Run)
		if err != nil {
			return err
		}
		if r.Status == run.Ended {
			over = new(Probed)
			return json.Unmarshal(r.Result, over)
		}
		_, err = tx.Runs().StartRun(ctx, ref.Run)
		return err
	})
	return over, err
}

// CloseProbe ends a probing with what its probes say; those that nobody could ask are
// errors, and teach nothing. Code is set when the workflow gave up.
func (s *Service) CloseProbe(ctx context.Context, ref run.Ref, code, reason string) (out Probed, err error) {
	first := false
	err = s.Store.WithEvolve(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error {
		out, first = Probed{}, false
		r, err := tx.Runs().Run(ctx, ref.Run)
		if err != nil {
			return err
		}
		if r.Status == run.Ended {
			return json.Unmarshal(r.Result, &out)
		}
		spec, err := specOf[ProbeSpec](r)
		if err != nil {
			return err
		}
		if out, err = ended(ctx, tx, ref, reason); err != nil {
			return err
		}
		out.Bank = spec.Bank
		switch {
		case code == string(fault.Cancelled):
			out.Outcome = run.CancelledOutcome
		case code != "" && out.Scored == 0:
			out.Outcome = run.Failed
		case out.Errors > 0:
			out.Outcome = run.CompletedPartial
		case out.Probes == 0:
			out.Outcome = run.NothingToExtract
		default:
			out.Outcome = run.Completed
		}
		first = true
		return tx.Runs().EndRun(ctx, ref.Run, out.Outcome, reason, out)
	})
	if err == nil && first && out.Probes > 0 {
		s.report(ofProbes, Outcomes{Of: out.Scored + out.Errors, Masked: out.Errors}, "run", ref.Run)
	}
	return out, err
}

// ended ends the probes of a run that are open still, and adds all up.
func ended(ctx context.Context, tx Tx, ref run.Ref, reason string) (out Probed, err error) {
	probes, err := tx.Probes().ProbesOf(ctx, ref.Run)
	if err != nil {
		return out, err
	}
	for _, p := range probes {
		p.State, p.Note = ProbeError, reason
		if _, err := tx.Probes().EndProbe(ctx, p); err != nil { // which leaves those alone that have ended
			return out, err
		}
	}
	if probes, err = tx.Probes().ProbesOf(ctx, ref.Run); err != nil {
		return out, err
	}
	out.Probes = len(probes)
	for _, p := range probes {
		switch p.State {
		case ProbeError:
			out.Errors++
		case ProbeUnscored:
			out.Unscored++
		case ProbeScored:
			out.Scored++
			out.Mean += (*p.Score - out.Mean) / float64(out.Scored)
		}
	}
	return out, nil
}

// Probes lists the questions that memory has asked itself, of the latest run first.
func (s *Service) Probes(ctx context.Context, ws int64, name string, most int) (out []Probe, err error) {
	err = s.Store.WithEvolve(ctx, ws, func(ctx context.Context, tx Tx) error {
		head, err := s.bank(ctx, tx, name)
		if err == nil {
			out, err = tx.Probes().Probes(ctx, head.ID, most)
		}
		return err
	})
	return out, err
}
