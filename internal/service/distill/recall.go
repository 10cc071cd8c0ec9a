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

// fallbackQueryChars is how much of the first request stands in for a rewrite.
const fallbackQueryChars = 512

// wanted is what a task's candidates are searched by.
type wanted struct {
	query  string
	vector []float32 // nil when the embedder is down
}

// wants asks q, which writes what it decodes into w. Ended is set when the task is over.
func (s *Service) wants(ctx context.Context, j job, t Task, q question, w *wanted) (ended bool, err error) {
	// A model that cannot say it is not worth failing for: the first request says it too.
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
	w.vector = s.embed(ctx, w.query)
	return false, nil
}

// recall finds the skills that t may belong to and stores them under handles.
func (s *Service) recall(ctx context.Context, tx Tx, j job, t *Task, w wanted) (err error) {
	t.Query, t.Stage = w.query, Recalled
	if t.Candidates, err = s.candidates(ctx, tx, j.spec.Limits, w.query, w.vector); err != nil {
		return err
	}
	return tx.Drafts().SaveRecall(ctx, *t)
}

// Recall is the first half of Draft. It returns how many skills there are, and ended
// when the task is over.
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

// rewriting asks for one sentence that says what is wanted.
func (j job) rewriting(t Task, query *string) question {
	return question{step: rewriteStep(t), stage: prompt.Rewrite, role: "rewrite", task: t.Key, lang: t.Lang,
		material: prompt.Material{Task: t.Name,
			Messages: transcript.Material(j.messages(t.Seqs), j.spec.Limits.ToolOutputChars), Language: t.Lang},
		decode: func(text string) error {
			*query = strings.TrimSpace(strings.ReplaceAll(field(text, "query"), "\x00", "")) // which no store holds
			return nil
		}}
}

// firstRequest is a task's name with what its person asked for first.
func (j job) firstRequest(t Task) string {
	for _, m := range j.messages(t.Seqs) {
		if m.Role == transcript.User {
			return t.Name + ": " + transcript.Clip(m.Content, fallbackQueryChars)
		}
	}
	return t.Name
}

// candidates searches and keeps what is near enough to be shown.
func (s *Service) candidates(ctx context.Context, tx Tx, l Limits, query string, vector []float32) ([]Candidate,
	error) {
	hits, err := tx.Skills().Search(ctx, s.skillQuery(query, vector, 4*l.RecallTopK))
	if err != nil {
		return nil, err
	}
	var out []Candidate
	for _, h := range hits {
		if h.Cosine < l.RecallMinSim && !search.Relevant(h) {
			continue
		}
		head, err := tx.Skills().SkillHead(ctx, h.Owner)
		if isNotFound(err) { // deleted since it was found
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

// skillQuery looks for skills in force, waiting for approval, or not good enough
// yet: what is learnt again makes these better.
func (s *Service) skillQuery(text string, vector []float32, limit int) search.Query {
	q := search.Query{Kind: search.KindSkill,
		States: []string{string(skill.Active), string(skill.Candidate), string(skill.DraftStatus)}, Vector: vector,
		Space: s.Space, Limit: limit}
	for _, t := range lexical.Terms(text) {
		q.Terms = append(q.Terms, t.Hash)
	}
	return q
}

// embed returns nil when the embedder is down: words are enough to go on, and
// what is stored meanwhile is embedded later.
func (s *Service) embed(ctx context.Context, text string) []float32 {
	vs, err := s.Embedder.Embed(ctx, []string{text})
	if err != nil || len(vs) != 1 {
		return nil
	}
	return vs[0]
}

// field is a string property of a JSON object in text, or all of text when it
// is not such an object: small models answer in plain words.
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

// readCandidates loads the versions that a task's model is shown.
func readCandidates(ctx context.Context, tx Tx, t Task) ([]prompt.Candidate, error) {
	var out []prompt.Candidate
	for _, c := range t.Candidates {
		v, err := tx.Skills().Version(ctx, c.Skill, c.Version)
		if isNotFound(err) { // pruned between the search and the row that keeps it
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
