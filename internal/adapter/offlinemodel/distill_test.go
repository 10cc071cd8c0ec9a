package offlinemodel

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/prompt"
)

func releaseTalk() []prompt.Message {
	return numbering(
		user("Hi!"),
		user("How do I publish a release of our library?"),
		assistant("1. Run the test suite.\n2. Update the changelog.\n3. Tag the commit.\n4. Push the tag."),
		user("Good. Always sign the tag, and never publish on a Friday. Then announce the release in the channel."),
		assistant("Noted."),
	)
}

func chineseTalk() []prompt.Message {
	return numbering(
		user("你好，我叫李明。请问如何发布版本？"),
		assistant("1. 运行全部测试。\n2. 更新变更日志。\n3. 给提交打标签。\n4. 推送标签。"),
		user("好的。以后总是先跑静态检查。不要在周五发布。"),
	)
}

func renewing() prompt.Candidate {
	return prompt.Candidate{Handle: "S4", Name: "renew-loan", Description: "How to renew a loan for a member.",
		Trigger:   []string{"renew loan"},
		Procedure: "1. Greet the member.\n2. Call `renew_loan` with `loan_id`.", Experience: []string{"Stay polite."}}
}

func strs(value any) []string {
	var out []string
	for _, item := range value.([]any) {
		out = append(out, item.(string))
	}
	return out
}

// requireInOrder fails unless text has the parts one after another.
func requireInOrder(t *testing.T, text string, parts ...string) {
	t.Helper()
	rest := text
	for _, part := range parts {
		_, after, ok := strings.Cut(rest, part)
		if !ok {
			t.Fatalf("%q is missing or out of order in\n%s", part, text)
		}
		rest = after
	}
}

func TestAgentLogBecomesMethod(t *testing.T) {
	t.Parallel()
	got := ask(t, prompt.Extract, prompt.Material{Messages: loanDesk(ada)})
	if got["action"] != "create" || got["target"] != nil || got["name"] != "renew-loan" {
		t.Errorf("action %v, target %v, name %v", got["action"], got["target"], got["name"])
	}
	// The user is asked for spoken values; the rest comes from results, then confirmation and
	// report.
	requireInOrder(t, procedure(got), "`card`", "`find_member(card)`", "`renew_loan`", "yes",
		"`loan_id`",
		"from `find_member`", "`until`", "`renew_loan`")
	rules := parts(got, "rules")
	requireInOrder(t, rules, "at most twice [policy]", "must check for reservations")
	if strings.Contains(rules, "waive") {
		t.Errorf("a rule about something else: %s", rules)
	}
	requireInOrder(t, parts(got, "pitfalls"), "`Error: date [date] is on a closing day", "→", "`until` → change "+
		"`until` and "+
		"call `renew_loan` again")
	requireInOrder(t, strings.Join(strs(got["verification"]), "\n"), "`renew_loan` answers without an error")
	requireInOrder(t, marshalled(got["inputs"]), "card", "the user", "from `find_member`", "until")
	if wishes := strs(got["preference"]); len(wishes) != 1 || !strings.Contains(wishes[0], "reminders by post") {
		t.Errorf("preference %q", wishes)
	}
	if examples := strs(got["examples"]); len(examples) != 1 || !strings.Contains(examples[0], "- Until: …") {
		t.Errorf("examples %q", examples)
	}
	if tools := strs(got["tools"]); !slices.Equal(tools, []string{"find_member", "renew_loan"}) {
		t.Errorf("tools %q", tools)
	}
	evidence := got["evidence"].([]any)
	for _, index := range []float64{0, 3, 4, 8, 10} {
		if !slices.Contains(evidence, any(index)) {
			t.Errorf("evidence %v lacks %v", evidence, index)
		}
	}
}

func TestPlainTalkBecomesMethod(t *testing.T) {
	t.Parallel()
	got := ask(t, prompt.Extract, prompt.Material{Messages: releaseTalk()})
	requireInOrder(t, procedure(got), "1. Run the test suite", "2. Update", "3. Tag", "4. Push",
		"5. Announce")
	if wishes := strs(got["preference"]); len(wishes) != 1 ||
		!strings.Contains(wishes[0], "never publish on a Friday") {
		t.Errorf("preference %q", wishes)
	}
	if got["name"] != "publish-release" {
		t.Errorf("name %q", got["name"])
	}
}

func TestChineseTalkBecomesChineseMethod(t *testing.T) {
	t.Parallel()
	got := ask(t, prompt.Extract, prompt.Material{Messages: chineseTalk()})
	requireInOrder(t, procedure(got), "1. 运行全部测试", "2. 更新变更日志", "4. 推送标签")
	if wishes := strs(got["preference"]); len(wishes) != 2 {
		t.Errorf("preference %q", wishes)
	}
	if got["name"] != "发布版本" || !strings.Contains(got["description"].(string), "如何") {
		t.Errorf("name %q, description %q", got["name"], got["description"])
	}
	if english := ask(t, prompt.Extract, prompt.Material{Messages: chineseTalk(), Language: "en"}); strings.Contains(
		english["description"].(string), "如何发布版本，") {
		t.Errorf("description %q", english["description"])
	}
}

func TestSmallTalkIsSkipped(t *testing.T) {
	t.Parallel()
	material := prompt.Material{Messages: numbering(user("Hi!"), assistant("Hello, how are you?"), user("Thanks, bye"))}
	if tasks := ask(t, prompt.Segment, material)["tasks"].([]any); len(tasks) != 0 {
		t.Errorf("tasks %v", tasks)
	}
	if got := ask(t, prompt.Extract, material); got["action"] != "skip" || procedure(got) != "" ||
		got["reason"] == "" {
		t.Errorf("%v", got)
	}
}

func TestSameThemeUpdatesItsCandidate(t *testing.T) {
	t.Parallel()
	other := prompt.Candidate{Handle: "S1", Name: "waive-fine", Description: "How to waive a fine.",
		Trigger: []string{"waive fine"}}
	got := ask(t, prompt.Extract, prompt.Material{Messages: loanDesk(ada),
		Candidates: []prompt.Candidate{other, renewing()}})
	if got["action"] != "update" || got["target"] != "S4" || got["description"] != "" {
		t.Errorf("action %v, target %v, description %q", got["action"], got["target"], got["description"])
	}
	requireInOrder(t, procedure(got), "Greet the member.", "`find_member(card)`",
		"Call `renew_loan` with `loan_id`.", "Report")
	requireInOrder(t, parts(got, "pitfalls"), "closing day")
}

func TestKnownSkillIsLeftUnchanged(t *testing.T) {
	t.Parallel()
	first := ask(t, prompt.Extract, prompt.Material{Messages: loanDesk(ada)})
	known := prompt.Candidate{Handle: "S1", Name: first["name"].(string), Description: first["description"].(string),
		Procedure: procedure(first), Rules: strings.Split(parts(first, "rules"), "\n"),
		Pitfalls: strings.Split(parts(first, "pitfalls"), "\n"), Verification: strs(first["verification"]),
		Inputs:  []string{"card: the user (required)", "loan_id: from `find_member` (required)", "until: the user"},
		Trigger: strs(first["trigger"]), Experience: strs(first["experience"]), Preference: strs(first["preference"]),
		Examples: strs(first["examples"]), Tools: strs(first["tools"])}
	again := ask(t, prompt.Extract, prompt.Material{Messages: loanDesk(bela), Candidates: []prompt.Candidate{known}})
	if again["action"] != "update" || procedure(again) != "" || len(again["experience"].([]any)) != 0 ||
		len(again["rules"].([]any))+len(again["pitfalls"].([]any))+len(again["verification"].([]any)) != 0 ||
		len(again["inputs"].([]any)) != 0 ||
		len(again["trigger"].([]any)) != 0 {
		t.Errorf("%v", again)
	}
}

func TestCalculationPlansOneScriptThatRuns(t *testing.T) {
	t.Parallel()
	messages := numbering(user("Please send the invoice for the hall."),
		calls(`get_rate({"hall":"blue hall"})`), result("get_rate", "12"), calls(`calculate({"expression":"12 * 3"})`),
		result("calculate", "36"),
		calls(`send_invoice({"hall":"blue hall","amount":36,"lines":["a"]})`), result("send_invoice", "ok"),
		assistant("Sent."))
	plans := ask(t, prompt.Extract, prompt.Material{Messages: messages})["scripts"].([]any)
	if len(plans) != 1 {
		t.Fatalf("plans %v", plans)
	}
	plan := plans[0].(map[string]any)
	files := ask(t, prompt.Files, prompt.Material{
		Files: []prompt.FilePlan{{File: plan["file"].(string), Purpose: plan["purpose"].(string),
			Inputs: plan["inputs"].(string)}}})["files"].([]any)
	file := files[0].(map[string]any)
	if len(files) != 1 || file["file"] != plan["file"] {
		t.Fatalf("files %v for plan %v", files, plan)
	}
	code := file["code"].(string)
	requireInOrder(t, code, `"hall": "string"`, `"amount": "number"`, `"lines": "array"`, "__main__")
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Log("python3 is absent: the script was not run")
		return
	}
	for input, want := range map[string]string{
		`{"hall":"x","amount":1,"lines":["a"]}`: "",
		`{"amount":"1","lines":["a"],"more":true}`: "hall: missing\n" +
			"amount: expected number, got str\nmore: not known\n",
		`[]`: "expected one JSON object\n",
	} {
		command := exec.CommandContext(t.Context(), python, "-c", code)
		command.Stdin = strings.NewReader(input)
		out, err := command.CombinedOutput()
		if string(out) != want || (err == nil) != (want == "") {
			t.Errorf("%s: %v\n%s", input, err, out)
		}
	}
}

func TestDocumentIsWrittenFromItsDraft(t *testing.T) {
	t.Parallel()
	draft := renewing()
	files := ask(t, prompt.Files, prompt.Material{Draft: &draft,
		Files: []prompt.FilePlan{{File: "checklist.md", Purpose: "Desk checklist"}}})["files"].([]any)
	got := files[0].(map[string]any)["code"].(string)
	requireInOrder(t, got, "# Desk checklist\n", "How to renew a loan", "- [ ] Greet the member.",
		"- [ ] Call `renew_loan`", "- Stay polite.")
}

func TestMaxFilesBoundsPlans(t *testing.T) {
	t.Parallel()
	material := prompt.Material{Messages: loanDesk(ada), Limits: map[string]int{"max_files": 0}}
	if got := ask(t, prompt.Extract, material); len(got["others"].([]any)) != 0 {
		t.Errorf("others %v", got["others"])
	}
	material.Limits = nil
	if got := ask(t, prompt.Extract, material); len(got["others"].([]any)) != 1 {
		t.Errorf("others %v", got["others"])
	}
}

// certificateTalk is a how-to told in prose, as people tell it.
func certificateTalk(site string) []prompt.Message {
	return numbering(
		user("How do I renew the certificate of our "+site+"?"),
		assistant("First check the expiry date. Then request a new certificate with certbot, and reload nginx. "+
			"Never restart it, that drops connections."),
		user("certbot says permission denied."),
		assistant("Run it with sudo. It worked after that."),
	)
}

func TestProseHowToBecomesMethod(t *testing.T) {
	t.Parallel()
	got := ask(t, prompt.Extract, prompt.Material{Messages: certificateTalk("web shop")})
	requireInOrder(t, procedure(got), "1. Check the expiry date", "2. Request a new certificate",
		"3. Reload nginx")
	if strings.Contains(procedure(got), "4.") || strings.Contains(procedure(got), "restart") {
		t.Errorf("procedure %s", procedure(got))
	}
	requireInOrder(t, strings.Join(strs(got["experience"]), "\n"), "Never restart it",
		"Run it with sudo. It worked after that.")
	if got["name"] != "renew-certificate" || got["confidence"].(float64) < 0.7 {
		t.Errorf("name %q, confidence %v", got["name"], got["confidence"])
	}
}
