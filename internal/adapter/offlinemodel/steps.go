package offlinemodel

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"cairn/internal/domain/memoryrules"
	"cairn/internal/domain/prompt"
	skills "cairn/internal/domain/skill"
)

const maxSteps, maxLessons, maxRules = 20, 6, 8 // limits of a procedure, of lessons and of rules from system messages

// step is a step of a method with the messages that show it.
type step struct {
	skills.Step
	at []int
}

// calledSteps turns tool calls into steps, by the names of the tools and arguments, each tool once, in order of
// first use. If an earlier result held an argument's value, the value comes from that tool; otherwise it has to
// be asked for.
func (v *view) calledSteps(work []memoryrules.Call) []step {
	var out []step
	known := map[string]bool{}
	for _, c := range work {
		add := func(text string) { out = append(out, step{Step: skills.Step{Text: text}, at: []int{c.Index}}) }
		var names, from, ask []string
		for _, a := range c.List() {
			name := "`" + a.Name + "`"
			if source := v.source(a); source != "" {
				from = append(from, name+v.say("from", source))
			} else if !a.Composed() && !known[a.Name] && !c.Checks() {
				ask = append(ask, name)
			}
			names = append(names, a.Name)
			known[a.Name] = true
		}
		if len(ask) > 0 {
			add(v.list("ask", ask))
		}
		alike := func(other memoryrules.Call) bool { return other.Tool == c.Tool && other.Confirmed }
		if c.Changes() && slices.ContainsFunc(v.calls, alike) {
			add(v.say("confirm", c.Tool))
		}
		add(v.say("call", strings.Join(c.Words(), " ")) + v.list("with", from) +
			v.list("each", v.varied(c)) + v.say("stop"))
		last := &out[len(out)-1]
		last.Text = memoryrules.Capital(last.Text)
		last.Tool, last.Arguments, last.Check, last.IfFails = c.Tool, names, v.check(c), v.remedy(c)
		spoke := func(m prompt.Message) bool { return m.Role == "assistant" && m.Content != "" && m.Index > c.Index }
		if c.Changes() && slices.ContainsFunc(v.messages, spoke) {
			add(v.say("outcome", c.Tool))
		}
	}
	return out
}

// work returns one call of each tool that took part, in order: the first success, and the main call even if it
// failed.
func (v *view) work() []memoryrules.Call {
	var out []memoryrules.Call
	for _, c := range v.calls {
		known := slices.ContainsFunc(out, func(other memoryrules.Call) bool { return other.Tool == c.Tool })
		switch {
		case known || !v.tookPart(c) || !c.Answered && c.Tool != v.main.Tool:
		case c.Tool == v.main.Tool:
			out = append(out, v.main)
		case !c.Failed:
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b memoryrules.Call) int { return cmp.Compare(a.Index, b.Index) })
	return out
}

// tookPart reports whether a call belongs to the work around the main tool. Calls after the last
// job of the main tool do not, nor do other changes in a separate job.
func (v *view) tookPart(c memoryrules.Call) bool {
	return slices.ContainsFunc(v.calls, func(other memoryrules.Call) bool {
		return other.Tool == v.main.Tool && (other.Job == c.Job || other.Job > c.Job && !c.Changes())
	})
}

// source returns the tool whose result contained the argument's values before any message did. It
// is empty if there is none, or if a user named the value.
func (v *view) source(a memoryrules.Argument) string {
	var tools []string
	for _, leaf := range a.Leaves {
		has := func(text string) bool { return strings.Contains(text, leaf) }
		first := slices.IndexFunc(v.messages, func(m prompt.Message) bool {
			return has(m.Content) || slices.ContainsFunc(m.ToolCalls, has)
		})
		named := slices.ContainsFunc(v.messages, func(m prompt.Message) bool {
			return m.Role == "user" && has(m.Content)
		})
		if len(leaf) > 2 && !a.Composed() && first >= 0 && v.messages[first].Role == "tool" && !named {
			tools = append(tools, v.messages[first].Name)
		}
	}
	return strings.Join(memoryrules.Frequent(tools, 1), "")
}

// varied returns the one argument in which another successful call of the tool differs.
func (v *view) varied(c memoryrules.Call) []string {
	for _, other := range v.calls {
		alike := other.Tool == c.Tool && !other.Failed && !c.Failed && !c.Checks()
		if names := differences(c, other); alike && len(names) == 1 {
			return names
		}
	}
	return nil
}

// instructions returns ordered sentences that may start with a verb, and the users' instructions. Next to
// tool calls it returns only a user's ordered instructions: other sentences are about this
// instance.
func (v *view) instructions() []memoryrules.Sentence {
	found := v.pick(func(s memoryrules.Sentence) bool {
		first, _, _ := strings.Cut(memoryrules.Plain(s.Text), " ")
		content := len(memoryrules.Terms(s.Text)) > 1 && strings.Count(s.Text, "[") < 3
		instruction := s.Role == "user" && s.Imperative && (s.Ordered || len(v.calls) == 0 && !s.Lesson)
		shown := s.Ordered && len(v.calls) == 0 && (s.Imperative || !memoryrules.IsStop(first)) &&
			!strings.HasPrefix(first, "**")
		return (instruction || shown) && content && s.Role != "system" && !s.Wish && !s.Question
	})
	for i, s := range found {
		found[i].Text = memoryrules.Capital(memoryrules.Plain(s.Text))
	}
	return found
}

// lessons returns what a transcript teaches in addition to steps, rules and pitfalls: failures that were not
// fixed, and warnings.
func (v *view) lessons() []string {
	s := v.learn()
	return memoryrules.Distinct(append(slices.Clone(s.unfixed), texts(s.warnings)...), maxLessons)
}

// differences returns the names of the arguments in which two calls differ.
func differences(before, after memoryrules.Call) []string {
	var out []string
	old := before.List()
	for _, a := range after.List() {
		if !slices.ContainsFunc(old, func(b memoryrules.Argument) bool {
			return b.Name == a.Name && slices.Equal(a.Leaves, b.Leaves)
		}) {
			out = append(out, "`"+a.Name+"`")
		}
	}
	return out
}

// warnings returns sentences of plain conversation about failures, remedies and prohibitions.
func (v *view) warnings() []memoryrules.Sentence {
	return v.pick(func(s memoryrules.Sentence) bool {
		forbids := s.Role == "assistant" && s.Imperative && s.Rule && !s.Ordered
		return (s.Lesson || forbids) && s.Role != "system" && len(v.calls) == 0 && strings.Count(s.Text, "[") < 2
	})
}

// rules returns the sentences of the system messages that contain a requirement about the work, the
// closest first.
func (v *view) rules(theme string) []memoryrules.Sentence {
	themeTerms := memoryrules.Terms(theme)
	work := memoryrules.Terms(strings.Join(append(v.keyWords(12), toolNames(v.calls)...), " "))
	score := func(s memoryrules.Sentence) float64 {
		own := memoryrules.Terms(s.Text)
		close := 3*memoryrules.Share(themeTerms, memoryrules.Terms(s.Heading)) + 2*memoryrules.Share(themeTerms, own) +
			memoryrules.Share(own, work)
		if kind(theme) >= 0 && kind(theme) == kind(s.Heading) || v.main.Changes() && beforeChanges.MatchString(s.Text) {
			close += 4
		}
		return close
	}
	found := v.pick(func(s memoryrules.Sentence) bool {
		return s.Role == "system" && s.Rule && !differs(theme, s.Heading) && !refersBack.MatchString(s.Text) &&
			score(s) >= 1
	})
	slices.SortStableFunc(found, func(a, b memoryrules.Sentence) int { return cmp.Compare(score(b), score(a)) })
	found = found[:min(maxRules, len(found))]
	for i, s := range found {
		at := slices.Index(v.sentences, s)
		if otherwise.MatchString(s.Text) && at > 0 && v.sentences[at-1].Index == s.Index {
			found[i].Text = v.sentences[at-1].Text + " " + s.Text
		}
	}
	return found
}

// otherwise matches a rule about what the sentence before it leaves out.
var otherwise = regexp.MustCompile(`(?i)^(?:otherwise|else)\b|^否则`)

// beforeChanges matches a rule about every change.
var beforeChanges = regexp.MustCompile(`(?i)^before (?:\w+ing|any|each|every|you)\b.*\b(?:must|should|always)\b|` +
	`之前.*(?:必须|应当|务必)`)

// refersBack matches a rule that says nothing without the sentence before it.
var refersBack = regexp.MustCompile(`(?i)\b(?:these|instead|this is|that is|the above)\b|上述|前述`)

// spoken rewrites a user's sentences in the third person.
var spoken = strings.NewReplacer(" I prefer", " the user prefers", "I prefer", "the user prefers",
	"I'd", "the user would", "I'm", "the user is", "I always", "the user always", "I never", "the user never",
	" I ", " the user ", " my ", " their ", " me ", " them ", "我", "用户")

// wishes returns the user's standing wishes, in the third person.
func (v *view) wishes() []memoryrules.Sentence {
	found := v.pick(func(s memoryrules.Sentence) bool {
		return s.Role == "user" && s.Wish && !strings.Contains(s.Text, "[")
	})
	for i, s := range found {
		found[i].Text = memoryrules.Capital(spoken.Replace(s.Text))
	}
	return found[:min(maxLessons, len(found))]
}

func (v *view) pick(fits func(memoryrules.Sentence) bool) []memoryrules.Sentence {
	return slices.DeleteFunc(slices.Clone(v.sentences), func(s memoryrules.Sentence) bool { return !fits(s) })
}

func texts(sentences []memoryrules.Sentence) []string {
	return memoryrules.Each(sentences, func(s memoryrules.Sentence) string { return s.Text })
}

func toolNames(calls []memoryrules.Call) []string {
	return memoryrules.Each(calls, func(c memoryrules.Call) string { return c.Tool })
}
