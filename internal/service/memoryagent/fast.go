package memoryagent

import (
	"context"
	"net/url"
	"slices"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/skill"
	memories "cairn/internal/service/memory"
	"cairn/internal/store"
)

// checkFast rejects options that the mode or the memory types of the question do not support.
func (q Question) checkFast() (Question, error) {
	_, _, err := memories.Days(q.TimeFilter)
	switch {
	case err != nil:
		return q, err
	case q.Mode == Agentic && q.TimeFilter != "":
		return q, fault.New(fault.InvalidArgument, "mode agentic does not support time_filter",
			"use mode \"fast\", or state the time in the question")
	case q.Mode == Agentic && q.Refine.any():
		return q, fault.New(fault.InvalidArgument, "mode agentic does not support reranking, filters and rewriting",
			"use mode \"fast\" or \"auto\" with enable_llm_rerank, enable_score_filter and enable_llm_rewrite")
	case q.skillsOnly() && q.Mode == Agentic:
		return q, fault.New(fault.InvalidArgument, "mode agentic does not support skills", "use mode \"fast\"")
	case q.skillsOnly() && (len(q.Targets) > 0 || q.TimeFilter != "" || !q.Choices.skills()):
		return q, fault.New(fault.InvalidArgument, "skills have no target and no time",
			"omit targets and time_filter, and omit enable_skill_memory or set it to true")
	}
	return q, q.Refine.check()
}

// skillsOnly reports whether the question asks for skills only.
func (q Question) skillsOnly() bool {
	types := q.Choices.Types
	return len(types) > 0 && !slices.ContainsFunc(types, func(t memory.Type) bool { return t != skill.MemoryType })
}

// wide returns the number of results to fetch before they are filtered.
func (q Question) wide() int {
	if q.Refine.any() {
		return max(q.TopK, memories.UsualTopK)
	}
	return q.TopK
}

// narrow applies the score filter and limits the number of results.
func (q Question) narrow(a Answer) Answer {
	a.Memories = q.Refine.filter(a.Memories)
	a.Memories = a.Memories[:min(len(a.Memories), q.TopK)]
	if len(a.Memories) == 0 {
		a.Status = NoRelevant
	}
	return a
}

// fast runs one search, in the named targets or in all memories.
func (s *Service) fast(ctx context.Context, q Question) (Answer, error) {
	out := Answer{Mode: Fast, Status: OK, Memories: []Found{}}
	var err error
	if len(q.Targets) > 0 {
		out.Memories, err = s.about(ctx, q)
	} else {
		out.Memories, out.sure, err = s.everywhere(ctx, q)
	}
	if len(out.Memories) == 0 {
		out.Status, out.Memories = NoRelevant, []Found{}
	}
	return out, err
}

// about searches the named targets.
func (s *Service) about(ctx context.Context, q Question) (out []Found, err error) {
	in := memories.RetrieveArgs{Summaries: slices.Contains(q.Choices.searched(), memory.Summary), TopK: q.wide()}
	for i, t := range q.Targets {
		in.Wants = append(in.Wants, memories.Query{Index: i, Query: q.Query, Type: t.Type, Target: t.Target,
			TimeFilter: q.TimeFilter})
	}
	found, err := s.LongTerm.Retrieve(ctx, agent.Actor{Workspace: q.Workspace, Origin: agent.OriginUser}, in)
	if err != nil {
		return nil, err
	}
	for _, e := range found.Found[:min(len(found.Found), q.wide())] {
		out = append(out, foundOf(e, found.Scores[e.ID]))
	}
	return out, nil
}

// everywhere searches all memories and skills with one statement. Skills have no time, so a time
// filter excludes them.
func (s *Service) everywhere(ctx context.Context, q Question) (out []Found, sure bool, err error) {
	look := memories.SearchRequest{Query: q.Query, Types: q.Choices.searched(),
		Skills: q.Choices.skills() && q.TimeFilter == ""}
	if look.From, look.Until, err = memories.Days(q.TimeFilter); err != nil {
		return nil, false, err
	}
	ranked, err := s.LongTerm.Rank(ctx, q.Workspace, look)
	if err != nil {
		return nil, false, err
	}
	all, err := s.candidates(ctx, q.Workspace, ranked)
	if err != nil || len(all) == 0 {
		return nil, false, err
	}
	best := slices.IndexFunc(ranked, func(r memories.RankedItem) bool { return r.ID == all[0].ID })
	sure = ranked[best].Score >= sureScore && ranked[best].Cosine >= sureCosine
	return all[:min(len(all), q.wide())], sure, nil
}

// candidates returns the ranked memories and skills that still exist.
func (s *Service) candidates(ctx context.Context, ws int64, ranked []memories.RankedItem) (out []Found, err error) {
	var ids, names []string
	for _, r := range ranked {
		if r.Skill {
			names = append(names, r.ID)
		} else {
			ids = append(ids, r.ID)
		}
	}
	entries, err := s.entries(ctx, ws, ids)
	if err != nil {
		return nil, err
	}
	skills, err := s.skillsNamed(ctx, ws, names)
	if err != nil {
		return nil, err
	}
	for _, r := range ranked {
		if r.Skill {
			if i := slices.IndexFunc(skills, func(h skill.Head) bool { return h.Name == r.ID }); i >= 0 {
				out = append(out, skillFound(skills[i], r.Score))
			}
		} else if i := slices.IndexFunc(entries, func(e memory.Entry) bool {
			return e.ID == r.ID && e.Status == memory.Active
		}); i >= 0 {
			out = append(out, foundOf(entries[i], r.Score))
		}
	}
	return out, nil
}

func (s *Service) entries(ctx context.Context, ws int64, ids []string) (out []memory.Entry, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	err = s.LongTerm.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		out, err = tx.LongTerm().LongTerm(ctx, ids)
		return err
	})
	return out, err
}

func (s *Service) skillsNamed(ctx context.Context, ws int64, names []string) (out []skill.Head, err error) {
	if len(names) == 0 {
		return nil, nil
	}
	err = s.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		out, err = tx.Skills().SkillsNamed(ctx, names)
		return err
	})
	return out, err
}

func foundOf(e memory.Entry, score float64) Found {
	f := Found{ID: e.ID, Type: e.Type, Target: e.Target, WhenToUse: e.WhenToUse, Content: e.Content, Score: score,
		EventTime: e.EventTime, UpdatedAt: e.UpdatedAt, Earlier: memories.Sanitized(e).Earlier}
	if n := len(e.Histories); n > 0 {
		f.History = e.Histories[n-1]
	}
	return f
}

// skillFound returns a skill as a search result with its description. View is the path of the
// complete skill.
func skillFound(h skill.Head, score float64) Found {
	return Found{ID: h.Name, Type: skill.MemoryType, Content: h.Description, Score: score, UpdatedAt: h.UpdatedAt,
		Name: h.Name, Description: h.Description, Version: h.Version, View: "/v1/skills/" + url.PathEscape(h.Name)}
}
