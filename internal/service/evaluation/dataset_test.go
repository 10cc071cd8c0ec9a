package evaluation_test

import (
	"slices"
	"strings"
	"testing"

	"cairn/internal/app/samples"
	evals "cairn/internal/service/evaluation"
	"cairn/internal/testkit"
)

const histories = `[{"question_id":"q1","question_type":"single","question":"How many rabbits does Ines keep?",` +
	`"answer":"two rabbits","question_date":"2023/05/30 (Tue) 23:40","haystack_dates":["2023/05/20 (Sat) 02:21"],
"haystack_sessions":[[{"role":"user","content":"Hello"},{"role":"user","content":"I keep two rabbits.",` +
	`"has_answer":true}]]},
{"question_id":"q2_abs","question":"What is her cat called?","answer":"Not known","haystack_sessions":` +
	`[[{"role":"user","content":"Hi"}]]}]`

const paragraphs = `[{"_id":"a","question":"Where was the founder of Loom born?","answers":["Porto","Oporto"],` +
	`"supporting_facts":[["Ines Sol",0]],"context":[["Weaving",["Weaving is an old craft."]],` +
	`["Ines Sol",["Ines Sol, founder of Loom, was born in Porto."]]]}]`

const trajectories = `[{"id":"g1","task_type":"place","task":"put a mug on the desk","observation":"You are in a ` +
	`room.","steps":[{"action":"take mug","observation":"You hold a mug."},{"action":"put mug on desk",` +
	`"observation":"Done."}],"success":true},
{"id":"g2","task_type":"place","task":"put a pen on the desk","observation":"You are in a room.",` +
	`"steps":[{"action":"take pen","observation":"You hold a pen."}],"success":false},
{"id":"g3","task_type":"place","task":"put a mug away","observation":"You are in a room.",` +
	`"steps":[{"action":"take mug","observation":"You hold it."},{"action":"put mug on shelf",` +
	`"observation":"Done."}],"success":true}]`

func read(t *testing.T, dataset, content string) evals.Data {
	t.Helper()
	d, err := evals.Read(dataset, content)
	testkit.Must(t, err)
	return d
}

func TestEachDataSetIsRead(t *testing.T) {
	t.Parallel()
	talks := read(t, evals.LoCoMo, string(samples.Talks))
	if len(talks.Samples) != 8 || len(talks.Samples[0].Questions) != 7 || len(talks.SHA) != 64 {
		t.Fatalf("%d conversations", len(talks.Samples))
	}
	var categories []string
	for _, q := range talks.Samples[0].Questions {
		categories = append(categories, q.Category)
		if len(q.Evidence) == 0 || q.Gold[0] == "" || strings.Contains(q.Gold[0], ";") {
			t.Errorf("%+v", q)
		}
	}
	slices.Sort(categories)
	if got := strings.Join(slices.Compact(categories), " "); got != "multi-hop open-domain single-hop temporal" {
		t.Errorf("categories %s", got)
	}
	long := read(t, evals.LongMemEval, histories)
	if len(long.Samples) != 1 || long.LeftOut != 1 || long.Samples[0].Questions[0].Category != "single" ||
		!strings.HasPrefix(long.Samples[0].Questions[0].Text, "(Today is 2023-05-30.)") {
		t.Errorf("%+v", long)
	}
	hotpot := read(t, evals.HotpotQA, paragraphs)
	if len(hotpot.Samples[0].Messages) != 2 || !slices.Equal(hotpot.Samples[0].Questions[0].Evidence, []int{1}) {
		t.Errorf("%+v", hotpot)
	}
	world := read(t, evals.ALFWorld, trajectories)
	if len(world.Samples) != 1 || len(world.Samples[0].Messages) != 2 || len(world.Samples[0].Questions) != 2 ||
		!slices.Equal(world.Samples[0].Questions[0].Evidence, []int{0}) ||
		len(world.Samples[0].Questions[1].Evidence) != 0 {
		t.Errorf("%+v", world)
	}
	for dataset, content := range map[string]string{"squad": "[]", evals.LoCoMo: "{", evals.HotpotQA: "[]"} {
		if _, err := evals.Read(dataset, content); err == nil {
			t.Errorf("%s reads %s", dataset, content)
		}
	}
	if _, err := evals.Open(evals.LoCoMo, "absent.json"); err == nil {
		t.Error("a file that does not exist is read")
	}
}

func TestAnswersAreScoredByForm(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		q         evals.Question
		dataset   string
		answer    string
		f1, exact float64
	}{
		{evals.Question{Gold: []string{"a blue teapot"}}, evals.LoCoMo, "The blue teapot!", 1, 1},
		{evals.Question{Gold: []string{"blue teapot"}}, evals.LoCoMo, "a blue cup", .5, 0},
		{evals.Question{Gold: []string{"blue teapot"}}, evals.LoCoMo, "", 0, 0},
		{evals.Question{Gold: []string{"tea, milk"}, Form: evals.PartsForm}, evals.LoCoMo, "milk", .5, 0},
		{evals.Question{Gold: []string{"Porto", "Oporto"}}, evals.HotpotQA, "Oporto", 1, 1},
		{evals.Question{Gold: []string{"take mug"}, Form: evals.ChoiceForm,
			Choices: []string{"take mug", "take pen"}}, evals.ALFWorld, "I would take mug.", 1, 1},
		{evals.Question{Gold: []string{"take mug"}, Form: evals.ChoiceForm,
			Choices: []string{"take mug", "take pen"}}, evals.ALFWorld, "take pen", 0, 0},
	} {
		if f1, exact := c.q.Score(c.dataset, c.answer); f1 != c.f1 || exact != c.exact {
			t.Errorf("%v, answer %q: F1 %v, exact %v; want %v, %v", c.q.Gold, c.answer, f1, exact, c.f1, c.exact)
		}
	}
}

func TestSplitsDivideConversations(t *testing.T) {
	t.Parallel()
	talks := read(t, evals.LoCoMo, string(samples.Talks))
	for text, want := range map[string][3]int{"6/2/2": {5, 1, 2}, "0/0/1": {0, 0, 8}, "1/0/1": {4, 0, 4},
		"1/1/1": {3, 2, 3}} {
		got, err := evals.ParseSplit(text, "42", talks.Samples)
		testkit.Must(t, err)
		if sizes := [3]int{len(got.Train), len(got.Validation), len(got.Test)}; sizes != want {
			t.Errorf("%s: %v, want %v", text, sizes, want)
		}
		all := slices.Concat(got.Train, got.Validation, got.Test)
		slices.Sort(all)
		if len(slices.Compact(all)) != 8 {
			t.Errorf("%s: %v", text, all)
		}
		again, err := evals.ParseSplit(text, "42", talks.Samples)
		testkit.Must(t, err)
		other, err := evals.ParseSplit(text, "43", talks.Samples)
		testkit.Must(t, err)
		if !slices.Equal(again.Test, got.Test) || text == "6/2/2" && slices.Equal(other.Test, got.Test) {
			t.Errorf("%s: %v, again %v, with another seed %v", text, got.Test, again.Test, other.Test)
		}
	}
	if got, err := evals.ParseSplit("6/2/2", "42", talks.Samples[:2]); err != nil || len(got.Test) != 1 ||
		len(got.Train) != 1 {
		t.Errorf("two conversations: %+v, %v", got, err)
	}
	for _, bad := range []string{"", "6/2", "6/2/0", "a/b/c", "-1/1/1", "1/1/1/1"} {
		if _, err := evals.ParseSplit(bad, "42", talks.Samples); err == nil {
			t.Errorf("%q is a split", bad)
		}
	}
	read, err := evals.ReadSplit([]byte(`{"train": ["sample-1"], "test": ["sample-2"]}`))
	if err != nil || len(read.Train) != 1 || len(read.Test) != 1 {
		t.Errorf("%+v, %v", read, err)
	}
	if _, err := evals.ReadSplit([]byte("6/2/2")); err == nil {
		t.Error("text is a file with a split")
	}
}
