package decision

// Outcome is the score of a reply for a decision behind its memories.
type Outcome struct {
	Decision string
	Op       string // operation ID of the judgement; has one effect per decision
	Run      string // run of the reply
	Source   string
	Score    float64 // 0 to 1
	Voter    string  // empty if the score is not a vote
}

// RecentSkills are the skills that a version added or changed.
type RecentSkills struct {
	Version  int
	Skills   []string
	Explored int // sampled choices by this version and later ones
}

// FromPraise is the source of an outcome of a good reply. Other outcomes have the source of their
// case.
const FromPraise = "praise"
