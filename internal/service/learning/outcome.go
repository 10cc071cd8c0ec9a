package learning

// Outcome is what somebody said of an answer, for a decision behind the memories
// that it was given from.
type Outcome struct {
	Decision string
	Op       string // of whoever said it: it counts once for each decision
	Run      int64  // that answered
	Source   string
	Score    float64 // 0–1
}
