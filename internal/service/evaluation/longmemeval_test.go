package evaluation

import (
	"slices"
	"strings"
	"testing"
)

const longMemEvalFile = `[{"question_id":"q1","question_type":"single-session-user","question":"How many rabbits ` +
	`does Ines keep?","answer":2,"question_date":"2023/05/30 (Tue) 23:40",
"haystack_dates":["2023/05/20 (Sat) 02:21","2023/05/22 (Mon) 10:00"],
"haystack_sessions":[[{"role":"user","content":"Hello"},{"role":"assistant","content":"Hello"}],[{"role":"user",` +
	`"content":"My two rabbits are ill.","has_answer":true}]]},
{"question_id":"q2_abs","question":"What is her cat called?","answer":"Nobody ` +
	`said","haystack_sessions":[[{"role":"user","content":"Hi"}]]}]`

func TestHistoriesAreReadWithTheirDaysAndEvidence(t *testing.T) {
	t.Parallel()
	all, err := ReadLongMemEval(strings.NewReader(longMemEvalFile))
	if err != nil {
		t.Fatal(err)
	}
	first := all[0]
	if len(all) != 2 || first.Answer != "2" || !slices.Equal(first.Evidence, []int{2}) ||
		first.Conversation.Messages[2].Time.Day() != 22 || first.Asked.Day() != 30 {
		t.Errorf("%+v", first)
	}
	if first.Unanswerable() || !all[1].Unanswerable() {
		t.Error("which questions have an answer is not seen")
	}
}

func TestBadHistoriesAreRefusedByPlace(t *testing.T) {
	t.Parallel()
	for change, want := range map[string]string{
		"\x00": "JSON",
		`"question_id":"q2_abs"` + "|" + `"question_id":"q1"`: "question 2",
		`"role":"assistant"|"role":"robot"`:                   "session 1, turn 2",
		`2023/05/22 (Mon) 10:00|yesterday`:                    "session 2",
		`["2023/05/20 (Sat) 02:21",|[`:                        "1 dates for 2 sessions",
	} {
		from, to, _ := strings.Cut(change, "|")
		text := strings.Replace(longMemEvalFile, from, to, 1)
		if from == "\x00" {
			text = "{"
		}
		if _, err := ReadLongMemEval(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", change, err)
		}
	}
}
