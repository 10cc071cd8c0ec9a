package train

import (
	"context"
	"slices"

	"cairn/internal/domain/learning"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/designer"
	"cairn/internal/domain/run"
	"cairn/internal/service/learning/bank"
	"cairn/internal/store"
)

// maxCases is the number of latest open cases from which a round selects.
const maxCases = designer.DefaultRoom

// maxMemories is the number of memories that are searched for the answer of a case.
const maxMemories = 500

// Mine selects the cases of a round. It never selects cases of held-out conversations.
func (s *Evolution) Mine(ctx context.Context, ref run.Ref) (n int, err error) {
	var failed []learning.Case
	var traces map[int64]bank.EpisodeTrace
	r, spec, _, err := s.read(ctx, ref, func(tx store.Tx, spec EvolutionSpec, h bank.Head) error {
		failed, traces, err = s.readCases(ctx, tx, ref, spec, h)
		return err
	})
	if err != nil || r.Outcome != "" || len(r.Cases) > 0 {
		return len(r.Cases), err
	}
	recipe, err := memoryskill.NewRecipe(spec.Recipe)
	if err != nil {
		return 0, err
	}
	searched, err := s.searchMemories(ctx, ref, failed, spec.Keeping.TopN)
	if err != nil {
		return 0, err
	}
	if r.Cases, err = s.miner.Mine(ctx, searched, traces, recipe); err != nil {
		return 0, err
	}
	for id := range traces {
		r.Conversations = append(r.Conversations, id)
	}
	slices.Sort(r.Conversations)
	return len(r.Cases), s.ports.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		return tx.Rounds().SaveRound(ctx, r)
	})
}

// readCases reads the open cases for a round, with their conversations.
func (s *Evolution) readCases(ctx context.Context, tx store.Tx, ref run.Ref, spec EvolutionSpec,
	h bank.Head) (failed []learning.Case, traces map[int64]bank.EpisodeTrace, err error) {
	if failed, err = bank.Open(ctx, tx, h.ID, maxCases); err != nil {
		return nil, nil, err
	}
	failed = slices.DeleteFunc(failed, func(c learning.Case) bool { return slices.Contains(spec.Held, c.Conversation) })
	traces = map[int64]bank.EpisodeTrace{}
	for _, c := range failed {
		id := c.Conversation
		if _, read := traces[id]; read || id == 0 {
			continue
		}
		if traces[id], err = bank.ReadEpisodeTrace(ctx, tx, id, nil, spec.Keeping.Spanning); err != nil {
			return nil, nil, err
		}
		if err := tx.Training().ShownTo(ctx, ref.Run, id); err != nil {
			return nil, nil, err
		}
	}
	return failed, traces, nil
}

// searchMemories adds to each case the memories near its question, and those of them that the
// question would be answered from.
func (s *Evolution) searchMemories(ctx context.Context, ref run.Ref, failed []learning.Case,
	topN int) ([]FailedCase, error) {
	var texts []string
	for _, c := range failed {
		texts = append(texts, c.Question)
	}
	vectors, err := s.ports.Encoder.Embed(ctx, texts)
	if err != nil {
		return nil, err
	}
	out := make([]FailedCase, len(failed))
	for i, c := range failed {
		out[i].Case = c
		err := s.ports.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
			near, err := tx.Documents().Neighbors(ctx, vectors[i], s.ports.Space, maxMemories)
			if err != nil {
				return err
			}
			for n, one := range near {
				out[i].Items = append(out[i].Items, one.Content)
				if n < topN && len(c.Retrieved) == 0 {
					out[i].Retrieved = append(out[i].Retrieved, one.Content)
				}
			}
			if len(c.Retrieved) == 0 {
				return nil
			}
			entries, err := tx.LongTerm().LongTerm(ctx, c.Retrieved)
			for _, e := range entries {
				out[i].Retrieved = append(out[i].Retrieved, e.Content)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
