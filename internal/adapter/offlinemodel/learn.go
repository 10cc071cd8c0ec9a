package offlinemodel

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cairn/internal/domain/annotate"
	"cairn/internal/domain/prompt"
)

const (
	sameTheme    = 0.75 // share of a theme that a candidate must speak of
	sameWords    = 0.75 // more in common, both ways, and two texts say the same
	enoughSteps  = 3    // that make a method
	enoughWishes = 2    // that make a skill without a method
)

var (
	firstSentence = regexp.MustCompile(`[.!?](?:\s|$)|[。！？\n]`)
	subject       = regexp.MustCompile("^([^`]*)(`[^`]+`)[^“]*(“[^”]*”)?")
)

// skill is what a view teaches, found once.
type skill struct {
	theme    string              // what it is about, a verb and its object where possible
	asks     []string            // what users ask for, as verb and object, where it bears on the theme
	work     []annotate.Call     // one of each tool that took part
	told     []annotate.Sentence // steps that were said
	steps    []string
	failures []string
	warnings []annotate.Sentence // what was said to go wrong or need care
	rules    []annotate.Sentence
	wishes   []annotate.Sentence
	match    prompt.Candidate // the candidate of the same theme, empty for none
	kept     bool             // whether anything would serve again
}

func (v *view) learn() *skill {
	if v.learnt == nil {
		s := &skill{work: v.work(), told: v.told(), failures: v.failures(), warnings: v.warnings(), wishes: v.wishes()}
		s.asks = annotate.Asks(v.sentences)
		s.theme = v.theme(s.asks)
		s.asks = slices.DeleteFunc(s.asks, func(ask string) bool {
			return annotate.Share(annotate.Terms(s.theme), annotate.Terms(ask)) == 0
		})
		s.steps = annotate.Distinct(append(v.calledSteps(s.work), texts(s.told)...), maxSteps)
		s.rules = v.rules(s.theme)
		s.match = v.matching(s.theme)
		s.kept = len(s.steps) >= enoughSteps || len(s.failures) > 0 || len(s.wishes) >= enoughWishes
		v.learnt = s
	}
	return v.learnt
}

// theme says in a few words what a transcript is about: the main tool when it
// changes something, else what the user asked for, else the main tool after
// all, else the key words.
func (v *view) theme(asks []string) string {
	if v.main.Changes() || len(asks) == 0 {
		return cmp.Or(strings.Join(v.main.Words(), " "), strings.Join(v.keyWords(2), " "))
	}
	return asks[0]
}

// keyWords are the most frequent content words that were said. Next to tool
// calls, capitalised words are values of this instance, such as places.
func (v *view) keyWords(n int) []string {
	said := v.pick(func(s annotate.Sentence) bool { return s.Role != "system" })
	return annotate.KeyWords(strings.Join(texts(said), "\n"), n, len(v.calls) > 0)
}

// matching goes by what a candidate says of itself, not by its name, which
// anyone may change: the first sentence of its description has to speak of the
// same doing, and its triggers may add to it.
func (v *view) matching(theme string) (best prompt.Candidate) {
	wanted, most := annotate.Terms(theme), 0.0
	for _, c := range v.material.Candidates {
		claimed := annotate.Terms(firstSentence.Split(c.Description, 2)[0])
		said := append(claimed, annotate.Terms(strings.Join(c.Trigger, " "))...)
		same := annotate.Share(wanted, said)
		if len(wanted) == 0 || same < sameTheme || !slices.Contains(claimed, wanted[0]) {
			continue
		}
		if close := same + annotate.Share(wanted, claimed); close > most {
			best, most = c, close
		}
	}
	return best
}

// merged is a list field: what the matching candidate has and what is new, or
// nothing when nothing is new.
func (v *view) merged(found, have []string) []string {
	out := slices.Clone(have)
	for _, text := range found {
		if v.find(out, text) < 0 {
			out = append(out, text)
		}
	}
	if len(out) == len(have) {
		return nil
	}
	return out
}

// procedure is the numbered steps; for an update the candidate's with new ones
// put before the step that they lead to, or empty when all are known.
func (v *view) procedure() string {
	known := annotate.Lines(v.learn().match.Procedure)
	lines, before := slices.Clone(known), len(known)
	for _, step := range slices.Backward(v.learn().steps) {
		if at := v.find(known, step); at >= 0 {
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

// find is the line that says a text already: it starts in the same way and has
// the same tool and the same answer of it, or shares most words. What has to be
// asked for need only be named.
func (v *view) find(lines []string, text string) int {
	ask, _, _ := strings.Cut(v.say("ask", "`"), "`")
	parts, own := subject.FindStringSubmatch(text), annotate.Terms(text)
	return slices.IndexFunc(lines, func(line string) bool {
		if parts != nil {
			starts := parts[1] == ask || strings.HasPrefix(line, parts[1])
			return starts && strings.Contains(line, parts[2]) && strings.Contains(line, parts[3])
		}
		said := annotate.Terms(line)
		return line == text || min(annotate.Share(own, said), annotate.Share(said, own)) > sameWords
	})
}

func numbered(steps []string) string {
	var out []string
	for i, step := range steps {
		out = append(out, strconv.Itoa(i+1)+". "+step)
	}
	return strings.Join(out, "\n")
}
