package episode

import (
	"log/slog"

	"cairn/internal/domain/metrics"
)

// Outcomes count what spans and questions came to, one each. Those that trouble of
// an endpoint took away are masked: they are no failures, and nothing is learnt of
// them.
type Outcomes struct {
	Of     int `json:"of"`
	Masked int `json:"masked"`
}

// Shares of masked outcomes, 0–1.
const (
	alarmingShare = 0.2 // from which somebody should look at the endpoint
	uselessShare  = 0.5 // beyond which what is left stands for nothing
)

// Share is that of the masked ones.
func (o Outcomes) Share() float64 { return float64(o.Masked) / float64(max(1, o.Of)) }

// Alarming tells that so much is masked that somebody should look.
func (o Outcomes) Alarming() bool { return o.Share() > alarmingShare }

// Useless tells that most is masked: nothing is promoted on what is left.
func (o Outcomes) Useless() bool { return o.Share() > uselessShare }

// Plus adds p.
func (o Outcomes) Plus(p Outcomes) Outcomes { return Outcomes{o.Of + p.Of, o.Masked + p.Masked} }

// Outcomes are those of an episode.
func (p Result) Outcomes() Outcomes {
	out := Outcomes{Of: len(p.Episode.Decisions) + len(p.Questions), Masked: len(p.Episode.Lost)}
	for _, a := range p.Questions {
		if !a.Scored {
			out.Masked++
		}
	}
	return out
}

// Kinds of runs by which outcomes are counted.
const (
	Training  = "train"
	Evolution = "evolve"
	Probes    = "probe"
)

// Report counts outcomes for /metrics, and logs when too many are masked.
func Report(log *slog.Logger, kind string, o Outcomes, about ...any) {
	metrics.Outcomes(kind, o.Of-o.Masked, o.Masked, o.Alarming())
	if o.Alarming() {
		log.Warn("much of what memory skills would learn from is masked: the endpoint fails",
			append([]any{"kind", kind, "masked", o.Masked, "outcomes", o.Of}, about...)...)
	}
}
