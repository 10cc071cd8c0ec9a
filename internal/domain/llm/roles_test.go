package llm_test

import (
	"testing"

	"cairn/internal/domain/llm"
)

func TestRolesFallBackToTheDefault(t *testing.T) {
	t.Parallel()
	roles := llm.Roles{Default: "big", ByRole: map[string]string{"nudge": "small", "judge": ""}}
	for role, want := range map[string]string{"nudge": "small", "judge": "big", "other": "big"} {
		if got := roles.For(role); got != want {
			t.Errorf("%s: got %s, want %s", role, got, want)
		}
	}
	if got := (llm.Roles{}).For("x"); got != "" {
		t.Errorf("no roles: got %q", got)
	}
}
