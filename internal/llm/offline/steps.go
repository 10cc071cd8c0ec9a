package offline

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"cairn/internal/llm/offline/notice"
)

const maxSteps = 20 // of a procedure

var (
	agreed = regexp.MustCompile(`(?i)^\W*(?:yes|yep|yeah|sure|ok|okay|confirm|i confirm|correct|go ahead|please (?:proceed|go|do)|that (?:works|sounds|looks)|sounds good|absolutely|对|好|是的|确认|可以|同意|没问题|行)`)
	ticked = regexp.MustCompile("`[^`]+`")
)

// calledSteps renders tool calls by their names and the names of their
// arguments, each tool once, in order of first use. An argument whose value an
// earlier result held comes from that tool; any other has to be asked for.
func (v *view) calledSteps() []string {
	var out []string
	known := map[string]bool{}
	for _, c := range v.distinctCalls() {
		var shown, ask []string
		for _, a := range c.List() {
			name := "`" + a.Name + "`"
			if source := v.source(a, c); source != "" {
				name += v.say("from", source)
			} else if !a.Composed() && !known[a.Name] && !c.Checks() {
				ask = append(ask, name)
			}
			shown = append(shown, name)
			known[a.Name] = true
		}
		if len(ask) > 0 {
			out = append(out, v.say("ask", v.series(ask)))
		}
		confirmed, reported := v.around(c)
		if c.Changes() && confirmed {
			out = append(out, v.say("confirm", c.Tool))
		}
		step := v.say("call", c.Tool)
		if len(shown) > 0 {
			step += v.say("with", v.series(shown))
		}
		if varied := v.varied(c.Tool); varied != "" {
			step += v.say("each", varied)
		}
		out = append(out, step+v.say("stop"))
		if c.Changes() && reported {
			out = append(out, v.say("outcome", c.Tool))
		}
	}
	return out
}

// distinctCalls has one call of each tool that took part in the work, in order
// of first use: a success before a failure, the one with most arguments before
// the others.
func (v *view) distinctCalls() []notice.Call {
	var out []notice.Call
	main, _ := v.mainCall()
	for _, c := range v.calls {
		if !v.tookPart(c, main) {
			continue
		}
		at := slices.IndexFunc(out, func(known notice.Call) bool { return known.Tool == c.Tool })
		switch {
		case at < 0:
			out = append(out, c)
		case out[at].Failed && !c.Failed, out[at].Failed == c.Failed && len(c.List()) > len(out[at].List()):
			out[at] = c
		}
	}
	return slices.DeleteFunc(out, func(c notice.Call) bool { return c.Failed && c.Tool != main.Tool })
}

// tookPart tells the work around the main tool from other jobs in the same
// conversation. A job is what happens between two user messages: what comes
// after the last job of the main tool does not belong to it, nor does another
// change in a job of its own, unless its result was needed.
func (v *view) tookPart(c, main notice.Call) bool {
	job := func(of notice.Call) (n int) {
		for _, m := range v.raw {
			if m.Role == "user" && m.Index < of.Index {
				n++
			}
		}
		return n
	}
	last, together := 0, false
	for _, other := range v.calls {
		if other.Tool == main.Tool {
			last, together = job(other), together || job(other) == job(c)
		}
	}
	needed := slices.ContainsFunc(main.List(), func(a notice.Argument) bool { return v.source(a, main) == c.Tool })
	return together || job(c) <= last && (!c.Changes() || needed)
}

// source is the tool whose result held the argument's values before anyone
// else said them, empty when there is none.
func (v *view) source(a notice.Argument, c notice.Call) string {
	var tools []string
	for _, leaf := range a.Leaves {
		if len(leaf) < 3 || a.Composed() {
			continue
		}
		for _, m := range v.raw {
			if m.Index >= c.Index {
				break
			}
			if strings.Contains(m.Content+strings.Join(m.ToolCalls, ""), leaf) {
				if m.Role == "tool" {
					tools = append(tools, m.Name)
				}
				break
			}
		}
	}
	return strings.Join(notice.Frequent(tools, 1), "")
}

// around reports whether a user agreed right before some call of the same tool
// and whether the assistant spoke after one.
func (v *view) around(of notice.Call) (confirmed, reported bool) {
	agreement, made := false, false
	for _, m := range v.raw {
		if m.Role == "user" {
			agreement = agreed.MatchString(m.Content)
		}
		if slices.ContainsFunc(v.calls, func(c notice.Call) bool { return c.Index == m.Index && c.Tool == of.Tool }) {
			made, confirmed = true, confirmed || agreement
		} else if m.Role == "assistant" && m.Content != "" && made {
			reported = true
		}
	}
	return confirmed, reported
}

// varied is the argument in which good calls of a tool differ most, when it is
// one value each time.
func (v *view) varied(tool string) string {
	var names, values []string
	for _, c := range v.calls {
		for _, a := range c.List() {
			if c.Tool != tool || c.Failed || a.Kind != "string" || len(a.Leaves) != 1 || a.Composed() {
				continue
			}
			if value := a.Name + "=" + a.Leaves[0]; !slices.Contains(values, value) {
				names, values = append(names, a.Name), append(values, value)
			}
		}
	}
	most := strings.Join(notice.Frequent(names, 1), "")
	if first := slices.Index(names, most); first < 0 || !slices.Contains(names[first+1:], most) {
		return "" // it never differed
	}
	return most
}

// spokenSteps are ordered sentences that may start with a verb, and the
// instructions of users. Next to tool calls only a user's ordered instructions
// count: the rest is talk about this instance.
func (v *view) spokenSteps() []string {
	var out []string
	for _, s := range v.sentences {
		first, _, _ := strings.Cut(notice.Plain(s.Text), " ")
		maybe := s.Ordered && len(notice.Terms(s.Text)) > 1 && !notice.IsStop(first) && !strings.HasPrefix(first, "**")
		method := maybe || s.Imperative && s.Role == "user"
		if len(v.calls) > 0 {
			method = s.Imperative && s.Ordered && s.Role == "user"
		}
		if method && s.Role != "system" && !s.Wish && !s.Question && strings.Count(s.Text, "[") < 3 {
			out = append(out, notice.Capital(notice.Plain(s.Text)))
		}
	}
	return out
}

func numbered(steps []string) string {
	var out []string
	for i, step := range steps {
		out = append(out, fmt.Sprintf("%d. %s", i+1, step))
	}
	return strings.Join(out, "\n")
}
