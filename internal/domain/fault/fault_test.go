package fault_test

import (
	"errors"
	"fmt"
	"testing"

	"cairn/internal/domain/fault"
)

// Tools return these codes, and prompts explain them to models.
func TestEveryToolErrorHasARow(t *testing.T) {
	for _, code := range []fault.Code{"invalid_argument", "not_found", "already_exists", "version_conflict", "no_match",
		"ambiguous_match", "too_large",
		"quota_exceeded", "blocked_content", "secret_detected", "protected", "not_managed", "read_required",
		"duplicate_suspect", "unavailable",
		"unknown_tool", "out_of_scope"} {
		row, known := fault.Table[code]
		if !known || row.HTTP < 400 || row.Exit < 1 || row.Hint == "" || row.Retryable != (code == fault.Unavailable) {
			t.Errorf("%s: %+v", code, row)
		}
	}
}

func TestExtraSurvivesWrapping(t *testing.T) {
	cause := errors.New("cause")
	err := fmt.Errorf("patch: %w", fault.Wrap(cause, fault.NoMatch, "not there", "").With("line", 3).
		With("preview", "x"))
	got := fault.From(err)
	if got.Extra["line"] != 3 || got.Extra["preview"] != "x" || got.Hint != fault.Table[fault.NoMatch].Hint ||
		!errors.Is(err, cause) {
		t.Errorf("got %+v", got)
	}
}
