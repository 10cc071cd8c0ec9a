package executor

import (
	"reflect"
	"testing"

	"cairn/internal/domain/memoryskill"
)

func insert(content string) Action { return Action{Type: memoryskill.Insert, Content: content} }

// Inputs that a published parser loses; each case names the bug.
func TestBlocksKeepWhatWasSaid(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reply   string
		want    []Action
		outcome Outcome
	}{
		"words that hold a keyword": {"ACTION: INSERT\nMEMORY_ITEM: Reports high satisfaction with the transaction, " +
			"the action sequence and a reasoning seminar",
			[]Action{insert("Reports high satisfaction with the transaction, the action sequence and a reasoning " +
				"seminar")}, OK},
		"bold labels": {"**ACTION:** INSERT\n**MEMORY_ITEM:** Lives in Oslo", []Action{insert("Lives in Oslo")}, OK},
		"echoed headings": {"INSERT block:\nACTION: INSERT\nMEMORY_ITEM: Lives in Oslo\n\nUPDATE block:\nACTION: " +
			"UPDATE\nMEMORY_INDEX: 1\nUPDATED_MEMORY: Works at night",
			[]Action{insert("Lives in Oslo"), {Type: memoryskill.Update, Target: "m1", Content: "Works at night"}}, OK},
		"content that quotes an action": {"ACTION: INSERT\nMEMORY_ITEM: The log says\nACTION: go to desk 1\nand " +
			"then stops", []Action{insert("The log says\nACTION: go to desk 1\nand then stops")}, OK},
		"two fences": {"```\nACTION: INSERT\nMEMORY_ITEM: One\n```\n```\nACTION: INSERT\n" +
			"MEMORY_ITEM: Two\n```", []Action{insert("One"), insert("Two")}, OK},
		"empty reply": {"", nil, NoOp},
		"prose": {"There is nothing in the span that needs an action or any change.", nil,
			NoOp},
		"several items": {"action = insert\r\nmemory item - One\r\nmemory item - Two",
			[]Action{insert("One"), insert("Two")}, OK},
		"items without labels": {"INSERT\n- One\n- Two", []Action{insert("One"), insert("Two")}, OK},
		"one delete, several indices": {"ACTION: DELETE\nMEMORY_INDEX: 0, 2",
			[]Action{{Type: memoryskill.Delete, Target: "m0"}, {Type: memoryskill.Delete, Target: "m2"}}, OK},
		"pairs": {"ACTION: UPDATE\nMEMORY_INDEX: 0\nUPDATED_MEMORY: A\nMEMORY_INDEX: 3\nUPDATED_MEMORY: B",
			[]Action{{Type: memoryskill.Update, Target: "m0", Content: "A"},
				{Type: memoryskill.Update, Target: "m3", Content: "B"}}, OK},
		"indices that are none": {"ACTION: DELETE\nMEMORY_INDEX: -1, 1.5, [2]",
			[]Action{{Type: memoryskill.Delete, Target: "-1"}, {Type: memoryskill.Delete, Target: "1.5"},
				{Type: memoryskill.Delete, Target: "m2"}}, OK},
		"several in JSON": {`[{"action": "DELETE", "memory_index": [0, -1, "m3"]}]`,
			[]Action{{Type: memoryskill.Delete, Target: "m0"}, {Type: memoryskill.Delete, Target: "-1"},
				{Type: memoryskill.Delete, Target: "m3"}}, OK},
		"an honest no":        {"ACTION: NOOP", []Action{{Type: memoryskill.Noop}}, NoOp},
		"begun and not ended": {"ACTION: UPDATE\nMEMORY_INDEX: 4", nil, ParseError},
		"JSON": {"```json\n{\"Actions\": [{\"TYPE\": \"Insert\", \"content\": \"One\", \"evidence\": [3], " +
			"\"skill\": \"insert\"}, {\"type\": \"delete\", \"target\": 2}]}\n```",
			[]Action{{Type: memoryskill.Insert, Content: "One", Evidence: []int{3}, Skill: "insert"},
				{Type: memoryskill.Delete, Target: "m2"}}, OK},
		"JSON that ends too soon": {`{"actions": [{"type": "insert", "content": "On`, nil, ParseError},
		"JSON without actions":    {`{"actions": []}`, []Action{}, NoOp},
	} {
		got, outcome := Decode(c.reply)
		if !reflect.DeepEqual(got, c.want) || outcome != c.outcome {
			t.Errorf("%s: %+v %s\nwant %+v %s", name, got, outcome, c.want, c.outcome)
		}
	}
}

func TestOnlyWhatTheChosenSkillsAllowIsCarriedOut(t *testing.T) {
	t.Parallel()
	skills := []SelectedSkill{{"capture_dates", memoryskill.Insert}, {"insert", memoryskill.Insert},
		{"update", memoryskill.Update}}
	handles := map[string]string{"m0": "aa", "m1": "bb"}
	actions := []Action{
		{Type: memoryskill.Insert, Content: "Plays  the oboe", Skill: "insert"},
		{Type: memoryskill.Insert, Content: "plays the OBOE"}, {Type: memoryskill.Delete, Target: "m0"},
		{Type: memoryskill.Update, Target: "m7", Content: "x"},
		{Type: memoryskill.Update, Target: "m1", Content: "first"},
		{Type: memoryskill.Update, Target: "m1", Content: "second"}, {Type: "rename", Content: "x"},
		{Type: memoryskill.Noop},
	}
	want := []Outcome{OK, Superseded, Disallowed, OutOfRange, Superseded, OK, Disallowed, NoOp}
	got := Resolve(actions, skills, handles)
	for i, r := range got {
		if r.Outcome != want[i] {
			t.Errorf("action %d: %s, want %s", i, r.Outcome, want[i])
		}
	}
	if got[0].Skill != "insert" || got[1].Skill != "capture_dates" || got[5].Memory != "bb" {
		t.Errorf("laid to %q and %q, on %q", got[0].Skill, got[1].Skill, got[5].Memory)
	}
}

// Without selected skills or shown memories, nothing is executed.
func TestWithoutSkillsOrMemoriesNothingIsCarriedOut(t *testing.T) {
	t.Parallel()
	actions := []Action{{Type: memoryskill.Insert, Content: "x"}, {Type: memoryskill.Delete, Target: "m0"},
		{Type: memoryskill.Delete, Target: "-1"}, {Type: memoryskill.Update, Target: "", Content: "x"}}
	for _, r := range Resolve(actions, nil, map[string]string{"m0": "aa"}) {
		if r.Outcome != Disallowed {
			t.Errorf("%+v", r)
		}
	}
	all := []SelectedSkill{
		{"insert", memoryskill.Insert},
		{"update", memoryskill.Update},
		{"delete", memoryskill.Delete},
	}
	for i, r := range Resolve(actions, all, nil) {
		if want := []Outcome{OK, OutOfRange, OutOfRange, OutOfRange}[i]; r.Outcome != want {
			t.Errorf("%+v, want %s", r, want)
		}
	}
	if got := Resolve(nil, all, nil); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

// A memory that is deleted twice, or updated and deleted, is deleted once, and no other memory is
// deleted.
func TestDeletingBeatsChangingAndHappensOnce(t *testing.T) {
	t.Parallel()
	skills := []SelectedSkill{{"delete", memoryskill.Delete}, {"update", memoryskill.Update}}
	got := Resolve([]Action{{Type: memoryskill.Update, Target: "m0", Content: "x"},
		{Type: memoryskill.Delete, Target: "m0"}, {Type: memoryskill.Delete, Target: "m0"}}, skills,
		map[string]string{"m0": "aa"})
	for i, want := range []Outcome{Superseded, OK, Superseded} {
		if got[i].Outcome != want {
			t.Errorf("action %d: %s, want %s", i, got[i].Outcome, want)
		}
	}
}
