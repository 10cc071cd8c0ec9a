package skill

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"cairn/internal/domain/fault"
)

// MaxScore is the highest score of a judge.
const MaxScore = 10

// maxReason is the maximum length of a stored reason, in runes.
const maxReason = 500

// Quality is a judge's score of a version, for its usefulness and how well it is written.
type Quality struct {
	Score  float64 `json:"score"` // 0–10
	Reason string  `json:"reason,omitempty"`
}

// DecodeQuality decodes a judge's reply. Its errors are written for the model.
func DecodeQuality(raw json.RawMessage) (Quality, error) {
	var in struct {
		Score  json.RawMessage `json:"score"`
		Reason string          `json:"reason"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return Quality{}, fault.Wrap(err, fault.ModelInvalid, "the reply is not an object with score and reason", "")
	}
	score, err := strconv.ParseFloat(strings.Trim(string(in.Score), `"`), 64) // some models quote numbers
	if err != nil || !(score >= 0 && score <= MaxScore) {
		return Quality{}, fault.Newf(fault.ModelInvalid, "score must be a number from 0 to %d", MaxScore)
	}
	return Quality{Score: score, Reason: cut(collapse(in.Reason), maxReason)}, nil
}

// String returns the score for people.
func (q Quality) String() string {
	out := fmt.Sprintf("quality %s of %d", strconv.FormatFloat(q.Score, 'f', -1, 64), MaxScore)
	if q.Reason != "" {
		out += ": " + q.Reason
	}
	return out
}
