package offline

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"cairn/internal/llm/offline/notice"
)

const (
	maxLessons = 6
	maxRules   = 5
)

var errorWord = regexp.MustCompile(`(?i)^\W*(?:error|错误|失败)\W*`)

// lessons are what a transcript teaches beyond its steps: failures with what
// put them right, warnings, and rules that bore on the work.
func (v *view) lessons() []string {
	s := v.learn()
	spoken := notice.Distinct(append(s.failures, texts(s.warnings)...), maxLessons)
	return notice.Distinct(append(spoken, texts(s.rules)...), maxLessons+maxRules)
}

// failures pairs each kind of failure with the success that followed it, the
// first time that it happened.
func (v *view) failures() []string {
	var out []string
	for i, c := range v.calls {
		if !c.Failed || !v.tookPart(c) {
			continue
		}
		line, _, _ := strings.Cut(errorWord.ReplaceAllString(strings.TrimSpace(c.Result), ""), "\n")
		text := strings.Trim(v.mask.Hide(line, false), `"{} .`)
		later := v.calls[i+1:]
		fix := slices.IndexFunc(later, func(next notice.Call) bool { return next.Tool == c.Tool && next.Answered && !next.Failed })
		if fix < 0 {
			out = append(out, v.say("unfixed", c.Tool, text))
			continue
		}
		changed := v.list("change", differences(c, later[fix]))
		helps := func(other notice.Call) bool { return other.Tool != c.Tool && !other.Failed }
		if helper := slices.IndexFunc(later[:fix], helps); helper >= 0 {
			changed = cmp.Or(changed, v.say("before", later[helper].Tool))
		}
		out = append(out, v.say("fixed", c.Tool, text, changed))
	}
	return v.merged(out, nil)
}

// differences are the names of the arguments in which two calls differ.
func differences(before, after notice.Call) []string {
	var out []string
	old := before.List()
	for _, a := range after.List() {
		if !slices.ContainsFunc(old, func(b notice.Argument) bool { return b.Name == a.Name && slices.Equal(a.Leaves, b.Leaves) }) {
			out = append(out, "`"+a.Name+"`")
		}
	}
	return out
}

// warnings are sentences of plain talk that say what went wrong, helped, or
// must never be done.
func (v *view) warnings() []notice.Sentence {
	return v.pick(func(s notice.Sentence) bool {
		forbids := s.Role == "assistant" && s.Imperative && s.Rule && !s.Ordered
		return (s.Lesson || forbids) && s.Role != "system" && len(v.calls) == 0 && strings.Count(s.Text, "[") < 2
	})
}

// rules are the sentences of the system messages that say what must be and
// speak of what was done, the closest first.
func (v *view) rules(theme string) []notice.Sentence {
	about := notice.Terms(theme)
	work := notice.Terms(strings.Join(append(v.keyWords(12), toolNames(v.calls)...), " "))
	score := func(s notice.Sentence) float64 {
		own := notice.Terms(s.Text)
		return 3*notice.Share(about, notice.Terms(s.Heading)) + 2*notice.Share(about, own) + notice.Share(own, work)
	}
	found := v.pick(func(s notice.Sentence) bool { return s.Role == "system" && s.Rule && score(s) >= 1 })
	slices.SortStableFunc(found, func(a, b notice.Sentence) int { return cmp.Compare(score(b), score(a)) })
	return found[:min(maxRules, len(found))]
}

// spoken turns a user's words into words about the user.
var spoken = strings.NewReplacer(" I prefer", " the user prefers", "I prefer", "the user prefers",
	"I'd", "the user would", "I'm", "the user is", "I always", "the user always", "I never", "the user never",
	" I ", " the user ", " my ", " their ", " me ", " them ", "我", "用户")

// wishes are what the user wants every time, said of the user.
func (v *view) wishes() []notice.Sentence {
	found := v.pick(func(s notice.Sentence) bool { return s.Role == "user" && s.Wish && !strings.Contains(s.Text, "[") })
	for i, s := range found {
		found[i].Text = notice.Capital(spoken.Replace(s.Text))
	}
	return found[:min(maxLessons, len(found))]
}

func (v *view) pick(fits func(notice.Sentence) bool) []notice.Sentence {
	return slices.DeleteFunc(slices.Clone(v.sentences), func(s notice.Sentence) bool { return !fits(s) })
}

func texts(sentences []notice.Sentence) []string {
	var out []string
	for _, s := range sentences {
		out = append(out, s.Text)
	}
	return out
}
