package skill

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/transcript/fence"
)

// NormalizeContent returns a tool's content in the form that is stored, compared and patched: valid
// UTF-8 in NFC, no byte order mark, LF newlines, no blanks at the end of a line outside code, and
// one newline at the end. Front matter is removed with a warning, because name and description are
// stored separately. The size is checked first. Normalized content is unchanged.
func NormalizeContent(content string) (normalized string, warnings []string, err error) {
	if err := checkSize(content); err != nil {
		return "", nil, err
	}
	if !utf8.ValidString(content) {
		return "", nil, fault.New(fault.InvalidArgument, "content is not valid UTF-8", "send UTF-8 text")
	}
	text := strings.TrimPrefix(norm.NFC.String(content), "\ufeff")
	text = tidy(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text))
	bare, err := withoutFrontmatter(text)
	if err != nil {
		return "", nil, fault.Wrap(err, fault.InvalidArgument, "content starts with front matter",
			"remove the front matter; send name and description as arguments")
	}
	if bare != text {
		text, warnings = bare, append(warnings,
			"the front matter was removed: name and description are separate arguments")
	}
	if n := utf8.RuneCountInString(text); n > LongContent {
		warnings = append(warnings, fmt.Sprintf(
			"the content has %d characters; move parts to reference files to stay below %d", n, LongContent))
	}
	return text, warnings, nil
}

// maxFrontmatters is the number of consecutive front matter blocks that are removed, for a file
// that was wrapped repeatedly.
const maxFrontmatters = 4

func withoutFrontmatter(text string) (string, error) {
	for range maxFrontmatters {
		front, body, err := Split([]byte(text))
		if err != nil || !front.Present {
			return text, err
		}
		text = tidy(body)
	}
	return "", fmt.Errorf("it has %d blocks", maxFrontmatters)
}

func checkSize(content string) error {
	if n := len(content); n > MaxContentBytes {
		return oversized(fmt.Sprintf("content has %d bytes, at most %d are allowed", n, MaxContentBytes),
			"move parts to reference files", n, MaxContentBytes)
	}
	if n := utf8.RuneCountInString(content); n > MaxContent {
		return oversized(fmt.Sprintf("content has %d characters, at most %d are allowed", n, MaxContent),
			"move parts to reference files", n, MaxContent)
	}
	return nil
}

// tidy removes invisible white space: blanks at line ends outside fences, and empty lines around
// the text.
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

// CheckShape checks the four headings of a skill that a tool saves. A missing When to Use, or a missing or empty
// Procedure, is a *fault.Error with Extra `missing`. The other two are warnings. Headings are those that
// ParseBody reads.
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
		return nil, fault.New(fault.InvalidArgument, "missing in the content: "+strings.Join(missing, " and "),
			"start each part with its heading: ## "+strings.Join(shape, ", ## ")).
			With("missing", missing)
	}
	return warnings, nil
}

var shape = []string{titleWhenToUse, titleProcedure, titlePitfalls, titleVerification}

// PatchContent is Patch for a skill's whole content. The result is normalized and keeps its shape;
// otherwise nothing is changed. The caller scans the result for secrets and threats.
func PatchContent(content, old, new string, replaceAll bool) (PatchResult, []string, error) {
	patched, err := Patch(content, old, new, replaceAll)
	if err != nil || patched.Noop {
		return patched, nil, err
	}
	normalized, warnings, err := NormalizeContent(patched.Content)
	if err != nil {
		return PatchResult{}, nil, fmt.Errorf("patched content: %w", err)
	}
	more, err := CheckShape(normalized)
	if err != nil {
		return PatchResult{}, nil, fmt.Errorf("patched content: %w", err)
	}
	patched.Content = normalized
	return patched, append(warnings, more...), nil
}
