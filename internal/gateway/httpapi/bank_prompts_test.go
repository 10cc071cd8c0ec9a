package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/testkit"
)

const gradePrompt = "Judge the answer strictly.\n{{material}}\n{{language}}\n{{reply}}"

// A prompt of a bank is set, shown in a diff, and reset over HTTP.
func TestPromptsOfABankAreChangedOverHTTP(t *testing.T) {
	t.Parallel()
	b := idle(t)
	var list httpapi.BankPromptList
	b.get("/v1/banks/default/prompts").into(http.StatusOK, &list)
	if len(list.Prompts) != 10 || list.Prompts[0].Own || !strings.Contains(list.Prompts[0].Text, "{{material}}") {
		t.Fatalf("%+v", list)
	}
	long := gradePrompt + strings.Repeat("x", 8000)
	put := func(path string, body map[string]any) request {
		return request{method: http.MethodPut, path: path, body: body}
	}
	const grade = "/v1/banks/default/prompts/grade"
	var changed httpapi.BankDetail
	for range 2 {
		b.do(put(grade, map[string]any{"text": gradePrompt})).into(http.StatusOK, &changed)
		if changed.Version.Number != 2 || changed.Version.Action != "prompt" {
			t.Errorf("%+v", changed.Version)
		}
	}
	var diff httpapi.BankDiff
	b.get("/v1/banks/default/diff?from=1").into(http.StatusOK, &diff)
	if len(diff.Prompts) != 1 || diff.Prompts[0].Name != "grade.en" || diff.Prompts[0].Before != "" ||
		diff.Prompts[0].After != gradePrompt || len(diff.Changes) != 0 {
		t.Errorf("%+v", diff)
	}
	for what, c := range map[string]request{
		"a missing placeholder": put(grade, map[string]any{"text": "Judge. {{material}} {{reply}}"}),
		"an unknown one":        put(grade, map[string]any{"text": gradePrompt + "{{name}}"}),
		"too long":              put(grade, map[string]any{"text": long}),
		"another stage": put("/v1/banks/default/prompts/judge",
			map[string]any{"text": gradePrompt}),
		"another language":                     put(grade, map[string]any{"text": gradePrompt, "language": "fr"}),
		"no text":                              put(grade, map[string]any{"text": ""}),
		"a reset of a stage that there is not": {method: http.MethodDelete, path: "/v1/banks/default/prompts/none"},
	} {
		p := b.do(c).refused(fault.InvalidArgument)
		t.Logf("%s: %s (%s)", what, p.Message, p.Hint)
		if !strings.HasSuffix(what, "text") && !strings.HasSuffix(what, "language") && p.Hint == "" {
			t.Errorf("%s: no hint: %s", what, p.Message)
		}
	}
	writer := b.makeKey(b.Workspace, access.Write)
	refused := put(grade, map[string]any{"text": gradePrompt})
	refused.key = writer
	b.do(refused).refused(fault.OutOfScope)
	var reset httpapi.BankDetail
	b.do(request{method: http.MethodDelete, path: grade}).into(http.StatusOK, &reset)
	if reset.Version.Number != 3 || len(reset.Version.Prompts) != 0 {
		t.Errorf("%+v", reset.Version)
	}
	b.do(put("/v1/banks/none/prompts/grade", map[string]any{"text": gradePrompt})).refused(fault.NotFound)
}

func TestDecisionsAreListedOverHTTP(t *testing.T) {
	t.Parallel()
	b := idle(t)
	var list httpapi.SkillDecisionList
	b.get("/v1/banks/default/decisions").into(http.StatusOK, &list)
	if list.Decisions == nil || len(list.Decisions) != 0 {
		t.Errorf("%+v", list)
	}
	b.get("/v1/banks/none/decisions").refused(fault.NotFound)
	b.get("/v1/banks/default/decisions?limit=0").refused(fault.InvalidArgument)
	other, err := b.Store.Workspace(t.Context(), "other", true)
	testkit.Must(t, err)
	b.do(request{path: "/v1/banks/default/decisions", key: b.makeKey(other, access.Read)}).into(http.StatusOK, &list)
}
