package offline

import (
	"slices"
	"strings"

	"cairn/internal/llm/offline/notice"
	"cairn/internal/prompt"
)

const (
	sameTheme    = 0.75 // share of a theme that a candidate must speak of
	enoughSteps  = 3    // that make a method
	enoughWishes = 2    // that make a skill without a method
)

// skill is what a view teaches, found once.
type skill struct {
	theme    []string // what it is about, a verb and its object where possible
	asks     []string // what users ask for, as verb and object
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
// anyone may change.
func (v *view) matching(theme []string) *prompt.Candidate {
	var best *prompt.Candidate
	wanted, keys, most := stems(theme), v.keyTerms(12), 0.0
	for i := range v.material.Candidates {
		c := &v.material.Candidates[i]
		said := notice.Terms(c.Description + " " + strings.Join(c.Trigger, " "))
		if len(said) == 0 {
			said = notice.Terms(c.Procedure)
		}
		if same := notice.Share(wanted, said); same >= sameTheme && same+notice.Share(keys, said)/10 > most {
			best, most = c, same+notice.Share(keys, said)/10
		}
	}
	return best
}

// merged is a list field: what the matching candidate has and what is new, or
// nothing when nothing is new.
func (v *view) merged(found, have []string) []string {
	old := notice.Distinct(have, len(have))
	if all := notice.Distinct(append(old, found...), len(old)+len(found)); len(all) > len(old) {
		return all
	}
	return nil
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

// findStep is the line that says a step already: it names the step's tool, all
// of its arguments, or most of its words.
func (v *view) findStep(lines []string, step string) int {
	names := ticked.FindAllString(step, -1)
	if len(names) > 0 && slices.ContainsFunc(v.calls, func(c notice.Call) bool { return "`"+c.Tool+"`" == names[0] }) {
		names = names[:1]
		step, _, _ = strings.Cut(step, names[0])
	}
	return slices.IndexFunc(lines, func(line string) bool {
		missing := func(name string) bool { return !strings.Contains(line, name) }
		if len(names) > 0 {
			return !slices.ContainsFunc(names, missing) && (len(names) > 1 || strings.HasPrefix(line, step))
		}
		return notice.Share(notice.Terms(step), notice.Terms(line)) >= 0.6
	})
}

// old is the candidate to update, an empty one when there is none.
func (v *view) old() *prompt.Candidate {
	if match := v.learn().match; match != nil {
		return match
	}
	return &prompt.Candidate{}
}
