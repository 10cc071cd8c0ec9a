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

// failures pairs each kind of failure with the success that followed it, the
// first time that it happened.
func (v *view) failures() []string {
	var out []string
	main, _ := v.mainCall()
	for i, c := range v.calls {
		if !c.Failed || !v.tookPart(c, main) {
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
		changed := differences(c, later[fix])
		helper := slices.IndexFunc(later[:fix], func(other notice.Call) bool { return other.Tool != c.Tool && !other.Failed })
		switch {
		case len(changed) > 0:
			out = append(out, v.say("fixed", c.Tool, text, v.series(changed)))
		case helper >= 0:
			out = append(out, v.say("after", c.Tool, text, later[helper].Tool))
		default:
			out = append(out, v.say("again", c.Tool, text))
		}
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

// rules are the sentences of the system messages that say what must be and
// speak of what was done: the closest ones, in the order of the text.
func (v *view) rules(theme []string) []notice.Sentence {
	about := stems(theme)
	work := v.keyTerms(12)
	for _, c := range v.calls {
		work = append(work, stems(c.Words())...)
	}
	score := func(s notice.Sentence) float64 {
		own := notice.Terms(s.Text)
		return 3*notice.Share(about, notice.Terms(s.Heading)) + 2*notice.Share(about, own) + notice.Share(own, work)
	}
	var found []notice.Sentence
	for _, s := range v.sentences {
		if s.Role == "system" && s.Rule && score(s) >= 1 {
			found = append(found, s)
		}
	}
	best := slices.SortedStableFunc(slices.Values(found), func(a, b notice.Sentence) int { return cmp.Compare(score(b), score(a)) })
	best = best[:min(maxRules, len(best))]
	return slices.DeleteFunc(found, func(s notice.Sentence) bool { return !slices.Contains(best, s) })
}

func stems(words []string) []string { return notice.Terms(strings.Join(words, " ")) }

var (
	preferring = regexp.MustCompile(`\bI(?:'d| would)? prefer\b`)
	// spoken turns a user's words into words about the user.
	spoken = strings.NewReplacer("I'd", "the user would", "I'm", "the user is", "I always", "the user always", "I never", "the user never",
		" I ", " the user ", " my ", " their ", " me ", " them ", "我", "用户")
)

// wishes are what the user wants every time, said of the user.
func (v *view) wishes() []notice.Sentence {
	var out []notice.Sentence
	for _, s := range v.sentences {
		if s.Role == "user" && s.Wish && !strings.Contains(s.Text, "[") && len(out) < maxLessons {
			s.Text = notice.Capital(spoken.Replace(preferring.ReplaceAllString(s.Text, "the user prefers")))
			out = append(out, s)
		}
	}
	return out
}

func texts(sentences []notice.Sentence) []string {
	var out []string
	for _, s := range sentences {
		out = append(out, s.Text)
	}
	return out
}
