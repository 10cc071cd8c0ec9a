package skill_test

import (
	"encoding/json"
	"strings"
	"testing"

	"cairn/internal/domain/skill"
	"cairn/internal/testkit"
)

// document is a skill with a part for each criterion of the skill's text.
const document = `Use when a customer asks to change an order.

## Inputs
- order number: from the customer

## Decision Rules
- If the order is delivered → refuse the change

## Procedure
1. Read the order with get_order and compare its status.

## Pitfalls
- "price has changed" → ask for a new confirmation

## Verification
- Read the order back and compare the new items.
`

const said = "user: Change order 7, please. tool: {\"status\": \"delivered\"}"

var quotes = map[string]string{
	skill.CriterionTrigger: "a customer asks to change an order",
	skill.CriterionInputs:  "order number: from the customer",
	skill.CriterionRules:   "If the order is delivered", skill.CriterionSteps: "Read the order with `get_order`",
	skill.CriterionVerification: "Read the order back … the new items", skill.CriterionErrors: "price has changed",
	skill.CriterionGrounded: `"status":"delivered"`, skill.CriterionReusable: "CHANGE  AN ORDER",
}

// judge returns the judgment of a text with full points for each quoted criterion.
func judge(t *testing.T, text string, change ...func(map[string]string)) skill.Quality {
	t.Helper()
	given := map[string]string{}
	for name, quote := range quotes {
		given[name] = quote
	}
	for _, f := range change {
		f(given)
	}
	var list []map[string]any
	for name, quote := range given {
		list = append(list, map[string]any{"criterion": name, "points": 2, "quote": quote, "missing": ""})
	}
	reply, err := json.Marshal(map[string]any{"criteria": list, "reason": "Sound.\nReally."})
	testkit.Must(t, err)
	q, err := skill.ReadRubric(reply, skill.RubricTexts{Skill: []string{text}, Conversation: []string{said}})
	testkit.Must(t, err)
	return q
}

func with(name, quote string) func(map[string]string) {
	return func(given map[string]string) { given[name] = quote }
}

func TestAllPointsAreAFullScore(t *testing.T) {
	t.Parallel()
	q := judge(t, document)
	if q.Score != 10 || q.Cap != "" || q.Reason != "Sound. Really." || len(q.Criteria) != len(skill.CriterionNames()) {
		t.Errorf("%+v", q)
	}
	for i, name := range skill.CriterionNames() {
		if c := q.Criteria[i]; c.Name != name || c.Points != 2 || c.Quote == "" || c.Missing != "" {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

func TestRemovingASectionLowersTheScore(t *testing.T) {
	t.Parallel()
	for title, want := range map[string]float64{"Inputs": 8.8, "Decision Rules": 8.8, "Procedure": 3, "Pitfalls": 8.8,
		"Verification": 6} {
		before, rest, _ := strings.Cut(document, "## "+title)
		_, after, _ := strings.Cut(rest, "\n\n")
		if q := judge(t, before+after); q.Score != want {
			t.Errorf("without %s: %v, want %v: %+v", title, q.Score, want, q)
		}
	}
}

func TestAnInventedQuoteScoresNothing(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		name, quote string
		want        float64
	}{
		"a quote that is nowhere":        {skill.CriterionRules, "If the order is lost, refund it", 8.8},
		"no quote":                       {skill.CriterionInputs, "", 8.8},
		"a quote without words":          {skill.CriterionInputs, "…", 8.8},
		"a quote that says nothing":      {skill.CriterionErrors, "the", 8.8},
		"one invented part":              {skill.CriterionVerification, "Read the order back … and smile", 6},
		"a skill quoted as conversation": {skill.CriterionGrounded, "compare its status", 3},
		"conversation quoted as a skill": {skill.CriterionErrors, "Change order 7, please", 8.8},
		"an invented step":               {skill.CriterionSteps, "Call refund_order at once", 3},
		"an invented use":                {skill.CriterionReusable, "for every shop in the world", 3},
	} {
		q := judge(t, document, with(c.name, c.quote))
		if q.Score != c.want || (q.Cap != "") != (c.want < 8) {
			t.Errorf("%s: %v (%s), want %v", what, q.Score, q.Cap, c.want)
		}
		for _, got := range q.Criteria {
			if got.Name == c.name && (got.Points != 0 || got.Quote != "" || got.Missing == "") {
				t.Errorf("%s: %+v", what, got)
			}
		}
	}
}

func TestAReplyIsReadOrSentBack(t *testing.T) {
	t.Parallel()
	good := testkit.Judgment(13, "change an order", "order 7, please", "Good.")
	texts := skill.RubricTexts{Skill: []string{document}, Conversation: []string{said}}
	quoted := strings.NewReplacer(`"points":2`, `"points":"2"`, `"points":1`, `"points":"1"`).Replace(good)
	for what, reply := range map[string]string{"whole": good, "quoted points": quoted,
		"capital letters": strings.ReplaceAll(good, `"trigger"`, `"Trigger"`)} {
		if q, err := skill.ReadRubric(json.RawMessage(reply), texts); err != nil || q.Score != 8.1 {
			t.Errorf("%s: %+v, %v", what, q, err)
		}
	}
	for _, reply := range []string{`[]`, `{}`, `{"criteria":[]}`, `{"criteria":{}}`, `{"score":9,"reason":"Good."}`,
		strings.Replace(good, `"points":1`, `"points":3`, 1), strings.Replace(good, `"points":1`, `"points":-1`, 1),
		strings.Replace(good, `"points":1`, `"points":"NaN"`, 1), strings.Replace(good, `"points":1`,
			`"points":null`, 1),
		strings.Replace(good, `"errors"`, `"style"`, 1)} {
		if q, err := skill.ReadRubric(json.RawMessage(reply), texts); err == nil {
			t.Errorf("%s was read as %+v", reply, q)
		}
	}
	long := testkit.Judgment(16, strings.Repeat("long ", 300), "order 7", strings.Repeat("a ", 1000))
	q, err := skill.ReadRubric(json.RawMessage(long), skill.RubricTexts{Skill: []string{strings.Repeat("long ", 300)}})
	if err != nil || len(q.Reason) > 510 || len(q.Criteria[0].Quote) > 310 {
		t.Errorf("a reason of %d bytes, %v", len(q.Reason), err)
	}
}
