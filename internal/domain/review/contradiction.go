package review

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"cairn/internal/domain/approval"
	"cairn/internal/domain/skill"
)

// contradictions reports pairs of statements that give two values to one condition, unless the
// current version has the pair.
func contradictions(current, next skill.Version) (out []approval.Finding) {
	d := next.Document().Agent()
	said := slices.Concat(rules(d), steps(d))
	was := current.Document().Agent()
	before := slices.Concat(rules(was), steps(was))
	first := map[string]string{} // statement by its condition
	for _, s := range said {
		condition, value := split(s)
		if condition == "" {
			continue
		}
		other, seen := first[condition]
		if !seen {
			first[condition] = s
			continue
		}
		if _, was := split(other); was == value || slices.Contains(before, s) && slices.Contains(before, other) {
			continue
		}
		out = append(out, approval.NewFinding(Contradiction, approval.Review, "SKILL.md", s,
			fmt.Sprintf("contradicts %q", other)))
	}
	return out
}

var (
	// valueText matches numbers with their units, amounts and times.
	valueText = regexp.MustCompile(
		`[$€£¥]?\d[\d.,:]*\s*(?:%|[a-zµ]{1,3}\b|percent|seconds?|minutes?|hours?|days?|weeks?|` +
			`months?|bytes|秒|分钟?|小时|天|周|个?月|年|元|次)?`,
	)
	// polarity matches words that turn a statement into its opposite.
	polarity = regexp.MustCompile(
		`\b(?:always|never|must(?: not|n't)?|do not|don't|does not|doesn't|should(?: not|n't)?|` +
			`can(?:not|'t)?|not|no|required|optional|allowed|forbidden|` +
			`refundable|non-?refundable|enabled?|disabled?)\b|` +
			`必须|不要|不能|不可以?|可以|禁止|允许|总是|从不|需要|不需要`,
	)
)

// minWords is the number of words that a condition must have besides its value.
const minWords = 3

// split divides a statement into its condition and its value: numbers and words such as never. The
// condition is empty if the statement has no value, or too few other words.
func split(statement string) (condition, value string) {
	s := fold(statement)
	values := append(valueText.FindAllString(s, -1), polarity.FindAllString(s, -1)...)
	if len(values) == 0 {
		return "", ""
	}
	for i := range values {
		values[i] = strings.TrimSpace(values[i])
	}
	rest := polarity.ReplaceAllString(valueText.ReplaceAllString(s, " # "), " ")
	words := strings.FieldsFunc(rest, func(r rune) bool { return strings.ContainsRune(" .,;:!?()[]`'\"。，；：！？（）", r) })
	if n := len([]rune(strings.Join(words, ""))); len(words) < minWords && n < 2*minWords {
		return "", ""
	}
	return strings.Join(words, " "), strings.Join(values, " ")
}
