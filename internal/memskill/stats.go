package memskill

import (
	"maps"
	"math"

	"cairn/internal/memskill/controller"
)

// recentRewards is how many rewards a version remembers one by one.
const recentRewards = 20

// Stats is how a version has done.
type Stats struct {
	Count  int       `json:"count"`            // scored selections
	Mean   float64   `json:"mean"`             // of their rewards
	Recent []float64 `json:"recent,omitempty"` // the last 20, oldest first
	Usage  float64   `json:"usage"`            // moving average of its share of the selections, 0–1
}

// Observe counts one scored selection. Selections that were never scored are not
// observed: an outage is not a reward of 0.
func (s Stats) Observe(reward float64) Stats {
	s.Count++
	s.Mean += (reward - s.Mean) / float64(s.Count)
	recent := append(append([]float64(nil), s.Recent...), reward)
	s.Recent = recent[max(0, len(recent)-recentRewards):]
	return s
}

// usageRate is α of the moving average of usage.
const usageRate = 0.1

// Use moves the usage on by the steps of one batch, count of which selected the
// version: f·(1−(1−α)^S) + ema·(1−α)^S with f = count/S, as S single updates with
// f would.
func (s Stats) Use(count, steps int) Stats {
	if steps > 0 {
		kept := math.Pow(1-usageRate, float64(steps))
		s.Usage = float64(count)/float64(steps)*(1-kept) + s.Usage*kept
	}
	return s
}

// parentWeight is how many selections the parent's mean is worth.
const parentWeight = 10

// Shrunk is the version's mean, drawn towards its parent's while it has few
// selections of its own.
func (s Stats) Shrunk(parent Stats) float64 {
	if parent.Count == 0 {
		return s.Mean
	}
	n := float64(s.Count)
	return (n*s.Mean + parentWeight*parent.Mean) / (n + parentWeight)
}

// Tally adds what episodes show to the stats of skill versions, by version id. A
// selection is scored by the queries that met the memories which came of it, with
// whole by all queries of its trace; one that no query met is not scored.
func Tally(stats map[string]Stats, episodes []controller.Episode, whole bool) map[string]Stats {
	out := maps.Clone(stats)
	if out == nil {
		out = map[string]Stats{}
	}
	chosen, steps := map[string]int{}, 0
	for _, e := range episodes {
		reward, known := e.Reward()
		own := e.Own()
		for _, d := range e.Decisions {
			steps++
			score, scored := own[d.ID]
			if whole {
				score, scored = reward, known
			}
			for _, id := range d.Chosen {
				chosen[id]++
				if scored {
					out[id] = out[id].Observe(score)
				}
			}
		}
	}
	for id, s := range out {
		out[id] = s.Use(chosen[id], steps)
	}
	for id, n := range chosen {
		if _, there := out[id]; !there {
			out[id] = Stats{}.Use(n, steps)
		}
	}
	return out
}
