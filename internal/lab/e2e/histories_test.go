package e2e_test

import (
	"maps"
	"slices"
	"testing"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/distillation"
	"cairn/internal/domain/run"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/distill"
)

// The workflows end in every way for which a history is recorded.
func TestDistillEndsInEachWay(t *testing.T) {
	t.Parallel()
	cairn := apptest.Open(t)
	record := func(b *apptest.Bundle, name string, r distill.Report) {
		b.RecordEnded(r.WorkflowID, "Distill/"+name)
		for _, task := range r.Tasks {
			b.RecordEnded(task.WorkflowID, "DistillSkill/"+name)
		}
	}
	t.Run("created", func(t *testing.T) {
		b := cairn.Part(t)
		b.ScriptR1()
		r := b.Distill(apptest.C1())
		if r.Outcome != run.Completed {
			t.Errorf("ended as %q", r.Outcome)
		}
		for _, task := range r.Tasks { // which versions their parent knows is not theirs to tell
			started := b.History(task.WorkflowID, "").Events[0].GetWorkflowExecutionStartedEventAttributes()
			if got, want := slices.Sorted(maps.Keys(started.SearchAttributes.IndexedFields)),
				slices.Sorted(slices.Values(contract.Attributes())); !slices.Equal(got, want) {
				t.Errorf("task %s has the search attributes %v, want %v", task.Key, got, want)
			}
		}
		record(b, "created", r)
	})
	t.Run("gated", func(t *testing.T) {
		b := cairn.Part(t)
		r := b.Distill(apptest.Conversation("short", "user: hello", "assistant: hi"))
		if r.Outcome != run.Gated || len(b.Model.Requests()) != 0 {
			t.Errorf("ended as %q after %d requests", r.Outcome, len(b.Model.Requests()))
		}
		record(b, "gated", r)
	})
	t.Run("nothing", func(t *testing.T) {
		b := cairn.Part(t)
		b.Model.On(openaitest.Rule{Stage: "segment", Reply: `{"tasks":[]}`})
		r := b.Distill(apptest.C1())
		if r.Outcome != run.NothingToExtract {
			t.Errorf("ended as %q", r.Outcome)
		}
		record(b, "nothing", r)
	})
	t.Run("failed", func(t *testing.T) {
		b := cairn.Part(t)
		b.Model.On(openaitest.Rule{Stage: "segment", Reply: apptest.R1Segment})
		b.Model.On(openaitest.Rule{Stage: "extract", Reply: "I would rather not say it in JSON."})
		r := b.Distill(apptest.C1())
		if r.Outcome != run.Failed || r.Tasks[0].Outcome != distillation.Failed || b.Model.Count("extract") != 3 {
			t.Errorf("ended as %q, task %q, after %d extract requests", r.Outcome, r.Tasks[0].Outcome,
				b.Model.Count("extract"))
		}
		record(b, "failed", r)
	})
}

// A Chinese conversation gets Chinese prompts and a Chinese skill.
func TestDistillSpeaksTheLanguageOfTheConversation(t *testing.T) {
	t.Parallel()
	b := apptest.Open(t)
	b.Model.On(openaitest.Rule{Stage: "segment", Match: "支付服务",
		Reply: `{"tasks":[{"task_name":"服务回滚","message_indices":[[0,6]],"query":"把服务回滚到上一个健康版本"}]}`})
	b.Model.On(openaitest.Rule{Stage: "extract", Reply: `{"action":"create","name":"服务回滚",` +
		`"description":"把服务恢复到上一个健康版本","trigger":["回滚"],"procedure":"1. 确认故障\n2. 回滚"}`})
	r := b.Distill(apptest.Conversation("zh", "user: 支付服务挂了，请帮我恢复。", "assistant: 我先检查健康状态。", "tool: 502",
		"assistant: 正在回滚到上一个版本。", "tool: ok", "user: 以后请总是先检查。", "assistant: 明白了。"))
	if len(r.Tasks) != 1 || r.Tasks[0].Lang != "zh" || r.Tasks[0].Skill != "服务回滚" {
		t.Fatalf("ended as %q (%s) with %+v", r.Outcome, r.Reason, r.Tasks)
	}
	for _, call := range b.Model.Requests() {
		if !hasChinese(call.Body) {
			t.Errorf("%s: not a word of Chinese in the instructions", call.Stage)
		}
	}
}

// hasChinese reports whether the system message of a request is Chinese.
func hasChinese(body []byte) bool {
	for _, r := range systemMessage(body) {
		if r >= 0x4E00 && r <= 0x9FFF {
			return true
		}
	}
	return false
}
