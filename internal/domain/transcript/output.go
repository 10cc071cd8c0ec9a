package transcript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

var (
	// ansi matches the control sequences of terminals.
	ansi = regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])`)
	// progress matches what a line contains that shows how far something has come: a percentage, a bar or a
	// spinner.
	progress = regexp.MustCompile(`\d\s?%|[\[|(][=#>.█▏▎▍▌▋▊▉░▒▓━╸ -]{3,}[\])|]|[█▏▎▍▌▋▊▉░▒▓━╸]{3,}|[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]`)
	// changing matches the parts of such a line that change.
	changing = regexp.MustCompile(`[\d\s=#>.,:/█▏▎▍▌▋▊▉░▒▓━╸⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏-]+|[KMGT]?i?B(/s)?|\bs\b`)
	// errorLine matches a line that can explain why something failed.
	errorLine = regexp.MustCompile(`(?i)\b(error|exception|traceback|fail(ed|ure|s)?|fatal|panic|denied|refused|` +
		`not found|no such|invalid|undefined|timed? ?out|exit (code|status))\b|错误|失败|异常`)
)

// Limits of CleanOutput.
const (
	aroundError = 2 // lines shown before and after a line with an error
	errorShare  = 50
)

// CleanOutput shortens the output of a tool to about chars runes: without control sequences, progress and
// repeated lines. Of what is still too long, it keeps the beginning, the end and the lines around
// errors. If chars is 0 or less, it returns content unchanged.
func CleanOutput(content string, chars int) string {
	if chars <= 0 {
		return content
	}
	content = compacted(withoutNoise(content))
	if utf8.RuneCountInString(content) <= chars {
		return content
	}
	errors := errorLines(content, chars*errorShare/100)
	if errors == "" {
		return Clip(content, chars)
	}
	rest := chars - utf8.RuneCountInString(errors)
	head, tail := rest*headShare/100, rest*tailShare/100
	runes := []rune(content)
	return fmt.Sprintf("%s\n[… %d characters, of which the lines with errors are …]\n%s\n[…]\n%s", string(runes[:head]),
		len(runes)-head-tail, errors, string(runes[len(runes)-tail:]))
}

// compacted returns a JSON document without the spaces between its tokens, and other text unchanged.
func compacted(content string) string {
	var out bytes.Buffer
	text := strings.TrimSpace(content)
	if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") || json.Compact(&out, []byte(text)) != nil {
		return content
	}
	return out.String()
}

// withoutNoise removes control sequences, lines that were overwritten or show progress, and repetitions.
func withoutNoise(content string) string {
	content = ansi.ReplaceAllString(strings.ReplaceAll(content, "\r\n", "\n"), "")
	var out []string
	repeated := 0
	count := func() {
		if repeated > 0 {
			out = append(out, fmt.Sprintf("[… the line above %d more times …]", repeated))
		}
		repeated = 0
	}
	for _, line := range strings.Split(content, "\n") {
		if i := strings.LastIndexByte(strings.TrimRight(line, "\r"), '\r'); i >= 0 { // a terminal shows the last part
			line = line[i+1:]
		}
		switch {
		case len(out) == 0 || strings.TrimSpace(line) == "":
		case line == out[len(out)-1]:
			repeated++
			continue
		case repeated == 0 && continues(out[len(out)-1], line):
			out[len(out)-1] = line
			continue
		}
		count()
		out = append(out, line)
	}
	count()
	return strings.Join(out, "\n")
}

// continues reports whether a line shows the same progress as the line before, further on.
func continues(before, line string) bool {
	return progress.MatchString(line) && progress.MatchString(before) && !errorLine.MatchString(line) &&
		changing.ReplaceAllString(before, "") == changing.ReplaceAllString(line, "")
}

// errorLines returns the lines around errors, the last ones first chosen, within chars runes. It returns an
// empty text if there are none.
func errorLines(content string, chars int) string {
	lines := strings.Split(content, "\n")
	chosen := map[int]bool{}
	for i := len(lines) - 1; i >= 0 && chars > 0; i-- {
		if !errorLine.MatchString(lines[i]) {
			continue
		}
		for j := max(0, i-aroundError); j <= min(len(lines)-1, i+aroundError); j++ {
			size := utf8.RuneCountInString(lines[j]) + 1
			if !chosen[j] && size <= chars {
				chosen[j] = true
				chars -= size
			}
		}
	}
	var out []string
	for i, line := range lines {
		if chosen[i] {
			out = append(out, line)
		}
	}
	return strings.Join(slices.Clip(out), "\n")
}
