package review

import (
	"fmt"
	"hash/fnv"
	"math"
	"time"
)

// A canary is an update of a skill that is shown in a part of the conversations before it takes effect.
const (
	CanaryShare    = 20 // percent of the conversations
	CanaryPeriod   = 14 * 24 * time.Hour
	canaryTrials   = 10 // fewer outcomes decide nothing
	promoteFrom    = .8 // probability of passing more often than the version in force
	rejectUpTo     = .2
	provenOutcomes = fewTrials // of the version in force; with fewer there is nothing to compare with
)

// Canary has the outcomes of an update and of the version in force in conversations, the latest first.
type Canary struct {
	Proposed []Trial
	Current  []Trial
}

// CanaryVerdict is what the outcomes of a canary decide.
type CanaryVerdict string

// Verdicts on a canary.
const (
	Undecided CanaryVerdict = ""
	Promoted  CanaryVerdict = "promoted" // it takes effect
	Rejected  CanaryVerdict = "rejected" // the version in force stays
	Stopped   CanaryVerdict = "stopped"  // it fails too often to go on, and a person decides
)

// NeedsCanary reports whether an update of a version with these outcomes is shown to a part of the
// conversations first.
func NeedsCanary(current []Trial) bool { return len(current) >= provenOutcomes }

// ShownIn reports whether a conversation is one of those that see a canary. It is the same for each
// view in the conversation.
func ShownIn(conversation, change int64) bool {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d/%d", change, conversation)
	return h.Sum64()%100 < CanaryShare
}

// Verdict returns what the outcomes decide, and why.
func (c Canary) Verdict() (CanaryVerdict, string) {
	n := len(c.Proposed)
	better := c.Better()
	reason := fmt.Sprintf("it passed %d of %d trials, the version in force %d of %d; probability of being better %.2f",
		Passes(c.Proposed), n, Passes(c.Current), len(c.Current), better)
	switch {
	case n >= canaryTrials && better >= promoteFrom:
		return Promoted, reason
	case n >= canaryTrials && better <= rejectUpTo:
		return Rejected, reason
	case n > 0:
		if failing := Failing(c.Proposed, c.Proposed[0].Version); failing != "" {
			return Stopped, failing
		}
	}
	return Undecided, reason
}

// Better returns the probability that the update passes more often than the version in force: that one
// Beta variable with a uniform prior exceeds the other.
func (c Canary) Better() float64 {
	a1, b1 := 1+Passes(c.Proposed), 1+len(c.Proposed)-Passes(c.Proposed)
	a0, b0 := float64(1+Passes(c.Current)), float64(1+len(c.Current)-Passes(c.Current))
	sum := 0.0
	for i := range a1 {
		sum += math.Exp(logBeta(a0+float64(i), b0+float64(b1)) - math.Log(float64(b1+i)) -
			logBeta(1+float64(i), float64(b1)) - logBeta(a0, b0))
	}
	return min(1, sum)
}

func logBeta(a, b float64) float64 {
	x, _ := math.Lgamma(a)
	y, _ := math.Lgamma(b)
	z, _ := math.Lgamma(a + b)
	return x + y - z
}

// Passes counts the trials that passed.
func Passes(trials []Trial) (n int) {
	for _, t := range trials {
		if t.Passed {
			n++
		}
	}
	return n
}
