// Command words reports words that the style guide replaces, in Markdown, SQL
// comments, YAML, and in comments and strings of Go. The script .ci/words
// runs it. It prints one line for each hit and exits with 1 if there is one.
package main

import (
	"bytes"
	"fmt"
	"go/scanner"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// replacements maps each word to what to write instead.
var replacements = map[string]string{
	"whoever":          "the caller, the user",
	"nobody":           "no user, no process",
	"somebody":         "a user, another process",
	"anybody":          "any user, any process",
	"whence":           "the source",
	"lest":             "so that … not",
	"thus far":         "until now",
	"anew":             "again",
	"beside":           "in addition to, next to",
	"tells":            "reports, returns, shows",
	"tell of":          "report",
	"hears of":         "receives",
	"looked back on":   "reviewed",
	"comes to nothing": "fails, has no result",
	"of ours":          "of Cairn",
	"of one's own":     "of your own",
	"for good":         "permanently",
	"is no object":     "must be an object",
	"is no key":        "invalid key",
	"is no date":       "invalid date",
}

var words = func() *regexp.Regexp {
	var all []string
	for word := range replacements {
		// A phrase may be wrapped to the next line of a comment.
		all = append(all, strings.ReplaceAll(regexp.QuoteMeta(word), " ", `(?:\s|//|--)+`))
	}
	return regexp.MustCompile(`(?i)\b(?:` + strings.Join(all, "|") + `)\b`)
}()

// skipped are paths whose text is not ours to edit, or is sent to models.
var skipped = regexp.MustCompile(`/testdata/|^internal/domain/guard/patterns/|^internal/domain/prompt/templates/|` +
	`^internal/app/samples/|^schemas/model/|/dbsqlc/|^\.ci/words\.go$`)

// allowed are hits that are right: the account of the operating system.
var allowed = regexp.MustCompile("`nobody`|\"nobody\"|(?:user|account|su|ID of) nobody|" +
	"account postgres nor nobody|root for the setup, and nobody")

func main() {
	list, err := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		fmt.Fprintln(os.Stderr, "words: list the files:", err)
		os.Exit(2)
	}
	hits := 0
	for path := range strings.Lines(string(list)) {
		path = strings.TrimSpace(path)
		if skipped.MatchString(path) {
			continue
		}
		raw, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			continue // deleted and not committed
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "words:", err)
			os.Exit(2)
		}
		hits += report(path, textOf(path, raw))
	}
	if hits > 0 {
		fmt.Fprintf(os.Stderr, "words: %d hits; docs/contributing/testing.md explains the check\n", hits)
		os.Exit(1)
	}
}

// textOf returns the part of a file that is checked, with its line breaks.
func textOf(path string, raw []byte) []byte {
	switch filepath.Ext(path) {
	case ".md", ".yml", ".yaml":
		return raw
	case ".go":
		return goText(path, raw)
	case ".sql":
		return sqlComments(raw)
	}
	return nil
}

// goText returns the comments and strings of Go, of tests the comments only.
func goText(path string, raw []byte) []byte {
	out := bytes.Repeat([]byte{' '}, len(raw))
	keep := func(at int, text string) { copy(out[at:], text) }
	files := token.NewFileSet()
	file := files.AddFile(path, files.Base(), len(raw))
	var s scanner.Scanner
	s.Init(file, raw, nil, scanner.ScanComments)
	for {
		pos, kind, text := s.Scan()
		if kind == token.EOF {
			break
		}
		if kind == token.COMMENT || kind == token.STRING && !strings.HasSuffix(path, "_test.go") {
			keep(file.Offset(pos), text)
		}
	}
	for i, b := range raw {
		if b == '\n' {
			out[i] = '\n'
		}
	}
	return out
}

func sqlComments(raw []byte) []byte {
	var out []byte
	for line := range bytes.Lines(raw) {
		if at := bytes.Index(line, []byte("--")); at >= 0 {
			out = append(out, line[at:]...)
		} else {
			out = append(out, '\n')
		}
	}
	return out
}

func report(path string, text []byte) (hits int) {
	text = allowed.ReplaceAllFunc(text, func(hit []byte) []byte { return bytes.Repeat([]byte{' '}, len(hit)) })
	for _, at := range words.FindAllIndex(text, -1) {
		hits++
		line := 1 + bytes.Count(text[:at[0]], []byte{'\n'})
		word := strings.Join(strings.Fields(strings.NewReplacer("//", " ", "--", " ").Replace(string(text[at[0]:at[1]]))), " ")
		fmt.Printf("%s:%d: %s → %s\n", path, line, word, replacements[strings.ToLower(word)])
	}
	return hits
}
