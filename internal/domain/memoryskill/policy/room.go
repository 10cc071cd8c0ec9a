package policy

import "slices"

// Room is what a store that had to give memories up was filled with.
type Room struct {
	// Held is the share of the room that the memories of each decision take up in
	// the end, 0–1.
	Held []float64
	// Price is what all of the room would be worth at the margin, in units of a
	// query's score.
	Price float64
}

// worth credits each decision of a trace whose store was too small with what came
// of the memories that it wrote, less what the room costs that they take up:
//
//	r_t = T·(gain_t − price·held_t),  Σ gain_t = R
//
// A query's score is shared by the decisions behind what it retrieved, by those
// that saw the evidence when they are among them. What a bad answer lacks is laid
// to the decisions that took the memory of it back. A decision that wrote nothing
// has 0, which is more than one that filled the store with what nobody asks for.
func worth(e Episode) []Step {
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

// owners are the decisions that a good answer is owed to, each once.
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
