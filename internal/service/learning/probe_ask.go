package learning

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/domain/run"
	"cairn/internal/service/longterm"
)

// AskProbe puts one probe to memory, as any question is, scores what is found by the
// share of the answer's words in it, and gives the score to the decisions behind that:
// to those behind what holds the answer, or to those of the spans that it was made
// from when these left nothing that is found. It counts once.
func (s *Service) AskProbe(ctx context.Context, ref run.Ref, number int) error {
	var spec ProbeSpec
	var p Probe
	err := s.Store.WithEvolve(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error {
		r, err := tx.Runs().Run(ctx, ref.Run)
		if err != nil {
			return err
		}
		if spec, err = specOf[ProbeSpec](r); err != nil {
			return err
		}
		probes, err := tx.Probes().ProbesOf(ctx, ref.Run)
		if err != nil {
			return err
		}
		if number < 0 || number >= len(probes) {
			return fault.Newf(fault.InvalidArgument, "run %d has no probe %d", ref.Run, number)
		}
		p = probes[number]
		return nil
	})
	if err != nil || p.State != ProbeOpen {
		return err
	}
	if _, err := s.embed(ctx, []string{p.Question}); err != nil { // words alone would find less, which is nobody's doing
		return err
	}
	found, err := s.found(ctx, ref.Workspace, p.Question, spec.TopN)
	if err != nil {
		return err
	}
	var texts, ids []string
	for _, e := range found {
		texts, ids = append(texts, e.Content), append(ids, e.ID)
	}
	score := recall([]string{p.Answer}, strings.Join(texts, "\n"))
	return s.Store.WithEvolve(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error {
		p.State, p.Score, p.Note = ProbeScored, &score, ""
		why, err := s.unscorable(ctx, tx, p)
		if err != nil {
			return err
		}
		if why != "" {
			p.State, p.Score, p.Note = ProbeUnscored, nil, why
		}
		first, err := tx.Probes().EndProbe(ctx, p)
		if err != nil || !first || p.State != ProbeScored {
			return err
		}
		met, err := tx.Probes().Behind(ctx, ids)
		if err != nil {
			return err
		}
		return s.probed(ctx, tx, p, met)
	})
}

// found are the memories that a question is answered from: the best of an ordinary
// search, as many as an episode of a training reads.
func (s *Service) found(ctx context.Context, ws int64, question string, most int) (out []memory.Entry, err error) {
	ranked, err := s.LongTerm.Rank(ctx, ws, longterm.SearchRequest{Query: question, Types: []memory.Type{memory.Personal, memory.Procedural}})
	if err != nil || len(ranked) == 0 {
		return nil, err
	}
	var ids []string
	for _, r := range ranked[:min(len(ranked), most)] {
		ids = append(ids, r.ID)
	}
	var entries []memory.Entry
	err = s.LongTerm.Store.WithLongTerm(ctx, ws, func(ctx context.Context, tx longterm.Tx) error {
		entries, err = tx.Memories().LongTerm(ctx, ids)
		return err
	})
	left := readTokens
	for _, id := range ids {
		i := slices.IndexFunc(entries, func(e memory.Entry) bool { return e.ID == id && e.Status == memory.Active })
		if i < 0 {
			continue
		}
		if left -= llm.EstimateTokens(entries[i].Content); left < 0 {
			break
		}
		out = append(out, entries[i])
	}
	return out, err
}

// unscorable says why a probe can have no score: a decision that it is about is gone,
// or an endpoint kept its span from memory; or learning was frozen meanwhile.
func (s *Service) unscorable(ctx context.Context, tx Tx, p Probe) (string, error) {
	chosen, err := tx.Workspace().Settings(ctx)
	if err != nil {
		return "", err
	}
	if chosen.Memory.Learning.Frozen {
		return "memory.learning.frozen is true", nil
	}
	for _, id := range p.Decisions {
		d, found, err := tx.Decisions().DecisionAt(ctx, id)
		if err != nil {
			return "", err
		}
		if !found || !answered(d) {
			return "no model went through the span that it is about", nil
		}
	}
	return "", nil
}

// probed gives the score of a probe to the decisions that answer for it, as the credit
// of a training does.
func (s *Service) probed(ctx context.Context, tx Tx, p Probe, met []MemoryUse) error {
	q := policy.Query{Score: *p.Score, Scored: true, Cited: cited(met, p.Question, p.Answer), Evidence: p.Decisions}
	for _, m := range met {
		if m.Decision != "" {
			q.Retrieved = append(q.Retrieved, m.Decision)
		}
	}
	decisions := q.Behind(wellAnswered)
	if err := tx.Outcomes().PutOutcomes(ctx, decisions, Outcome{Op: fmt.Sprintf("probe/%d/%d", p.Run, p.Number), Run: p.Run, Source: FromProbe, Score: *p.Score}); err != nil {
		return err
	}
	return s.scored(ctx, tx, decisions, *p.Score)
}
