package policy

import "slices"

// provenance rewards each decision for its effects. Every memory refers to the decision that wrote
// it. A query's score minus the baseline is credited to the decisions behind the memories that it
// used. A decision with several queries gets their mean, blended with the trace's reward:
//
//	r_t = α·mean(r_q − baseline) + (1−α)·R
//
// A decision without a query has no credit. Rewards do not depend on later decisions, so each
// decision is its own episode.
func provenance(e Episode, baseline, local float64) []Step {
	steps := make([]Step, len(e.Decisions))
	place := make(map[string]int, len(steps))
	for t, d := range e.Decisions {
		steps[t] = Step{Decision: d, Done: true}
		place[d.ID] = t
	}
	sums, counts := make([]float64, len(steps)), make([]float64, len(steps))
	for _, q := range e.Queries {
		if !q.Scored {
			continue
		}
		for _, id := range q.Behind(baseline) {
			if t, there := place[id]; there {
				sums[t] += q.Score - baseline
				counts[t]++
			}
		}
	}
	reward, _ := e.Reward()
	for t := range steps {
		if counts[t] > 0 {
			steps[t].Reward = local*sums[t]/counts[t] + (1-local)*reward
			steps[t].Credited = true
		}
	}
	return steps
}

// Behind returns the decisions that are responsible for the query, each once: those of the cited
// memories, else of the retrieved ones. A miss is a bad score without the evidence in view, or no
// retrieved memory. It is attributed to the decisions that saw the evidence and did not make it
// findable.
func (q Query) Behind(baseline float64) []string {
	met := q.Cited
	if len(met) == 0 {
		met = q.Retrieved
	}
	if len(q.Evidence) > 0 {
		inView := slices.ContainsFunc(q.Evidence, func(id string) bool {
			return slices.Contains(met, id) || slices.Contains(q.Retrieved, id)
		})
		if len(met) == 0 || !inView && q.Score < baseline {
			met = q.Evidence
		}
	}
	met = slices.Sorted(slices.Values(met))
	return slices.Compact(met)
}
