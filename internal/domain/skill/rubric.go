package skill

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"cairn/internal/domain/fault"
)

// Criteria in the order in which they are shown.
const (
	CriterionTrigger      = "trigger"      // when to use the skill, and when not
	CriterionInputs       = "inputs"       // what the work needs, and where it comes from
	CriterionRules        = "rules"        // decisions with their conditions
	CriterionSteps        = "steps"        // actions in order
	CriterionVerification = "verification" // a check that shows the success
	CriterionErrors       = "errors"       // failures and what to do about them
	CriterionGrounded     = "grounded"     // the conversation supports what the skill says
	CriterionReusable     = "reusable"     // the skill serves the next case
)

// CriterionNames returns the names of all criteria.
func CriterionNames() []string {
	return []string{CriterionTrigger, CriterionInputs, CriterionRules, CriterionSteps, CriterionVerification,
		CriterionErrors, CriterionGrounded, CriterionReusable}
}

// caps limit the score of a skill that has no points for a criterion.
var caps = []struct {
	name string
	most float64
	text string
}{
	{CriterionSteps, 3, "it has no steps to follow"},
	{CriterionGrounded, 3, "the conversation does not support it"},
	{CriterionReusable, 3, "it serves one case"},
	{CriterionVerification, 6, "it has no verification"},
}

// RubricTexts are the texts in which the judge's quotes must be found. A quote about Grounded must be in the
// conversation, any other in the skill.
type RubricTexts struct {
	Skill        []string
	Conversation []string
}

// Limits in runes.
const (
	maxReason = 500
	maxQuote  = 300
)

// notFound is what a criterion without points lacks if its quote was not found.
const notFound = "a quote that can be found"

// criterion is one element of a reply.
type criterion struct {
	Name    string          `json:"criterion"`
	Points  json.RawMessage `json:"points"`
	Quote   string          `json:"quote"`
	Missing string          `json:"missing"`
}

// ReadRubric decodes a judge's reply and computes the score. Its errors are written for the model.
func ReadRubric(raw json.RawMessage, t RubricTexts) (Quality, error) {
	var in struct {
		Criteria []criterion `json:"criteria"`
		Reason   string      `json:"reason"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return Quality{}, fault.Wrap(err, fault.ModelInvalid, "the reply has no criteria and reason", "")
	}
	q := Quality{Reason: rubricLine(in.Reason, maxReason)}
	skillText, said := words(t.Skill...), words(t.Conversation...)
	for _, name := range CriterionNames() {
		at := slices.IndexFunc(in.Criteria, func(c criterion) bool {
			return strings.EqualFold(strings.TrimSpace(c.Name), name)
		})
		if at < 0 {
			return Quality{}, fault.Newf(fault.ModelInvalid, "criteria must contain each of %s; %s is missing",
				strings.Join(CriterionNames(), ", "), name)
		}
		points, err := readPoints(in.Criteria[at].Points)
		if err != nil {
			return Quality{}, fault.Newf(fault.ModelInvalid, "%s: %v", name, err)
		}
		c := Criterion{Name: name, Points: points, Quote: rubricLine(in.Criteria[at].Quote, maxQuote),
			Missing: rubricLine(in.Criteria[at].Missing, maxReason)}
		where := skillText
		if name == CriterionGrounded {
			where = said
		}
		if !found(in.Criteria[at].Quote, where) {
			if c.Points > 0 && c.Missing == "" {
				c.Missing = notFound
			}
			c.Points, c.Quote = 0, ""
		}
		q.Criteria = append(q.Criteria, c)
	}
	return scored(q), nil
}

// readPoints reads 0, 1 or 2. Some models quote numbers.
func readPoints(raw json.RawMessage) (int, error) {
	points, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64)
	if err != nil || !(points >= 0 && points <= MaxPoints) {
		return 0, fmt.Errorf("points must be 0, 1 or %d", MaxPoints)
	}
	return int(points), nil
}

// scored sets the score: the sum of the points on a scale to MaxScore with one decimal, within the caps.
func scored(q Quality) Quality {
	sum, points := 0, map[string]int{}
	for _, c := range q.Criteria {
		sum += c.Points
		points[c.Name] = c.Points
	}
	most := float64(MaxPoints * len(q.Criteria))
	q.Score = math.Round(float64(sum)/most*MaxScore*10) / 10
	for _, limit := range caps {
		if points[limit.name] == 0 && q.Score > limit.most {
			q.Score, q.Cap = limit.most, fmt.Sprintf("at most %g: %s", limit.most, limit.text)
		}
	}
	return q
}

// minQuote is the length of the shortest quote that says something, in bytes without punctuation.
const minQuote = 8

// found reports whether every part of a quote is in a text of words. Models shorten quotes with an ellipsis.
func found(quote, text string) bool {
	parts := strings.Split(strings.ReplaceAll(quote, "...", "…"), "…")
	long := false
	for _, part := range parts {
		part = words(part)
		long = long || len(part) >= minQuote
		if !strings.Contains(text, part) {
			return false
		}
	}
	return long
}

// words returns the letters and digits of texts, in lower case with single blanks between words, so that a
// quote is found with other punctuation, marks and line breaks.
func words(texts ...string) string {
	var b strings.Builder
	gap := false
	for _, text := range texts {
		for _, r := range text {
			if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
				gap = true
				continue
			}
			if gap && b.Len() > 0 {
				b.WriteByte(' ')
			}
			gap = false
			b.WriteRune(unicode.ToLower(r))
		}
		gap = true
	}
	return b.String()
}

// rubricLine returns a text as one line with at most limit runes.
func rubricLine(text string, limit int) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "\ufffd")), " ")
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	return strings.TrimSpace(string([]rune(text)[:limit-1])) + "…"
}
