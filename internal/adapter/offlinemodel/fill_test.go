package offlinemodel

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/prompt"
	kept "cairn/internal/domain/skill"
	"cairn/internal/testkit"
	"cairn/schemas"
)

func TestUnknownPropertiesAreEmptyValuesOfTheirType(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"type":"object","$defs":{"node":{"type":"object",` +
		`"properties":{"zz_label":{"type":"string"},"zz_next":{"anyOf":[{"type":"null"},{"$ref":"#/$defs/node"}]}}}},
		"properties":{"zz_text":{"type":"string"},"zz_count":{"type":"integer"},"zz_part":{"type":"number"},` +
		`"zz_flag":{"type":"boolean"},
		"zz_list":{"type":"array","items":{"type":"object","properties":{"zz_text":{"type":"string"}}}},` +
		`"zz_maybe":{"type":["string","null"]},
		"zz_choice":{"type":"string","enum":["low","high"]},"zz_any":{"anyOf":[{"type":"integer"},{"type":"null"}]},` +
		`"zz_node":{"$ref":"#/$defs/node"}}}`)
	want := map[string]any{"zz_text": "", "zz_count": 0.0, "zz_part": 0.0, "zz_flag": false, "zz_list": []any{},
		"zz_maybe": nil, "zz_choice": "low", "zz_any": nil,
		"zz_node": map[string]any{"zz_label": "", "zz_next": nil}}
	if got := askSchema(t, schema, prompt.Material{Messages: loanDesk(ada)}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

// The answer depends on the property, not on the schema around it.
func TestPropertiesAreFilledInAnySchema(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"type":"object","properties":{"outer":{"type":"object",` +
		`"properties":{"tools":{"type":"string"},"procedure":{"type":"array","items":{"type":"string"}}}}}}`)
	outer := askSchema(t, schema, prompt.Material{Messages: loanDesk(ada)})["outer"].(map[string]any)
	if outer["tools"] != "find_member\nrenew_loan" {
		t.Errorf("a list in a string: %q", outer["tools"])
	}
}

func TestShippedSchemasAreFilledValidly(t *testing.T) {
	t.Parallel()
	materials := map[string]prompt.Material{
		"empty":   {},
		"desk":    {Messages: loanDesk(ada)},
		"talk":    {Messages: releaseTalk()},
		"chinese": {Messages: chineseTalk()},
		"update":  {Messages: loanDesk(ada), Candidates: []prompt.Candidate{renewing()}},
		"files": {Draft: &prompt.Candidate{Name: "x", Procedure: "1. a\n2. b"},
			Files: []prompt.FilePlan{{File: "a.py", Inputs: "x (string)"}, {File: "b.sh"}}},
		"damaged": {Messages: numbering(calls(`renew({"loan": "LN8`), result("renew", `{"a": [`), prompt.Message{},
			result("other", "Error"), calls("()"), calls(""))},
		"numbered": {Messages: []prompt.Message{user("same"), user("index")}},
	}
	for name, material := range materials {
		for _, stage := range schemas.ModelNames() {
			t.Run(name+"/"+stage, func(t *testing.T) {
				t.Parallel()
				var schema map[string]any
				if err := json.Unmarshal(schemas.Model(stage), &schema); err != nil {
					t.Fatal(err)
				}
				for _, problem := range invalid("", schema, ask(t, prompt.Stage(stage), material)) {
					t.Error(problem)
				}
			})
		}
	}
}

// invalid lists where a value does not fit a schema: types, required keys, no
// others, and enumerations.
func invalid(at string, schema map[string]any, value any) []string {
	types, several := schema["type"].([]any)
	if !several {
		types = []any{schema["type"]}
	}
	if !slices.Contains(types, any(typeOf(value))) &&
		!(typeOf(value) == "integer" && slices.Contains(types, any("number"))) {
		return []string{fmt.Sprintf("%s: %v is %s, want %v", at, value, typeOf(value), types)}
	}
	if choices, ok := schema["enum"].([]any); ok && !slices.Contains(choices, value) {
		return []string{fmt.Sprintf("%s: %v is none of %v", at, value, choices)}
	}
	var out []string
	switch value := value.(type) {
	case []any:
		for i, item := range value {
			out = append(out, invalid(fmt.Sprintf("%s[%d]", at, i), schema["items"].(map[string]any), item)...)
		}
	case map[string]any:
		properties := schema["properties"].(map[string]any)
		for _, name := range schema["required"].([]any) {
			if _, ok := value[name.(string)]; !ok {
				out = append(out, fmt.Sprintf("%s.%s is missing", at, name))
			}
		}
		for name, child := range value {
			if property, ok := properties[name].(map[string]any); ok {
				out = append(out, invalid(at+"."+name, property, child)...)
			} else {
				out = append(out, fmt.Sprintf("%s.%s is not allowed", at, name))
			}
		}
	}
	return out
}

func typeOf(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case string:
		return "string"
	case bool:
		return "boolean"
	case []any:
		return "array"
	case float64:
		if value == math.Trunc(value) {
			return "integer"
		}
		return "number"
	}
	return "object"
}

// A judge's points follow the draft: removing parts costs points, and every quote is in the draft or the
// transcript.
func TestThePointsFollowTheDraft(t *testing.T) {
	t.Parallel()
	whole := renewing()
	whole.Trigger, whole.Tools = []string{"renew a loan", "extend a loan"}, []string{"find_member", "renew_loan"}
	whole.Inputs = []string{"card: the user (required)", "loan_id: from `find_member`"}
	whole.Rules = []string{"Check the limit first [policy]", "If the day is closed → take another [observed]"}
	whole.Pitfalls = []string{"`Error: closing day` → change `until` and call `renew_loan` again"}
	whole.Verification = []string{"`renew_loan` answers without an error."}
	whole.Procedure = "1. Ask the user for the card.\n2. Renew the loan.\n   Check: the date is new.\n3. Confirm " +
		"the new date."
	score := func(change func(*prompt.Candidate)) kept.Quality {
		draft, said := whole, loanDesk(ada)
		change(&draft)
		reply, err := json.Marshal(ask(t, prompt.Judge, prompt.Material{Messages: said, Draft: &draft}))
		testkit.Must(t, err)
		var texts []string
		for _, m := range said {
			texts = append(append(texts, m.Content), m.ToolCalls...)
		}
		q, err := kept.ReadRubric(reply, kept.RubricTexts{Skill: draft.Texts(), Conversation: texts})
		testkit.Must(t, err)
		return q
	}
	all := score(func(*prompt.Candidate) {})
	if all.Score < 6 || all.Score > 10 || slices.ContainsFunc(all.Criteria, func(c kept.Criterion) bool {
		return c.Points == 0 || c.Quote == ""
	}) {
		t.Fatalf("a draft with everything: %+v", all)
	}
	for name, change := range map[string]func(*prompt.Candidate){
		"steps":    func(d *prompt.Candidate) { d.Procedure = "" },
		"triggers": func(d *prompt.Candidate) { d.Trigger = nil },
		"inputs":   func(d *prompt.Candidate) { d.Inputs = nil },
		"rules":    func(d *prompt.Candidate) { d.Rules = d.Rules[:1] },
		"pitfalls": func(d *prompt.Candidate) { d.Pitfalls = nil },
		"checks": func(d *prompt.Candidate) {
			d.Verification, d.Procedure = nil, strings.ReplaceAll(d.Procedure, "   Check: the date is new.\n", "")
		},
	} {
		if got := score(change); got.Score >= all.Score {
			t.Errorf("without %s it scores %v, whole %v", name, got, all)
		}
	}
	if got := score(func(d *prompt.Candidate) { *d = prompt.Candidate{Name: "small talk"} }); got.Score >= 6 {
		t.Errorf("an empty draft scores %v", got)
	}
}
