package cli

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"cairn/internal/testkit"
)

var update = flag.Bool("update", false, "write the golden files of the help in testdata/help")

const helpFolder = "testdata/help"

// each calls fn for every command of the program.
func each(fn func(*cobra.Command)) {
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		fn(cmd)
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit((&cli{}).root())
}

// The help of each command is a golden file. To rewrite the files after a change, run
// `go test ./internal/app/cli -run Help -update`.
func TestHelpMatchesGoldenFiles(t *testing.T) {
	t.Parallel()
	stale := map[string]bool{}
	files, err := filepath.Glob(filepath.Join(helpFolder, "*.txt"))
	testkit.Must(t, err)
	for _, file := range files {
		stale[file] = true
	}
	each(func(cmd *cobra.Command) {
		var out, errs bytes.Buffer
		args := append(strings.Fields(cmd.CommandPath())[1:], "--help")
		if code := execute(t.Context(), args, []string{"CAIRN_CONFIG=" + os.DevNull}, strings.NewReader(""), &out,
			&errs); code != 0 {
			t.Fatalf("%s --help: exit %d: %s", cmd.CommandPath(), code, errs.String())
		}
		file := filepath.Join(helpFolder, strings.ReplaceAll(cmd.CommandPath(), " ", "_")+".txt")
		delete(stale, file)
		if *update {
			testkit.Must(t, os.MkdirAll(helpFolder, 0o755))
			testkit.Must(t, os.WriteFile(file, out.Bytes(), 0o644))
			return
		}
		want, err := os.ReadFile(file)
		if err != nil || !bytes.Equal(want, out.Bytes()) {
			t.Errorf("%s is stale (run this test with -update), %v; the help is now\n%s", file, err, out.String())
		}
	})
	for file := range stale {
		if *update {
			testkit.Must(t, os.Remove(file))
			continue
		}
		t.Errorf("%s belongs to no command", file)
	}
}

const longestShort = 60

var (
	// oddWords are the words that `make lint` rejects.
	oddWords = regexp.MustCompile(`(?i)\b(whoever|nobody|somebody|anybody|whence|lest|thus far|anew|beside|tells|` +
		`tell of|hears of|looked back on|comes to nothing|of ours|of one's own|for good|is no (object|key|date))\b`)
	shortFlag = regexp.MustCompile(`(^|\s)-[a-zA-Z]\b`)
	// zeroDefaults are defaults that cobra does not print.
	zeroDefaults = []string{"", "0", "0s", "[]", "false"}
)

func TestHelpFollowsTheWritingRules(t *testing.T) {
	t.Parallel()
	each(func(cmd *cobra.Command) {
		first, _ := utf8.DecodeRuneInString(cmd.Short)
		name, _, _ := strings.Cut(cmd.Short, " ")
		if n := utf8.RuneCountInString(cmd.Short); n == 0 || n > longestShort || strings.HasSuffix(cmd.Short, ".") ||
			!unicode.IsUpper(first) || strings.HasSuffix(name, "s") && name != "Process" {
			t.Errorf("%s: the summary %q has %d characters; write an imperative of at most %d without a period",
				cmd.CommandPath(), cmd.Short, n, longestShort)
		}
		if cmd.Example == "" && !cmd.HasSubCommands() {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
		if cmd.Parent() == cmd.Root() && cmd.GroupID == "" {
			t.Errorf("%s is in no group", cmd.CommandPath())
		}
		if found := shortFlag.FindString(cmd.Example); found != "" {
			t.Errorf("%s: use long flags in examples, not%s", cmd.CommandPath(), found)
		}
		for _, text := range []string{cmd.Short, cmd.Long, cmd.Example, cmd.LocalFlags().FlagUsages()} {
			if found := oddWords.FindString(text); found != "" {
				t.Errorf("%s: replace %q in %q", cmd.CommandPath(), found, text)
			}
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { checkFlag(t, cmd, f) })
	})
}

// checkFlag requires a usage text and a documented default.
func checkFlag(t *testing.T, cmd *cobra.Command, f *pflag.Flag) {
	t.Helper()
	if f.Usage == "" || strings.HasSuffix(f.Usage, ".") || strings.Contains(f.Usage, "`") {
		t.Errorf("%s --%s: usage %q", cmd.CommandPath(), f.Name, f.Usage)
	}
	for _, zero := range zeroDefaults {
		if f.DefValue == zero && f.Value.Type() != "bool" &&
			!regexp.MustCompile(`\((default|required)|; (0|empty) `).MatchString(f.Usage) {
			t.Errorf("%s --%s: %q does not document the default", cmd.CommandPath(), f.Name, f.Usage)
		}
	}
}
