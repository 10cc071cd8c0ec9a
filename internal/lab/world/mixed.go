package world

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cairn/internal/domain/transcript"
	"cairn/internal/service/evaluation"
)

// Log contains the tool calls and results before the first change of a trajectory, and the
// arguments of that change.
type Log struct {
	ID    string
	Lines []string // one per call and per object of a result
	Asks  []Ask
}

// Ask is an argument of the change, with the lines that contain its value.
type Ask struct {
	Text, Gold string
	Evidence   []int
}

// LogsOf reads trajectories of τ-bench. It skips trajectories without a change, and those whose
// change has no argument from an earlier result.
func LogsOf(conversations []transcript.Conversation) (out []Log) {
	for i, c := range conversations {
		if l := logOf(c); len(l.Asks) > 0 {
			l.ID = cmp.Or(c.ID, fmt.Sprintf("log-%d", i))
			out = append(out, l)
		}
	}
	return out
}

func logOf(c transcript.Conversation) (l Log) {
	user, names := "", map[string]string{}
	for _, m := range c.Messages {
		for _, call := range m.ToolCalls {
			names[call.ID] = call.Name
			var arguments map[string]any
			if json.Unmarshal([]byte(call.Arguments), &arguments) != nil {
				continue
			}
			if id, ok := arguments["user_id"].(string); ok {
				user = cmp.Or(user, id)
			}
			if changes(call.Name) {
				l.ask(call.Name, user, arguments)
				return l
			}
			l.Lines = append(l.Lines, flat("call "+call.Name, arguments)...)
		}
		if m.Role == transcript.Tool {
			var result any
			if json.Unmarshal([]byte(m.Content), &result) != nil {
				result = m.Content
			}
			l.Lines = append(l.Lines, flat(cmp.Or(m.Name, names[m.ToolCallID]), result)...)
		}
	}
	return l
}

func changes(tool string) bool {
	return strings.HasPrefix(tool, "book_") || strings.HasPrefix(tool, "cancel_") || strings.HasPrefix(tool, "update_")
}

// flat renders a value as lines, with the scalars of one object per line.
func flat(name string, value any) (out []string) {
	switch v := value.(type) {
	case map[string]any:
		var own []string
		var below []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			switch inner := v[key].(type) {
			case map[string]any, []any:
				below = append(below, flat(name+" "+key, inner)...)
			default:
				own = append(own, fmt.Sprintf("%s %v", key, inner))
			}
		}
		if len(own) > 0 {
			out = append(out, name+": "+strings.Join(own, ", "))
		}
		return append(out, below...)
	case []any:
		for _, one := range v {
			out = append(out, flat(name, one)...)
		}
		return out
	}
	return []string{fmt.Sprintf("%s: %v", name, value)}
}

// wanted contains the questions about arguments, by key.
var wanted = []struct{ key, question string }{
	{"reservation_id", "Which reservation_id did %s need for user_id %s?"},
	{"payment_id", "Which payment_id did %s use for user_id %s?"},
	{"date", "Which flight date did %s have for user_id %s?"},
}

func (l *Log) ask(tool, user string, arguments map[string]any) {
	for _, w := range wanted {
		for _, gold := range find(arguments, w.key) {
			a := Ask{Text: fmt.Sprintf(w.question, tool, user), Gold: gold}
			for i, line := range l.Lines {
				if strings.Contains(line, gold) {
					a.Evidence = append(a.Evidence, i)
				}
			}
			if len(a.Evidence) > 0 && user != "" {
				l.Asks = append(l.Asks, a)
				break
			}
		}
	}
}

// find returns the texts under a key, at any depth.
func find(value any, key string) (out []string) {
	switch v := value.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if text, ok := v[k].(string); ok && k == key {
				out = append(out, text)
			} else {
				out = append(out, find(v[k], key)...)
			}
		}
	case []any:
		for _, one := range v {
			out = append(out, find(one, key)...)
		}
	}
	return out
}

// mixed inserts one log after each session of a conversation, while there are logs.
func mixed(s evaluation.LocomoSample, logs []Log, o Options) (*trace, error) {
	t, err := o.trace(s.ID + "+tools")
	if err != nil {
		return nil, err
	}
	var messages []transcript.Message
	places, next := map[int]int{}, 0
	type later struct {
		log  Log
		from int
	}
	var put []later
	add := func() {
		if next == len(logs) {
			return
		}
		put = append(put, later{logs[next], len(messages)})
		for _, line := range logs[next].Lines {
			messages = append(messages, transcript.Message{Seq: len(messages), Role: transcript.Tool, Content: line})
		}
		next++
	}
	for i, m := range s.Conversation.Messages {
		if i > 0 && !m.Time.Equal(s.Conversation.Messages[i-1].Time) {
			add()
		}
		places[m.Seq] = len(messages)
		m.Seq = len(messages)
		messages = append(messages, m)
	}
	add()
	if err := t.read(messages); err != nil {
		return nil, err
	}
	for i, q := range s.Questions {
		if q.Category == evaluation.Adversarial {
			continue
		}
		var evidence []int
		for _, seq := range q.Evidence {
			evidence = append(evidence, places[seq])
		}
		before := len(t.questions)
		t.ask(messages, fmt.Sprintf("%s/%d", t.id, i), q.Text, q.Answer, evidence)
		if len(t.questions) > before {
			t.questions[before].parts = q.Category == evaluation.MultiHop
		}
	}
	for _, p := range put {
		t.askOfLog(messages, p.log, p.from)
	}
	return t, nil
}

// askOfLog asks the questions of a log that starts at message from.
func (t *trace) askOfLog(messages []transcript.Message, log Log, from int) {
	for i, a := range log.Asks {
		var evidence []int
		for _, line := range a.Evidence {
			evidence = append(evidence, from+line)
		}
		before := len(t.questions)
		t.ask(messages, fmt.Sprintf("%s/%s/%d", t.id, log.ID, i), a.Text, a.Gold, evidence)
		if len(t.questions) > before {
			t.questions[before].tool = true
		}
	}
}
