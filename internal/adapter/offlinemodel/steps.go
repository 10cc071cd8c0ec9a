package offlinemodel

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"cairn/internal/domain/annotate"
	"cairn/internal/domain/prompt"
)

const maxSteps, maxLessons, maxRules = 20, 6, 5 // limits of a procedure, of lessons and of rules from system messages

// calledSteps renders tool calls by the names of the tools and arguments, each tool once, in order
// of first use. If an earlier result held an argument's value, the value comes from that tool;
// otherwise it has to be asked for.
func (v *view) calledSteps(work []annotate.Call) []string {
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
		alike := func(other annotate.Call) bool { return other.Tool == c.Tool && other.Confirmed }
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

// work returns one call of each tool that took part, in order of first use: the first success, and
// the main call even if it failed.
func (v *view) work() []annotate.Call {
	var out []annotate.Call
	for _, c := range v.calls {
		known := slices.ContainsFunc(out, func(other annotate.Call) bool { return other.Tool == c.Tool })
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

// tookPart reports whether a call belongs to the work around the main tool. Calls after the last
// job of the main tool do not, nor do other changes in a separate job.
func (v *view) tookPart(c annotate.Call) bool {
	return slices.ContainsFunc(v.calls, func(other annotate.Call) bool {
		return other.Tool == v.main.Tool && (other.Job == c.Job || other.Job > c.Job && !c.Changes())
	})
}

// source returns the tool whose result contained the argument's values before any message did. It
// is empty if there is none.
func (v *view) source(a annotate.Argument) string {
	var tools []string
	for _, leaf := range a.Leaves {
		has := func(text string) bool { return strings.Contains(text, leaf) }
		first := slices.IndexFunc(v.messages, func(m prompt.Message) bool {
			return has(m.Content) || slices.ContainsFunc(m.ToolCalls, has)
		})
		if len(leaf) > 2 && !a.Composed() && first >= 0 && v.messages[first].Role == "tool" {
			tools = append(tools, v.messages[first].Name)
		}
	}
	return strings.Join(annotate.Frequent(tools, 1), "")
}

// varied returns the one argument in which another successful call of the tool differs.
func (v *view) varied(c annotate.Call) []string {
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
func (v *view) instructions() []annotate.Sentence {
	found := v.pick(func(s annotate.Sentence) bool {
		first, _, _ := strings.Cut(annotate.Plain(s.Text), " ")
		content := len(annotate.Terms(s.Text)) > 1 && strings.Count(s.Text, "[") < 3
		instruction := s.Role == "user" && s.Imperative && (s.Ordered || len(v.calls) == 0 && !s.Lesson)
		shown := s.Ordered && len(v.calls) == 0 && (s.Imperative || !annotate.IsStop(first)) &&
			!strings.HasPrefix(first, "**")
		return (instruction || shown) && content && s.Role != "system" && !s.Wish && !s.Question
	})
	for i, s := range found {
		found[i].Text = annotate.Capital(annotate.Plain(s.Text))
	}
	return found
}

var errorWord = regexp.MustCompile(`(?i)^\W*(?:error|错误|失败)\W*`)

// lessons returns what a transcript teaches in addition to its steps: failures and their remedies,
// warnings, and rules that affected the work.
func (v *view) lessons() []string {
	s := v.learn()
	spoken := annotate.Distinct(append(s.failures, texts(s.warnings)...), maxLessons)
	return annotate.Distinct(append(spoken, texts(s.rules)...), maxLessons+maxRules)
}

// failures pairs the first occurrence of each kind of failure with the success that followed it.
func (v *view) failures() []string {
	var out []string
	for i, c := range v.calls {
		if !c.Failed || !v.tookPart(c) {
			continue
		}
		line, _, _ := strings.Cut(errorWord.ReplaceAllString(strings.TrimSpace(c.Result), ""), "\n")
		text := strings.Trim(v.mask.Hide(line, false), `"{} .`)
		later := v.calls[i+1:]
		fix := slices.IndexFunc(later, func(next annotate.Call) bool {
			return next.Tool == c.Tool && next.Answered && !next.Failed
		})
		if fix < 0 {
			out = append(out, v.say("unfixed", c.Tool, text))
			continue
		}
		changed := v.list("change", differences(c, later[fix]))
		helps := func(other annotate.Call) bool { return other.Tool != c.Tool && !other.Failed }
		if helper := slices.IndexFunc(later[:fix], helps); helper >= 0 {
			changed = cmp.Or(changed, v.say("before", later[helper].Tool))
		}
		out = append(out, v.say("fixed", c.Tool, text, changed))
	}
	return v.merged(out, nil)
}

// differences returns the names of the arguments in which two calls differ.
func differences(before, after annotate.Call) []string {
	var out []string
	old := before.List()
	for _, a := range after.List() {
		if !slices.ContainsFunc(old, func(b annotate.Argument) bool {
			return b.Name == a.Name && slices.Equal(a.Leaves, b.Leaves)
		}) {
			out = append(out, "`"+a.Name+"`")
		}
	}
	return out
}

// warnings returns sentences of plain conversation about failures, remedies and prohibitions.
func (v *view) warnings() []annotate.Sentence {
	return v.pick(func(s annotate.Sentence) bool {
		forbids := s.Role == "assistant" && s.Imperative && s.Rule && !s.Ordered
		return (s.Lesson || forbids) && s.Role != "system" && len(v.calls) == 0 && strings.Count(s.Text, "[") < 2
	})
}

// rules returns the sentences of the system messages that contain a requirement about the work, the
// closest first.
func (v *view) rules(theme string) []annotate.Sentence {
	themeTerms := annotate.Terms(theme)
	work := annotate.Terms(strings.Join(append(v.keyWords(12), toolNames(v.calls)...), " "))
	score := func(s annotate.Sentence) float64 {
		own := annotate.Terms(s.Text)
		return 3*annotate.Share(themeTerms, annotate.Terms(s.Heading)) + 2*annotate.Share(themeTerms, own) +
			annotate.Share(own, work)
	}
	found := v.pick(func(s annotate.Sentence) bool { return s.Role == "system" && s.Rule && score(s) >= 1 })
	slices.SortStableFunc(found, func(a, b annotate.Sentence) int { return cmp.Compare(score(b), score(a)) })
	return found[:min(maxRules, len(found))]
}

// spoken rewrites a user's sentences in the third person.
var spoken = strings.NewReplacer(" I prefer", " the user prefers", "I prefer", "the user prefers",
	"I'd", "the user would", "I'm", "the user is", "I always", "the user always", "I never", "the user never",
	" I ", " the user ", " my ", " their ", " me ", " them ", "我", "用户")

// wishes returns the user's standing wishes, in the third person.
func (v *view) wishes() []annotate.Sentence {
	found := v.pick(func(s annotate.Sentence) bool {
		return s.Role == "user" && s.Wish && !strings.Contains(s.Text, "[")
	})
	for i, s := range found {
		found[i].Text = annotate.Capital(spoken.Replace(s.Text))
	}
	return found[:min(maxLessons, len(found))]
}

func (v *view) pick(fits func(annotate.Sentence) bool) []annotate.Sentence {
	return slices.DeleteFunc(slices.Clone(v.sentences), func(s annotate.Sentence) bool { return !fits(s) })
}

func texts(sentences []annotate.Sentence) []string {
	return annotate.Each(sentences, func(s annotate.Sentence) string { return s.Text })
}

func toolNames(calls []annotate.Call) []string {
	return annotate.Each(calls, func(c annotate.Call) string { return c.Tool })
}
