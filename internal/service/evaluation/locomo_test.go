package evaluation_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/internal/domain/transcript"
	"cairn/internal/service/evaluation"
)

const good = `[{"sample_id": "s1", "conversation": {"speaker_a": "Ann", "speaker_b": "Ben",
 "session_10_date_time": "9:05 am on 1 June, 2023", "session_10": [{"speaker": "Ben", "dia_id": "D10:1", "text": ` +
	`"Here it is.", "blip_caption": "a blue kite"}],
 "session_2_date_time": "1:56 pm on 8 May, 2023", "session_2": [{"speaker": "Ann", "dia_id": "D2:1", "text": "I ` +
	`bought a kite."}, {"speaker": "Ben", "dia_id": "D2:2", "text": "Show me."}],
 "session_3_date_time": "1:56 pm on 9 May, 2023"},
 "qa": [{"question": "What did Ann buy?", "answer": "a kite", "evidence": ["D10:1; D2:1", "D2:1", "D", "D99:1"], ` +
	`"category": 4}, {"question": "When?", "answer": 2023, "evidence": [], "category": 2}]}]`

func TestSessionsComeInTheOrderOfTheirNumbers(t *testing.T) {
	t.Parallel()
	samples, err := evaluation.ReadLocomo(strings.NewReader(good))
	if err != nil {
		t.Fatal(err)
	}
	ms := samples[0].Conversation.Messages
	if len(ms) != 3 || ms[0].ID != "D2:1" || ms[2].ID != "D10:1" ||
		ms[2].Content != "Here it is. [image: a blue kite]" || ms[2].Name != "Ben" ||
		ms[2].Role != transcript.Assistant {
		t.Errorf("messages %+v", ms)
	}
	if want := time.Date(2023, 6, 1, 9, 5, 0, 0, time.UTC); !ms[2].Time.Equal(want) {
		t.Errorf("time %v, want %v", ms[2].Time, want)
	}
	if q := samples[0].Questions; len(q) != 2 || !slices.Equal(q[0].Evidence, []int{0, 2}) || len(q[1].Evidence) != 0 ||
		q[1].Answer != "2023" {
		t.Errorf("questions %+v", q)
	}
}

func TestABadFileSaysWhereItIsBad(t *testing.T) {
	t.Parallel()
	for name, c := range map[string][2]string{
		"no JSON":        {"hello", "JSON"},
		"no array":       {`{"qa": []}`, "JSON"},
		"empty":          {`[]`, "no conversations"},
		"more after it":  {good + "[]", "unexpected data"},
		"no turns":       {`[{"sample_id": "x", "conversation": {}}]`, "conversation x: no turns"},
		"twice":          {`[` + good[1:len(good)-1] + `,` + good[1:], "duplicate conversation s1"},
		"a turn twice":   {strings.Replace(good, "D2:2", "D2:1", 1), "duplicate turn D2:1"},
		"a turn unnamed": {strings.Replace(good, `"dia_id": "D2:2", `, "", 1), "turn 2 has no dia_id"},
		"a bad time": {strings.Replace(good, "9:05 am on 1 June, 2023", "yesterday", 1),
			"session 10: read the time"},
		"no category": {strings.Replace(good, `"category": 4`, `"category": 9`, 1), "question 1"},
	} {
		if _, err := evaluation.ReadLocomo(strings.NewReader(c[0])); err == nil || !strings.Contains(err.Error(),
			c[1]) {
			t.Errorf("%s: %v, want something about %q", name, err, c[1])
		}
	}
}
