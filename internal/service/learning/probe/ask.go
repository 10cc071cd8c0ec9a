package probe

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
	"cairn/internal/service/learning/decision"
	"cairn/internal/service/learning/episode"
	"cairn/internal/service/learning/runspec"
	"cairn/internal/service/longterm"
)

// Ask puts one probe to memory, as any question is, scores what is found by the
// share of the answer's words in it, and gives the score to the decisions behind that:
// to those behind what holds the answer, or to those of the spans that it was made
// from when these left nothing that is found. It counts once.
func (s *Service) Ask(ctx context.Context, ref run.Ref, number int) error {
	spec, p, err := s.readProbe(ctx, ref, number)
	if err != nil || p.State != StateOpen {
		return err
	}
	// words alone would find less, which is nobody's doing
	if _, err := s.ports.Encoder.Embed(ctx, []string{p.Question}); err != nil {
		return err
	}
	ids, text, err := s.search(ctx, ref.Workspace, p.Question, spec.TopN)
	if err != nil {
		return err
	}
	score := episode.Recall([]string{p.Answer}, text)
	return s.ports.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error {
		p.State, p.Score, p.Note = StateScored, &score, ""
		why, err := s.unscorable(ctx, tx, p)
		if err != nil {
			return err
		}
		if why != "" {
			p.State, p.Score, p.Note = StateUnscored, nil, why
		}
		first, err := tx.Probes().EndProbe(ctx, p)
		if err != nil || !first || p.State != StateScored {
			return err
		}
		uses, err := tx.Probes().Behind(ctx, ids)
		if err != nil {
			return err
		}
		return s.recordScore(ctx, tx, p, uses)
	})
}

// readProbe reads one probe of a run.
func (s *Service) readProbe(ctx context.Context, ref run.Ref, number int) (spec Spec, p Probe, err error) {
	err = s.ports.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error {
		r, err := tx.Runs().Run(ctx, ref.Run)
		if err != nil {
			return err
		}
		if spec, err = runspec.Decode[Spec](r); err != nil {
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
	return spec, p, err
}

// search returns the memories that a question is answered from, by id and as one text:
// the best of an ordinary search, as many as an episode of a training reads.
func (s *Service) search(ctx context.Context, ws int64, question string, most int) (ids []string, text string,
	err error) {
	ranked, err := s.ports.Memories.Rank(ctx, ws, longterm.SearchRequest{Query: question,
		Types: []memory.Type{memory.Personal, memory.Procedural}})
	if err != nil || len(ranked) == 0 {
		return nil, "", err
	}
	var candidates []string
	for _, r := range ranked[:min(len(ranked), most)] {
		candidates = append(candidates, r.ID)
	}
	var entries []memory.Entry
	err = s.ports.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx Tx) error {
		entries, err = tx.Memories().LongTerm(ctx, candidates)
		return err
	})
	var texts []string
	left := episode.ReadTokens
	for _, id := range candidates {
		i := slices.IndexFunc(entries, func(e memory.Entry) bool { return e.ID == id && e.Status == memory.Active })
		if i < 0 {
			continue
		}
		if left -= llm.EstimateTokens(entries[i].Content); left < 0 {
			break
		}
		ids, texts = append(ids, id), append(texts, entries[i].Content)
	}
	return ids, strings.Join(texts, "\n"), err
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
		if !found || !d.Answered() {
			return "no model went through the span that it is about", nil
		}
	}
	return "", nil
}

// recordScore gives the score of a probe to the decisions that answer for it, as the credit
// of a training does.
func (s *Service) recordScore(ctx context.Context, tx Tx, p Probe, uses []decision.MemoryUse) error {
	q := policy.Query{Score: *p.Score, Scored: true, Cited: decision.Cited(uses, p.Question, p.Answer),
		Evidence: p.Decisions}
	for _, m := range uses {
		if m.Decision != "" {
			q.Retrieved = append(q.Retrieved, m.Decision)
		}
	}
	decisions := q.Behind(episode.WellAnswered)
	if err := tx.Outcomes().PutOutcomes(ctx, decisions,
		decision.Outcome{Op: fmt.Sprintf("probe/%d/%d", p.Run, p.Number), Run: p.Run, Source: FromProbe,
			Score: *p.Score}); err != nil {
		return err
	}
	return decision.CountScore(ctx, tx, decisions, *p.Score)
}
