package speed

import (
	"context"
	"fmt"
	"strings"

	"go.temporal.io/api/enums/v1"
)

// lastEvents is the maximum number of events in the report of a stuck turn.
const lastEvents = 30

// tellStory logs the events of a stuck turn with their times. They show what the turn waited
// for: the time between two events, or after the last one if only the caller was not notified.
func (c *thread) tellStory(ctx context.Context, calls int, workflow string, p Parts) {
	var story strings.Builder
	fmt.Fprintf(&story, "bench: a turn of %d calls of %s was stuck: accept %s, answer %s\n", calls, c.name,
		turnMs(p.Accept), turnMs(p.Answer))
	for _, id := range []string{workflow, c.workflowID(calls == 0)} {
		var lines []string
		events := c.lab.host.Temporal.GetWorkflowHistory(ctx, id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			e, err := events.Next()
			if err != nil {
				lines = append(lines, err.Error())
				break
			}
			lines = append(lines, fmt.Sprintf("  %s %d %s", e.GetEventTime().AsTime().Format("15:04:05.000"),
				e.GetEventId(), e.GetEventType()))
		}
		fmt.Fprintf(&story, "%s\n%s\n", id, strings.Join(lines[max(0, len(lines)-lastEvents):], "\n"))
	}
	fmt.Fprint(c.lab.options.Log, story.String())
}
