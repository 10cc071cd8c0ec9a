package designer

import (
	"math"
	"slices"

	"cairn/internal/domain/memoryskill"
)

// Scoring defines how the rewards of a stage's iterations become its score.
type Scoring struct {
	Tail   float64 // share of the last iterations to use, 0–1
	Window int     // length of the windows to average first; 0 means none
}

// DefaultScoring uses the last quarter.
func DefaultScoring() Scoring { return Scoring{Tail: 0.25} }

// Of returns the mean of the rewards from index ⌊n·(1−Tail)⌋, or of the means of all windows of
// Window consecutive rewards. It is 0 without rewards.
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

// Stage is the result of one stage of training.
type Stage struct {
	Snapshot memoryskill.Snapshot `json:"snapshot"`
	Score    float64              `json:"score"`
	Round    string               `json:"round,omitempty"` // the designer round that created its bank
	Cases    []string             `json:"cases,omitempty"` // keys of the cases that the next round examined
}

// Limits of a training run.
type Limits struct {
	Evolutions int // maximum number of designer rounds
	Patience   int // maximum number of consecutive stages without a better score
}

// Progress holds the stages of a training run and its state.
type Progress struct {
	Stages     []Stage  `json:"stages"`
	Best       int      `json:"best"`              // index of the best stage; unused without stages
	Idle       int      `json:"idle"`              // stages since the best
	Evolutions int      `json:"evolutions"`        // number of designer rounds
	Pending    string   `json:"pending,omitempty"` // the round that the next stage evaluates
	Failed     []string `json:"failed,omitempty"`  // rounds since the best that brought no improvement
}

// Verdict is the action after a stage.
type Verdict struct {
	Improved bool
	Stop     bool
	// Restore is the snapshot to continue or end with: bank, policy and optimizer of the best
	// stage, which may be the current stage.
	Restore memoryskill.Snapshot
	// Cases are to be examined again after a rollback; nil means that Mine selects new ones.
	Cases []string
}

// Close ends a stage. It is the new best only if its score is strictly higher, or if it is the
// first. The verdict always restores the best snapshot, so that a run ends with its best stage and
// not with its last.
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

// Evolved records a designer round after a stage, with the cases that it examined. The next stage
// shows whether it was useful.
func (p Progress) Evolved(round string, cases []string) Progress {
	p.Evolutions++
	p.Pending = round
	p.Stages = slices.Clone(p.Stages)
	if p.Stages[p.Best].Cases == nil {
		p.Stages[p.Best].Cases = cases
	}
	return p
}
