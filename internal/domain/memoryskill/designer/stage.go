package designer

import (
	"math"
	"slices"

	"cairn/internal/domain/memoryskill"
)

// Scoring says how the rewards of a stage's iterations become its score.
type Scoring struct {
	Tail   float64 // share of the iterations at the end that count, 0–1
	Window int     // average over windows of so many iterations first; 0 is none
}

// DefaultScoring counts the last quarter.
func DefaultScoring() Scoring { return Scoring{Tail: 0.25} }

// Of is the mean of the rewards from index ⌊n·(1−Tail)⌋ on, or of their windows'
// means: every run of Window neighbours. Zero without rewards.
func (s Scoring) Of(rewards []float64) float64 {
	from := int(math.Floor(float64(len(rewards)) * (1 - s.Tail)))
	tail := rewards[min(max(0, from), max(0, len(rewards)-1)):]
	if s.Window < 2 || len(tail) < s.Window {
		return mean(tail)
	}
	var windows []float64
	for i := range len(tail) - s.Window + 1 {
		windows = append(windows, mean(tail[i:i+s.Window]))
	}
	return mean(windows)
}

func mean(numbers []float64) float64 {
	sum := 0.0
	for _, x := range numbers {
		sum += x
	}
	return sum / math.Max(1, float64(len(numbers)))
}

// Stage is what one stage of training came to.
type Stage struct {
	Snapshot memoryskill.Snapshot `json:"snapshot"`
	Score    float64              `json:"score"`
	Round    string               `json:"round,omitempty"` // the designer round that led to its bank
	Cases    []string             `json:"cases,omitempty"` // keys of the cases that the next round looked at
}

// Limits end a run.
type Limits struct {
	Evolutions int // designer rounds
	Patience   int // stages in a row without a better score
}

// Progress is a run's stages and where it stands.
type Progress struct {
	Stages     []Stage  `json:"stages"`
	Best       int      `json:"best"`              // index of the best stage, meaningless without stages
	Idle       int      `json:"idle"`              // stages since the best
	Evolutions int      `json:"evolutions"`        // designer rounds so far
	Pending    string   `json:"pending,omitempty"` // the round that the next stage will tell about
	Failed     []string `json:"failed,omitempty"`  // rounds since the best that made nothing better
}

// Verdict is what to do after a stage.
type Verdict struct {
	Improved bool
	Stop     bool
	// Restore is the snapshot to go on with, or to end with: bank, policy and
	// optimiser of the best stage. It is the stage's own when that is the best.
	Restore memoryskill.Snapshot
	// Cases are to be looked at again after a step back; nil means to mine anew.
	Cases []string
}

// Close ends a stage. It is the new best only when its score is strictly higher,
// or when it is the first. Whatever happens, the best snapshot is the one to keep:
// a run that stops does so on its best, not on its last.
func (p Progress) Close(s Stage, limits Limits) (Progress, Verdict) {
	s.Round = p.Pending
	p.Stages = append(slices.Clip(p.Stages), s)
	last := len(p.Stages) - 1
	v := Verdict{Improved: last == 0 || s.Score > p.Stages[p.Best].Score}
	if v.Improved {
		p.Best, p.Idle, p.Failed = last, 0, nil
	} else {
		p.Idle++
		if p.Pending != "" {
			p.Failed = append(slices.Clip(p.Failed), p.Pending)
		}
		v.Cases = p.Stages[p.Best].Cases
	}
	p.Pending = ""
	v.Restore = p.Stages[p.Best].Snapshot
	v.Stop = p.Evolutions >= limits.Evolutions || p.Idle >= limits.Patience
	return p, v
}

// Evolved notes a designer round after a stage, with the cases it looked at. The
// next stage tells whether it was worth it.
func (p Progress) Evolved(round string, cases []string) Progress {
	p.Evolutions++
	p.Pending = round
	p.Stages = slices.Clone(p.Stages)
	if p.Stages[p.Best].Cases == nil {
		p.Stages[p.Best].Cases = cases
	}
	return p
}
