package approval_test

import (
	"strings"
	"testing"

	"cairn/internal/domain/approval"
	"cairn/internal/domain/fault"
)

func TestABlockingFindingNeedsAnOverrideWithAReason(t *testing.T) {
	t.Parallel()
	const sha = "0123456789abcdef0123456789abcdef"
	block := approval.NewFinding("risk", approval.Block, "body:3", "rm -rf /", "destructive shell")
	other := approval.NewFinding("shrink", approval.Block, "Procedure", "", "keeps 1 of 5 steps")
	review := approval.NewFinding("lost", approval.Review, "Experience", "Probe first", "the rule is missing")
	all := []approval.Finding{review, block, other}
	both := []string{other.ID, block.ID}
	for what, c := range map[string]struct {
		findings []approval.Finding
		decision approval.Decision
		want     fault.Code
	}{
		"no findings":        {nil, approval.Decision{}, ""},
		"only one to review": {all[:1], approval.Decision{}, ""},
		"no override":        {all, approval.Decision{}, fault.OverrideRequired},
		"one of two":         {all, overriding("It is our own host.", block.ID), fault.OverrideRequired},
		"one of two, named twice": {all, overriding("It is our own host.", block.ID, block.ID),
			fault.OverrideRequired},
		"both":                  {all, overriding("It is our own host.", both...), ""},
		"both without a reason": {all, overriding("", both...), fault.InvalidArgument},
		"both, a short reason":  {all, overriding("   fine   ", both...), fault.InvalidArgument},
		"both, a long reason":   {all, overriding(strings.Repeat("x", 501), both...), fault.InvalidArgument},
		"one that is not there": {nil, overriding("It is our own host.", "risk-00000000"),
			fault.InvalidArgument},
		"what was seen":            {nil, approval.Decision{SHA: sha}, ""},
		"the beginning of the SHA": {nil, approval.Decision{SHA: sha[:12]}, ""},
		"too few digits":           {nil, approval.Decision{SHA: sha[:8]}, fault.VersionConflict},
		"another SHA":              {nil, approval.Decision{SHA: strings.Repeat("0", 32)}, fault.VersionConflict},
	} {
		if err := c.decision.Check(
			sha,
			c.findings,
		); c.want == "" && err != nil ||
			c.want != "" && fault.CodeOf(err) != c.want {
			t.Errorf("%s: %v, want %q", what, err, c.want)
		}
	}
	if worst := approval.Worst(all); worst != approval.Block {
		t.Errorf("the worst is %q", worst)
	}
}

func overriding(reason string, ids ...string) approval.Decision {
	return approval.Decision{Override: approval.Override{Findings: ids, Reason: reason}}
}
