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
	sameTheme    = 0.75 // share of a theme that a candidate must contain
	sameWords    = 0.75 // texts that share more words, both ways, have the same meaning
	enoughSteps  = 3    // minimum for a method
	enoughWishes = 2    // minimum for a skill without a method
)

var (
	firstSentence = regexp.MustCompile(`[.!?](?:\s|$)|[。！？\n]`)
	subject       = regexp.MustCompile("^([^`]*)(`[^`]+`)[^“]*(“[^”]*”)?")
)

// skill is what a view teaches. It is computed once.
type skill struct {
	theme        string              // subject, a verb and its object where possible
	asks         []string            // requests of users, as verb and object, related to the theme
	work         []annotate.Call     // one call of each tool that took part
	instructions []annotate.Sentence // steps given in text
	steps        []string
	failures     []string
	warnings     []annotate.Sentence // known failures and cautions
	rules        []annotate.Sentence
	wishes       []annotate.Sentence
	match        prompt.Candidate // the candidate with the same theme, empty for none
	reusable     bool             // whether anything is reusable
}

func (v *view) learn() *skill {
	if v.learnt == nil {
		s := &skill{work: v.work(), instructions: v.instructions(), failures: v.failures(),
			warnings: v.warnings(), wishes: v.wishes()}
		s.asks = annotate.Asks(v.sentences)
		s.theme = v.theme(s.asks)
		s.asks = slices.DeleteFunc(s.asks, func(ask string) bool {
			return annotate.Share(annotate.Terms(s.theme), annotate.Terms(ask)) == 0
		})
		s.steps = annotate.Distinct(append(v.calledSteps(s.work), texts(s.instructions)...), maxSteps)
		s.rules = v.rules(s.theme)
		s.match = v.matching(s.theme)
		s.reusable = len(s.steps) >= enoughSteps || len(s.failures) > 0 || len(s.wishes) >= enoughWishes
		v.learnt = s
	}
	return v.learnt
}

// theme returns the subject of a transcript in a few words: the main tool if it changes something,
// else the user's request, else the main tool, else the key words.
func (v *view) theme(asks []string) string {
	if v.main.Changes() || len(asks) == 0 {
		return cmp.Or(strings.Join(v.main.Words(), " "), strings.Join(v.keyWords(2), " "))
	}
	return asks[0]
}

// keyWords returns the n most frequent content words. Next to tool calls, capitalized words are
// values of this instance, such as places.
func (v *view) keyWords(n int) []string {
	said := v.pick(func(s annotate.Sentence) bool { return s.Role != "system" })
	return annotate.KeyWords(strings.Join(texts(said), "\n"), n, len(v.calls) > 0)
}

// matching finds the candidate with the theme. It uses the description and not the name, which
// users may change: the first sentence of the description must cover the same activity, and the
// triggers may add to it.
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

// merged returns a list field: the matching candidate's items plus the new ones. It is empty if
// nothing is new.
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

// procedure returns the numbered steps. For an update, new steps are inserted into the candidate's
// before the step that they lead to. It is empty if all steps are known.
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

// stepList returns the procedure as objects that cite what the draft rests on.
func (v *view) stepList() []map[string]any {
	return annotate.Each(annotate.Lines(v.procedure()), func(text string) map[string]any {
		return map[string]any{"text": text, "evidence": v.evidence()}
	})
}

// find returns the index of the line that already states a text: it has the same start, tool and
// result, or shares most words. A value that must be asked for only has to be named.
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
