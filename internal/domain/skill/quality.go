package skill

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"cairn/internal/domain/fault"
)

// MaxScore is the best that a judge can give.
const MaxScore = 10

// maxReason is how much of a judge's reason is kept, in runes.
const maxReason = 500

// Quality is what a judge thinks of a version: whether it is worth keeping, and
// how well it is made.
type Quality struct {
	Score  float64 `json:"score"` // 0–10
	Reason string  `json:"reason,omitempty"`
}

// DecodeQuality reads a judge's answer. Its errors are words for the judge.
func DecodeQuality(raw json.RawMessage) (Quality, error) {
	var in struct {
		Score  json.RawMessage `json:"score"`
		Reason string          `json:"reason"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return Quality{}, fault.Wrap(err, fault.ModelInvalid, "the answer is no object with score and reason", "")
	}
	score, err := strconv.ParseFloat(strings.Trim(string(in.Score), `"`), 64) // some models quote their numbers
	if err != nil || !(score >= 0 && score <= MaxScore) {
		return Quality{}, fault.Newf(fault.ModelInvalid, "score must be a number from 0 to %d", MaxScore)
	}
	return Quality{Score: score, Reason: cut(collapse(in.Reason), maxReason)}, nil
}

// String is the score as people read it.
func (q Quality) String() string {
	out := fmt.Sprintf("quality %s of %d", strconv.FormatFloat(q.Score, 'f', -1, 64), MaxScore)
	if q.Reason != "" {
		out += ": " + q.Reason
	}
	return out
}
