package decision

// Outcome is what somebody said of an answer, for a decision behind the memories
// that it was given from.
type Outcome struct {
	Decision string
	Op       string // of whoever said it: it counts once for each decision
	Run      int64  // that answered
	Source   string
	Score    float64 // 0–1
}

// RecentSkills are the skills that a version brought, added or refined.
type RecentSkills struct {
	Version  int
	Skills   []string
	Explored int // choices that were drawn by this version and later ones
}

// FromPraise is where the outcome of a decision comes from when an answer was
// good; others have the source of the case.
const FromPraise = "praise"
