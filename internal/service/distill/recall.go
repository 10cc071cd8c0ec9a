package distill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/lexical"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/domain/skill"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/ledger"
	"cairn/internal/service/search"
)

// fallbackQueryChars is the length of the first request that is used if the rewrite fails.
const fallbackQueryChars = 512

// wanted is the search query for a task's candidates.
type wanted struct {
	query  string
	vector search.Vector // without values if the embedder is unavailable
}

// wants asks q and decodes its output into w. Ended is true if the task is over.
func (s *Service) wants(ctx context.Context, j job, t Task, q question, w *wanted) (ended bool, err error) {
	// If the model cannot rewrite the query, the first request is used.
	err = s.ask(ctx, j, q)
	if code := fault.CodeOf(err); err != nil && code != fault.ModelInvalid && code != fault.ModelRefused {
		if f, over := ledger.IsPermanent(err); over {
			return true, s.endTask(ctx, t, Failed, f.Error())
		}
		return false, err
	}
	if w.query == "" {
		w.query = j.firstRequest(t)
	}
	w.vector = s.embed(ctx, j.run.Workspace, w.query)
	return false, nil
}

// recall finds candidate skills for t and stores them under handles.
func (s *Service) recall(ctx context.Context, tx Tx, j job, t *Task, w wanted) (err error) {
	t.Query, t.Stage = w.query, Recalled
	if t.Candidates, err = s.candidates(ctx, tx, j.spec.Limits, w.query, w.vector); err != nil {
		return err
	}
	return tx.Drafts().SaveRecall(ctx, *t)
}

// Recall finds the candidates for Draft. It returns their number, and ended if the task is over.
func (s *Service) Recall(ctx context.Context, ref run.Ref, key string) (candidates int, ended bool, err error) {
	var (
		q question
		w wanted
	)
	j, t, err := s.loadTask(ctx, ref, key, func(ctx context.Context, tx Tx, j job, t Task) error {
		if t.Stage != Chunked {
			return nil
		}
		q = j.rewriting(t, &w.query)
		return s.open(ctx, tx, j, &q)
	})
	if err != nil || t.Stage != Chunked {
		return len(t.Candidates), t.Stage == EndedTask, err
	}
	if ended, err = s.wants(ctx, j, t, q, &w); err != nil || ended {
		return 0, ended, err
	}
	err = s.Store.Within(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error {
		return s.recall(ctx, tx, j, &t, w)
	})
	return len(t.Candidates), false, err
}

func rewriteStep(t Task) string { return t.Key + "/rewrite" }

// rewriting is the question that asks for a search query in one sentence.
func (j job) rewriting(t Task, query *string) question {
	return question{step: rewriteStep(t), stage: prompt.Rewrite, role: "rewrite", task: t.Key, lang: t.Lang,
		material: prompt.Material{Task: t.Name,
			Messages: transcript.Material(j.messages(t.Seqs), j.spec.Limits.ToolOutputChars), Language: t.Lang},
		decode: func(text string) error {
			*query = strings.TrimSpace(strings.ReplaceAll(field(text, "query"), "\x00", "")) // no store holds NUL
			return nil
		}}
}

// firstRequest returns the name of a task and the first user message in it.
func (j job) firstRequest(t Task) string {
	for _, m := range j.messages(t.Seqs) {
		if m.FromHuman() {
			return t.Name + ": " + transcript.Clip(m.Content, fallbackQueryChars)
		}
	}
	return t.Name
}

// candidates searches skills and keeps those above the minimum similarity.
func (s *Service) candidates(ctx context.Context, tx Tx, l Limits, query string, vector search.Vector) ([]Candidate,
	error) {
	hits, err := tx.Skills().Search(ctx, skillQuery(query, vector, 4*l.RecallTopK))
	if err != nil {
		return nil, err
	}
	var out []Candidate
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
		out = append(out, Candidate{Handle: fmt.Sprintf("S%d", len(out)+1), Skill: h.Owner, Version: head.Version})
		if len(out) == l.RecallTopK {
			break
		}
	}
	return out, nil
}

// skillQuery searches active skills, candidates and drafts, because new evidence can improve each of them.
func skillQuery(text string, vector search.Vector, limit int) search.Query {
	q := search.Query{
		Kind: search.KindSkill,
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

// field returns a string property of the JSON object in text. If text is not such an object, it
// returns text: small models reply in plain text.
func field(text, name string) string {
	raw, err := llm.ExtractJSON(text)
	if err != nil {
		return text
	}
	var object map[string]json.RawMessage
	var value string
	if json.Unmarshal(raw, &object) != nil || object[name] == nil || json.Unmarshal(object[name], &value) != nil {
		return text
	}
	return value
}

// readCandidates loads the candidate versions of a task.
func readCandidates(ctx context.Context, tx Tx, t Task) ([]prompt.Candidate, error) {
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
