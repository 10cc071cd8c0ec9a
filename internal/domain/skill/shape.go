package skill

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/transcript/fence"
)

// NormalizeContent brings a content that a tool saves into the form in which it
// is kept, compared and patched: valid UTF-8 in NFC, no byte order mark, LF
// newlines, no blanks before the end of a line outside code, one newline at the
// end. Front matter is taken off with a warning, since name and description are
// kept beside the content. The size is checked first. It is its own inverse: a
// normalised content stays as it is.
func NormalizeContent(content string) (normalised string, warnings []string, err error) {
	if err := checkSize(content); err != nil {
		return "", nil, err
	}
	if !utf8.ValidString(content) {
		return "", nil, fault.New(fault.InvalidArgument, "the content is no valid UTF-8", "send UTF-8 text")
	}
	text := strings.TrimPrefix(norm.NFC.String(content), "\ufeff")
	text = tidy(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text))
	bare, err := withoutFrontmatter(text)
	if err != nil {
		return "", nil, fault.Wrap(err, fault.InvalidArgument, "the content begins like front matter",
			"leave front matter out: name and description are arguments of their own")
	}
	if bare != text {
		text, warnings = bare, append(warnings,
			"the front matter was taken off: name and description are arguments of their own")
	}
	if n := utf8.RuneCountInString(text); n > LongContent {
		warnings = append(warnings, fmt.Sprintf(
			"the content has %d characters; move what is above %d to reference files", n, LongContent))
	}
	return text, warnings, nil
}

// maxFrontmatters may stand one below the other, in a file that was wrapped
// again.
const maxFrontmatters = 4

func withoutFrontmatter(text string) (string, error) {
	for range maxFrontmatters {
		front, body, err := Split([]byte(text))
		if err != nil || !front.Present {
			return text, err
		}
		text = tidy(body)
	}
	return "", fmt.Errorf("there are %d of them", maxFrontmatters)
}

func checkSize(content string) error {
	if n := len(content); n > MaxContentBytes {
		return oversized(fmt.Sprintf("the content has %d bytes, %d are allowed", n, MaxContentBytes),
			"move parts to reference files", n, MaxContentBytes)
	}
	if n := utf8.RuneCountInString(content); n > MaxContent {
		return oversized(fmt.Sprintf("the content has %d characters, %d are allowed", n, MaxContent),
			"move parts to reference files", n, MaxContent)
	}
	return nil
}

// tidy takes off blanks that nobody sees: before line ends outside fences, and
// empty lines around the text.
func tidy(text string) string {
	var b strings.Builder
	var code fence.Scanner
	for line := range strings.SplitSeq(text, "\n") {
		if !code.Line(line) {
			line = strings.TrimRight(line, " \t")
		}
		b.WriteString(line + "\n")
	}
	text = strings.Trim(b.String(), "\n")
	if text == "" {
		return ""
	}
	return text + "\n"
}

// CheckShape holds a content to the four headings of a skill that a tool saves
// (spec/procedural-memory.md §1.1). Without When to Use, or without a Procedure
// that says something, it is an error, a *fault.Error with Extra `missing`; the
// other two are warnings. Headings are those that ParseBody reads.
func CheckShape(content string) (warnings []string, err error) {
	_, sections := cutSections(strings.ReplaceAll(content, "\r\n", "\n"))
	has, says := map[string]bool{}, map[string]bool{}
	for _, s := range sections {
		for _, title := range shape {
			if strings.EqualFold(headingText(s.Title), title) {
				has[title] = true
				says[title] = says[title] || sectionText.settle(s.Body) != ""
			}
		}
	}
	var missing []string
	for _, title := range shape {
		switch {
		case title == titleProcedure && !says[title], title == titleWhenToUse && !has[title]:
			missing = append(missing, "## "+title)
		case !says[title]:
			warnings = append(warnings, fmt.Sprintf("the content has no %q", "## "+title))
		}
	}
	if missing != nil {
		return nil, fault.New(fault.InvalidArgument, "the content lacks "+strings.Join(missing, " and "),
			"begin each part with a heading of its own: ## "+strings.Join(shape, ", ## ")).
			With("missing", missing)
	}
	return warnings, nil
}

var shape = []string{titleWhenToUse, titleProcedure, titlePitfalls, titleVerification}

// PatchContent is Patch of a skill's whole content: the result is normalised and
// keeps the shape, or nothing is changed. Secrets and threats in it are for the
// caller to look for.
func PatchContent(content, old, new string, replaceAll bool) (PatchResult, []string, error) {
	patched, err := Patch(content, old, new, replaceAll)
	if err != nil || patched.Noop {
		return patched, nil, err
	}
	normalised, warnings, err := NormalizeContent(patched.Content)
	if err != nil {
		return PatchResult{}, nil, fmt.Errorf("the patched content: %w", err)
	}
	more, err := CheckShape(normalised)
	if err != nil {
		return PatchResult{}, nil, fmt.Errorf("the patched content: %w", err)
	}
	patched.Content = normalised
	return patched, append(warnings, more...), nil
}
