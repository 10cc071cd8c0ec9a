package learning

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/lexical"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/executor"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/service/ledger"
)

// How answers are scored.
const (
	ByRecall = "recall" // share of the answer's words in the memories that are found: asks no model
	ByAnswer = "answer" // F1 of a model's short answer
)

// readTokens bounds the memories that a question is answered from: without it
// remembering everything would always be best.
const readTokens = 300

// wellAnswered is the score from which a question counts as answered.
const wellAnswered = 0.5

// playing is one episode: a trace is remembered from nothing and then asked about.
// Its memory lives as long as the episode; what was paid for is in the ledger, so
// an attempt that takes it up again goes the same way.
type playing struct {
	*Service
	ref     run.Ref
	step    string // prefix of its places in the ledger
	model   Model
	keeping SpanOptions
	score   string
	bank    memoryskill.Bank
	scorer  *policy.Scorer
	shape   policy.Shape // of the policy
	choose  func(span int) policy.Choice
	beat    func()
}

// item is one memory of an episode.
type item struct {
	id        string
	content   string
	vector    []float32
	decisions []string // that wrote it, the first one first
	gone      bool
}

// Asked is a question after an episode.
type Asked struct {
	Case       int64    `json:"case"`
	Score      float64  `json:"score"`
	Scored     bool     `json:"scored"`
	Prediction string   `json:"prediction,omitempty"`
	Retrieved  []string `json:"retrieved,omitempty"` // texts
}

// EpisodeResult is what an episode came to.
type EpisodeResult struct {
	Conversation int64          `json:"conversation"`
	Reward       float64        `json:"reward"`
	Known        bool           `json:"known"` // some question was scored
	Episode      policy.Episode `json:"episode"`
	Asked        []Asked        `json:"asked"`
	Items        []string       `json:"items"` // what was remembered at the end
	Failed       int            `json:"failed_spans,omitempty"`
}

func (p playing) play(ctx context.Context, t Trace) (out EpisodeResult, err error) {
	out.Conversation = t.Conversation
	var texts []string
	for _, span := range t.Spans {
		texts = append(texts, span.Text())
	}
	spans, err := p.embed(ctx, texts)
	if err != nil {
		return out, err
	}
	var items []*item
	behind := map[int][]string{} // decisions by message
	for n, span := range t.Spans {
		p.beat()
		near := nearest(items, spans[n], p.keeping.TopN)
		var vectors [][]float32
		var shown []string
		contents := map[string]string{}
		for _, i := range near {
			vectors, shown, contents[i.id] = append(vectors, i.vector), append(shown, i.id), i.content
		}
		d, err := p.scorer.Decide(state(spans[n], vectors, p.shape), p.choose(n))
		if err != nil {
			return out, err
		}
		d.ID = fmt.Sprintf("%s/%d", p.step, n)
		chosen := selected(p.bank, d.Chosen)
		actions, outcome, err := p.remember(ctx, p.ref, p.model, fmt.Sprintf("%s/span/%d", p.step, n), t.Lang, span, chosen, shown, contents)
		if _, over := ledger.IsPermanent(err); over { // no fault of the choice: it is masked
			out.Failed++
			out.Episode.Lost, actions = append(out.Episode.Lost, d.ID), nil
		} else if err != nil {
			return out, err
		} else if outcome == executor.ParseError { // the skills led to that
			out.Failed++
			actions = nil
		}
		resolved := executor.Resolve(actions, roles(chosen), handles(shown))
		if items, err = p.change(ctx, items, resolved, d.ID); err != nil {
			return out, err
		}
		for _, part := range span.Parts {
			behind[part.Seq] = append(behind[part.Seq], d.ID)
		}
		out.Episode.Decisions = append(out.Episode.Decisions, d)
		out.Episode.Effects = append(out.Episode.Effects, effect(chosen, resolved))
	}
	for _, i := range items {
		if !i.gone {
			out.Items = append(out.Items, i.content)
		}
	}
	if err := p.ask(ctx, t, items, behind, &out); err != nil {
		return out, err
	}
	out.Reward, out.Known = out.Episode.Reward()
	return out, nil
}

func effect(chosen []memoryskill.Skill, resolved []executor.Resolved) (e policy.Effect) {
	for _, s := range chosen {
		e.Selected = append(e.Selected, string(s.Action))
	}
	tried := 0
	for _, r := range resolved {
		switch r.Outcome {
		case executor.OK, executor.NoOp:
			e.Emitted = append(e.Emitted, string(r.Type))
		case executor.Duplicate, executor.Superseded:
		default:
			tried++
		}
	}
	e.Failed = tried > 0 && len(e.Emitted) == 0
	return e
}

// change applies actions to the memory of the episode, as ApplySpan does to a
// workspace's.
func (p playing) change(ctx context.Context, items []*item, actions []executor.Resolved, decision string) ([]*item, error) {
	var texts []string
	for _, a := range actions {
		if a.Outcome == executor.OK && a.Type != memoryskill.Delete {
			texts = append(texts, a.Content)
		}
	}
	vectors, err := p.embed(ctx, texts)
	if err != nil {
		return items, err
	}
	find := func(id string) *item {
		return items[slices.IndexFunc(items, func(i *item) bool { return i.id == id })]
	}
	next := 0
	vector := map[int][]float32{}
	for i, a := range actions {
		if a.Outcome == executor.OK && a.Type != memoryskill.Delete {
			vector[i] = vectors[next]
			next++
		}
	}
	for _, kind := range []memoryskill.Action{memoryskill.Delete, memoryskill.Update, memoryskill.Insert} {
		for i := range actions {
			a := &actions[i]
			if a.Outcome != executor.OK || a.Type != kind {
				continue
			}
			switch kind {
			case memoryskill.Delete:
				find(a.Memory).gone = true
			case memoryskill.Update:
				old := find(a.Memory)
				old.content, old.vector, old.decisions = a.Content, vector[i], append(old.decisions, decision)
			case memoryskill.Insert:
				if slices.ContainsFunc(items, func(o *item) bool {
					return !o.gone && (o.content == a.Content || cosine(o.vector, vector[i]) >= sameMeaning && sameNumbers(o.content, a.Content))
				}) {
					a.Outcome = executor.Duplicate
					continue
				}
				a.Memory = fmt.Sprintf("%s-%d", decision, i)
				items = append(items, &item{id: a.Memory, content: a.Content, vector: vector[i], decisions: []string{decision}})
			}
		}
	}
	return items, nil
}

// nearest are the items that come closest, the oldest first of equals.
func nearest(items []*item, to []float32, most int) []*item {
	type scored struct {
		*item
		cosine float64
	}
	var all []scored
	for _, i := range items {
		if !i.gone {
			all = append(all, scored{i, cosine(i.vector, to)})
		}
	}
	slices.SortStableFunc(all, func(a, b scored) int { return cmp.Compare(b.cosine, a.cosine) })
	var out []*item
	for _, one := range all[:min(most, len(all))] {
		out = append(out, one.item)
	}
	return out
}

// ask puts the trace's questions to what was remembered.
func (p playing) ask(ctx context.Context, t Trace, items []*item, behind map[int][]string, out *EpisodeResult) error {
	var texts []string
	for _, q := range t.Questions {
		texts = append(texts, q.Question)
	}
	vectors, err := p.embed(ctx, texts)
	if err != nil {
		return err
	}
	for n, q := range t.Questions {
		p.beat()
		asked, met := Asked{Case: q.ID}, policy.Query{}
		left := readTokens
		for _, i := range nearest(items, vectors[n], p.keeping.TopN) {
			if left -= llm.EstimateTokens(i.content); left < 0 {
				break
			}
			asked.Retrieved, met.Retrieved = append(asked.Retrieved, i.content), append(met.Retrieved, i.decisions...)
		}
		for _, seq := range q.Evidence {
			met.Evidence = append(met.Evidence, behind[seq]...)
		}
		if !spoilt(met.Evidence, out.Episode.Lost) {
			if err := p.judge(ctx, t, n, q, &asked); err != nil {
				return err
			}
		}
		met.Score, met.Scored = asked.Score, asked.Scored
		out.Episode.Queries, out.Asked = append(out.Episode.Queries, met), append(out.Asked, asked)
	}
	return nil
}

// spoilt tells whether a question may be about what was in a lost span: its
// evidence is there, or nobody knows where. Its score would be that of an outage.
func spoilt(evidence, lost []string) bool {
	return len(lost) > 0 && (len(evidence) == 0 || slices.ContainsFunc(evidence, func(id string) bool { return slices.Contains(lost, id) }))
}

// judge scores one question. An endpoint's trouble is no bad score: the question
// is not scored.
func (p playing) judge(ctx context.Context, t Trace, n int, q Case, asked *Asked) error {
	asked.Scored = true
	if p.score != ByAnswer {
		asked.Prediction = strings.Join(asked.Retrieved, "\n")
		asked.Score = recall(q.Gold, asked.Prediction)
		return nil
	}
	text, problem, err := p.Service.ask(ctx, p.ref, p.model, question{step: fmt.Sprintf("%s/question/%d", p.step, n), stage: prompt.Recite, lang: t.Lang,
		material: prompt.Material{Question: q.Question, Memories: asked.Retrieved, Language: t.Lang}, decode: func(text string) error {
			raw, err := llm.ExtractJSON(text)
			if err != nil {
				return err
			}
			var reply struct{ Answer string }
			if json.Unmarshal(raw, &reply) != nil {
				return errors.New("answer with one JSON object that has answer")
			}
			asked.Prediction = reply.Answer
			return nil
		}})
	if _, over := ledger.IsPermanent(err); over || problem != nil || text == "" && err == nil {
		asked.Scored = false
		return nil
	}
	asked.Score = overlap(q.Gold, asked.Prediction)
	return err
}

// recall is the share of the words of a right answer that a text has, of the
// answer that fares best.
func recall(gold []string, text string) (best float64) {
	has := map[string]bool{}
	for _, w := range lexical.Words(text) {
		has[w] = true
	}
	for _, g := range gold {
		words, found := lexical.Words(g), 0
		for _, w := range words {
			if has[w] {
				found++
			}
		}
		if len(words) > 0 {
			best = max(best, float64(found)/float64(len(words)))
		}
	}
	return best
}

// overlap is F1 over words with the right answer that fares best.
func overlap(gold []string, prediction string) (best float64) {
	said := lexical.Words(prediction)
	for _, g := range gold {
		left, same := lexical.Words(g), 0
		n := len(left)
		for _, w := range said {
			if i := slices.Index(left, w); i >= 0 {
				left, same = slices.Delete(left, i, i+1), same+1
			}
		}
		if same > 0 {
			best = max(best, 2*float64(same)/float64(n+len(said)))
		}
	}
	return best
}

// player prepares episodes on a bank and a policy.
func (s *Service) player(ctx context.Context, p playing, bank memoryskill.Bank, policy policy.Policy, fresh []string) (playing, error) {
	p.Service, p.bank, p.shape = s, bank, policy.Shape()
	candidates, err := s.candidates(ctx, bank, freshIn(bank, fresh), p.shape.Dim)
	if err != nil {
		return p, err
	}
	if p.scorer, err = policy.Scorer(candidates); err != nil {
		return p, err
	}
	if p.beat == nil {
		p.beat = func() {}
	}
	if p.keeping.K < 1 {
		return p, fault.Newf(fault.InvalidArgument, "an episode chooses %d skills", p.keeping.K)
	}
	return p, nil
}
