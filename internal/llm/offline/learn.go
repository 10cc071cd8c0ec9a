package offline

import (
	"regexp"
	"slices"
	"strings"

	"cairn/internal/llm/offline/notice"
	"cairn/internal/prompt"
)

const (
	sameTheme    = 0.75 // share of a theme that a candidate must speak of
	enoughSteps  = 3    // that make a method
	enoughWishes = 2    // that make a skill without a method
	mostItems    = 20   // of a list that grows with updates
)

var (
	firstSentence = regexp.MustCompile(`[.!?](?:\s|$)|[。！？\n]`)
	failed        = regexp.MustCompile("(`[^`]+`)[^“]*(“[^”]*”)")
)

// skill is what a view teaches, found once.
type skill struct {
	theme    []string // what it is about, a verb and its object where possible
	asks     []string // what users ask for, as verb and object, where it bears on the theme
	steps    []string
	failures []string
	rules    []notice.Sentence
	wishes   []notice.Sentence
	match    *prompt.Candidate // the candidate of the same theme, nil for none
	kept     bool              // whether anything would serve again
}

func (v *view) learn() *skill {
	if v.learnt == nil {
		s := &skill{asks: notice.Asks(v.sentences), failures: v.failures(), wishes: v.wishes()}
		s.theme = v.theme(s.asks)
		s.asks = slices.DeleteFunc(s.asks, func(ask string) bool { return notice.Share(stems(s.theme), notice.Terms(ask)) == 0 })
		s.steps = notice.Distinct(append(v.calledSteps(), v.spokenSteps()...), maxSteps)
		s.rules = v.rules(s.theme)
		s.match = v.matching(s.theme)
		s.kept = len(s.steps) >= enoughSteps || len(s.failures) > 0 || len(s.wishes) >= enoughWishes
		v.learnt = s
	}
	return v.learnt
}

// lessons are what a transcript teaches beyond its steps: failures with what
// put them right, sentences that say so, and rules that bore on the work.
func (v *view) lessons() []string {
	out := slices.Clone(v.learn().failures)
	for _, s := range v.sentences {
		if s.Lesson && s.Role != "system" && len(v.calls) == 0 && strings.Count(s.Text, "[") < 2 {
			out = append(out, s.Text)
		}
	}
	return notice.Distinct(append(notice.Distinct(out, maxLessons), texts(v.learn().rules)...), maxLessons+maxRules)
}

// matching goes by what a candidate says of itself, not by its name, which
// anyone may change: the first sentence of its description has to speak of the
// same doing, and its triggers may add to it.
func (v *view) matching(theme []string) *prompt.Candidate {
	var best *prompt.Candidate
	wanted, keys, most := stems(theme), v.keyTerms(12), 0.0
	for i := range v.material.Candidates {
		c := &v.material.Candidates[i]
		about := c.Description
		if about == "" {
			about = strings.Join(c.Trigger, " ") + " " + c.Procedure
		}
		if end := firstSentence.FindStringIndex(about); end != nil {
			about = about[:end[0]]
		}
		claimed := notice.Terms(about)
		said := append(claimed, notice.Terms(strings.Join(c.Trigger, " "))...)
		same := notice.Share(wanted, said)
		if len(wanted) == 0 || same < sameTheme || !slices.Contains(claimed, wanted[0]) {
			continue
		}
		if close := same + notice.Share(wanted, claimed) + notice.Share(keys, said)/10; close > most {
			best, most = c, close
		}
	}
	return best
}

// merged is a list field: what the matching candidate has and what is new, or
// nothing when nothing is new. Two lessons of the same failure are one.
func (v *view) merged(found, have []string) []string {
	out, seen := slices.Clone(have), map[string]bool{}
	for _, text := range have {
		seen[subject(text)] = true
	}
	for _, text := range found {
		if key := subject(text); !seen[key] && len(out) < mostItems {
			seen[key] = true
			out = append(out, text)
		}
	}
	if len(out) == len(have) {
		return nil
	}
	return out
}

// subject is what a text is about: for a failure the tool and its answer.
func subject(text string) string {
	if match := failed.FindStringSubmatch(text); match != nil {
		return match[1] + match[2]
	}
	return strings.ToLower(text)
}

// procedure is the numbered steps; for an update the candidate's with new ones
// put before the step that they lead to, or empty when all are known.
func (v *view) procedure() string {
	known := notice.Lines(v.old().Procedure)
	lines, before := slices.Clone(known), len(known)
	for _, step := range slices.Backward(v.learn().steps) {
		if at := v.findStep(known, step); at >= 0 {
			before = slices.Index(lines, known[at])
		} else {
			lines = slices.Insert(lines, before, step)
		}
	}
	if len(lines) == len(known) {
		return ""
	}
	return numbered(lines[:min(len(lines), max(maxSteps, len(known)))])
}

// findStep is the line that says a step already: it does the same with the same
// tool, names an argument when all of them are named somewhere, or shares most
// of its words.
func (v *view) findStep(lines []string, step string) int {
	names := ticked.FindAllString(step, -1)
	if len(names) == 0 {
		return slices.IndexFunc(lines, func(line string) bool { return notice.Share(notice.Terms(step), notice.Terms(line)) >= 0.6 })
	}
	doing, _, _ := strings.Cut(step, "`")
	if slices.ContainsFunc(v.calls, func(c notice.Call) bool { return "`"+c.Tool+"`" == names[0] }) {
		return slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, doing+names[0]) })
	}
	for _, name := range names {
		if !strings.Contains(strings.Join(lines, "\n"), name) {
			return -1
		}
	}
	return slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, names[0]) })
}

// old is the candidate to update, an empty one when there is none.
func (v *view) old() *prompt.Candidate {
	if match := v.learn().match; match != nil {
		return match
	}
	return &prompt.Candidate{}
}
