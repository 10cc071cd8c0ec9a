package reflection

import (
	"encoding/json"
	"fmt"
	"math"
	"time"
	"unicode/utf8"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
)

// Patience is the number of consecutive failed runs after which the messages of the first one are
// skipped. Otherwise a day that no model can process would block all later days.
const Patience = 3

// Recall counts how often searches returned a note.
type Recall struct {
	Note      memory.Entry
	Relevance float64 // mean over queries, 0 to 1
	Recalls   int
	Queries   int           // distinct queries
	Days      int           // distinct days
	Age       time.Duration // since the last recall
}

const (
	manyRecalls, manyQueries, manyDays = 10, 5, 4 // values above these do not raise the score
	HalfLife                           = 14 * 24 * time.Hour
	richRunes                          = 120 // length of a note that is meaningful without context
)

// Score rates a note from 0 to 1 by relevance, frequency, diversity of queries, recency, spread
// over days, and length.
func (r Recall) Score() float64 {
	share := func(n, many int) float64 { return min(1, float64(n)/float64(many)) }
	frequency := min(1, math.Log1p(float64(r.Recalls))/math.Log1p(manyRecalls))
	recency := math.Exp2(-float64(r.Age) / float64(HalfLife))
	return 0.30*r.Relevance + 0.24*frequency + 0.15*share(r.Queries, manyQueries) + 0.15*recency +
		0.10*share(r.Days, manyDays) +
		0.06*share(utf8.RuneCountInString(r.Note.Content), richRunes)
}

// Report is the result of a reflection in numbers.
type Report struct {
	Date          string    `json:"date"`
	Zone          string    `json:"zone"`
	From          time.Time `json:"from,omitzero"`
	To            time.Time `json:"to"`
	Why           string    `json:"why"`
	Conversations int       `json:"conversations"`
	Messages      int       `json:"messages"` // selected for the model
	Turns         int       `json:"turns"`    // user messages among them
	Parts         int       `json:"parts,omitempty"`
	PartsRead     int       `json:"parts_read,omitempty"`
	Notes         int       `json:"notes"`
	Memories      int       `json:"memories"`
	Skills        int       `json:"skills"`
	// Promoted is the number of notes that became memories because searches returned them often.
	Promoted  int  `json:"promoted,omitempty"`
	Staged    int  `json:"staged,omitempty"`     // pending changes
	Refused   int  `json:"refused,omitempty"`    // failed calls
	Skipped   int  `json:"skipped,omitempty"`    // messages that will not be read
	Left      bool `json:"left,omitempty"`       // the next run continues
	Failures  int  `json:"failures,omitempty"`   // consecutive failed runs, including this one
	Alert     bool `json:"alert,omitempty"`      // too many failures: unread messages are skipped
	EmptyWeek bool `json:"empty_week,omitempty"` // seventh empty day in a row in spite of messages
}

// Wrote returns the number of applied writes.
func (r Report) Wrote() int { return r.Notes + r.Memories + r.Skills + r.Promoted }

// Count adds the results of the calls of a run.
func (r *Report) Count(steps []run.Step) {
	for _, s := range steps {
		for _, c := range s.Calls {
			if c.Done {
				r.call(c)
			}
		}
	}
}

func (r *Report) call(c run.ToolCall) {
	var result struct {
		OK     bool   `json:"ok"`
		Action string `json:"action"`
	}
	if json.Unmarshal([]byte(c.Result), &result) != nil || !result.OK {
		r.Refused++
		return
	}
	switch result.Action {
	case "", "unchanged", "noop":
		return
	case "staged":
		r.Staged++
		return
	}
	switch c.Tool {
	case agent.NoteAppend:
		r.Notes++
	case "memory_save", "memory_replace", "memory_remove", "memory_batch":
		r.Memories++
	default:
		r.Skills++
	}
}

// StatusFor derives the status of a run from the end of its loop and its writes. Marks move unless it
// is Failed.
func (r Report) StatusFor(reason agent.Reason) string {
	switch reason {
	case agent.Final:
		switch {
		case r.Left:
			return Partial
		case r.Wrote()+r.Staged > 0:
			return Saved
		}
		return Nothing
	case agent.Exhausted, agent.WallClock, agent.Guardrail:
		if r.Wrote()+r.Staged > 0 {
			return Partial
		}
	}
	return Failed
}

// Day is the result of a local date.
type Day struct {
	Date          string    `json:"date"`
	Zone          string    `json:"zone"`
	Status        string    `json:"status"` // started, saved, nothing_to_save, empty, partial or failed
	To            time.Time `json:"to"`
	Run           string    `json:"run,omitempty"`
	Conversations int       `json:"conversations"`
	Messages      int       `json:"messages"`
	Notes         int       `json:"notes"`
	Memories      int       `json:"memories"`
	Skills        int       `json:"skills"`
	Failures      int       `json:"failures,omitempty"`
	Reason        string    `json:"reason,omitempty"`
	UpdatedAt     time.Time `json:"updated_at"`
}

// EmptyWeekReason is stored for an empty day that should not be empty. A failure to read messages
// looks like a day without messages.
const EmptyWeekReason = "empty for 7 days in a row although messages exist"

// Digest returns what a reflection has done, as a message for the user.
func (r Report) Digest() string {
	text := fmt.Sprintf(
		"Reflection of %s: %d messages read; saved %d memories, %d notes and %d skills.",
		r.Date,
		r.Messages,
		r.Memories+r.Promoted,
		r.Notes,
		r.Skills,
	)
	if r.Staged > 0 {
		text += fmt.Sprintf(" %d changes wait for approval: send /approve.", r.Staged)
	}
	return text
}

// Statuses of a reflection. Empty and nothing_to_save distinguish a day without messages from one
// without useful content.
const (
	Saved   = "saved"
	Nothing = "nothing_to_save"
	Partial = "partial" // saved, but the budget or the size limit left messages unread
	Failed  = "failed"
)

// Message is a message that a reflection may read.
type Message struct {
	transcript.Message
	Conversation int64
	Turn         int
	Said         time.Time
	Human        bool // false if no user caused it; then it is skipped
	Reviewed     bool // a review has read it for memories and skills
}

// Read is a range of messages of a run.
type Read struct {
	Conversation int64
	FromSeq      int
	ToSeq        int
	Part         int
	State        string // open, read or skipped
	Messages     int    // of a skipped range
}

// Window selects the messages that a run may read.
type Window struct {
	Since    time.Time // zero means no lower bound
	Until    time.Time // exclusive
	PastMark bool      // only messages after the mark of each conversation
	Again    bool      // include messages that an earlier run has read
	Max      int
}
