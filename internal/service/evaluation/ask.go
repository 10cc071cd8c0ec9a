package evaluation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/prompt"
	"cairn/internal/service/learning/bank"
	"cairn/internal/service/ledger"
	memories "cairn/internal/service/memory"
	"cairn/internal/store"
)

// Answer is the result of a question.
type Answer struct {
	Place      int      `json:"place"` // of the question in its conversation
	Prediction string   `json:"prediction,omitempty"`
	F1         float64  `json:"f1"`
	Exact      float64  `json:"exact"`
	Judge      *float64 `json:"judge,omitempty"`    // 0, 0.5 or 1; nil without a valid verdict
	Evidence   *float64 `json:"evidence,omitempty"` // share of the evidence that was found; nil if unknown
	Recall     float64  `json:"recall"`             // share of the answer's words in the found memories
	Found      int      `json:"found"`              // memories
	Invalid    bool     `json:"invalid,omitempty"`  // the reply had no answer, also after a repair: scored 0
	Lost       string   `json:"lost,omitempty"`     // why the endpoint rejected the question: not scored
}

// Ask asks one group of the questions of a unit, and stores their results together.
func (s *Service) Ask(ctx context.Context, in contract.AskUnitInput) error {
	e, err := s.read(ctx, in.Ref())
	if err != nil {
		return err
	}
	n, group := in.Unit, in.Group
	if n < 0 || n >= len(e.units) || e.units[n].Sample == "" || group < 0 {
		return fault.Newf(fault.InvalidArgument, "run %s has no group %d of unit %d", in.Run, group, n)
	}
	a := asking{Service: s, evaluation: e, n: n, unit: e.units[n]}
	done := false
	err = s.ports.Store.InWorkspace(ctx, in.Workspace, func(ctx context.Context, tx store.Tx) error {
		if done, err = bank.IsDone(ctx, tx, in.Run, groupStep(n, group)); err != nil || done {
			return err
		}
		if a.sample, err = readSample(ctx, tx, e, a.unit.Sample); err != nil || a.unit.Row == None {
			return err
		}
		a.built, err = bank.NeedStep[doneUnit](ctx, tx, in.Run, doneStep(n))
		return err
	})
	if err != nil || done {
		return err
	}
	if err := s.checkBudget(ctx, e, a.unit); err != nil {
		return err
	}
	if err := a.readSources(ctx); err != nil {
		return err
	}
	last := len(a.sample.Questions)
	var out []Answer
	for place := group * groupSize; place < min(last, (group+1)*groupSize); place++ {
		one, err := a.ask(ctx, place)
		if err != nil {
			return err
		}
		out = append(out, one)
	}
	return s.ports.Store.InWorkspace(ctx, in.Workspace, func(ctx context.Context, tx store.Tx) error {
		if group == groups(last)-1 {
			if err := bank.SaveStep(ctx, tx, in.Run, endedStep(n), 0, true); err != nil {
				return err
			}
		}
		return bank.SaveStep(ctx, tx, in.Run, groupStep(n, group), a.sample.Conversation, out)
	})
}

// asking asks the questions of a unit.
type asking struct {
	*Service
	evaluation
	n       int
	unit    unit
	sample  storedSample
	built   doneUnit
	sources map[string][]int // messages from which a memory was extracted, by ID
}

// readSources reads from which messages each memory was extracted: those that its actions name, or else
// the span.
func (a *asking) readSources(ctx context.Context) error {
	if a.built.Run == "" {
		return nil
	}
	a.sources = map[string][]int{}
	return a.ports.Store.InWorkspace(ctx, a.built.Workspace, func(ctx context.Context, tx store.Tx) error {
		decisions, err := tx.Decisions().Decisions(ctx, a.built.Run)
		for _, d := range decisions {
			if d.Outcome == nil {
				continue
			}
			for _, action := range d.Outcome.Actions {
				from := action.Evidence
				if len(from) == 0 {
					for seq := d.FromSeq; seq <= d.ToSeq; seq++ {
						from = append(from, seq)
					}
				}
				if action.Memory != "" {
					a.sources[action.Memory] = append(a.sources[action.Memory], from...)
				}
			}
		}
		return err
	})
}

// ask searches for a question, answers and scores it. For the selection of a fixed set no model answers.
func (a *asking) ask(ctx context.Context, place int) (out Answer, err error) {
	q := a.sample.Questions[place]
	out.Place = place
	found, texts, err := a.search(ctx, q.Text)
	if err != nil {
		return out, err
	}
	out.Found, out.Evidence = len(found), a.evidence(q, found)
	for _, text := range texts {
		out.Recall = max(out.Recall, bank.Recall(q.Gold, text))
	}
	if a.unit.Kind == selectUnit {
		return out, nil
	}
	return out, a.answer(ctx, q, texts, &out)
}

// search finds the memories of the unit for a question with production search. Memories with a known
// time are shown with it.
func (a *asking) search(ctx context.Context, question string) (ids, texts []string, err error) {
	if a.built.Run == "" {
		return nil, nil, nil
	}
	ranked, err := a.ports.Memories.Rank(ctx, a.built.Workspace, memories.SearchRequest{Query: question,
		Types: []memory.Type{memory.Personal, memory.Procedural}})
	if err != nil || len(ranked) == 0 {
		return nil, nil, err
	}
	for _, r := range ranked[:min(len(ranked), TopN)] {
		ids = append(ids, r.ID)
	}
	entries := map[string]memory.Entry{}
	err = a.ports.Store.InWorkspace(ctx, a.built.Workspace, func(ctx context.Context, tx store.Tx) error {
		all, err := tx.LongTerm().LongTerm(ctx, ids)
		for _, one := range all {
			entries[one.ID] = one
		}
		return err
	})
	for _, id := range ids {
		text := memory.WithoutData(entries[id].Content)
		if at := entries[id].EventTime; at != nil {
			text = at.UTC().Format("[2006-01-02] ") + text
		}
		texts = append(texts, text)
	}
	return ids, texts, err
}

// evidence returns the share of the evidence messages from which a found memory was extracted, nil if it
// is unknown or there are no memories.
func (a *asking) evidence(q Question, found []string) *float64 {
	if len(q.Evidence) == 0 || a.built.Run == "" {
		return nil
	}
	has := map[int]bool{}
	for _, id := range found {
		for _, seq := range a.sources[id] {
			has[seq] = true
		}
	}
	share := 0.0
	for _, seq := range q.Evidence {
		if has[seq] {
			share += 1 / float64(len(q.Evidence))
		}
	}
	return &share
}

// answer lets the model answer a question and the judge grade the answer.
func (a *asking) answer(ctx context.Context, q Question, memories []string, out *Answer) error {
	lang := "en"
	problem, err := a.call(ctx, a.spec.Model.Name, bank.Question{Step: questionStep(a.n, out.Place),
		Stage: prompt.Recite, Lang: lang,
		Material: prompt.Material{Question: q.Text, Memories: memories, Language: lang},
		Decode: func(text string) (err error) {
			out.Prediction, err = decodeAnswer(text)
			return err
		}})
	if lost, err := isLost(err); err != nil || lost != "" {
		out.Lost = lost
		return err
	}
	if out.Invalid = problem != nil; out.Invalid {
		out.Prediction = ""
	}
	out.F1, out.Exact = q.Score(a.spec.Dataset, out.Prediction)
	if a.spec.Judge == "" {
		return nil
	}
	gold, err := json.Marshal([]map[string]any{{"gold": q.Gold, "prediction": out.Prediction}})
	if err != nil {
		return err
	}
	var verdict *float64
	problem, err = a.call(ctx, a.spec.Judge, bank.Question{Step: judgeStep(a.n, out.Place), Stage: prompt.Grade,
		Lang: lang, Material: prompt.Material{Question: q.Text, Cases: gold, Language: lang},
		Decode: func(text string) (err error) {
			verdict, err = decodeVerdict(text)
			return err
		}})
	if lost, err := isLost(err); err != nil || lost != "" {
		return err // the answer is scored without a verdict
	}
	if problem == nil {
		out.Judge = verdict
	}
	return nil
}

// call asks a model through the ledger.
func (a *asking) call(ctx context.Context, model string, q bank.Question) (problem, err error) {
	m := a.spec.Model
	m.Name = model
	_, problem, err = bank.Ask(ctx, a.ports.Asker, m, a.run.Ref, q)
	return problem, err
}

// isLost returns why the endpoint rejects one request, which repeating it cannot change. Failures that
// concern all requests, such as an invalid key or a used budget, remain errors.
func isLost(err error) (reason string, other error) {
	f, permanent := ledger.IsPermanent(err)
	if !permanent {
		return "", err
	}
	switch f.Code {
	case fault.ModelRefused, fault.ModelContext, fault.ModelInvalid:
		return f.Error(), nil
	}
	return "", err
}

func decodeAnswer(text string) (string, error) {
	raw, err := llm.ExtractJSON(text)
	if err != nil {
		return "", err
	}
	var reply struct{ Answer *string }
	if json.Unmarshal(raw, &reply) != nil || reply.Answer == nil {
		return "", errors.New("answer with one JSON object that has answer")
	}
	return *reply.Answer, nil
}

func decodeVerdict(text string) (*float64, error) {
	raw, err := llm.ExtractJSON(text)
	if err != nil {
		return nil, err
	}
	var reply struct{ Score *float64 }
	if json.Unmarshal(raw, &reply) != nil || reply.Score == nil ||
		!slices.Contains([]float64{0, 0.5, 1}, *reply.Score) {
		return nil, errors.New("answer with one JSON object whose score is 0, 0.5 or 1")
	}
	return reply.Score, nil
}

// readAnswers reads the answers of a unit, in the order of the questions.
func readAnswers(ctx context.Context, tx store.Tx, id string, n int) (out []Answer, err error) {
	groups, err := steps[[]Answer](ctx, tx, id, fmt.Sprintf("answers/%05d/", n))
	for _, step := range slices.Sorted(maps.Keys(groups)) {
		out = append(out, groups[step]...)
	}
	return out, err
}
