package offline

import (
	"slices"
	"strings"

	"cairn/internal/llm/offline/notice"
	"cairn/internal/prompt"
)

const maxSteps = 20 // of a procedure

// calledSteps renders tool calls by their names and the names of their
// arguments, each tool once, in order of first use. An argument whose value an
// earlier result held comes from that tool; any other has to be asked for.
func (v *view) calledSteps(work []notice.Call) []string {
	var out []string
	known := map[string]bool{}
	for _, c := range work {
		var shown, ask []string
		for _, a := range c.List() {
			name := "`" + a.Name + "`"
			if source := v.source(a); source != "" {
				name += v.say("from", source)
			} else if !a.Composed() && !known[a.Name] && !c.Checks() {
				ask = append(ask, name)
			}
			shown = append(shown, name)
			known[a.Name] = true
		}
		out = append(out, v.list("ask", ask))
		alike := func(other notice.Call) bool { return other.Tool == c.Tool && other.Confirmed }
		if c.Changes() && slices.ContainsFunc(v.calls, alike) {
			out = append(out, v.say("confirm", c.Tool))
		}
		out = append(out, v.say("call", c.Tool)+v.list("with", shown)+v.list("each", v.varied(c))+v.say("stop"))
		spoke := func(m prompt.Message) bool { return m.Role == "assistant" && m.Content != "" && m.Index > c.Index }
		if c.Changes() && slices.ContainsFunc(v.messages, spoke) {
			out = append(out, v.say("outcome", c.Tool))
		}
	}
	return out
}

// work has one call of each tool that took part, in order of first use: the
// first success, and the main call even when it failed.
func (v *view) work() []notice.Call {
	var out []notice.Call
	for _, c := range v.calls {
		known := slices.ContainsFunc(out, func(other notice.Call) bool { return other.Tool == c.Tool })
		switch {
		case known || !v.tookPart(c):
		case c.Tool == v.main.Tool:
			out = append(out, v.main)
		case !c.Failed:
			out = append(out, c)
		}
	}
	return out
}

// tookPart tells the work around the main tool from other work: what comes
// after the last job of the main tool does not belong to it, nor does another
// change in a job of its own.
func (v *view) tookPart(c notice.Call) bool {
	return slices.ContainsFunc(v.calls, func(other notice.Call) bool {
		return other.Tool == v.main.Tool && (other.Job == c.Job || other.Job > c.Job && !c.Changes())
	})
}

// source is the tool whose result held the argument's values before anyone
// else said them, empty when there is none.
func (v *view) source(a notice.Argument) string {
	var tools []string
	for _, leaf := range a.Leaves {
		has := func(text string) bool { return strings.Contains(text, leaf) }
		first := slices.IndexFunc(v.messages, func(m prompt.Message) bool { return has(m.Content) || slices.ContainsFunc(m.ToolCalls, has) })
		if len(leaf) > 2 && !a.Composed() && first >= 0 && v.messages[first].Role == "tool" {
			tools = append(tools, v.messages[first].Name)
		}
	}
	return strings.Join(notice.Frequent(tools, 1), "")
}

// varied is the one argument in which another good call of the tool differs.
func (v *view) varied(c notice.Call) []string {
	for _, other := range v.calls {
		alike := other.Tool == c.Tool && !other.Failed && !c.Failed && !c.Checks()
		if names := differences(c, other); alike && len(names) == 1 {
			return names
		}
	}
	return nil
}

// told are ordered sentences that may start with a verb, and the instructions
// of users. Next to tool calls only a user's ordered instructions count: the
// rest is talk about this instance.
func (v *view) told() []notice.Sentence {
	found := v.pick(func(s notice.Sentence) bool {
		first, _, _ := strings.Cut(notice.Plain(s.Text), " ")
		content := len(notice.Terms(s.Text)) > 1 && strings.Count(s.Text, "[") < 3
		told := s.Role == "user" && s.Imperative && (s.Ordered || len(v.calls) == 0 && !s.Lesson)
		shown := s.Ordered && len(v.calls) == 0 && (s.Imperative || !notice.IsStop(first)) && !strings.HasPrefix(first, "**")
		return (told || shown) && content && s.Role != "system" && !s.Wish && !s.Question
	})
	for i, s := range found {
		found[i].Text = notice.Capital(notice.Plain(s.Text))
	}
	return found
}

func toolNames(calls []notice.Call) []string {
	var out []string
	for _, c := range calls {
		out = append(out, c.Tool)
	}
	return out
}
