package train

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"cairn/internal/domain/learning"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/keyedrand"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/domain/run"
	"cairn/internal/service/learning/bank"
	"cairn/internal/store"
)

// PlayEpisode plays one episode of an iteration. The seed and the position determine its trace and
// all random draws.
func (s *Training) PlayEpisode(ctx context.Context, ref run.Ref, stage, iteration, number int) error {
	step := episodeStep(stage, iteration, number)
	var spec Spec
	var now state
	var t bank.EpisodeTrace
	done := false
	key := keyedrand.Key{Stage: stage, Iteration: iteration, Episode: number}
	err := s.ports.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) (err error) {
		if done, err = bank.IsDone(ctx, tx, ref.Run, step); err != nil || done {
			return err
		}
		if done, err = bank.IsDone(ctx, tx, ref.Run, iterationStep(stage, iteration)); err != nil || done {
			return err
		}
		if _, spec, err = readSpec(ctx, tx, ref); err != nil {
			return err
		}
		if now, err = s.readState(ctx, tx, ref, spec, stage, iteration); err != nil {
			return err
		}
		key.Run, key.Purpose = spec.Seed, "trace"
		draw := key.Stream()
		_, questions, err := bank.ByConversation(ctx, tx, spec.BankID)
		if err != nil {
			return err
		}
		id := spec.Traces[draw.IntN(len(spec.Traces))]
		t, err = bank.ReadEpisodeTrace(ctx, tx, id, sample(questions[id], spec, stage, iteration),
			spec.Keeping.Spanning)
		return err
	})
	if err != nil || done {
		return err
	}
	key.Purpose = ""
	out, err := s.play(ctx, ref, step, spec, now, key, t)
	if err != nil {
		return err
	}
	return s.ports.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		return bank.SaveStep(ctx, tx, ref.Run, step, t.Conversation, out)
	})
}

// play plays an episode with the state of its iteration and the random draws of key.
func (s *Training) play(ctx context.Context, ref run.Ref, step string, spec Spec, now state, key keyedrand.Key,
	t bank.EpisodeTrace) (out bank.EpisodeResult, err error) {
	recipe, err := memoryskill.NewRecipe(spec.Recipe)
	if err != nil {
		return out, err
	}
	out, err = s.player.Play(ctx, bank.EpisodeSetup{Ref: ref, Step: step, Model: spec.Model, Keeping: spec.Keeping,
		Score: spec.Score, Bank: now.bank, Policy: now.policy, Fresh: now.fresh, Choose: func(span int) policy.Choice {
			key.Span = span
			return policy.Choice{K: spec.Keeping.K, Exploration: recipe.Exploration, Since: now.since, Key: key}
		}}, t)
	for i := range out.Episode.Decisions {
		out.Episode.Decisions[i].Policy, out.Episode.Decisions[i].Bank = now.policy.Hash(), now.bank.Hash()
	}
	return out, err
}

// sample returns the questions of an episode: all, or a quota per category that is drawn again in
// each iteration.
func sample(questions []learning.Case, spec Spec, stage, iteration int) (out []learning.Case) {
	if spec.Sample == 0 || spec.Sample == 1 || len(questions) == 0 {
		return questions
	}
	numbers, sizes := map[string]int{}, map[int]int{}
	for _, q := range questions {
		numbers[q.Category] = 0
	}
	for n, category := range slices.Sorted(maps.Keys(numbers)) {
		numbers[category] = n
	}
	for _, q := range questions {
		sizes[numbers[q.Category]]++
	}
	left := memoryskill.Quotas(sizes, spec.Sample)
	order := slices.Clone(questions)
	draw := keyedrand.Key{Run: spec.Seed, Stage: stage, Iteration: iteration,
		Purpose: fmt.Sprintf("sample/%d", questions[0].Conversation)}.Stream()
	draw.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	for _, q := range order {
		if n := numbers[q.Category]; left[n] > 0 {
			left[n]--
			out = append(out, q)
		}
	}
	slices.SortFunc(out, func(a, b learning.Case) int { return cmp.Compare(a.ID, b.ID) })
	return out
}
