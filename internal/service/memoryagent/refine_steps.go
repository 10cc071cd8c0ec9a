package memoryagent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/lexical"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/domain/skill"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/ledger"
	memories "cairn/internal/service/memory"
	"cairn/internal/store"
)

// refineWork reads a refinement run.
func (s *Service) refineWork(ctx context.Context, ref run.Ref) (w agentrun.RunView, p PinnedSpec, err error) {
	r, err := s.run(ctx, ref)
	if err != nil {
		return w, p, err
	}
	if w, p, err = pinnedOf(r); err == nil && p.Refining == nil {
		err = fault.New(fault.InvalidArgument, fmt.Sprintf("run %s is not a refinement run", ref.Run), "")
	}
	return w, p, err
}

// Rerank asks the model to rank the candidates. If it cannot, problem states the reason without any
// user text.
func (s *Service) Rerank(ctx context.Context, in contract.RunRef) (out contract.RerankResult, err error) {
	w, p, err := s.refineWork(ctx, in.Ref())
	if err != nil || w.Run.Status == run.Ended {
		return out, err
	}
	if err := s.Store.InWorkspace(ctx, in.Workspace, func(ctx context.Context, tx store.Tx) error {
		_, err := tx.Runs().StartRun(ctx, in.Run)
		return err
	}); err != nil {
		return out, err
	}
	shown, err := s.shown(ctx, w, p, everyPlace(p.Refining.Candidates))
	if err != nil {
		return out, err
	}
	out.Problem, err = s.askRefine(ctx, w, p, prompt.Rerank, shown, func(text string) error {
		out.Order, err = readOrder(text, shown)
		return err
	})
	return out, err
}

// Condense asks the model for one text about the remaining candidates, and ends the run with it.
func (s *Service) Condense(ctx context.Context, in contract.CondenseInput) error {
	w, p, err := s.refineWork(ctx, in.Ref())
	if err != nil || w.Run.Status == run.Ended {
		return err
	}
	shown, err := s.shown(ctx, w, p, p.Refining.kept(in.Order))
	if err != nil {
		return err
	}
	if len(shown) == 0 {
		return s.endRefine(ctx, w, p, in.Order, "", "")
	}
	var text string
	problem, err := s.askRefine(ctx, w, p, prompt.Condense, shown, func(reply string) error {
		text, err = readContext(reply, shown, p.Question)
		return err
	})
	if err != nil {
		return err
	}
	return s.endRefine(ctx, w, p, in.Order, text, problem)
}

// CloseRefine ends a run without a text. The problem states why the model call failed.
func (s *Service) CloseRefine(ctx context.Context, in contract.CloseRefineInput) (contract.RefineResult, error) {
	out := contract.RefineResult{Problem: in.Problem}
	w, p, err := s.refineWork(ctx, in.Ref())
	if err != nil || w.Run.Status == run.Ended {
		return out, err
	}
	return out, s.endRefine(ctx, w, p, in.Order, "", in.Problem)
}

func (s *Service) endRefine(ctx context.Context, w agentrun.RunView, p PinnedSpec, order []contract.Place, text,
	problem string) error {
	report := RefineReport{Candidates: []RefinedCandidate{}}
	for _, at := range p.Refining.kept(order) {
		c := RefinedCandidate{Candidate: p.Refining.Candidates[at.Candidate]}
		if order != nil {
			c.Relevance = &at.Score
		}
		report.Candidates = append(report.Candidates, c)
	}
	e := run.Result{Reason: agent.Final, Status: OK, Text: text}
	outcome := run.Completed
	if problem != "" {
		done := "neither reranked nor rewritten"
		if order != nil {
			done = "not rewritten"
		} else if !p.Refining.Rewrite {
			done = "not reranked"
		} else if !p.Refining.Rerank {
			done = "not rewritten"
		}
		report.Note, e.Detail, outcome = done+": "+problem, problem, run.CompletedPartial
	}
	if len(report.Candidates) == 0 {
		e.Status, outcome = NoRelevant, run.NothingToExtract
	}
	var err error
	if e.Report, err = json.Marshal(RetrievalReport{IDs: []string{}, Sessions: []string{}, Operations: []Operation{},
		Refined: &report}); err != nil {
		return fmt.Errorf("encode the report: %w", err)
	}
	return s.Store.InWorkspace(ctx, w.Run.Workspace, func(ctx context.Context, tx store.Tx) error {
		return tx.Runs().EndRun(ctx, w.Run.Ref.Run, outcome, problem, e)
	})
}

// kept returns the remaining candidates, in the order of the model or else of the search.
func (r Refining) kept(order []contract.Place) []contract.Place {
	var all []Found // as the filter sees them
	places := order
	if order == nil {
		places = everyPlace(r.Candidates)
	}
	for _, at := range places {
		f := Found{ID: fmt.Sprint(at.Candidate), Score: r.Candidates[at.Candidate].Score}
		if order != nil {
			f.Relevance = &at.Score
		}
		all = append(all, f)
	}
	all = r.Refine.filter(all)
	out := slices.DeleteFunc(slices.Clone(places), func(at contract.Place) bool {
		return !slices.ContainsFunc(all, func(f Found) bool { return f.ID == fmt.Sprint(at.Candidate) })
	})
	return out[:min(len(out), r.TopK)]
}

func everyPlace(candidates []Candidate) []contract.Place {
	out := make([]contract.Place, len(candidates))
	for i := range candidates {
		out[i].Candidate = i
	}
	return out
}

// handle is the name of a candidate in a request.
func handle(candidate int) string { return fmt.Sprintf("m%d", candidate+1) }

// shownText is a candidate as the model sees it.
type shownText struct {
	place  int
	stored prompt.StoredMemory
}

// shown returns the candidates that still exist.
func (s *Service) shown(ctx context.Context, w agentrun.RunView, p PinnedSpec, places []contract.Place) (
	out []shownText, err error) {
	var ranked []memories.RankedItem
	for _, at := range places {
		c := p.Refining.Candidates[at.Candidate]
		ranked = append(ranked, memories.RankedItem{ID: c.ID, Skill: c.Skill})
	}
	found, err := s.candidates(ctx, w.Run.Workspace, ranked)
	if err != nil {
		return nil, err
	}
	for _, f := range found {
		at := slices.IndexFunc(p.Refining.Candidates, func(c Candidate) bool {
			return c.ID == f.ID && c.Skill == (f.Type == skill.MemoryType)
		})
		clean := memories.Sanitized(memory.Entry{ID: f.ID, Type: f.Type, Content: f.Content, WhenToUse: f.WhenToUse})
		text := memory.WithoutData(strings.TrimSpace(clean.WhenToUse + "\n" + clean.Content))
		if f.EventTime != nil {
			text = f.EventTime.UTC().Format("[2006-01-02] ") + text
		}
		if f.Name != "" {
			text = "skill " + f.Name + ": " + text
		}
		out = append(out, shownText{at, prompt.StoredMemory{Handle: handle(at), Content: text}})
	}
	return out, nil
}

// askRefine makes one model call. A failure that a retry would repeat is returned as problem. Other
// failures are returned as err and can be retried.
func (s *Service) askRefine(ctx context.Context, w agentrun.RunView, p PinnedSpec, stage prompt.Stage,
	shown []shownText, decode func(string) error) (problem string, err error) {
	m := prompt.Material{Question: p.Question, Messages: p.Messages, Language: w.Spec.Lang,
		Limits: map[string]int{"max_memories": p.Refining.TopK}}
	for _, one := range shown {
		m.Stored = append(m.Stored, one.stored)
	}
	user, err := prompt.User(m)
	if err != nil {
		return "", err
	}
	req := llm.Request{Model: w.Spec.Model, System: p.Refining.Systems[stage], Messages: llm.User(user),
		MaxTokens: w.Spec.Limits.MaxTokens,
		Schema:    &llm.Schema{Name: stage.Schema(), JSON: prompt.Schema(stage)},
		Label:     llm.Label{Stage: string(stage), Run: w.Run.Ref.Run, Task: string(stage)}}
	_, wrong, err := s.Ledger.Ask(ctx, ledger.Question{Run: w.Run.Ref, Step: string(stage), Lang: w.Spec.Lang,
		Request: req, Decode: decode})
	if f, over := ledger.IsPermanent(err); over {
		return "the model failed (" + string(f.Code) + ")", nil
	}
	if wrong != nil {
		problem = wrong.Error()
	}
	return problem, err
}

// Problems of a reply. They do not contain its text.
var (
	errNoJSON    = errors.New("the reply does not have the requested format")
	errUnknown   = errors.New("the reply contains unknown memories")
	errEmpty     = errors.New("the reply is empty")
	errScore     = errors.New("the reply has scores outside 0 to 1")
	errUnrelated = errors.New("the reply is not based on the memories")
)

// readOrder parses the ranking of a model. If it names a memory twice, only the first position is
// used.
func readOrder(text string, shown []shownText) (out []contract.Place, err error) {
	var reply struct {
		Ranking []struct {
			Memory string   `json:"memory"`
			Score  *float64 `json:"score"`
		} `json:"ranking"`
	}
	if !decoded(text, &reply) {
		return nil, errNoJSON
	}
	if len(reply.Ranking) == 0 {
		return nil, errEmpty
	}
	for _, one := range reply.Ranking {
		at := slices.IndexFunc(shown, func(s shownText) bool { return s.stored.Handle == one.Memory })
		switch {
		case at < 0:
			return nil, errUnknown
		case one.Score == nil || *one.Score < 0 || *one.Score > 1:
			return nil, errScore
		case !slices.ContainsFunc(out, func(p contract.Place) bool { return p.Candidate == shown[at].place }):
			out = append(out, contract.Place{Candidate: shown[at].place, Score: *one.Score})
		}
	}
	slices.SortStableFunc(out, func(a, b contract.Place) int { return int(1e6 * (b.Score - a.Score)) })
	return out, nil
}

// grounded is the minimum share of the words of a reply that occur in the memories or the question.
// Error messages and greetings have a much lower share.
const grounded = 0.3

// readContext parses the text that a model wrote about memories.
func readContext(text string, shown []shownText, question string) (string, error) {
	var reply struct {
		Context string   `json:"context"`
		Used    []string `json:"used"`
	}
	if !decoded(text, &reply) {
		return "", errNoJSON
	}
	reply.Context = strings.TrimSpace(reply.Context)
	if reply.Context == "" || len(reply.Used) == 0 {
		return "", errEmpty
	}
	sourceTerms := map[int32]bool{}
	for _, t := range lexical.Terms(question) {
		sourceTerms[t.Hash] = true
	}
	for _, h := range reply.Used {
		at := slices.IndexFunc(shown, func(s shownText) bool { return s.stored.Handle == h })
		if at < 0 {
			return "", errUnknown
		}
		for _, t := range lexical.Terms(shown[at].stored.Content) {
			sourceTerms[t.Hash] = true
		}
	}
	replyTerms := lexical.Terms(reply.Context)
	known := 0
	for _, t := range replyTerms {
		if sourceTerms[t.Hash] {
			known++
		}
	}
	if float64(known) < grounded*float64(len(replyTerms)) || known == 0 {
		return "", errUnrelated
	}
	return reply.Context, nil
}

func decoded(text string, into any) bool {
	raw, err := llm.ExtractJSON(text)
	return err == nil && json.Unmarshal(raw, into) == nil
}
