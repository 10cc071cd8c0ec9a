package episode

import (
	"log/slog"

	"cairn/internal/domain/metrics"
)

// Outcomes counts the outcomes of spans and questions. Masked outcomes were lost to an endpoint
// failure: they are not failures, and policies do not learn from them.
type Outcomes struct {
	Of     int `json:"of"`
	Masked int `json:"masked"`
}

// Thresholds of the share of masked outcomes, 0 to 1.
const (
	alarmingShare = 0.2 // above it, the operator should check the endpoint
	uselessShare  = 0.5 // above it, the other outcomes are not representative
)

// Share returns the share of masked outcomes.
func (o Outcomes) Share() float64 { return float64(o.Masked) / float64(max(1, o.Of)) }

// Alarming reports whether the share of masked outcomes requires attention.
func (o Outcomes) Alarming() bool { return o.Share() > alarmingShare }

// Useless reports whether most outcomes are masked, so that nothing is promoted.
func (o Outcomes) Useless() bool { return o.Share() > uselessShare }

// Plus returns the sum of o and p.
func (o Outcomes) Plus(p Outcomes) Outcomes { return Outcomes{o.Of + p.Of, o.Masked + p.Masked} }

// Outcomes returns the outcomes of an episode.
func (p Result) Outcomes() Outcomes {
	out := Outcomes{Of: len(p.Episode.Decisions) + len(p.Questions), Masked: len(p.Episode.Lost)}
	for _, a := range p.Questions {
		if !a.Scored {
			out.Masked++
		}
	}
	return out
}

// Kinds of runs in the outcome metrics.
const (
	Training  = "train"
	Evolution = "evolve"
	Probes    = "probe"
)

// Report adds outcomes to the metrics, and logs a warning if too many are masked.
func Report(log *slog.Logger, kind string, o Outcomes, about ...any) {
	metrics.Outcomes(kind, o.Of-o.Masked, o.Masked, o.Alarming())
	if o.Alarming() {
		log.Warn("learning outcomes masked by endpoint failures",
			append([]any{"kind", kind, "masked", o.Masked, "outcomes", o.Of}, about...)...)
	}
}
