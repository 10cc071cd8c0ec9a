package review

import (
	"regexp"
	"slices"
	"strings"

	"cairn/internal/domain/approval"
	"cairn/internal/domain/lexical"
	"cairn/internal/domain/skill"
)

// alikeShare is the share of the words of a rule that its new wording keeps, in percent.
const alikeShare = 60

// losses reports what the current version says and the new one does not.
func losses(current, next skill.Version) (out []approval.Finding) {
	was, is := current.Document().Agent(), next.Document().Agent()
	lost := func(what, place, line string) {
		out = append(out, approval.NewFinding(Lost, approval.Review, place, line, "the "+what+" is missing"))
	}
	for _, text := range errorTexts(current.Body) {
		if !strings.Contains(fold(next.Body), fold(text)) {
			lost("error text", "SKILL.md", text)
		}
	}
	kept := slices.Concat(rules(is), steps(is))
	for _, of := range []struct {
		what, place string
		lines       []string
	}{{"rule", "Decision Rules", decisions(was)}, {"rule", "Experience", was.Experience},
		{"pitfall", "Pitfalls", items(was.Pitfalls)}, {"check", "Verification", items(was.Verification)},
		{"check", "Procedure", checks(was)}} {
		for _, line := range of.lines {
			if !hasAlike(kept, line) {
				lost(of.what, of.place, line)
			}
		}
	}
	for _, preference := range was.Preference {
		if !hasAlike(is.Preference, preference) {
			lost("preference", "User Preferences", preference)
		}
	}
	for _, f := range current.Files {
		if f.Kind() == skill.Scripts &&
			!slices.ContainsFunc(next.Files, func(n skill.File) bool { return n.Path == f.Path }) {
			lost("script", f.Path, "")
		}
	}
	return out
}

// checks returns the checks of risky steps and what to do if they fail.
func checks(d skill.Document) (out []string) {
	list, _ := skill.ParseSteps(d.Procedure)
	for _, s := range list {
		for _, text := range []string{s.Check, s.IfFails} {
			if text != "" {
				out = append(out, text)
			}
		}
	}
	return out
}

var (
	// quotedText matches inline code and quotations.
	quotedText = regexp.MustCompile("`([^`\n]{4,200})`|\"([^\"\n]{4,200})\"|“([^”\n]{4,200})”|「([^」\n]{2,200})」")
	// errorWord matches text that reports an error.
	errorWord = regexp.MustCompile(
		`(?i)\b(?:\w*error|\w*exception|fail(?:ed|ure)?|denied|refused|not found|timed? ?out|` +
			`invalid|forbidden|unauthorized|cannot|unable|missing|conflict|E[A-Z]{4,})\b|\b[45]\d\d\b|` +
			`错误|失败|异常|拒绝|超时|无效|找不到|不存在`,
	)
)

// errorTexts returns the quoted error messages of a text.
func errorTexts(text string) (out []string) {
	for _, m := range quotedText.FindAllStringSubmatch(text, -1) {
		quoted := strings.Join(m[1:], "")
		if errorWord.MatchString(quoted) && !slices.Contains(out, quoted) {
			out = append(out, quoted)
		}
	}
	return out
}

// hasAlike reports whether an item says the same as text, possibly in other words.
func hasAlike(items []string, text string) bool {
	words := lexical.Terms(text)
	return slices.ContainsFunc(items, func(item string) bool {
		if strings.Contains(fold(item), fold(text)) {
			return true
		}
		kept, have := 0, map[int32]bool{}
		for _, t := range lexical.Terms(item) {
			have[t.Hash] = true
		}
		for _, t := range words {
			if have[t.Hash] {
				kept++
			}
		}
		return len(words) > 0 && kept*100 >= len(words)*alikeShare
	})
}

// fold returns a text in lower case with single blanks.
func fold(text string) string { return strings.ToLower(strings.Join(strings.Fields(text), " ")) }
