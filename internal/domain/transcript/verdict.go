package transcript

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"cairn/internal/domain/fault"
)

// Verdict is how a conversation ended for its user.
type Verdict string

// Verdicts of conversations.
const (
	Success Verdict = "success"
	Failure Verdict = "failure"
	Unknown Verdict = "unknown"
)

// Statement is how a conversation ended, as a person states it. A later statement of the same person
// replaces it.
type Statement struct {
	Voter   string    `json:"voter" doc:"key/ID of the API key, or cli/ACCOUNT"`
	Outcome Verdict   `json:"outcome" enum:"success,failure"`
	Note    string    `json:"note,omitempty"`
	At      time.Time `json:"at"`
}

// Verdicts returns the names of all verdicts.
func Verdicts() []string { return []string{string(Success), string(Failure), string(Unknown)} }

// ParseVerdict returns the verdict with a name. An empty name states none.
func ParseVerdict(name string) (Verdict, error) {
	if name != "" && !slices.Contains(Verdicts(), name) {
		return "", fault.New(fault.InvalidArgument, fmt.Sprintf("invalid outcome %.40q", name),
			"use one of "+strings.Join(Verdicts(), ", "))
	}
	return Verdict(name), nil
}

// Verdict returns how the conversation ended: as a person states it, or by the reward that its file
// states.
func (c Conversation) Verdict() Verdict {
	switch {
	case c.Stated != "":
		return c.Stated
	case c.Reward == nil:
		return Unknown
	case *c.Reward <= 0:
		return Failure
	}
	return Success
}
