package policy

import (
	"slices"

	"cairn/internal/domain/fault"
)

// Names of the credits, which convert the scores of a trace's queries to rewards of its decisions.
const (
	Provenance    = "provenance"    // to the decisions behind the memories that each query used: the default
	Terminal      = "terminal"      // the trace's reward to the last decision: the paper's
	Redistributed = "redistributed" // 60 % to the last, 40 % spread towards the end
	Shaped        = "shaped"        // Redistributed plus a small process reward: the reference program's
)

// Credit is a way to assign rewards, by name, with its parameters.
type Credit struct {
	Name string `json:"name"`
	// Local is α of Provenance, 0–1: the weight of a decision's own queries relative to the trace's
	// reward.
	Local float64 `json:"local,omitempty"`
	// TokenPrice is the price of 1,000 tokens of chosen skills, in units of a query's score, 0–1.
	TokenPrice float64 `json:"token_price,omitempty"`
}

// DefaultTokenPrice makes a choice of all ten skills of a new bank, about 1,000 tokens, as expensive
// as 5 % of a perfect score. A skill that brings less than its length costs is not worth choosing.
const DefaultTokenPrice = 0.05

// DefaultLocal includes the trace's reward with a small weight. It covers what provenance does not
// show: an item that was omitted, or that displaced another one.
const DefaultLocal = 0.9

// DefaultCredit returns Provenance with DefaultLocal and DefaultTokenPrice.
func DefaultCredit() Credit {
	return Credit{Name: Provenance, Local: DefaultLocal, TokenPrice: DefaultTokenPrice}
}

// TokenCost returns the price of the skills that an episode chose, per decision, in units of a
// query's score.
func (e Episode) TokenCost(price float64) float64 {
	tokens := 0
	for _, d := range e.Decisions {
		tokens += d.Tokens
	}
	return price * float64(tokens) / 1000 / float64(max(1, len(e.Decisions)))
}

// Check returns fault.InvalidArgument for an unknown credit or an invalid parameter.
func (c Credit) Check() error {
	if !(c.TokenPrice >= 0 && c.TokenPrice <= 1) {
		return fault.Newf(fault.InvalidArgument, "the token price of the credit is %v, must be 0 to 1", c.TokenPrice)
	}
	switch c.Name {
	case Provenance:
		if !(c.Local >= 0 && c.Local <= 1) {
			return fault.Newf(fault.InvalidArgument, "the local share of the credit is %v, must be 0 to 1", c.Local)
		}
	case Terminal, Redistributed, Shaped:
	default:
		return fault.New(fault.InvalidArgument, "unknown credit \""+c.Name+"\"",
			"use provenance, terminal, redistributed or shaped")
	}
	return nil
}

// Query is a question about the memories of a trace.
type Query struct {
	Score float64 // r_q, 0–1
	// Scored is false if there is no score: the endpoint failed, the judgment was unreadable, or
	// the span that may contain the answer was lost. Such a query is ignored; it is not a 0.
	Scored bool
	// Cited and Retrieved are the decisions behind the memories that the answer cited and that the
	// search found. Evidence are the decisions of the spans with the answer, if known.
	Cited, Retrieved, Evidence []string
	// Taken are the decisions that rewrote or removed memories with the answer. Only an episode
	// with Room uses them.
	Taken []string
}

// Episode is one trace that was stored as memories and then queried.
type Episode struct {
	Decisions []Decision // in the order of the spans
	Effects   []Effect   // of each decision; only used by Shaped
	// Room is set for a trace whose store was too small, else nil. Only Provenance uses it.
	Room    *Room
	Queries []Query
	// Lost are the decisions whose span was not processed, because the endpoint failed or its reply
	// was unusable. They have no credit, because the outcome does not depend on them.
	Lost []string
}

// Reward returns R, the mean score of the scored queries, and false if there are none.
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

// Baseline returns the mean score of the scored queries of a batch. Provenance compares every query
// with it.
func Baseline(episodes []Episode) float64 {
	var all Episode
	for _, e := range episodes {
		all.Queries = append(all.Queries, e.Queries...)
	}
	mean, _ := all.Reward()
	return mean
}

// Steps assigns rewards to the decisions of a batch, episode by episode in the given order.
func (c Credit) Steps(episodes []Episode) ([]Step, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	baseline := Baseline(episodes)
	var steps []Step
	for _, e := range episodes {
		if c.Name == Shaped && len(e.Effects) != len(e.Decisions) {
			return nil, fault.Newf(fault.InvalidArgument, "an episode has %d decisions, but effects for %d",
				len(e.Decisions), len(e.Effects))
		}
		if e.Room != nil && len(e.Room.Held) != len(e.Decisions) {
			return nil, fault.Newf(fault.InvalidArgument, "an episode has %d decisions, but room shares for %d",
				len(e.Decisions), len(e.Room.Held))
		}
		var own []Step
		if c.Name == Provenance {
			own = provenance(e, baseline, c.Local)
			if e.Room != nil {
				own = roomCredit(e)
			}
		} else {
			own = c.whole(e)
		}
		for i := range own {
			if e.lost(own[i].ID) {
				own[i].Reward, own[i].Credited = 0, false
			} else if own[i].Credited {
				own[i].Reward -= c.tokenCost(own[i].Tokens, len(own))
			}
		}
		steps = append(steps, own...)
	}
	return steps, nil
}

// tokenCost returns the price of one of n choices. The rewards of Provenance are means over the
// queries; those of the other credits add up to the trace's reward.
func (c Credit) tokenCost(tokens, n int) float64 {
	cost := c.TokenPrice * float64(tokens) / 1000
	if c.Name != Provenance {
		cost /= float64(n)
	}
	return cost
}

func (e Episode) lost(id string) bool { return slices.Contains(e.Lost, id) }

// whole credits a trace as one episode: its reward is shared by the decisions that were not lost.
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
