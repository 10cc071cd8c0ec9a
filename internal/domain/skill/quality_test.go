package skill_test

import (
	"encoding/json"
	"strings"
	"testing"

	"cairn/internal/domain/skill"
)

func TestAJudgesAnswerIsReadOrSentBack(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]float64{`{"score":0}`: 0, `{"score":10,"reason":"r"}`: 10,
		`{"score":"7.5"}`: 7.5, `{"score":6,"other":true}`: 6} {
		if got, err := skill.DecodeQuality(json.RawMessage(answer)); err != nil || got.Score != want {
			t.Errorf("%s: %+v, %v", answer, got, err)
		}
	}
	for _, answer := range []string{`[]`, `{}`, `{"score":null}`, `{"score":-1}`, `{"score":10.5}`, `{"score":"NaN"}`,
		`{"score":"good"}`, `{"score":true}`, `{"score":5,"reason":3}`} {
		if got, err := skill.DecodeQuality(json.RawMessage(answer)); err == nil {
			t.Errorf("%s was read as %+v", answer, got)
		}
	}
	long, err := skill.DecodeQuality(json.RawMessage(`{"score":5,"reason":"` + strings.Repeat("a ", 1000) + `"}`))
	if err != nil || len(long.Reason) > 510 {
		t.Errorf("a reason of %d bytes, %v", len(long.Reason), err)
	}
}
