// Package docs_test checks the documentation: links, commands, flags, settings and
// environment variables exist, and the blocks of README.md and the tutorials run.
package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"cairn/internal/app/cli"
	"cairn/internal/domain/audit"
	"cairn/internal/testkit"
)

// page is a Markdown file with its path from the root of the repository.
type page struct{ path, text string }

func pages(t *testing.T) (all []page) {
	t.Helper()
	var paths []string
	for _, pattern := range []string{"../*.md", "*.md", "*/*.md", "*/*/*.md", "../.github/*.md"} {
		found, err := filepath.Glob(pattern)
		testkit.Must(t, err)
		paths = append(paths, found...)
	}
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		testkit.Must(t, err)
		all = append(all, page{filepath.ToSlash(filepath.Join("docs", path)), string(raw)})
	}
	if len(all) < 20 {
		t.Fatalf("only %d pages", len(all))
	}
	return all
}

var (
	fence   = regexp.MustCompile("(?ms)^```([^\n]*)\n(.*?)^```$")
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#{1,6} (.+)$`)
	inline  = regexp.MustCompile("`[^`\n]+`")
	// noAnchor are the characters of a title that its anchor omits.
	noAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// prose is a page without its fenced blocks.
func (p page) prose() string { return fence.ReplaceAllString(p.text, "") }

// anchors are the fragments that links to a page may use.
func (p page) anchors() (all []string) {
	for _, m := range heading.FindAllStringSubmatch(p.prose(), -1) {
		title := strings.ToLower(strings.NewReplacer("`", "", "*", "").Replace(m[1]))
		title = noAnchor.ReplaceAllString(title, "")
		all = append(all, strings.ReplaceAll(title, " ", "-"))
	}
	return all
}

func TestEveryLinkOfTheDocumentationResolves(t *testing.T) {
	t.Parallel()
	all := pages(t)
	anchors := map[string][]string{}
	for _, p := range all {
		anchors[p.path] = p.anchors()
	}
	for _, p := range all {
		for _, m := range link.FindAllStringSubmatch(inline.ReplaceAllString(p.prose(), ""), -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			path, anchor, _ := strings.Cut(m[1], "#")
			target := p.path
			if path != "" {
				target = filepath.ToSlash(filepath.Join(filepath.Dir(p.path), path))
			}
			if _, err := os.Stat(filepath.Join("..", target)); err != nil {
				t.Errorf("%s: %s does not exist", p.path, m[1])
				continue
			}
			if known := anchors[target]; anchor != "" && known != nil && !slices.Contains(known, anchor) {
				t.Errorf("%s: %s has no heading #%s", p.path, target, anchor)
			}
		}
	}
}

func TestTheReadmeIsShortAndTheChineseOneMatches(t *testing.T) {
	t.Parallel()
	read := func(name string) page {
		raw, err := os.ReadFile(filepath.Join("..", name))
		testkit.Must(t, err)
		return page{name, string(raw)}
	}
	english, chinese := read("README.md"), read("README.zh.md")
	if n := len(english.text); n > 8192 {
		t.Errorf("README.md has %d bytes, at most 8192", n)
	}
	levels := func(p page) (out []string) {
		for _, m := range heading.FindAllString(p.prose(), -1) {
			out = append(out, strings.SplitN(m, " ", 2)[0])
		}
		return out
	}
	if a, b := levels(english), levels(chinese); !slices.Equal(a, b) {
		t.Errorf("README.md has the headings %v, README.zh.md %v", a, b)
	}
	if a, b := fence.FindAllString(english.text, -1), fence.FindAllString(chinese.text, -1); !slices.Equal(a, b) {
		t.Error("README.zh.md has other blocks than README.md")
	}
	targets := func(p page) (out []string) {
		for _, m := range link.FindAllStringSubmatch(p.prose(), -1) {
			if strings.HasPrefix(m[1], "docs/") {
				out = append(out, m[1])
			}
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	for _, missing := range targets(english) {
		if !slices.Contains(targets(chinese), missing) {
			t.Errorf("README.zh.md does not link to %s", missing)
		}
	}
}

var sourcePath = regexp.MustCompile(
	"`((?:internal|workflows|activities|schemas|worker|starter|deploy|docs)/[^`\\s<>{}*$…]+?)/?`",
)

func TestEveryPathOfTheDocumentationExists(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, p := range pages(t) {
		if p.path == "CHANGELOG.md" {
			continue
		}
		for _, m := range sourcePath.FindAllStringSubmatch(p.prose(), -1) {
			checked++
			if _, err := os.Stat(filepath.Join("..", m[1])); err != nil {
				t.Errorf("%s: there is no %s", p.path, m[1])
			}
		}
	}
	if checked < 40 {
		t.Errorf("only %d paths found", checked)
	}
}

// code returns what a page shows as code, one piece a line.
func (p page) code() (lines []string) {
	for _, m := range fence.FindAllStringSubmatch(p.text, -1) {
		if kind, _, _ := strings.Cut(m[1], " "); kind == "sh" || kind == "bash" || kind == "console" {
			lines = append(lines, strings.Split(strings.ReplaceAll(m[2], "\\\n", " "), "\n")...)
		}
	}
	for _, span := range inline.FindAllString(p.prose(), -1) {
		lines = append(lines, strings.Trim(span, "`"))
	}
	return lines
}

var command = regexp.MustCompile(`(?:^|[\s(/])cairn((?:[ \t]+[^\s|;&<>)#]+)+)`)

func TestEveryCommandOfTheDocumentationExists(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, p := range pages(t) {
		if p.path == "CHANGELOG.md" {
			continue
		}
		for _, line := range p.code() {
			for _, m := range command.FindAllStringSubmatch(line, -1) {
				checked++
				if problem := parse(cli.Command(), strings.Fields(m[1])); problem != "" {
					t.Errorf("%s: %q: %s", p.path, strings.TrimSpace(line), problem)
				}
			}
		}
	}
	if checked < 40 {
		t.Errorf("only %d commands found", checked)
	}
}

// parse follows words down the tree of commands and checks the flags.
func parse(c *cobra.Command, words []string) (problem string) {
	word := regexp.MustCompile(`^[a-z][a-z-]*$`)
	for i, w := range words {
		if name, isFlag := strings.CutPrefix(w, "--"); isFlag {
			name, _, _ = strings.Cut(name, "=")
			name = strings.TrimRight(name, "`.,:")
			if name != "help" && name != "" && c.Flags().Lookup(name) == nil &&
				c.InheritedFlags().Lookup(name) == nil &&
				c.PersistentFlags().Lookup(name) == nil {
				return c.CommandPath() + " has no flag --" + name
			}
			continue
		}
		names := strings.Split(w, "|") // for example show|status
		isNamed := func(s *cobra.Command) bool { return s.Name() == names[0] || s.HasAlias(names[0]) }
		at := slices.IndexFunc(c.Commands(), isNamed)
		switch {
		case at >= 0:
			c = c.Commands()[at]
		case c.HasSubCommands() && i == 0 && word.MatchString(w) && w != "help" && w != "completion":
			return "there is no command " + w
		case c.HasSubCommands() && word.MatchString(w) && !c.Runnable() && w != "help" && w != "completion":
			return c.CommandPath() + " has no command " + w
		}
	}
	return ""
}

var (
	variable = regexp.MustCompile(`\b(?:CAIRN|SKILLS?|OPENAI|OSS|MEM0)_[A-Z0-9_]*[A-Z0-9]\b`)
	setting  = regexp.MustCompile(`settings set ((?:[a-z_.]+=\S*[ \t]*)+)`)
	dotted   = regexp.MustCompile("`((?:[a-z_]+\\.)+[a-z_]+)(?:=[^`]*)?`")
)

func TestEveryActionOfTheAuditLogIsDocumented(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("operations/audit.md")
	testkit.Must(t, err)
	for _, a := range audit.Actions {
		if !strings.Contains(string(raw), "`"+string(a)+"`") {
			t.Errorf("%s is missing", a)
		}
	}
}

func TestEveryVariableAndSettingOfTheDocumentationExists(t *testing.T) {
	t.Parallel()
	known := sources(t)
	settings, err := os.ReadFile("reference/settings.md")
	testkit.Must(t, err)
	for _, p := range pages(t) {
		if p.path == "CHANGELOG.md" {
			continue
		}
		for _, name := range variable.FindAllString(p.text, -1) {
			if !known[name] {
				t.Errorf("%s: no program reads %s", p.path, name)
			}
		}
		for _, m := range dotted.FindAllStringSubmatch(p.prose(), -1) {
			group, _, _ := strings.Cut(m[1], ".")
			isSetting := strings.Contains(string(settings), "| `"+group+".") &&
				!slices.Contains(audit.Actions, audit.Action(m[1]))
			if isSetting && !strings.Contains(string(settings), "`"+m[1]) {
				t.Errorf("%s: there is no setting %s", p.path, m[1])
			}
		}
		for _, m := range setting.FindAllStringSubmatch(p.text, -1) {
			for _, pair := range strings.Fields(m[1]) {
				if name, _, _ := strings.Cut(pair, "="); !strings.Contains(string(settings), "`"+name+"`") {
					t.Errorf("%s: there is no setting %s", p.path, name)
				}
			}
		}
	}
}

// sources are the names of variables in Go and in the files of the deployment.
func sources(t *testing.T) map[string]bool {
	t.Helper()
	known := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, entry os.DirEntry, err error) error {
		if err != nil ||
			entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "bin" || entry.Name() == ".cairn") {
			return filepath.SkipDir
		}
		if ext := filepath.Ext(path); ext == ".go" || ext == ".yml" || ext == ".sh" {
			raw, err := os.ReadFile(path)
			if err != nil {
				return nil // removed meanwhile
			}
			for _, name := range variable.FindAllString(string(raw), -1) {
				known[name] = true
			}
		}
		return nil
	})
	testkit.Must(t, err)
	return known
}
