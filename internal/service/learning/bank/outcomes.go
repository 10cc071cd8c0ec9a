package bank

import (
	"log/slog"

	"cairn/internal/domain/learning"
	"cairn/internal/domain/metrics"
)

// Outcomes returns the outcomes of an episode.
func (p EpisodeResult) Outcomes() learning.EpisodeOutcomes {
	out := learning.EpisodeOutcomes{Of: len(p.Episode.Decisions) + len(p.Questions), Masked: len(p.Episode.Lost)}
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
func Report(log *slog.Logger, kind string, o learning.EpisodeOutcomes, about ...any) {
	metrics.Outcomes(kind, o.Of-o.Masked, o.Masked, o.Alarming())
	if o.Alarming() {
		log.Warn("learning outcomes masked by endpoint failures",
			append([]any{"kind", kind, "masked", o.Masked, "outcomes", o.Of}, about...)...)
	}
}
