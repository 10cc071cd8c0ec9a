package memoryskill

import (
	"maps"
	"math"
	"slices"

	"cairn/internal/domain/memoryskill/policy"
)

// recentRewards is the number of rewards that a version keeps individually.
const recentRewards = 20

// Stats are the statistics of a version.
type Stats struct {
	Count  int       `json:"count"`            // scored selections
	Mean   float64   `json:"mean"`             // of their rewards
	Recent []float64 `json:"recent,omitempty"` // the last 20, oldest first
	Usage  float64   `json:"usage"`            // moving average of its share of the selections, 0–1
}

// Observe adds one scored selection. Unscored selections are not observed: an outage is not a
// reward of 0.
func (s Stats) Observe(reward float64) Stats {
	s.Count++
	s.Mean += (reward - s.Mean) / float64(s.Count)
	recent := append(append([]float64(nil), s.Recent...), reward)
	s.Recent = recent[max(0, len(recent)-recentRewards):]
	return s
}

// Forget takes back a score that was observed. Scores that are no longer among the recent ones are
// taken back from count and mean only.
func (s Stats) Forget(reward float64) Stats {
	if s.Count <= 1 {
		return Stats{Usage: s.Usage}
	}
	n := float64(s.Count)
	s.Count--
	s.Mean = min(max((n*s.Mean-reward)/(n-1), 0), 1)
	for i := len(s.Recent) - 1; i >= 0; i-- {
		if s.Recent[i] == reward {
			s.Recent = slices.Delete(slices.Clone(s.Recent), i, i+1)
			break
		}
	}
	return s
}

// usageRate is α of the moving average of usage.
const usageRate = 0.1

// Use updates the usage after a batch of steps, count of which selected the version: f·(1−(1−α)^S)
// + ema·(1−α)^S with f = count/S. The result equals S single updates with f.
func (s Stats) Use(count, steps int) Stats {
	if steps > 0 {
		kept := math.Pow(1-usageRate, float64(steps))
		s.Usage = float64(count)/float64(steps)*(1-kept) + s.Usage*kept
	}
	return s
}

// parentWeight is the weight of the parent's mean, in selections.
const parentWeight = 10

// Shrunk returns the version's mean, shrunk towards its parent's mean if the version has few
// selections.
func (s Stats) Shrunk(parent Stats) float64 {
	if parent.Count == 0 {
		return s.Mean
	}
	n := float64(s.Count)
	return (n*s.Mean + parentWeight*parent.Mean) / (n + parentWeight)
}

// Tally updates the statistics of skill versions, by version ID, with episodes: the scores of
// selections and the usage of each version.
func Tally(stats map[string]Stats, episodes []policy.Episode, whole bool) map[string]Stats {
	var decisions []policy.Decision
	for _, e := range episodes {
		decisions = append(decisions, e.Decisions...)
	}
	return Used(Scored(stats, episodes, whole), decisions)
}

// Scored adds the scores of selections. A selection is scored by the queries that used the memories
// it led to, or, if whole is set, by all queries of its trace. A lost selection, or one without
// such a query, is not scored.
func Scored(stats map[string]Stats, episodes []policy.Episode, whole bool) map[string]Stats {
	out := cloned(stats)
	for _, e := range episodes {
		reward, known := e.Reward()
		own := e.Own()
		for _, d := range e.Decisions {
			score, scored := own[d.ID]
			if whole {
				score, scored = reward, known && !slices.Contains(e.Lost, d.ID)
			}
			for _, id := range d.Chosen {
				if scored {
					out[id] = out[id].Observe(score)
				}
			}
		}
	}
	return out
}

// Used updates the usage of all versions with the decisions of one batch.
func Used(stats map[string]Stats, decisions []policy.Decision) map[string]Stats {
	out := cloned(stats)
	chosen := map[string]int{}
	for _, d := range decisions {
		for _, id := range d.Chosen {
			chosen[id]++
		}
	}
	for id := range chosen {
		if _, there := out[id]; !there {
			out[id] = Stats{}
		}
	}
	for id, s := range out {
		out[id] = s.Use(chosen[id], len(decisions))
	}
	return out
}

func cloned(stats map[string]Stats) map[string]Stats {
	if stats == nil {
		return map[string]Stats{}
	}
	return maps.Clone(stats)
}
