package e2e_test

import (
	"context"
	"reflect"
	"testing"

	"cairn/internal/domain/distillation"
	"cairn/internal/domain/run"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/store"
)

func TestDistillClampsAndMergesTheRangesOfTasks(t *testing.T) {
	t.Parallel()
	b := apptest.Open(t)
	b.Model.On(openaitest.Rule{Stage: "segment", Reply: `[
		{"task_id":1,"task_name":"A","message_indices":[[0,2],[6,7]]},
		{"task_id":2,"task_name":"B","message_indices":[[3,5],[4,5]]},
		{"task_id":3,"task_name":"C","message_indices":[[-2,99]]},
		{"task_id":4,"task_name":"D","message_indices":[[3.5]]},
		{"task_id":5,"task_name":"E","message_indices":[7]},
		{"task_id":6,"task_name":"Code Review","message_indices":[[0,1]]},
		{"task_id":7,"task_name":"code review","message_indices":[[4,5]]}]`})
	b.Model.On(openaitest.Rule{Stage: "extract", Reply: "null"})
	r := b.Distill(apptest.Conversation("eight", "user: one", "assistant: two", "user: three", "assistant: four",
		"user: five", "assistant: six", "user: seven", "assistant: eight"))

	if r.Outcome != run.NothingToExtract {
		t.Errorf("run ended as %q (%s)", r.Outcome, r.Reason)
	}
	if n := b.Model.Count("segment"); n != 1 {
		t.Errorf("%d segment requests, want 1: nothing here needs a repair", n)
	}
	got := map[string][]int{}
	b.Within(func(ctx context.Context, q store.Tx) error {
		tasks, err := q.Tasks().Tasks(ctx, r.Run)
		for _, task := range tasks {
			got[task.Name] = task.Seqs
			if task.Outcome != distillation.Skipped {
				t.Errorf("task %s ended as %q", task.Name, task.Outcome)
			}
		}
		return err
	})
	want := map[string][]int{"A": {0, 1, 2, 6, 7}, "B": {3, 4, 5}, "Code Review": {0, 1, 4, 5}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("tasks %v, want %v", got, want)
	}
}

func TestDistillKeepsHostileNamesInsideThePackage(t *testing.T) {
	t.Parallel()
	b := apptest.Open(t)
	b.Workspace = mustWorkspace(t, b, "../../root")
	b.Model.On(openaitest.Rule{Stage: "segment", Reply: apptest.R1Segment})
	b.Model.On(openaitest.Rule{Stage: "extract", Reply: `{"name":"../../etc/Cron Job","description":"Schedule a ` +
		`job","trigger":["cron"],"procedure":"1. Write the line\n2. Install it",
		"scripts":[{"file":"good.py","purpose":"ok"},{"file":"GOOD.py","purpose":"twice"},{"file":"../../pwn.py",` +
		`"purpose":"x"},{"file":"/abs.py","purpose":"x"},{"file":"a\\b.py","purpose":"x"},{"file":".hidden.py",` +
		`"purpose":"x"}],
		"others":{"..\\evil.md":"x"}}`})
	b.Model.On(openaitest.Rule{
		Stage: "files",
		Reply: `{"../../pwn.py":"x","/abs.py":"x","a\\b.py":"x",".hidden.py":"x","good.py":"print(1)\n","GOOD.py":"y"}`,
	})
	r := b.Distill(apptest.C1())

	if len(r.Tasks) != 1 || r.Tasks[0].Outcome != distillation.Created {
		t.Fatalf("run ended as %q with %+v", r.Outcome, r.Tasks)
	}
	task := r.Tasks[0]
	if len(task.Violations) < 5 {
		t.Errorf("violations %q, want at least 5", task.Violations)
	}
	members := unzip(t, readFile(t, task.Package))
	if len(members) != 2 || string(members["etc_cron_job/scripts/good.py"]) != "print(1)\n" ||
		members["etc_cron_job/SKILL.md"] == nil {
		t.Errorf("members %q", members)
	}
	for path := range tree(t, b.Packages) {
		if path != task.Package && path != task.SkillMD {
			t.Errorf("the object store also holds %s", path)
		}
	}
}
