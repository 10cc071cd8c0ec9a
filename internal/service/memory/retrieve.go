package memory

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/index"
	"cairn/internal/domain/memory"
	"cairn/internal/service/search"
	"cairn/internal/store"
)

// SearchRequest searches all memories of a workspace.
type SearchRequest struct {
	Query       string
	Types       []memory.Type // memory types
	Skills      bool          // include active skills in the ranking
	From, Until time.Time     // time of the event, or else of the write; zero for any
}

// RankedItem is a memory or a skill that matches a query.
type RankedItem struct {
	ID     string // of a skill: its name
	Skill  bool
	Score  float64
	Cosine float64 // 0 if the vector is not among the nearest
}

// Rank returns the active memories that match a query, best first, of all targets.
func (l *LongTermService) Rank(ctx context.Context, ws int64, in SearchRequest) ([]RankedItem, error) {
	r := search.Request{Query: in.Query, Types: in.Types, After: in.From, Before: in.Until, Limit: search.MaxFound}
	if len(in.Types) > 0 {
		r.Kinds = append(r.Kinds, index.KindMemory)
	}
	if in.Skills {
		r.Kinds, r.Types = append(r.Kinds, index.KindSkill), append(slices.Clone(in.Types), "")
	}
	if len(r.Kinds) == 0 { // no kinds would mean all kinds
		return nil, nil
	}
	found, err := l.Finder.Find(ctx, ws, r)
	out := make([]RankedItem, len(found))
	for i, f := range found {
		out[i] = RankedItem{ID: f.ID, Skill: f.Kind == index.KindSkill, Score: f.Score, Cosine: f.Cosine}
	}
	return out, err
}

var _ search.Finder = search.Finder{}

// Query is one search of a retrieval.
type Query struct {
	Index      int
	Query      string
	Type       memory.Type // empty: the type and target of the actor
	Target     string
	TimeFilter string // YYYYMMDD, or YYYYMMDD,YYYYMMDD with both days included; empty for any time
}

// RetrieveArgs is a list of queries with their options.
type RetrieveArgs struct {
	Wants     []Query
	Summaries bool // include session summaries, which link to transcripts
	TopK      int  // for each query; 0 means 20
	NoRepeats bool // omit memories that the run has already seen
	Named     bool // a model wrote the targets as names; else they are IDs
}

// Limits of retrieval.
const (
	UsualTopK       = 20
	MaxTopK         = 100
	MaxWants        = 16
	maxHits         = 60 // per call
	parallelQueries = 4  // concurrent queries
)

// RetrieveResult is the result of a retrieval, as text for models and as entries for programs.
type RetrieveResult struct {
	Text string `json:"text"`
	// Tainted is set if a memory was drawn from untrusted text. The run that reads it is tainted, too.
	Tainted bool `json:"tainted,omitempty"`

	Found  []memory.Entry     `json:"-"`
	Scores map[string]float64 `json:"-"` // by ID; guidelines, which are found by name, have none
	Failed []ItemResult       `json:"failed,omitempty"`
}

// NothingFound is the text of an empty result.
const NothingFound = "(no memories found)"

// Retrieve finds memories of targets by words and meaning. It returns each memory once, in the
// order of the queries.
func (l *LongTermService) Retrieve(ctx context.Context, a agent.Actor, in RetrieveArgs) (out RetrieveResult,
	err error) {
	if n := len(in.Wants); n == 0 || n > MaxWants {
		return out, fault.New(fault.InvalidArgument, fmt.Sprintf("call has %d queries, want 1 to %d", n, MaxWants),
			"split the queries over several calls")
	}
	if in.TopK == 0 {
		in.TopK = UsualTopK
	}
	if in.TopK < 1 || in.TopK > MaxTopK {
		return out, fault.Newf(fault.InvalidArgument, "invalid top_k %d: must be 1 to %d", in.TopK, MaxTopK)
	}
	answers := make([]answer, len(in.Wants))
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(parallelQueries)
	for i, want := range in.Wants {
		group.Go(func() error {
			answers[i] = l.answer(within, a, in, want)
			if err := answers[i].err; err != nil && !isItemError(err) {
				return err
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return out, fmt.Errorf("vector_retrieve_memory: %w", err)
	}
	return l.present(ctx, a, in, answers)
}

// answer is the result of one query.
type answer struct {
	found    []memory.Entry
	scores   map[string]float64
	identity string
	err      error
}

// present joins the results and records which memories the run has seen.
func (l *LongTermService) present(ctx context.Context, a agent.Actor, in RetrieveArgs,
	answers []answer) (out RetrieveResult,
	err error) {
	var items []ItemResult
	var lines []string
	out.Scores = map[string]float64{}
	for i, one := range answers {
		if one.err != nil {
			out.Failed = append(out.Failed, FailedItem(in.Wants[i].Index, one.err))
			items = append(items, out.Failed[len(out.Failed)-1])
			continue
		}
		items = append(items, ItemResult{})
		if one.identity != "" && !slices.Contains(lines, one.identity) {
			lines = append(lines, one.identity)
		}
		for _, e := range one.found {
			if len(out.Found) < maxHits && !slices.ContainsFunc(out.Found, func(o memory.Entry) bool {
				return o.Key == e.Key
			}) {
				out.Found = append(out.Found, e)
				out.Scores[e.ID] = one.scores[e.ID]
			}
		}
	}
	if err := AllFailed(items); err != nil {
		return RetrieveResult{}, fmt.Errorf("vector_retrieve_memory: %w", err)
	}
	if a.Run != "" {
		if err := l.note(ctx, a, in, &out); err != nil {
			return RetrieveResult{}, fmt.Errorf("vector_retrieve_memory: %w", err)
		}
	}
	for _, e := range out.Found {
		lines = append(lines, Sanitized(e).Line())
		out.Tainted = out.Tainted || e.Tainted
	}
	out.Text = strings.Join(lines, "\n")
	if len(lines) == 0 {
		out.Text = NothingFound
	}
	return out, nil
}

// note removes memories that the run has already seen if NoRepeats is set, and records the others.
// A retry of the call returns the same memories.
func (l *LongTermService) note(ctx context.Context, a agent.Actor, in RetrieveArgs, out *RetrieveResult) error {
	return l.Store.InWorkspace(ctx, a.Workspace, func(ctx context.Context, tx store.Tx) error {
		if in.NoRepeats {
			shown, err := tx.LongTerm().Shown(ctx, a.Run, a.Op)
			if err != nil {
				return err
			}
			out.Found = slices.DeleteFunc(out.Found, func(e memory.Entry) bool { return shown[e.Key] })
		}
		var keys []int64
		for _, e := range out.Found {
			keys = append(keys, e.Key)
		}
		slices.Sort(keys) // all runs lock rows in the same order
		return tx.LongTerm().Show(ctx, a.Run, a.Op, keys)
	})
}

func (l *LongTermService) answer(ctx context.Context, a agent.Actor, in RetrieveArgs, want Query) (out answer) {
	if err := CheckQuery(want.Query); err != nil {
		return answer{err: err}
	}
	between, err := days(want.TimeFilter)
	if err != nil {
		return answer{err: err}
	}
	t, err := l.wanted(ctx, a, in, want)
	if err != nil {
		return answer{err: err}
	}
	if t.Type == memory.Identity {
		v, err := l.ReadIdentity(ctx, a)
		return answer{identity: IdentityText(v), err: err}
	}
	out.found, out.scores, out.err = l.find(ctx, a, in, want.Query, t.Scope(), between)
	return out
}

// wanted returns the target of a query.
func (l *LongTermService) wanted(ctx context.Context, a agent.Actor, in RetrieveArgs, want Query) (memory.Target,
	error) {
	if want.Type == "" {
		return subject(a)
	}
	_, fixed := memory.FixedTarget(want.Type)
	if fixed || !in.Named || !slices.Contains(scoped, want.Type) {
		return subject(agent.Actor{Subject: agent.MemoryScope{Type: string(want.Type), Target: want.Target}})
	}
	t, err := memory.NamedTarget(want.Type, want.Target)
	if err != nil {
		return t, err
	}
	err = l.Store.InWorkspace(ctx, a.Workspace, func(ctx context.Context, tx store.Tx) error {
		known, found, err := (&writing{LongTermService: l, tx: tx, a: a}).find(ctx, want.Type, want.Target)
		if found {
			t = known
		}
		return err
	})
	return t, err
}

// find ranks the memories in scope. Memories of the target and summaries of its sessions come
// first, then summaries of sessions without targets.
func (l *LongTermService) find(ctx context.Context, a agent.Actor, in RetrieveArgs, query string, s memory.Scope,
	between span) (_ []memory.Entry, scores map[string]float64, err error) {
	if s.Type == memory.Guideline {
		found, err := l.guideline(ctx, a, query)
		return found, nil, err
	}
	types := []memory.Type{s.Type}
	if in.Summaries {
		types = append(types, memory.Summary)
	}
	ranked, err := l.Rank(ctx, a.Workspace, SearchRequest{Query: query, Types: types})
	if err != nil || len(ranked) == 0 {
		return nil, nil, err
	}
	ids, scores := make([]string, len(ranked)), make(map[string]float64, len(ranked))
	for i, r := range ranked {
		ids[i], scores[r.ID] = r.ID, r.Score
	}
	var entries []memory.Entry
	err = l.Store.InWorkspace(ctx, a.Workspace, func(ctx context.Context, tx store.Tx) (err error) {
		entries, err = tx.LongTerm().LongTerm(ctx, ids)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	place := map[string]int{}
	for i, id := range ids {
		place[id] = i
	}
	var near, far []memory.Entry
	slices.SortFunc(entries, func(a, b memory.Entry) int { return place[a.ID] - place[b.ID] })
	for _, e := range entries {
		switch {
		case e.Status != memory.Active || !between.holds(e):
		case s.Holds(e), e.Type == memory.Summary && slices.Contains(e.Targets, s.Name()):
			near = append(near, e)
		case e.Type == memory.Summary && len(e.Targets) == 0:
			far = append(far, e)
		}
	}
	all := append(near, far...)
	return all[:min(len(all), in.TopK)], scores, nil
}

// guideline returns the guideline of the tool with the given name.
func (l *LongTermService) guideline(ctx context.Context, a agent.Actor, tool string) (out []memory.Entry, err error) {
	err = l.Store.InWorkspace(ctx, a.Workspace, func(ctx context.Context, tx store.Tx) error {
		e, found, err := tx.LongTerm().GuidelineOf(ctx, strings.TrimSpace(tool))
		if found {
			out = []memory.Entry{e}
		}
		return err
	})
	return out, err
}

// span is a time range. The zero value contains all times.
type span struct{ from, until time.Time }

func (s span) holds(e memory.Entry) bool {
	at := e.CreatedAt
	if e.EventTime != nil {
		at = *e.EventTime
	}
	return s.from.IsZero() || !at.Before(s.from) && at.Before(s.until)
}

// TimeFilter is the pattern of a time filter.
const TimeFilter = `^[0-9]{8}(,[0-9]{8})?$`

var timeFilter = regexp.MustCompile(TimeFilter)

// Days returns the start and the end (exclusive) of a time filter. Both are zero if the filter is
// empty.
func Days(filter string) (from, until time.Time, err error) {
	s, err := days(filter)
	return s.from, s.until, err
}

func days(filter string) (s span, err error) {
	if filter == "" {
		return s, nil
	}
	first, last, two := strings.Cut(filter, ",")
	if !two {
		last = first
	}
	const layout = "20060102"
	from, err := time.Parse(layout, first)
	until, err2 := time.Parse(layout, last)
	if err != nil || err2 != nil || until.Before(from) || !timeFilter.MatchString(filter) {
		return s, fault.New(fault.InvalidArgument, fmt.Sprintf("invalid time_filter %q", filter),
			"use one day, for example 20260301, or two, for example 20260301,20260331")
	}
	return span{from, until.AddDate(0, 0, 1)}, nil
}

// IdentityText returns the identity as text for a model.
func IdentityText(v memory.IdentityVersion) string {
	if v.Content == "" {
		return "identity memory: none yet"
	}
	return "identity memory:\n" + v.Content
}
