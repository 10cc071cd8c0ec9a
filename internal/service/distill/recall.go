package distill

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"cairn/internal/domain/distillation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/index"
	"cairn/internal/domain/lexical"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/domain/skill"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/search"
	"cairn/internal/store"
)

// fallbackQueryChars is the length of the first request that is used if the model states no query.
const fallbackQueryChars = 512

// wanted is the search query for a task's candidates.
type wanted struct {
	query  string
	vector search.Vector // without values if the embedder is unavailable
}

// wants returns the query of a task with its vector.
func (s *Service) wants(ctx context.Context, j job, t distillation.Task) wanted {
	query := cmp.Or(t.Query, j.firstRequest(t))
	return wanted{query: query, vector: s.embed(ctx, j.run.Workspace, query)}
}

// recall finds candidate skills for t and stores them under handles.
func (s *Service) recall(ctx context.Context, tx store.Tx, j job, t *distillation.Task, w wanted) (err error) {
	t.Query, t.Stage = w.query, distillation.Recalled
	if t.Candidates, err = s.candidates(ctx, tx, j.spec.Limits, w.query, w.vector); err != nil {
		return err
	}
	return tx.Tasks().SaveRecall(ctx, *t)
}

// Recall finds the candidates for Draft. It returns their number, and ended if the task is over.
func (s *Service) Recall(ctx context.Context, ref run.Ref, key string) (candidates int, ended bool, err error) {
	j, t, err := s.loadTask(ctx, ref, key, nil)
	if err != nil || t.Stage != distillation.Chunked {
		return len(t.Candidates), t.Stage == distillation.EndedTask, err
	}
	w := s.wants(ctx, j, t)
	err = s.Store.InWorkspaceByKeys(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		return s.recall(ctx, tx, j, &t, w)
	})
	return len(t.Candidates), false, err
}

// firstRequest returns the name of a task and the first user message in it.
func (j job) firstRequest(t distillation.Task) string {
	for _, m := range j.messages(t.Seqs) {
		if m.FromHuman() {
			return t.Name + ": " + transcript.Clip(m.Content, fallbackQueryChars)
		}
	}
	return t.Name
}

// candidates searches skills and keeps those above the minimum similarity.
func (s *Service) candidates(ctx context.Context, tx store.Tx, l Limits, query string,
	vector search.Vector) ([]distillation.Candidate,
	error) {
	hits, err := tx.Documents().Search(ctx, skillQuery(query, vector, 4*l.RecallTopK))
	if err != nil {
		return nil, err
	}
	var out []distillation.Candidate
	for _, h := range hits {
		if h.Cosine < l.RecallMinSim && !search.Relevant(h) {
			continue
		}
		head, err := tx.Skills().SkillHead(ctx, h.Owner)
		if isNotFound(err) { // deleted since the search
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, distillation.Candidate{Handle: fmt.Sprintf("S%d", len(out)+1), Skill: h.Owner,
			Version: head.Version})
		if len(out) == l.RecallTopK {
			break
		}
	}
	return out, nil
}

// skillQuery searches active skills, candidates and drafts, because new evidence can improve each of them.
func skillQuery(text string, vector search.Vector, limit int) index.Query {
	q := index.Query{
		Kind: index.KindSkill,
		States: []string{
			string(skill.Active),
			string(skill.Candidate),
			string(skill.DraftStatus),
		},
		Vector: vector.Values,
		Space:  vector.Space,
		Limit:  limit,
	}
	for _, t := range lexical.Terms(text) {
		q.Terms = append(q.Terms, t.Hash)
	}
	return q
}

// embed returns no values if the embedder is unavailable. Search then uses only words, and new
// documents are embedded later.
func (s *Service) embed(ctx context.Context, ws int64, text string) search.Vector {
	return search.VectorOf(ctx, search.SpacesOr(s.Spaces, search.Space{ID: s.Space, Embedder: s.Embedder}), ws, text)
}

// readCandidates loads the candidate versions of a task.
func readCandidates(ctx context.Context, tx store.Tx, t distillation.Task) ([]prompt.Candidate, error) {
	var out []prompt.Candidate
	for _, c := range t.Candidates {
		v, err := tx.Skills().Version(ctx, c.Skill, c.Version)
		if isNotFound(err) { // pruned between the search and the write
			continue
		}
		if err != nil {
			return nil, err
		}
		shown := showVersion(v)
		shown.Handle = c.Handle
		out = append(out, shown)
	}
	return out, nil
}

func isNotFound(err error) bool {
	var f *fault.Error
	return errors.As(err, &f) && f.Code == fault.NotFound
}
