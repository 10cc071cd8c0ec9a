package httpapi

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/index"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/skill"
	"cairn/internal/service/search"
)

// SearchResults holds the search results, the best first. Results holds skills if the
// request sets no kinds and no filters; otherwise Found holds the results of all kinds.
type SearchResults struct {
	Query   string         `json:"query"`
	Results []search.Found `json:"results" doc:"Skills, if the request sets no kinds and no filters."`
	Found   []index.Result `json:"found,omitempty" doc:"Results of all kinds in one order, if the request sets kinds or filters."`

	Lexical     *search.Lexical     `json:"lexical,omitempty" doc:"How the search by words went; absent if only skills were searched."`
	Vector      string              `json:"vector,omitempty" doc:"unavailable if the embedder did not answer: only words were compared."`
	Explanation *search.Explanation `json:"explanation,omitempty" doc:"How the results were found and ranked, if explain is set."`
}

// searchInput holds the parameters of a search.
type searchInput struct {
	Q            string    `query:"q" required:"true" maxLength:"1000"`
	Limit        int       `query:"limit" default:"5" minimum:"1" maximum:"50"`
	Kinds        []string  `query:"kinds" enum:"turn,memory,skill,all" doc:"Kinds to search: turn, memory, skill or all. The default is skill, or all if a filter is set."`
	Types        []string  `query:"types" doc:"Only memories of these types."`
	Targets      []string  `query:"targets,explode" doc:"Only memories and turns of these targets."`
	After        time.Time `query:"after" doc:"Only results from this time on."`
	Before       time.Time `query:"before" doc:"Only results before this time."`
	Conversation string    `query:"conversation" doc:"Only turns of this conversation and memories from it."`
	Context      int       `query:"context" minimum:"0" maximum:"10" doc:"Number of turns to show before and after each turn. Searches all kinds, like a filter."`
	Explain      bool      `query:"explain" doc:"Describe the search and every score. Searches all kinds, like a filter."`
	Set          []string  `query:"set" doc:"Parameters of this search, such as rrf_k=60; the settings search.* list their names. Searches all kinds, like a filter."`
}

func (g *Gateway) searchRoutes() {
	handle(g, route{
		method:  http.MethodGet,
		path:    "/v1/search",
		id:      "search",
		tag:     tagSkills,
		scope:   access.Read,
		summary: "Search the workspace",
		about: "Without kinds and filters, the route searches skills and returns them in results. With kinds=all, or " +
			"with another filter, it searches turns, memories and skills and returns them in found. An exact name " +
			"or ID comes first. An unrelated query returns no results.",
	}, g.search)
}

func (g *Gateway) search(ctx context.Context, in *searchInput) (*bodyOf[SearchResults], error) {
	if strings.TrimSpace(in.Q) == "" {
		return nil, fault.New(
			fault.InvalidArgument,
			"q contains no words",
			"set q to words to search for, such as q=rollback",
		)
	}
	if in.skillsOnly() {
		found, err := g.Finder.SearchSkills(ctx, workspace(ctx), in.Q, []skill.Status{skill.Active}, in.Limit)
		listed := make([]skill.Head, len(found.Skills))
		for i, f := range found.Skills {
			listed[i] = f.Skill
		}
		g.Library.Listed(ctx, workspace(ctx), listed)
		return &bodyOf[SearchResults]{SearchResults{Query: in.Q, Results: found.Skills, Vector: found.Vector}}, err
	}
	profile, err := search.ParseProfile(in.Set)
	if err != nil {
		return nil, err
	}
	r := search.Request{Query: in.Q, Kinds: in.Kinds, Targets: in.Targets, After: in.After, Before: in.Before,
		Conversation: in.Conversation, Limit: in.Limit, Context: in.Context, Profile: profile, Explain: in.Explain}
	if slices.Contains(in.Kinds, "all") {
		r.Kinds = nil
	}
	for _, t := range in.Types {
		r.Types = append(r.Types, memory.Type(t))
	}
	out, err := g.Finder.Search(ctx, workspace(ctx), r)
	return &bodyOf[SearchResults]{SearchResults{Query: in.Q, Results: []search.Found{}, Found: out.Results,
		Lexical: &out.Lexical, Vector: out.Vector, Explanation: out.Explanation}}, err
}

func (in *searchInput) skillsOnly() bool {
	kinds := len(in.Kinds) == 0 || slices.Equal(in.Kinds, []string{index.KindSkill})
	return kinds && len(in.Types)+len(in.Targets) == 0 && in.After.IsZero() && in.Before.IsZero() &&
		in.Conversation == "" && !in.Explain && in.Context == 0 && len(in.Set) == 0
}
