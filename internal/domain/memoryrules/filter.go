package memoryrules

import (
	"cmp"
	"math/bits"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cairn/internal/domain/prompt"
)

// Filter is a compiled memory skill.
type Filter struct {
	action  string
	name    string // only copied to the result
	wanted  kinds
	refused kinds
	terms   []string // stems of its subject
	most    int      // items of one span; 0 means no limit
	length  int      // words of an item; 0 means no limit
	dated   bool
	spoken  bool // include the speaker's name
	short   bool // without stop words
	lean    bool // without fillers
}

var (
	atMost = regexp.MustCompile(`(?i)\bat most (\d+)(?: (?:items?|memories|facts|entries))?\b|最多\s*(\d+)\s*条`)
	under  = regexp.MustCompile(`(?i)\b(?:under|below|within|at most|fewer than) (\d+) words\b|(\d+)\s*[个]?[字词]以内`)
	dated  = regexp.MustCompile(`(?i)\b(?:with|put|write|include|keep|state|start|begin|name|add)\b[^.;]*\b(?:the|` +
		`its) dates?\b|(?:写明|带上|注明|包含)[^。；]*日期`)
	spoken = regexp.MustCompile(`(?i)\b(?:with|put|write|include|keep|state|start|begin|name|say)\b[^.;` +
		`]*\b(?:speakers?|who said|whose)\b|(?:写明|带上|注明|包含)[^。；]*(?:说话人|谁说)`)
	terse   = regexp.MustCompile(`(?i)\b(?:compact|terse|telegraphic|without (?:filler|stop) words)\b|精简`)
	fillers = regexp.MustCompile(`(?i)\b(?:leave out|drop|without|omit)\b[^.;]*\bfillers?\b`)
	generic = Terms("memory memories store stored item items span fact facts information retrieved " +
		"existing new lasting incoming worth keep keeping remember detail details skill user content conversation " +
		"message")
)

// Compile compiles the fields of a skill to a Filter.
func Compile(s prompt.MemorySkill) Filter {
	f := Filter{action: s.Action, name: s.Name}
	_, refused := speaks(
		append(slices.Clone(s.HowToApply), s.Constraints...),
	) // these fields set the form, not the subject
	f.wanted, f.refused = speaks(append([]string{s.Description, s.Purpose}, s.WhenToUse...))
	f.wanted, f.refused = f.wanted&^refused, f.refused|refused
	for _, term := range Terms(joined(append([]string{s.Description}, s.WhenToUse...)...)) {
		if !slices.Contains(generic, term) && !slices.Contains(f.terms, term) {
			f.terms = append(f.terms, term)
		}
	}
	rules := joined(append(slices.Clone(s.HowToApply), s.Constraints...)...)
	f.length = number(under.FindStringSubmatch(rules))
	f.most = number(atMost.FindStringSubmatch(under.ReplaceAllString(rules, "")))
	f.dated, f.spoken, f.short, f.lean = dated.MatchString(rules), spoken.MatchString(rules), terse.MatchString(rules),
		fillers.MatchString(rules)
	return f
}

func number(match []string) int {
	for _, group := range match[min(len(match), 1):] {
		if n, err := strconv.Atoi(group); err == nil {
			return n
		}
	}
	return 0
}

// fit returns how well a sentence matches the skill. 0 or less is no match.
func (f Filter) fit(s Heard) float64 {
	if s.shows&f.refused&(question|greeting) != 0 {
		return 0
	}
	score := float64(bits.OnesCount32(uint32(s.shows&f.wanted&^fact))) -
		2*float64(bits.OnesCount32(uint32(s.shows&f.refused)))
	if s.shows&f.wanted&fact != 0 {
		score += 0.5 // nearly all sentences are facts
	}
	for _, t := range f.terms {
		if slices.Contains(s.terms, t) {
			score += 0.5
		}
	}
	return score
}

// item returns the remembered form of a sentence.
func (f Filter) item(s Heard) string {
	text := strings.TrimSpace(s.Raw)
	if f.short || f.lean || f.length > 0 {
		kept := s.compact
		if f.lean {
			kept = s.lean
		}
		text = strings.Join(kept[:min(len(kept), cmp.Or(f.length, len(kept)))], " ")
	}
	if f.spoken && s.speaker != "" && !strings.HasPrefix(text, s.speaker) {
		text = s.speaker + ": " + text
	}
	if f.dated && s.date != "" && !strings.Contains(text, s.date) {
		text = s.date + " " + text
	}
	return text
}
