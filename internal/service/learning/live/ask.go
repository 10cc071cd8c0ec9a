package live

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/learning"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/domain/run"
	"cairn/internal/service/learning/bank"
	memories "cairn/internal/service/memory"
	"cairn/internal/store"
)

// Ask answers one probe with an ordinary search and scores the result by the share of the answer's
// words. The score goes to the decisions behind the memories that contain the answer. If the spans
// of the probe left no memory that is found, their decisions get the score. Repeated calls have no
// effect.
func (s *Probes) Ask(ctx context.Context, ref run.Ref, number int) error {
	spec, p, err := s.readProbe(ctx, ref, number)
	if err != nil || p.State != StateOpen {
		return err
	}
	// A search without vectors finds less, which would not be the fault of a decision.
	if _, err := s.ports.Encoder.Embed(ctx, []string{p.Question}); err != nil {
		return err
	}
	ids, text, err := s.search(ctx, ref.Workspace, p.Question, spec.TopN)
	if err != nil {
		return err
	}
	score := bank.Recall([]string{p.Answer}, text)
	return s.ports.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
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
func (s *Probes) readProbe(ctx context.Context, ref run.Ref, number int) (spec ProbeSpec, p learning.Probe, err error) {
	err = s.ports.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		r, err := tx.Runs().Run(ctx, ref.Run)
		if err != nil {
			return err
		}
		if spec, err = bank.DecodeReply[ProbeSpec](r); err != nil {
			return err
		}
		probes, err := tx.Probes().ProbesOf(ctx, ref.Run)
		if err != nil {
			return err
		}
		if number < 0 || number >= len(probes) {
			return fault.Newf(fault.InvalidArgument, "run %s has no probe %d", ref.Run, number)
		}
		p = probes[number]
		return nil
	})
	return spec, p, err
}

// search returns the memories from which a question is answered, as IDs and as one text. The size
// limit is the same as in training episodes.
func (s *Probes) search(ctx context.Context, ws int64, question string, most int) (ids []string, text string,
	err error) {
	ranked, err := s.ports.Memories.Rank(ctx, ws, memories.SearchRequest{Query: question,
		Types: []memory.Type{memory.Personal, memory.Procedural}})
	if err != nil || len(ranked) == 0 {
		return nil, "", err
	}
	var candidates []string
	for _, r := range ranked[:min(len(ranked), most)] {
		candidates = append(candidates, r.ID)
	}
	var entries []memory.Entry
	err = s.ports.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		entries, err = tx.LongTerm().LongTerm(ctx, candidates)
		return err
	})
	var texts []string
	left := bank.ReadTokens
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

// unscorable returns the reason why a probe cannot be scored, or "". Reasons: a decision was
// erased, the span was lost to an endpoint failure, or learning is frozen.
func (s *Probes) unscorable(ctx context.Context, tx store.Tx, p learning.Probe) (string, error) {
	chosen, err := tx.Workspaces().Settings(ctx)
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
			return "the span of the probe was not processed", nil
		}
	}
	return "", nil
}

// recordScore gives the score of a probe to the responsible decisions, with the same credit rules
// as in training.
func (s *Probes) recordScore(ctx context.Context, tx store.Tx, p learning.Probe, uses []learning.MemoryUse) error {
	q := policy.Query{Score: *p.Score, Scored: true, Cited: bank.Cited(uses, p.Question, p.Answer),
		Evidence: p.Decisions}
	for _, m := range uses {
		if m.Decision != "" {
			q.Retrieved = append(q.Retrieved, m.Decision)
		}
	}
	decisions := q.Behind(bank.WellAnswered)
	if err := tx.Outcomes().PutOutcomes(ctx, decisions,
		learning.Outcome{Op: fmt.Sprintf("probe/%s/%d", p.Run, p.Number), Run: p.Run, Source: FromProbe,
			Score: *p.Score}); err != nil {
		return err
	}
	return bank.CountScore(ctx, tx, decisions, *p.Score)
}
