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
	theme        string                 // subject, a verb and its object where possible
	asks         []string               // requests of users, as verb and object, related to the theme
	work         []memoryrules.Call     // one call of each tool that took part
	instructions []memoryrules.Sentence // steps given in text
	steps        []step
	failures     []failure
	unfixed      []string
	warnings     []memoryrules.Sentence // known failures and cautions
	rules        []memoryrules.Sentence
	wishes       []memoryrules.Sentence
	match        prompt.Candidate // the candidate with the same theme, empty for none
	reusable     bool             // whether anything is reusable
}

func (v *view) learn() *skill {
	if v.learnt == nil {
		s := &skill{work: v.work(), instructions: v.instructions(), warnings: v.warnings(), wishes: v.wishes()}
		s.failures, s.unfixed = v.failures()
		s.asks = memoryrules.Asks(v.sentences)
		s.theme = v.theme(s.asks)
		s.asks = slices.DeleteFunc(s.asks, func(ask string) bool {
			return memoryrules.Share(memoryrules.Terms(s.theme), memoryrules.Terms(ask)) == 0 || differs(s.theme, ask)
		})
		s.steps = v.steps(s)
		s.rules = v.rules(s.theme)
		s.match = v.matching(s.theme)
		s.reusable = len(s.steps) >= enoughSteps || len(s.failures)+len(s.unfixed) > 0 || len(s.wishes) >= enoughWishes
		v.learnt = s
	}
	return v.learnt
}

// kin are verbs with one meaning, by line.
var kin = strings.Split("update modify change edit upgrade adjust alter rename move\nbook create add make order "+
	"reserve "+
	"register buy\ncancel delete remove drop revoke\nrefund return reimburse", "\n")

// kind returns the number of the first word's line in kin, or -1.
func kind(text string) int {
	verb, _, _ := strings.Cut(strings.ToLower(text), " ")
	return slices.IndexFunc(kin, func(line string) bool { return slices.Contains(strings.Fields(line), verb) })
}

// differs reports whether two texts begin with verbs of different meaning.
func differs(a, b string) bool { return kind(a) >= 0 && kind(b) >= 0 && kind(a) != kind(b) }

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
	said := v.pick(func(s memoryrules.Sentence) bool { return s.Role != "system" })
	return memoryrules.KeyWords(strings.Join(texts(said), "\n"), n, len(v.calls) > 0)
}

// matching finds the candidate with the theme. It uses the description and not the name, which
// users may change: the first sentence of the description must cover the same activity, and the
// triggers may add to it.
func (v *view) matching(theme string) (best prompt.Candidate) {
	wanted, most := memoryrules.Terms(theme), 0.0
	for _, c := range v.material.Candidates {
		claimed := memoryrules.Terms(firstSentence.Split(c.Description, 2)[0])
		said := append(claimed, memoryrules.Terms(strings.Join(c.Trigger, " "))...)
		same := memoryrules.Share(wanted, said)
		if len(wanted) == 0 || same < sameTheme || !slices.Contains(claimed, wanted[0]) {
			continue
		}
		if close := same + memoryrules.Share(wanted, claimed); close > most {
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

// steps returns the steps of calls and those given in text, each text once.
func (v *view) steps(s *skill) []step {
	out := v.calledSteps(s.work)
	for _, given := range s.instructions {
		out = append(out, step{Step: skills.Step{Text: given.Text}, at: []int{given.Index}})
	}
	seen := map[string]bool{}
	out = slices.DeleteFunc(out, func(s step) bool {
		known := seen[s.Text] || s.Text == ""
		seen[s.Text] = true
		return known
	})
	return out[:min(len(out), maxSteps)]
}

// procedure returns the steps. For an update, new steps are inserted into the candidate's before the step that
// they lead to. It is empty if all steps are known.
func (v *view) procedure() []step {
	var known []step
	old, structured := skills.ParseSteps(v.learn().match.Procedure)
	if !structured {
		old = memoryrules.Each(memoryrules.Lines(v.learn().match.Procedure), func(line string) skills.Step {
			return skills.Step{Text: line}
		})
	}
	for _, s := range old {
		known = append(known, step{Step: s})
	}
	lines, before := slices.Clone(known), len(known)
	for _, s := range slices.Backward(v.learn().steps) {
		if at := v.same(known, s); at >= 0 {
			before = slices.IndexFunc(lines, func(line step) bool { return line.Text == known[at].Text })
		} else {
			lines = slices.Insert(lines, before, s)
		}
	}
	if len(lines) == len(known) {
		return nil
	}
	return lines[:min(len(lines), max(maxSteps, len(known)))]
}

// same returns the index of the step that a step repeats: a call of its tool, or the same text.
func (v *view) same(known []step, s step) int {
	if s.Tool != "" {
		return slices.IndexFunc(known, func(k step) bool {
			return k.Tool == s.Tool || k.Tool == "" && strings.HasPrefix(k.Text, v.say("calls", s.Tool))
		})
	}
	return v.find(memoryrules.Each(known, func(k step) string { return k.Text }), s.Text)
}

// stepList returns the procedure as objects that cite the messages of new steps.
func (v *view) stepList() []object {
	return memoryrules.Each(v.procedure(), func(s step) object {
		return object{"text": s.Text, "tool": s.Tool, "arguments": s.Arguments, "check": s.Check, "if_fails": s.IfFails,
			"evidence": s.at}
	})
}

// rendered returns steps as a numbered list.
func rendered(steps []step) string {
	return skills.Steps(memoryrules.Each(steps, func(s step) skills.Step { return s.Step }))
}

// told returns pitfalls, lessons and rules as lines of text.
func (v *view) told() []string {
	out := memoryrules.Each(v.learn().failures, func(f failure) string { return f.String() })
	return memoryrules.Distinct(append(append(out, v.lessons()...), texts(v.learn().rules)...), maxLessons+maxRules)
}

// find returns the index of the line that already states a text: it has the same start, tool and
// result, or shares most words. A value that must be asked for only has to be named.
func (v *view) find(lines []string, text string) int {
	ask, _, _ := strings.Cut(v.say("ask", "`"), "`")
	parts, own := subject.FindStringSubmatch(text), memoryrules.Terms(text)
	return slices.IndexFunc(lines, func(line string) bool {
		if parts != nil {
			starts := parts[1] == ask || strings.HasPrefix(line, parts[1])
			return starts && strings.Contains(line, parts[2]) && strings.Contains(line, parts[3])
		}
		said := memoryrules.Terms(line)
		return line == text || min(memoryrules.Share(own, said), memoryrules.Share(said, own)) > sameWords
	})
}
