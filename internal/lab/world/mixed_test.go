package world

import (
	"strings"
	"testing"

	"cairn/internal/domain/transcript/intake"
)

const trajectory = `[{"task_id": 0, "reward": 1.0, "traj": [
 {"role": "user", "content": "Move my flight, I am ines_sol_1."},
 {"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": ` +
	`"get_user_details", "arguments": "{\"user_id\":\"ines_sol_1\"}"}}]},
 {"role": "tool", "tool_call_id": "c1", "name": "get_user_details", "content": ` +
	`"{\"city\":\"Porto\",\"payment_methods\":{\"card_77\":{\"id\":\"card_77\",\"brand\":\"x\"}},` +
	`\"reservations\":[\"AB12\"]}"},
 {"role": "assistant", "content": null, "tool_calls": [{"id": "c2", "type": "function", "function": {"name": ` +
	`"update_reservation_flights", "arguments": ` +
	`"{\"reservation_id\":\"AB12\",\"payment_id\":\"card_77\",\"flights\":[{\"date\":\"2024-05-20\"}]}"}}]},
 {"role": "tool", "tool_call_id": "c2", "name": "update_reservation_flights", "content": "{\"total\":12}"}]}]`

// Questions ask for arguments of the change, and the log ends before it.
func TestLogsEndBeforeTheChangeThatIsAskedAbout(t *testing.T) {
	t.Parallel()
	parsed, err := intake.Read("airline", strings.NewReader(trajectory), intake.Options{})
	read := parsed.Conversations
	if err != nil {
		t.Fatal(err)
	}
	logs := LogsOf(read)
	if len(logs) != 1 {
		t.Fatalf("%d logs", len(logs))
	}
	l := logs[0]
	if text := strings.Join(l.Lines, "\n"); strings.Contains(text, "update_") || strings.Contains(text, "total") ||
		!strings.Contains(text, "card_77") {
		t.Errorf("%q", text)
	}
	gold := map[string]bool{}
	for _, a := range l.Asks {
		gold[a.Gold] = true
		for _, e := range a.Evidence {
			if !strings.Contains(l.Lines[e], a.Gold) {
				t.Errorf("line %q does not hold %s", l.Lines[e], a.Gold)
			}
		}
	}
	if !gold["AB12"] || !gold["card_77"] || gold["2024-05-20"] {
		t.Errorf("asked for %v: the date had not been seen before", gold)
	}
	both, err := mixed(conversations(t, 1)[0], logs, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	tools := 0
	for _, q := range both.questions {
		for _, e := range q.evidence {
			if q.tool && !strings.Contains(e.text, q.gold) {
				t.Errorf("%q is no evidence of %s", e.text, q.gold)
			}
		}
		if q.tool {
			tools++
		}
	}
	if tools != 2 || len(both.questions) != 4 {
		t.Errorf("%d questions about tools of %d", tools, len(both.questions))
	}
}
