package tools_test

import (
	"context"
	"testing"

	"cairn/internal/domain/agent"
	"cairn/internal/service/tools"
)

// The cached form of a tool cannot be changed through its schema.
func TestToolsOfOneTypeHaveSchemasOfTheirOwn(t *testing.T) {
	t.Parallel()
	type said struct {
		Text string `json:"text"`
	}
	say := func() tools.Tool {
		made, err := tools.New(agent.ToolSpec{Name: "say", Description: "Says it"},
			func(_ context.Context, _ agent.Actor, in said) (said, error) { return in, nil })
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	first, want := say(), string(say().Input)
	clear(first.Input)
	clear(first.Output)
	if again := say(); string(again.Input) != want || string(again.Output) != want {
		t.Errorf("after the first was spoilt another has %q and %q, want %q", again.Input, again.Output, want)
	}
}
