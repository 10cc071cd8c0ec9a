package workflows

import "go.temporal.io/sdk/workflow"

// story is what Temporal UI shows as a workflow's current details.
type story struct{ ctx workflow.Context }

func newStory(ctx workflow.Context) story { return story{ctx} }

// tell says what the workflow is about to do, without a word of anybody's text.
func (s story) tell(line string) { workflow.SetCurrentDetails(s.ctx, line) }
