package memoryagent

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/lang"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/domain/skill"
	"cairn/internal/domain/transcript"
	memories "cairn/internal/service/memory"
	"cairn/internal/store"
)

// Refine selects how the results of a fast search are processed, in this order. Without it, a fast
// search needs neither a model nor Temporal.
type Refine struct {
	Rerank  bool `json:"rerank,omitempty"`  // a model orders the results by relevance
	Filter  bool `json:"filter,omitempty"`  // remove results with a score below MinScore
	Rewrite bool `json:"rewrite,omitempty"` // a model rewrites the results as one text
	// MinScore is 0 to 1. It is compared with the model's score, or else with the share of the best
	// score. Nil means 0.3.
	MinScore *float64      `json:"min_score,omitempty"`
	Deadline time.Duration `json:"-"` // of both model calls; 0 means the workspace setting
}

const (
	refinedTopK     = 5               // maximum number of refined results
	usualMinScore   = 0.3             // ReMe's min_score_threshold
	usualDeadline   = 4 * time.Second // callers wait for memory before each reply
	minDeadline     = 100 * time.Millisecond
	longestDeadline = time.Minute
	refineGiveUp    = 2 * time.Minute // of one call with retries, after the caller stopped waiting
)

func (r Refine) any() bool   { return r.Rerank || r.Filter || r.Rewrite }
func (r Refine) model() bool { return r.Rerank || r.Rewrite }

func (r Refine) check() error {
	switch {
	case r.MinScore != nil && (!r.Filter || math.IsNaN(*r.MinScore) || *r.MinScore < 0 || *r.MinScore > 1):
		return fault.New(fault.InvalidArgument, "invalid min_score: must be 0 to 1, with enable_score_filter",
			"set enable_score_filter, and min_score to for example 0.3")
	case r.Deadline != 0 && (r.Deadline < minDeadline || r.Deadline > longestDeadline):
		return fault.New(fault.InvalidArgument, fmt.Sprintf("invalid deadline %s", r.Deadline),
			fmt.Sprintf("use %s to %s", minDeadline, longestDeadline))
	case r.Deadline != 0 && !r.model():
		return fault.New(fault.InvalidArgument, "a deadline requires reranking or rewriting",
			"set enable_llm_rerank or enable_llm_rewrite")
	}
	return nil
}

// filter removes results with a low score. Results without a score were found by name and are kept.
func (r Refine) filter(all []Found) []Found {
	if !r.Filter || len(all) == 0 {
		return all
	}
	least, best := usualMinScore, 0.0
	if r.MinScore != nil {
		least = *r.MinScore
	}
	for _, f := range all {
		best = max(best, f.Score)
	}
	return slices.DeleteFunc(slices.Clone(all), func(f Found) bool {
		if f.Relevance != nil {
			return *f.Relevance < least
		}
		return f.Score > 0 && f.Score < least*best
	})
}

// Candidate is a search result to which a run is pinned.
type Candidate struct {
	ID    string  `json:"id"`
	Skill bool    `json:"skill,omitempty"`
	Score float64 `json:"score"`
}

// Refining is the pinned input of a refinement run.
type Refining struct {
	Refine
	TopK       int                     `json:"top_k"`
	Candidates []Candidate             `json:"candidates"`
	Systems    map[prompt.Stage]string `json:"systems"` // system prompts, pinned when the run was created
}

// RefineReport is the result of a refinement run.
type RefineReport struct {
	Candidates []RefinedCandidate `json:"candidates"`
	Note       string             `json:"note,omitempty"` // steps that failed
}

// RefinedCandidate is a remaining result. Relevance is the score of the model.
type RefinedCandidate struct {
	Candidate
	Relevance *float64 `json:"relevance,omitempty"`
}

// refined processes the results of a fast search with a model, within the deadline. If that fails,
// it returns the fast results with a note that states the reason.
func (s *Service) refined(ctx context.Context, q Question, wide Answer) (Answer, error) {
	plain := q.narrow(wide)
	if !q.Refine.model() || len(wide.Memories) == 0 {
		return plain, nil
	}
	if s.Starter == nil {
		plain.Note = "not refined: Temporal is not configured"
		return plain, nil
	}
	r, deadline, err := s.acceptRefine(ctx, q, wide)
	if code := fault.CodeOf(err); code == fault.OpReused || code == fault.InvalidArgument {
		return plain, err
	}
	if err != nil {
		plain.Note = "not refined: " + string(fault.CodeOf(err))
		return plain, nil
	}
	plain.Run = r.Ref.Run
	q.begun(r.Ref)
	if r.Status != run.Ended {
		waiting, cancel := context.WithTimeout(ctx, deadline)
		err := s.Starter.Start(waiting, q.WorkspaceKey, importChannel, r)
		if err == nil {
			err = s.Starter.Ended(waiting, r.WorkflowID)
		}
		late := errors.Is(err, context.DeadlineExceeded) || errors.Is(waiting.Err(), context.DeadlineExceeded)
		cancel()
		switch {
		case late:
			plain.Note = fmt.Sprintf(
				"not refined: the deadline of %s has passed; run %s continues",
				deadline,
				r.Ref.Run,
			)
			return plain, nil
		case err != nil:
			plain.Note = "not refined: " + string(fault.CodeOf(err))
			return plain, nil
		}
	}
	out, err := s.answer(context.WithoutCancel(ctx), r.Ref)
	if err != nil || out.Mode != Fast {
		plain.Note = fmt.Sprintf("not refined: run %s has no result", r.Ref.Run)
		return plain, nil //nolint:nilerr // the note states it
	}
	return out, nil
}

// acceptRefine records the run. If the request already has a run, acceptRefine returns it.
func (s *Service) acceptRefine(ctx context.Context, q Question, found Answer) (out run.Run, deadline time.Duration,
	err error) {
	args, err := json.Marshal(struct {
		Query      string
		Messages   []transcript.Message
		Choices    *RequestOptions `json:",omitempty"`
		Targets    []memory.Task
		TimeFilter string
		TopK       int
		Refine     Refine
		Metadata   map[string]any `json:",omitempty"`
	}{q.Query, q.Messages, q.Choices.orNil(), q.Targets, q.TimeFilter, q.TopK, q.Refine, q.Metadata})
	if err != nil {
		return out, 0, fmt.Errorf("encode the question: %w", err)
	}
	sha := sha256.Sum256(args)
	if q.ID == "" { // memory changes, so the same question may be asked again
		q.ID = fmt.Sprintf("%x-%d", sha[:6], time.Now().UnixNano())
	}
	err = s.Store.InWorkspace(ctx, q.Workspace, func(ctx context.Context, tx store.Tx) error {
		chosen, err := tx.Workspaces().Settings(ctx)
		if err != nil {
			return err
		}
		deadline = cmp.Or(q.Refine.Deadline, time.Duration(chosen.Memory.Deadline)*time.Millisecond, usualDeadline)
		raw, err := refineSpec(q, found)
		if err != nil {
			return err
		}
		out, err = q.put(ctx, tx, sha, raw)
		return err
	})
	return out, deadline, err
}

// refineSpec pins a run to the search results and the system prompts.
func refineSpec(q Question, found Answer) (json.RawMessage, error) {
	spec := q.Spec
	spec.Origin, spec.Channel = agent.OriginDistill, "chat"
	spec.Lang = cmp.Or(spec.Lang, lang.Detect(q.Query))
	spec.Timing.GiveUp = min(cmp.Or(spec.Timing.GiveUp, refineGiveUp), refineGiveUp)
	p := PinnedSpec{Version: firstOfKind, Workspace: q.WorkspaceKey, Question: q.Query,
		Messages: material(q.Messages, spec.Limits.ResultChars, shortTokens), Metadata: q.Metadata,
		Refining: &Refining{Refine: q.Refine, TopK: q.TopK, Systems: map[prompt.Stage]string{}}}
	for _, stage := range p.Refining.stages() {
		system, err := prompt.Instructions(stage, spec.Lang)
		if err != nil {
			return nil, err
		}
		p.Refining.Systems[stage] = system
	}
	for _, f := range found.Memories {
		p.Refining.Candidates = append(p.Refining.Candidates, Candidate{f.ID, f.Type == skill.MemoryType, f.Score})
	}
	var err error
	if spec.Pinned, err = json.Marshal(p); err != nil {
		return nil, fmt.Errorf("encode the configuration: %w", err)
	}
	return json.Marshal(spec)
}

func (r Refine) stages() (out []prompt.Stage) {
	if r.Rerank {
		out = append(out, prompt.Rerank)
	}
	if r.Rewrite {
		out = append(out, prompt.Condense)
	}
	return out
}

// refinedAnswer returns the result of a refinement run with the current memories.
func (s *Service) refinedAnswer(
	ctx context.Context,
	r run.Run,
	p PinnedSpec,
	in RefineReport,
	e run.Result,
) (Answer,
	error) {
	out := Answer{Mode: Fast, Status: e.Status, Text: e.Text, Run: r.Ref.Run, Memories: []Found{}, Note: in.Note,
		Metadata: p.Metadata}
	var ranked []memories.RankedItem
	for _, c := range in.Candidates {
		ranked = append(ranked, memories.RankedItem{ID: c.ID, Skill: c.Skill, Score: c.Score})
	}
	found, err := s.candidates(ctx, r.Workspace, ranked)
	for i, f := range found {
		at := slices.IndexFunc(in.Candidates, func(c RefinedCandidate) bool {
			return c.ID == f.ID && c.Skill == (f.Type == skill.MemoryType)
		})
		found[i].Relevance = in.Candidates[at].Relevance
	}
	out.Memories = append(out.Memories, found...)
	return out, err
}
