package review_test

import (
	"fmt"
	"strings"
	"testing"

	"cairn/internal/domain/approval"
	"cairn/internal/domain/review"
	"cairn/internal/domain/skill"
	"cairn/internal/domain/transcript"
)

// booked are successful conversations in which a seat is booked.
func booked(n int) (out [][]transcript.Message) {
	for i := range n {
		id := fmt.Sprint("call-", i)
		out = append(out, []transcript.Message{
			{Role: transcript.Assistant, ToolCalls: []transcript.ToolCall{{ID: id, Name: "book_seat",
				Arguments: fmt.Sprintf(`{"seat_row":%d,"flight_id":"F"}`, i)}}},
			{Role: transcript.Tool, ToolCallID: id, Content: "booked"},
		})
	}
	return out
}

func TestAVersionThatNamesFewerDecisiveCallsWaits(t *testing.T) {
	t.Parallel()
	version := func(body string) skill.Version { return skill.Version{Body: body} }
	full := version("1. Call `book_seat` with `seat_row` and `flight_id`.")
	for what, c := range map[string]struct {
		next  skill.Version
		held  int
		waits bool
	}{
		"the call is gone":              {version("1. Book the seat."), 4, true},
		"an argument is gone":           {version("1. Call `book_seat` with `seat_row`."), 4, true},
		"the call is in other words":    {version("Pass flight_id and seat_row to book_seat."), 4, false},
		"there are too few to tell":     {version("1. Book the seat."), 3, false},
		"a script names what is needed": {skill.Version{Files: []skill.File{{Content: full.Body}}}, 4, false},
	} {
		got := review.HeldOut(full, c.next, booked(c.held))
		if (len(got) > 0) != c.waits {
			t.Errorf("%s: %+v", what, got)
		}
		if c.waits &&
			(got[0].Check != "counterfactual" || got[0].Severity != approval.Review || got[0].Line != "book_seat" ||
				!strings.Contains(got[0].Text, "names 0 of 4")) {
			t.Errorf("%s: %+v", what, got)
		}
	}
	if got := review.HeldOut(version("1. Book the seat."), full, booked(5)); got != nil {
		t.Errorf("a better version: %+v", got)
	}
}
