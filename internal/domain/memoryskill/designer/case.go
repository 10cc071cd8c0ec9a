package designer

import (
	"strings"

	"golang.org/x/text/unicode/norm"
)

// Case is a hard case: a failed query.
type Case struct {
	QueryID    string   `json:"query_id,omitempty"`
	Trace      string   `json:"trace"`
	Question   string   `json:"question"`
	Gold       []string `json:"gold"`               // correct answers; any of them is sufficient
	Evidence   []string `json:"evidence,omitempty"` // passages of the trace with the answer, if known
	Category   string   `json:"category,omitempty"`
	Retrieved  []string `json:"retrieved,omitempty"` // texts of the retrieved memories
	Prediction string   `json:"prediction"`
	Score      float64  `json:"score"`     // by the metric of the reward, 0–1
	Spans      int      `json:"spans"`     // number of spans of the trace
	Bank       string   `json:"bank"`      // version of the memory bank that was queried
	Iteration  int      `json:"iteration"` // iteration of the last failure
	Failures   int      `json:"failures"`
}

// Key returns the ID of the query, or else its question in lower case.
func (c Case) Key() string {
	if c.QueryID != "" {
		return c.QueryID
	}
	return strings.ToLower(c.Question)
}

// sameQuestion returns equal texts for questions that differ only in case, white space and
// character width.
func sameQuestion(question string) string {
	return strings.Join(strings.Fields(strings.ToLower(norm.NFKC.String(question))), " ")
}
