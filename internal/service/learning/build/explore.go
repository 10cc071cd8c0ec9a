package build

import (
	"context"

	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/keyedrand"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/service/learning/bank"
	"cairn/internal/service/learning/live"
	"cairn/internal/store"
)

// explore decides how the choice of a live span is made. The default is greedy. The workspace
// limits the number of sampled choices per 24 hours; in these, new skills get the bias of training.
// A frozen bank, or one with too few skills to choose from, is never explored. Exploration holds a
// lock until the decision is stored, so that concurrent builds do not exceed the limit.
func (s *Service) explore(ctx context.Context, tx store.Tx, decisionID string, k int,
	head bank.Head) (how policy.Choice,
	fresh []string, err error) {
	how = policy.Choice{K: k, Greedy: true}
	chosen, err := tx.Workspaces().Settings(ctx)
	if err != nil || chosen.Memory.Learning.Frozen || chosen.Memory.Learning.ExplorePerDay == 0 ||
		head.Bank.Len() <= k {
		return how, nil, err
	}
	row, err := tx.Banks().BankOf(ctx, head.ID) // it may have been frozen since the build began
	if err != nil || row.Frozen() {
		return how, nil, err
	}
	if err := tx.Outcomes().LockExploration(ctx); err != nil {
		return how, nil, err
	}
	n, err := tx.Outcomes().Explored(ctx)
	if err != nil || n >= chosen.Memory.Learning.ExplorePerDay {
		return how, nil, err
	}
	recipe, err := memoryskill.NewRecipe(memoryskill.TargetRecipe)
	if err != nil {
		return how, nil, err
	}
	how.Greedy, how.Key, how.Exploration = false, keyedrand.Key{Run: "live/" + decisionID}, recipe.Exploration
	fresh, how.Since, err = recentSkills(ctx, tx, head, recipe.Exploration.Window)
	return how, fresh, err
}

// maxVersions is the maximum number of versions to read, latest first.
const maxVersions = 32

// recentSkills returns the skills that are new to live choices. A skill is new for window
// iterations after the version that last added it. In training, an iteration is a policy update. In
// live builds, it is the number of sampled choices that make an update. So the share of new skills
// decreases without scored replies, and does not change without sampling. All new skills share the
// target of the latest one.
func recentSkills(ctx context.Context, tx store.Tx, head bank.Head, window int) (fresh []string, since int, err error) {
	brought, err := tx.Outcomes().RecentSkills(ctx, head.ID, head.Version.Number, maxVersions)
	for _, b := range brought {
		t := b.Explored / live.MinDecisions
		if t >= window { // all earlier versions are older, too
			break
		}
		there := bank.Members(head.Bank, b.Skills)
		if len(fresh) == 0 {
			since = t
		}
		fresh = append(fresh, there...)
	}
	return fresh, since, err
}
