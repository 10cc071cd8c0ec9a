package skill

import (
	"fmt"
	"strconv"
)

// MaxScore is the highest score of a judge.
const MaxScore = 10

// Quality is a judge's score of a version, for its usefulness and how well it is written. Package rubric
// computes it from the judge's reply.
type Quality struct {
	Score    float64     `json:"score"` // 0–10
	Reason   string      `json:"reason,omitempty"`
	Criteria []Criterion `json:"criteria,omitempty"`
	Cap      string      `json:"cap,omitempty"` // why the score is lower than the points, such as "at most 6: …"
}

// MaxPoints is the highest number of points of a criterion.
const MaxPoints = 2

// Criterion is the judge's rating of one property of a skill.
type Criterion struct {
	Name    string `json:"name"`
	Points  int    `json:"points"`            // 0–2
	Quote   string `json:"quote,omitempty"`   // text of the skill or of the conversation that shows it
	Missing string `json:"missing,omitempty"` // what the skill lacks
}

// String returns the score for people.
func (q Quality) String() string {
	out := fmt.Sprintf("quality %s of %d", strconv.FormatFloat(q.Score, 'f', -1, 64), MaxScore)
	if q.Cap != "" {
		out += " (" + q.Cap + ")"
	}
	if q.Reason != "" {
		out += ": " + q.Reason
	}
	return out
}

// maxShown is the length of a quote for people, in runes.
const maxShown = 90

func brief(quote string) string {
	if short := cut(quote, maxShown-1); short != quote {
		return short + "…"
	}
	return quote
}

// Lines returns one line for each criterion, for people.
func (q Quality) Lines() []string {
	var out []string
	for _, c := range q.Criteria {
		line := fmt.Sprintf("%-12s  %d of %d", c.Name, c.Points, MaxPoints)
		if c.Quote != "" {
			line += "  “" + brief(c.Quote) + "”"
		}
		if c.Missing != "" {
			line += "  missing: " + c.Missing
		}
		out = append(out, line)
	}
	return out
}
