package world

import (
	"fmt"
	"strings"
	"testing"

	"cairn/internal/adapter/offlinemodel"
	"cairn/internal/adapter/openai"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/evaluation"
)

// conversations returns n synthetic conversations, each about another place.
func conversations(t *testing.T, n int) []evaluation.LocomoSample {
	t.Helper()
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`{"sample_id": "s%d", "conversation": {"speaker_a": "Ann", "speaker_b": "Ben",
 "session_1_date_time": "1:56 pm on 8 May, 2023", "session_1": [{"speaker": "Ann", "dia_id": "D1:1", "text": "I `+
			`went to the harbour museum in Port%d last week."}, {"speaker": "Ben", "dia_id": "D1:2", "text": "So `+
			`nice, really, it is so good for you and for all of us, you know, it is what it is and so it goes, on `+
			`and on and on, as it was and as it will be, one thing and then another and yet another, so to speak."}],
 "session_2_date_time": "1:56 pm on 9 May, 2023", "session_2": [{"speaker": "Ann", "dia_id": "D2:1", "text": "My `+
			`brother Karl played the cello in Oslo in 2019."}, {"speaker": "Ben", "dia_id": "D2:2", "text": "Well, `+
			`there it is again then, and it is all as it was and as it will be, so to speak, if you see, and on and `+
			`on and on it goes, as it does, here and there and then again, one way or the other."}]},
 "qa": [{"question": "Which museum did Ann visit?", "answer": "harbour museum", "evidence": ["D1:1"], "category": `+
			`4}, {"question": "What does Ann's brother play?", "answer": "cello", "evidence": ["D2:1"], "category": `+
			`4}]}`, i, i))
	}
	out, err := evaluation.ReadLocomo(strings.NewReader("[" + strings.Join(all, ",") + "]"))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func options(rows ...string) Options {
	o := DefaultOptions()
	o.Folds, o.Seeds, o.Iterations, o.Episodes, o.Rounds, o.Workers, o.Rows = 1, 1, 1, 1, 1, 1, rows
	o.Answers = &Answering{Model: offlinemodel.New(0), Name: offlinemodel.ModelName}
	return o
}

func TestAnswersAreJudgedAndABadJudgeIsNoZero(t *testing.T) {
	t.Parallel()
	srv := openaitest.New(t)
	srv.On(openaitest.Rule{Stage: "recite", Reply: `{"answer": "the harbour museum"}`})
	srv.On(openaitest.Rule{Stage: "grade", Match: "Which museum", Reply: `{"reason": "right", "score": 1}`})
	srv.On(openaitest.Rule{Stage: "grade", Reply: `{"reason": "beyond", "score": 7}`})
	o := options(Static)
	o.Answers = &Answering{Model: openai.New(openai.Config{BaseURL: srv.URL}), Name: "m", Judge: "j"}
	tables, err := MeasureAll(t.Context(), Data{Talks: conversations(t, 1)}, o)
	if err != nil {
		t.Fatal(err)
	}
	m := tables[0].Folds[Static][0]
	if m.Judge != 1 || m.F1 <= 0 || m.F1 >= 1 {
		t.Errorf("%+v: one answer was judged, as right; one is wrong by its words", m)
	}
}

func TestOnlyWhatIsAskedForIsMeasured(t *testing.T) {
	t.Parallel()
	o := options(Static, NoSkills)
	o.Limit = 1
	tables, err := MeasureAll(t.Context(), Data{Talks: conversations(t, 1)}, o)
	if err != nil {
		t.Fatal(err)
	}
	if f := tables[0].Folds; len(f) != 2 || f[Static] == nil || f[NoSkills] == nil || tables[0].Runs[0].Skills != 0 {
		t.Errorf("%+v", tables[0])
	}
	if _, err := MeasureAll(t.Context(), Data{Talks: conversations(t, 2)}, options(Learned)); err == nil {
		t.Error("two conversations are accepted for learning")
	}
}

// The same seed gives the same table with any number of workers.
func TestATableRepeatsItself(t *testing.T) {
	t.Parallel()
	var tables []string
	for _, workers := range []int{1, 3} {
		o := options()
		o.Folds, o.Workers = 3, workers
		got, err := MeasureAll(t.Context(), Data{Talks: conversations(t, 3)}, o)
		if err != nil {
			t.Fatal(err)
		}
		tables = append(tables, fmt.Sprintf("%+v", got))
	}
	if tables[0] != tables[1] {
		t.Errorf("one worker:\n%s\nthree:\n%s", tables[0], tables[1])
	}
}
