package designer

import (
	"strings"

	"golang.org/x/text/unicode/norm"
)

// Case is a query that was answered badly.
type Case struct {
	QueryID    string   `json:"query_id,omitempty"`
	Trace      string   `json:"trace"`
	Question   string   `json:"question"`
	Gold       []string `json:"gold"`               // right answers; any of them will do
	Evidence   []string `json:"evidence,omitempty"` // passages of the trace that hold the answer, where known
	Category   string   `json:"category,omitempty"`
	Retrieved  []string `json:"retrieved,omitempty"` // texts of the memories that the search found
	Prediction string   `json:"prediction"`
	Score      float64  `json:"score"`     // by the metric that is the reward, 0–1
	Spans      int      `json:"spans"`     // of the trace
	Bank       string   `json:"bank"`      // version of the memory bank that it was answered from
	Iteration  int      `json:"iteration"` // of the last failure
	Failures   int      `json:"failures"`
}

// Key identifies the case: the query's id, else its question in lower case.
func (c Case) Key() string {
	if c.QueryID != "" {
		return c.QueryID
	}
	return strings.ToLower(c.Question)
}

// sameQuestion is equal for questions that differ in case, white space and width
// only.
func sameQuestion(question string) string {
	return strings.Join(strings.Fields(strings.ToLower(norm.NFKC.String(question))), " ")
}
