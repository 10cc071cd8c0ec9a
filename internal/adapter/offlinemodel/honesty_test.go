package offlinemodel

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/prompt"
)

func marshalled(value any) string { data, _ := json.Marshal(value); return string(data) }

// Persons and dates leave no trace in a skill.
func TestRenamingPeopleChangesNothingAndLeavesNoTrace(t *testing.T) {
	t.Parallel()
	for _, stage := range []prompt.Stage{prompt.Segment, prompt.Extract} {
		one, other := ask(t, stage, prompt.Material{Messages: loanDesk(ada)}),
			ask(t, stage, prompt.Material{Messages: loanDesk(bela)})
		if !reflect.DeepEqual(one, other) {
			t.Errorf("%s: got %v\nthen %v", stage, one, other)
		}
		text := strings.ToLower(marshalled(one) + marshalled(other))
		for _, p := range []person{ada, bela} {
			for _, private := range []string{p.first, p.last, p.card, p.loan, p.date, "@library"} {
				if strings.Contains(text, strings.ToLower(private)) {
					t.Errorf("%s contains %q: %s", stage, private, text)
				}
			}
		}
	}
}

func TestChineseNamesLeaveNoTrace(t *testing.T) {
	t.Parallel()
	messages := chineseTalk()
	messages[2].Content += "李明以后总是收到提醒。"
	if text := marshalled(ask(t, prompt.Extract, prompt.Material{Messages: messages})); strings.Contains(text, "李明") {
		t.Error(text)
	}
}

// A number in a rule is part of the rule; a number of the instance is not.
func TestNumbersOfRulesFollowAndNumbersOfInstancesDoNot(t *testing.T) {
	t.Parallel()
	extract := func(rule, fine string) map[string]any {
		messages := loanDesk(ada)
		messages[0].Content = strings.ReplaceAll(messages[0].Content, "at most twice", "at most "+rule+" times")
		messages[12].Content = strings.ReplaceAll(messages[12].Content, "$0", fine)
		return ask(t, prompt.Extract, prompt.Material{Messages: messages})
	}
	two, nine := extract("2", "$1"), extract("9", "$3,250.10")
	if !strings.Contains(parts(two, "rules"), "at most 2 times") ||
		!strings.Contains(parts(nine, "rules"), "at most 9 times") {
		t.Errorf("%v\n%v", two["rules"], nine["rules"])
	}
	delete(two, "rules")
	delete(nine, "rules")
	if !reflect.DeepEqual(two, nine) {
		t.Errorf("got %v\nthen %v", two, nine)
	}
}

// Other tools and other words produce another skill: nothing is canned.
func TestOtherTopicsGiveOtherSkills(t *testing.T) {
	t.Parallel()
	text := marshalled(loanDesk(ada))
	swap := strings.NewReplacer("renew_loan", "repair_boiler", "loan_id", "boiler_id", "find_member", "look_up_house",
		"Find member", "Look up house",
		"Renew", "Repair", "renew", "repair", "loan", "boiler", "Loan", "Boiler")
	var messages []prompt.Message
	if err := json.Unmarshal([]byte(swap.Replace(text)), &messages); err != nil {
		t.Fatal(err)
	}
	got := ask(t, prompt.Extract, prompt.Material{Messages: messages})
	if got["name"] != "repair-boiler" || strings.Contains(marshalled(got), "loan") {
		t.Error(marshalled(got))
	}
	want := ask(t, prompt.Extract, prompt.Material{Messages: loanDesk(ada)})
	if swapped := swap.Replace(procedure(want)); procedure(got) != swapped {
		t.Errorf("got\n%s\nwant\n%s", procedure(got), swapped)
	}
}

// threeJobs are unrelated pieces of work, each two units long.
func threeJobs() map[string][]prompt.Message {
	return map[string][]prompt.Message{
		"Bake Sourdough": {user("How do I bake sourdough with a rye starter?"),
			assistant("Feed the rye starter, then bake the sourdough in a hot oven."),
			user("How hot must the oven be for the sourdough?"),
			assistant("Very hot: the oven decides the crust of the sourdough.")},
		"Rotate Certificate": {user("Please help me to rotate the certificate on our gateway server."),
			calls(`rotate_certificate({"host":"gateway"})`), result("rotate_certificate", "done"),
			assistant("The certificate on the gateway server is rotated."),
			user("Is the gateway certificate valid now?"), assistant("Yes, the certificate is valid.")},
		"Translate Museum Brochure": {user("Could you translate the museum brochure into Finnish?"),
			assistant("Here is the Finnish museum brochure."),
			user("Does the museum brochure sound natural in Finnish?"),
			assistant("Yes, the Finnish brochure reads well.")},
	}
}

func TestPermutedTasksAreTheSameTasks(t *testing.T) {
	t.Parallel()
	jobs := threeJobs()
	names := slices.Sorted(maps.Keys(jobs))
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}} {
		messages := []prompt.Message{user("Hello!"), assistant("Hi.")}
		where := map[string][]any{}
		for _, i := range order {
			where[names[i]] = []any{float64(len(messages)), float64(len(messages) + len(jobs[names[i]]) - 1)}
			messages = append(messages, jobs[names[i]]...)
		}
		tasks := ask(t, prompt.Segment, prompt.Material{Messages: numbering(messages...)})["tasks"].([]any)
		if len(tasks) != 3 {
			t.Fatalf("order %v: tasks %v", order, tasks)
		}
		for i, task := range tasks {
			name := task.(map[string]any)["task_name"].(string)
			if got := task.(map[string]any)["message_indices"]; name != names[order[i]] ||
				!reflect.DeepEqual(got, []any{where[name]}) {
				t.Errorf("order %v: %s at %v, want %s at %v", order, name, got, names[order[i]], where[name])
			}
		}
	}
}

func TestInterruptedTaskIsOneTaskWithTwoRanges(t *testing.T) {
	t.Parallel()
	jobs := threeJobs()
	bread, page := jobs["Bake Sourdough"], jobs["Translate Museum Brochure"]
	tasks := ask(t, prompt.Segment, prompt.Material{
		Messages: numbering(slices.Concat(bread[:2], page, bread[2:])...)})["tasks"].([]any)
	if len(tasks) != 2 || !reflect.DeepEqual(tasks[0].(map[string]any)["message_indices"],
		[]any{[]any{0.0, 1.0}, []any{6.0, 7.0}}) {
		t.Errorf("tasks %v", tasks)
	}
}

func TestMaxTasksKeepsTheLargest(t *testing.T) {
	t.Parallel()
	jobs := threeJobs()
	messages := numbering(slices.Concat(jobs["Bake Sourdough"], jobs["Rotate Certificate"])...)
	tasks := ask(t, prompt.Segment, prompt.Material{Messages: messages,
		Limits: map[string]int{"max_tasks": 1}})["tasks"].([]any)
	if len(tasks) != 1 || tasks[0].(map[string]any)["task_name"] != "Rotate Certificate" {
		t.Errorf("tasks %v", tasks)
	}
}

func TestRenamingACandidateChangesNothingElse(t *testing.T) {
	t.Parallel()
	extract := func(change func(*prompt.Candidate)) map[string]any {
		candidate := renewing()
		change(&candidate)
		got := ask(t, prompt.Extract, prompt.Material{Messages: loanDesk(ada),
			Candidates: []prompt.Candidate{candidate}})
		delete(got, "name")
		return got
	}
	plain := extract(func(*prompt.Candidate) {})
	if renamed := extract(func(c *prompt.Candidate) { c.Name = "something-else" }); !reflect.DeepEqual(renamed, plain) {
		t.Errorf("got %v\nwant %v", renamed, plain)
	}
	if edited := extract(func(c *prompt.Candidate) {
		c.Trigger = []string{"whisper about it"}
	}); !strings.Contains(marshalled(edited["trigger"]), "whisper about it") {
		t.Errorf("trigger %v", edited["trigger"])
	}
	for _, description := range []string{"How to bind books.", "How to renew a passport.", "How to find a loan."} {
		if edited := extract(func(c *prompt.Candidate) {
			c.Description, c.Trigger = description, nil
		}); edited["action"] != "create" {
			t.Errorf("%s action %v", description, edited["action"])
		}
	}
}
