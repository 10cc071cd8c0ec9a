package learning

import (
	"time"

	"cairn/internal/domain/memoryskill/designer"
)

// Case is a question with its known answers. Failures is 0 if the question never failed.
type Case struct {
	ID           int64     `json:"id"`
	Bank         int64     `json:"-"`
	Key          string    `json:"key"`
	Source       string    `json:"source"`
	State        string    `json:"state"` // open, resolved, or expired: no failure within Window
	Question     string    `json:"question"`
	Gold         []string  `json:"gold,omitempty"`
	Evidence     []int     `json:"evidence,omitempty"` // messages of the conversation
	Category     string    `json:"category,omitempty"`
	Prediction   string    `json:"prediction,omitempty"`
	Retrieved    []string  `json:"retrieved,omitempty"` // ids of memories
	Score        float64   `json:"score"`
	Failures     int       `json:"failures"`
	Iteration    int       `json:"iteration,omitempty"`
	Conversation int64     `json:"conversation,omitempty"`
	Run          string    `json:"run,omitempty"`
	Op           string    `json:"-"`
	FailedAt     time.Time `json:"failed_at,omitzero"` // last failure
	UpdatedAt    time.Time `json:"updated_at,omitzero"`
}

// Hard returns the case in the form of the designer's buffer.
func (c Case) Hard(trace string, evidence, retrieved []string) designer.Case {
	return designer.Case{QueryID: c.Key, Trace: trace, Question: c.Question, Gold: c.Gold, Evidence: evidence,
		Category: c.Category, Retrieved: retrieved, Prediction: c.Prediction, Score: c.Score,
		Iteration: c.Iteration, Failures: c.Failures}
}

// Vote is the rating of an answer by a voter, and its effect.
type Vote struct {
	Voter        string // empty if it is not a vote
	Sender       string // the voter, or the key of a gateway that votes for its users
	Rated        string // the answer: Turn or Key
	Op           string
	Source       string
	Burst        bool // one of too many within a minute
	Run          string
	Conversation int64
	Case         int64
	Failures     int      // that it added to the case; negative if it took some away
	Decisions    []string // whose skills have its score
}

// VoteBurst is the number of votes of a sender that have no effect.
type VoteBurst struct {
	Voter  string    `json:"voter" doc:"Who sent them: key/ID of an API key, gateway/ID of the key of a gateway, or cli/ACCOUNT of the command line"`
	Votes  int       `json:"votes" doc:"Votes that it sent within a minute in which it sent more than 20"`
	LastAt time.Time `json:"last_at"`
}

// Score returns the score that a vote gives to skills.
func (v Vote) Score() float64 {
	if v.Source == FromPraise {
		return 1
	}
	return 0
}
