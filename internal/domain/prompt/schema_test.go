package prompt_test

import (
	"encoding/json"
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
