package evaluation

import (
	"slices"
	"strings"
	"testing"
)

const hotpotQAFile = `[{"_id":"a","question":"Where was the founder of Loom ` +
	`born?","answer":"Porto","supporting_facts":[["Loom",0],["Ines Sol",1]],
"context":[["Weaving",["Old craft."]],["Loom",["Loom was founded by Ines Sol."," It weaves."]],["Ines Sol",["Born ` +
	`in Porto."]]]},
{"question":"Which colour?","answers":["red","crimson"],"context":"Document 1: It is red.\nReally.\nDocument 2: It ` +
	`is round."},
{"question":"Which?","answer":"x","context":"One.\n\nTwo."}]`

func TestParagraphsOfAllFormsAreRead(t *testing.T) {
	t.Parallel()
	all, err := ReadHotpotQA(strings.NewReader(hotpotQAFile))
	if err != nil {
		t.Fatal(err)
	}
	if a := all[0]; !slices.Equal(a.Evidence, []int{1, 2}) ||
		a.Paragraphs[1].Text != "Loom was founded by Ines Sol. It weaves." {
		t.Errorf("%+v", a)
	}
	if b := all[1]; len(b.Answers) != 2 || len(b.Paragraphs) != 2 ||
		b.Paragraphs[0].Text != "Document 1: It is red.\nReally." {
		t.Errorf("%+v", b)
	}
	if len(all[2].Paragraphs) != 2 {
		t.Errorf("%+v", all[2])
	}
	for _, bad := range []string{`{`, `[]`, `[{"question":"x","context":"y"}]`,
		`[{"question":"x","answer":"y","context":[["only a title"]]}]`} {
		if _, err := ReadHotpotQA(strings.NewReader(bad)); err == nil {
			t.Errorf("%s is read", bad)
		}
	}
}

func TestAnswersAreFoundInReplies(t *testing.T) {
	t.Parallel()
	for reply, want := range map[string]string{"I think <answer> Porto </answer>.": "Porto",
		"Thinking\n**Short answer:** Porto": "Porto", "So the answer is Porto": "Porto", " Porto ": "Porto"} {
		if got := HotpotQAAnswer(reply); got != want {
			t.Errorf("%q: %q", reply, got)
		}
	}
}
