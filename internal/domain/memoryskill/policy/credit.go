package policy

import (
	"slices"

	"cairn/internal/domain/fault"
)

// Credits by name: how the scores of a trace's queries become rewards of its
// decisions.
const (
	Provenance    = "provenance"    // to the decisions behind the memories that each query met: the default
	Terminal      = "terminal"      // the trace's reward on the last decision: the paper's
	Redistributed = "redistributed" // 60 % on the last, 40 % spread towards the end
	Shaped        = "shaped"        // Redistributed plus a little for doing what was chosen: the reference program's
)

// Credit is a way to give credit, by name, with what it needs.
type Credit struct {
	Name string `json:"name"`
	// Local is α of Provenance: the weight of a decision's own queries beside
	// the trace's reward, 0–1.
	Local float64 `json:"local,omitempty"`
}

// DefaultLocal lets the trace in a little, for what provenance does not see:
// an item that was left out, or that crowded another one out.
const DefaultLocal = 0.9

// DefaultCredit is Provenance.
func DefaultCredit() Credit { return Credit{Name: Provenance, Local: DefaultLocal} }

// Check refuses a credit that does not exist.
func (c Credit) Check() error {
	switch c.Name {
	case Provenance:
		if !(c.Local >= 0 && c.Local <= 1) {
			return fault.Newf(fault.InvalidArgument, "the local share of the credit is %v; it is 0–1", c.Local)
		}
	case Terminal, Redistributed, Shaped:
	default:
		return fault.New(fault.InvalidArgument, "unknown credit \""+c.Name+"\"",
			"use provenance, terminal, redistributed or shaped")
	}
	return nil
}

// Query is a question that was asked of the memory which a trace left behind.
type Query struct {
	Score float64 // r_q, 0–1
	// Scored is false when no score came of it: the endpoint was away, the judge
	// could not be read, or the span that may hold the answer was lost. Such a
	// query counts for nothing; it is not a 0.
	Scored bool
	// Cited and Retrieved are the decisions behind the memories that the answer
	// cited, and that the search found. Evidence are those of the spans that hold
	// the answer, where that is known.
	Cited, Retrieved, Evidence []string
	// Taken are the decisions that rewrote or removed memories which held the
	// answer. Only an episode with Room looks at them.
	Taken []string
}

// Episode is one trace that was remembered and then asked about.
type Episode struct {
	Decisions []Decision // in the order of the spans
	Effects   []Effect   // of each decision; only Shaped looks at them
	// Room is of a trace whose store was too small, else nil. Only Provenance looks
	// at it.
	Room    *Room
	Queries []Query
	// Lost are the decisions whose span no model remembered: the endpoint was
	// away, or gave nothing of use. What came of them is not their doing, so they
	// have no credit.
	Lost []string
}

// Reward is R, the mean score of the scored queries; false when there are none.
func (e Episode) Reward() (float64, bool) {
	sum, n := 0.0, 0
	for _, q := range e.Queries {
		if q.Scored {
			sum += q.Score
			n++
		}
	}
	if n == 0 {
		return 0, false
	}
	return sum / float64(n), true
}

// Baseline is the mean score of the scored queries of a batch, what Provenance
// measures every query against.
func Baseline(episodes []Episode) float64 {
	var all Episode
	for _, e := range episodes {
		all.Queries = append(all.Queries, e.Queries...)
	}
	mean, _ := all.Reward()
	return mean
}

// Steps gives the decisions of a batch their rewards, episode after episode in
// the order given.
func (c Credit) Steps(episodes []Episode) ([]Step, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	baseline := Baseline(episodes)
	var steps []Step
	for _, e := range episodes {
		if c.Name == Shaped && len(e.Effects) != len(e.Decisions) {
			return nil, fault.Newf(fault.InvalidArgument, "an episode has %d decisions and tells the effects of %d",
				len(e.Decisions), len(e.Effects))
		}
		if e.Room != nil && len(e.Room.Held) != len(e.Decisions) {
			return nil, fault.Newf(fault.InvalidArgument, "an episode has %d decisions and tells of %d what they hold",
				len(e.Decisions), len(e.Room.Held))
		}
		var own []Step
		if c.Name == Provenance {
			own = provenance(e, baseline, c.Local)
			if e.Room != nil {
				own = worth(e)
			}
		} else {
			own = c.whole(e)
		}
		for i := range own {
			if e.lost(own[i].ID) {
				own[i].Reward, own[i].Credited = 0, false
			}
		}
		steps = append(steps, own...)
	}
	return steps, nil
}

func (e Episode) lost(id string) bool { return slices.Contains(e.Lost, id) }

// whole credits a trace as one episode: its reward is shared by the decisions that
// were not lost.
func (c Credit) whole(e Episode) []Step {
	reward, known := e.Reward()
	steps := make([]Step, len(e.Decisions))
	var kept []int
	for t, d := range e.Decisions {
		steps[t] = Step{Decision: d, Credited: known, Done: t == len(steps)-1}
		if c.Name == Shaped {
			steps[t].Reward = Process(e.Effects[t], len(steps))
		}
		if !e.lost(d.ID) {
			kept = append(kept, t)
		}
	}
	shares := Redistribute(reward, len(kept))
	for i, t := range kept {
		switch {
		case c.Name != Terminal:
			steps[t].Reward += shares[i]
		case i == len(kept)-1:
			steps[t].Reward = reward
		}
	}
	return steps
}
