package bank

import (
	"context"
	"fmt"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/designer"
	"cairn/internal/domain/memoryskill/executor"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/domain/run"
	"cairn/internal/service/ledger"
)

// EpisodeSetup is the configuration of an episode.
type EpisodeSetup struct {
	Ref     run.Ref
	Step    string // prefix of its ledger keys
	Model   Model
	Keeping SpanOptions
	Score   string // one of judge.Scores
	Bank    memoryskill.Bank
	Policy  policy.Chooser
	Fresh   []string                     // IDs of new skills, which the bank may no longer contain
	Choose  func(span int) policy.Choice // how to choose the skills of a span
}

// EpisodePlayer plays episodes: it builds memories of a trace, starting from an empty memory, and then
// asks questions. The memory exists only during the episode. Model replies are in the ledger, so a
// retry has the same result.
type EpisodePlayer struct {
	Encoder  Encoder
	Asker    Asker
	Executor executor.Executor // nil means the model of an episode
	Judge    designer.Judge    // nil means Judge
}

func (p EpisodePlayer) executor() executor.Executor {
	if p.Executor == nil {
		return Executor{Asker: p.Asker}
	}
	return p.Executor
}

func (p EpisodePlayer) judge() designer.Judge {
	if p.Judge == nil {
		return Judge{p.Asker}
	}
	return p.Judge
}

// game is the state of an episode.
type game struct {
	EpisodePlayer
	EpisodeSetup
	trace      EpisodeTrace
	candidates []policy.Candidate
	items      []*item
	behind     map[int][]string // decisions by message sequence number
	result     EpisodeResult
}

// Play plays one episode.
func (p EpisodePlayer) Play(ctx context.Context, in EpisodeSetup, t EpisodeTrace) (EpisodeResult, error) {
	if in.Keeping.K < 1 {
		return EpisodeResult{}, fault.Newf(
			fault.InvalidArgument,
			"invalid number of skills per span %d: must be at least 1",
			in.Keeping.K,
		)
	}
	g := &game{EpisodePlayer: p, EpisodeSetup: in, trace: t, behind: map[int][]string{},
		result: EpisodeResult{Conversation: t.Conversation}}
	var err error
	g.candidates, err = p.Encoder.Candidates(ctx, in.Bank, Members(in.Bank, in.Fresh), in.Policy)
	if err != nil {
		return g.result, err
	}
	var texts []string
	for _, span := range t.Spans {
		texts = append(texts, span.Text())
	}
	vectors, err := p.Encoder.Embed(ctx, texts)
	if err != nil {
		return g.result, err
	}
	for n := range t.Spans {
		if err := g.remember(ctx, n, vectors[n]); err != nil {
			return g.result, err
		}
	}
	for _, i := range g.items {
		if !i.deleted {
			g.result.Items = append(g.result.Items, i.content)
		}
	}
	if err := g.ask(ctx); err != nil {
		return g.result, err
	}
	g.result.Reward, g.result.Known = g.result.Episode.Reward()
	g.result.Cost = g.result.Episode.TokenCost(policy.DefaultTokenPrice)
	return g.result, nil
}

// remember processes one span: it chooses skills, calls the model once, and applies the actions.
func (g *game) remember(ctx context.Context, n int, vector []float32) error {
	span, out := g.trace.Spans[n], &g.result
	var vectors [][]float32
	var shown []string
	contents := map[string]string{}
	for _, i := range nearest(g.items, vector, g.Keeping.TopN) {
		vectors, shown, contents[i.id] = append(vectors, i.vector), append(shown, i.id), i.content
	}
	d, err := g.Policy.Choose(State(g.Policy, vector, vectors), g.candidates, g.Choose(n))
	if err != nil {
		return err
	}
	d.ID = fmt.Sprintf("%s/%d", g.Step, n)
	skills := SkillsOf(g.Bank, d.Chosen)
	d.Tokens = Tokens(skills)
	actions, outcome, err := g.executor().Execute(ctx, executor.Input{Ref: g.Ref, Model: g.Model,
		Step: fmt.Sprintf("%s/span/%d", g.Step, n), Lang: g.trace.Lang, Span: span, Skills: skills, Shown: shown,
		Contents: contents})
	if _, over := ledger.IsPermanent(err); over { // not caused by the choice: masked
		out.Failed++
		out.Episode.Lost, actions = append(out.Episode.Lost, d.ID), nil
	} else if err != nil {
		return err
	} else if outcome == executor.ParseError { // caused by the skills
		out.Failed++
		actions = nil
	}
	resolved := executor.Resolve(actions, Roles(skills), Handles(shown))
	if err := g.apply(ctx, resolved, d.ID); err != nil {
		return err
	}
	for _, part := range span.Parts {
		g.behind[part.Seq] = append(g.behind[part.Seq], d.ID)
	}
	out.Episode.Decisions = append(out.Episode.Decisions, d)
	out.Episode.Effects = append(out.Episode.Effects, effectOf(skills, resolved))
	return nil
}
