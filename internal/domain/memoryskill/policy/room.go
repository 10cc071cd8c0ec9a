package policy

import "slices"

// Room describes how a store that exceeded its capacity was used.
type Room struct {
	// Held is the share of the capacity that the memories of each decision use at the end, 0–1.
	Held []float64
	// Price is the marginal value of the whole capacity, in units of a query's score.
	Price float64
}

// roomCredit credits each decision of a trace whose store was too small with the effect of its memories,
// less the price of the capacity that they use:
//
//	r_t = T·(gain_t − price·held_t),  Σ gain_t = R
//
// A query's score is shared by the decisions behind the retrieved memories, or by those among them
// that saw the evidence. The missing part of a bad score is attributed to the decisions that
// removed memories with the answer. A decision without memories has 0, which is more than a
// decision whose memories are never asked for.
func roomCredit(e Episode) []Step {
	_, known := e.Reward()
	place := make(map[string]int, len(e.Decisions))
	steps := make([]Step, len(e.Decisions))
	scale := float64(len(steps))
	for t, d := range e.Decisions {
		steps[t] = Step{Decision: d, Reward: -scale * e.Room.Price * e.Room.Held[t], Credited: known, Done: true}
		place[d.ID] = t
	}
	scored := 0.0
	for _, q := range e.Queries {
		if q.Scored {
			scored++
		}
	}
	for _, q := range e.Queries {
		if !q.Scored {
			continue
		}
		share := func(ids []string, of float64) {
			for _, id := range ids {
				if t, there := place[id]; there {
					steps[t].Reward += scale * of / scored / float64(len(ids))
				}
			}
		}
		share(q.owners(), q.Score)
		share(q.Taken, q.Score-1)
	}
	return steps
}

// owners returns the decisions that a good answer is attributed to, each once.
func (q Query) owners() []string {
	met := q.Cited
	if len(met) == 0 {
		met = q.Retrieved
	}
	met = slices.Compact(slices.Sorted(slices.Values(met)))
	saw := slices.DeleteFunc(slices.Clone(met), func(id string) bool { return !slices.Contains(q.Evidence, id) })
	if len(saw) > 0 {
		return saw
	}
	return met
}
