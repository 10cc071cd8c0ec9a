package build

import (
	"context"

	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/keyedrand"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/service/learning/adaptation"
	"cairn/internal/service/learning/bank"
)

// explore says how the choice of a live span is made: greedily, but for as many
// choices of 24 hours as the workspace lets the policy draw, in which the skills that
// are new get the bias of training. A bank with no more skills than are chosen leaves
// no choice, and nothing to learn. Who explores holds a lock until the decision is
// kept, so no two take the last one, nor count the same choices.
func (s *Service) explore(ctx context.Context, tx Tx, decisionID string, k int, head bank.Head) (how policy.Choice,
	fresh []string, err error) {
	how = policy.Choice{K: k, Greedy: true}
	chosen, err := tx.Workspace().Settings(ctx)
	if err != nil || chosen.Memory.Learning.Frozen || chosen.Memory.Learning.ExplorePerDay == 0 ||
		head.Bank.Len() <= k {
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

// maxVersions bounds the versions that are looked at, the latest first.
const maxVersions = 32

// recentSkills are the skills of a version that are new to live choices, each for window
// iterations from the version that brought it last. A training counts updates. Live,
// an iteration is as many drawn choices as make an update: there the share of new
// skills falls whether or not anybody says anything of answers, and stands still while
// nothing is drawn. The target that all new skills share is that of the latest.
func recentSkills(ctx context.Context, tx Tx, head bank.Head, window int) (fresh []string, since int, err error) {
	brought, err := tx.Outcomes().RecentSkills(ctx, head.ID, head.Version.Number, maxVersions)
	for _, b := range brought {
		t := b.Explored / adaptation.MinDecisions
		if t >= window { // and so are all before
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
