package prompt_test

import (
	"encoding/json"
	"strings"
	"testing"

	"cairn/internal/domain/prompt"
)

func TestSchemaIsThatOfTheReply(t *testing.T) {
	t.Parallel()
	for stage, name := range map[prompt.Stage]string{prompt.Segment: "segment", prompt.Extract: "extract",
		prompt.Merge: "extract", prompt.Compress: "compress"} {
		if s := prompt.Schema(stage); stage.Schema() != name || !json.Valid(s) {
			t.Errorf("%s: %s", stage, s)
		}
	}
}

// The schema of a step names all properties, and says once, in the instructions, that all are required.
func TestTheSchemaOfAStepIsShort(t *testing.T) {
	t.Parallel()
	for _, stage := range []prompt.Stage{prompt.Segment, prompt.Extract, prompt.Files, prompt.Judge} {
		step, err := prompt.Step("", prompt.Schema(stage), prompt.Material{})
		if err != nil || strings.Contains(step, "additionalProperties") || strings.Contains(step, `"required":[`) ||
			!strings.Contains(step, `{"type":"object","properties":{`) {
			t.Errorf("%s: %v %s", stage, err, step)
		}
	}
}
