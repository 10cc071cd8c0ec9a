package learning

// EpisodeOutcomes counts the outcomes of spans and questions. Masked outcomes were lost to an endpoint
// failure: they are not failures, and policies do not learn from them.
type EpisodeOutcomes struct {
	Of     int `json:"of"`
	Masked int `json:"masked"`
}

// Thresholds of the share of masked outcomes, 0 to 1.
const (
	alarmingShare = 0.2 // above it, the operator should check the endpoint
	uselessShare  = 0.5 // above it, the other outcomes are not representative
)

// Share returns the share of masked outcomes.
func (o EpisodeOutcomes) Share() float64 { return float64(o.Masked) / float64(max(1, o.Of)) }

// Alarming reports whether the share of masked outcomes requires attention.
func (o EpisodeOutcomes) Alarming() bool { return o.Share() > alarmingShare }

// Useless reports whether most outcomes are masked, so that nothing is promoted.
func (o EpisodeOutcomes) Useless() bool { return o.Share() > uselessShare }

// Plus returns the sum of o and p.
func (o EpisodeOutcomes) Plus(p EpisodeOutcomes) EpisodeOutcomes {
	return EpisodeOutcomes{o.Of + p.Of, o.Masked + p.Masked}
}
