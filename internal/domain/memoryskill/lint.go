package memoryskill

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Names of the rules of Lint.
const (
	ForeignAction = "foreign_action" // the text asks for an action that the skill may not take
	Overlap       = "overlap"        // two skills of one action are mostly equal
)

// Warning is a defect of a usable skill.
type Warning struct {
	Rule    string `json:"rule"`
	Skill   string `json:"skill"`
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
}

// changing matches requests for an action on stored memories. Insert also requires the word for a
// new item, because "write" and "store" fit all actions.
var changing = map[Action]*regexp.Regexp{
	Insert: regexp.MustCompile(`(?i)\b(?:add|insert|create|append|store|save|write)\b[^.;:]{0,40}\b(?:new|` +
		`additional|separate|another|further)\b[^.;:]{0,20}\b(?:items?|memor(?:y|ies)|entr(?:y|ies)|records?)\b|` +
		`(?:新增|新建|创建|插入|添加)[^。；]{0,12}(?:条目|记忆|记录)`),
	Update: regexp.MustCompile(`(?i)\b(?:update|revise|modify|amend|edit|overwrite|rewrite|refine|correct|merge ` +
		`(?:it |this |them )?(?:in|into|with))\b[^.;:]{0,40}\b(?:existing|stored|retrieved|earlier|previous|old|` +
		`items?|memor(?:y|ies)|entr(?:y|ies)|records?)\b|(?:更新|修改|改写|修订|合并)[^。；]{0,12}(?:已有|现有|条目|记忆|记录)`),
	Delete: regexp.MustCompile(`(?i)\b(?:delete|remove|drop|discard|erase|purge)\b[^.;:]{0,40}\b(?:existing|stored|` +
		`retrieved|earlier|previous|old|outdated|items?|memor(?:y|ies)|entr(?:y|ies)|records?)\b|(?:删除|移除|清除|` +
		`丢弃)[^。；]{0,12}(?:已有|现有|过时|条目|记忆|记录)`),
}

var (
	clauseEnd = regexp.MustCompile(`[.;:!?。；！？]|, (?:but|and never|and do not)`)
	negation  = regexp.MustCompile(`(?i)\b(?:never|not|no|don't|cannot|avoid|without|nothing|instead of|rather ` +
		`than|unless|leave|other skills?)\b|n't\b|不|勿|禁止|避免|切莫`)
)

// Lint finds defects that make a usable skill work against the bank. For example, a text that asks
// for updates in an insert skill teaches the model to propose actions that are then rejected.
func Lint(s Skill) []Warning {
	s = s.Normalized()
	var found []Warning
	for _, f := range s.fields() {
		for _, text := range f.texts {
			for _, clause := range clauseEnd.Split(text, -1) {
				if negation.MatchString(clause) {
					continue
				}
				for _, a := range []Action{Insert, Update, Delete} {
					if a == s.Action || !changing[a].MatchString(clause) {
						continue
					}
					found = append(found, Warning{
						ForeignAction,
						s.Name,
						f.name,
						fmt.Sprintf(
							"%q asks for %s, but the skill may only %s",
							strings.TrimSpace(clause),
							a,
							s.Action,
						),
					})
				}
			}
		}
	}
	return slices.Compact(found)
}

// maxShared is the share of common words above which two skills of one action overlap. Paraphrases
// of one purpose share half of their words.
const maxShared = 0.5

// LintBank lints each skill and compares skills of the same action.
func LintBank(skills []Skill) []Warning {
	var found []Warning
	for i, s := range skills {
		found = append(found, Lint(s)...)
		for _, other := range skills[:i] {
			if s.Action != other.Action {
				continue
			}
			if shared := sharedWords(s, other); shared >= maxShared {
				found = append(found, Warning{Overlap, s.Name, "",
					fmt.Sprintf(
						"shares %.0f %% of its words with %s; merge them, or describe the difference",
						100*shared, other.Name)})
			}
		}
	}
	return found
}

var wordPattern = regexp.MustCompile(`[\p{L}\p{N}]+`)

// sharedWords returns the Jaccard similarity of the words that describe the purposes of two skills.
func sharedWords(a, b Skill) float64 {
	words := func(s Skill) map[string]bool {
		set := map[string]bool{}
		for _, text := range append([]string{s.Description, s.Purpose}, s.WhenToUse...) {
			for _, w := range wordPattern.FindAllString(strings.ToLower(text), -1) {
				set[w] = true
			}
		}
		return set
	}
	one, other := words(a), words(b)
	both := 0
	for w := range one {
		if other[w] {
			both++
		}
	}
	union := len(one) + len(other) - both
	if union == 0 {
		return 0
	}
	return float64(both) / float64(union)
}
