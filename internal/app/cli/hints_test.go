package cli

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"cairn/internal/app/config"
	"cairn/internal/domain/channel"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/settings"
	"cairn/internal/service/chatcommand"
	"cairn/internal/testkit"
)

const repository = "../../.."

// Everything that a hint names exists: commands, flags, environment variables, settings and routes.
func TestHintsNameOnlyWhatExists(t *testing.T) {
	t.Parallel()
	program := newVocabulary(t)
	checked := 0
	for code, row := range fault.Table {
		if row.Hint == "" {
			t.Errorf("%s has no hint", code)
		}
		checked += program.check(t, "fault.Table["+string(code)+"]", row.Hint)
	}
	for _, h := range sourceHints(t) {
		checked += program.check(t, h.where, h.text)
	}
	if checked < 50 {
		t.Errorf("only %d names were found in hints: the test no longer finds them", checked)
	}
}

func TestVocabularyRejectsUnknownNames(t *testing.T) {
	t.Parallel()
	program := newVocabulary(t)
	for _, c := range []struct {
		hint  string
		wrong int
	}{
		{"run `cairn doctor`, or `cairn runs retry --fresh 3`", 0},
		{"run `cairn skills view NAME -o text`; set CAIRN_MODEL; see GET /v1/skills/{id}", 0},
		{"run `cairn settings set limits.undo_days=3`", 0},
		{"run `cairn cure`, then `cairn runs retry --stale`", 2},
		{"start it with cairn keys invent", 1},
		{"set CAIRN_MODES, or run `cairn settings set limits.undo_hours=3`", 2},
		{"see /v1/skillz", 1},
	} {
		if wrong := program.unknown(c.hint); len(wrong) != c.wrong {
			t.Errorf("%q: %v", c.hint, wrong)
		}
	}
}

// hint is a hint in the source code, with … for parts that are not constant.
type hint struct{ where, text string }

// hintArguments are the positions of the hints of functions in package fault.
var hintArguments = map[string]int{"New": 2, "Wrap": 3}

// sourceHints collects the hints of fault.New and fault.Wrap, and those in fields named Hint.
func sourceHints(t *testing.T) (out []hint) {
	t.Helper()
	files := token.NewFileSet()
	testkit.Must(t, filepath.WalkDir(repository, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != repository && (strings.HasPrefix(d.Name(), ".") || d.Name() == "bin" ||
			d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if e := hintExpression(n); e != nil {
				out = append(out, hint{files.Position(e.Pos()).String(), constant(e)})
			}
			return true
		})
		return nil
	}))
	return out
}

func hintExpression(n ast.Node) ast.Expr {
	switch n := n.(type) {
	case *ast.KeyValueExpr:
		if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Hint" {
			return n.Value
		}
	case *ast.CallExpr:
		f, ok := n.Fun.(*ast.SelectorExpr)
		if !ok {
			return nil
		}
		pkg, ok := f.X.(*ast.Ident)
		if at, known := hintArguments[f.Sel.Name]; ok && known && pkg.Name == "fault" && len(n.Args) > at {
			return n.Args[at]
		}
	}
	return nil
}

// constant evaluates the constant parts of a string expression.
func constant(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		if err == nil {
			return text
		}
	case *ast.BinaryExpr:
		return constant(e.X) + constant(e.Y)
	case *ast.ParenExpr:
		return constant(e.X)
	case *ast.CallExpr: // fmt.Sprintf
		if len(e.Args) > 0 {
			return regexp.MustCompile(`%[a-z]`).ReplaceAllString(constant(e.Args[0]), "…")
		}
	}
	return "…"
}

// vocabulary is what hints can name.
type vocabulary struct {
	root      *cobra.Command
	variables map[string]bool
	settings  []string
	routes    []string
}

func newVocabulary(t *testing.T) *vocabulary {
	t.Helper()
	v := &vocabulary{root: Command(), variables: map[string]bool{"TEMPORAL_": true}}
	for _, other := range config.Others() {
		v.variables[other.Name] = true
	}
	for _, s := range (config.Config{}).Settings() {
		v.variables[s.Name] = true
	}
	v.settings = settingNames("", reflect.TypeFor[settings.Document]())
	raw, err := os.ReadFile(filepath.Join(repository, "schemas/openapi.json"))
	testkit.Must(t, err)
	var document struct{ Paths map[string]any }
	testkit.Must(t, json.Unmarshal(raw, &document))
	for path := range document.Paths {
		v.routes = append(v.routes, path)
	}
	v.routes = append(v.routes, "/openapi.json", "/metrics", "/mcp", "/codec", "/mem0", "/etc/passwd")
	v.routes = append(v.routes, mem0Routes(t)...)
	return v
}

// mem0Routes returns the routes of mem0's API, which the OpenAPI document does not contain.
func mem0Routes(t *testing.T) (out []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(repository, "internal/gateway/mem0api/*.go"))
	testkit.Must(t, err)
	for _, file := range files {
		raw, err := os.ReadFile(file)
		testkit.Must(t, err)
		for _, m := range regexp.MustCompile(`"(?:[A-Z]+ )?(/[a-z0-9][^" ]*)"`).FindAllStringSubmatch(string(raw), -1) {
			out = append(out, m[1])
		}
	}
	return out
}

// settingNames lists the dotted names of a settings document and their prefixes.
func settingNames(path string, t reflect.Type) (out []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous:
			out = append(out, settingNames(path, f.Type)...)
		case name == "-" || name == "":
		default:
			out = append(out, path+name)
			if f.Type.Kind() == reflect.Struct {
				out = append(out, settingNames(path+name+".", f.Type)...)
			}
		}
	}
	return out
}

var (
	commandInHint  = regexp.MustCompile("`cairn ([^`]+)`|\\bcairn ([a-z][^`;,:()]*)")
	variableInHint = regexp.MustCompile(`\b(CAIRN|SKILLS?|OPENAI|OSS|TEMPORAL|PUBLIC|MEM0|DATABASE)_[A-Z0-9_]*`)
	settingInHint  = regexp.MustCompile(
		`\b(nudge|limits|memory|curation|quiet_hours|tools|write_approval)\.[a-z_]+(\.[a-z_]+)*`)
	routeInHint = regexp.MustCompile(`(^|[ (])(/[a-z][a-z0-9_.-]*(/[a-z0-9_{}…]+)*)`)
	assignment  = regexp.MustCompile(`^([a-z_.]+)=`)
)

// check reports unknown names in a hint and returns the number of names that it found.
func (v *vocabulary) check(t *testing.T, where, text string) int {
	t.Helper()
	for _, wrong := range v.unknown(text) {
		t.Errorf("%s: %s in the hint %q", where, wrong, text)
	}
	return len(commandInHint.FindAllString(text, -1)) + len(variableInHint.FindAllString(text, -1)) +
		len(settingInHint.FindAllString(text, -1)) + len(routeInHint.FindAllString(text, -1))
}

func (v *vocabulary) unknown(text string) (wrong []string) {
	for _, m := range commandInHint.FindAllStringSubmatch(text, -1) {
		if err := v.command(words(m[1]+m[2]), m[1] != ""); err != nil {
			wrong = append(wrong, err.Error())
		}
	}
	for _, name := range variableInHint.FindAllString(text, -1) {
		if !v.variables[name] {
			wrong = append(wrong, "unknown variable "+name)
		}
	}
	for _, name := range settingInHint.FindAllString(text, -1) {
		if !slices.Contains(v.settings, name) && !strings.HasSuffix(name, ".md") {
			wrong = append(wrong, "unknown setting "+name)
		}
	}
	for _, m := range routeInHint.FindAllStringSubmatch(text, -1) {
		if slices.ContainsFunc(chatcommand.All(), func(c channel.Command) bool { return "/"+c.Name == m[2] }) {
			continue // a command of chats
		}
		if !slices.ContainsFunc(v.routes, func(route string) bool { return sameRoute(route, m[2]) }) {
			wrong = append(wrong, "unknown route "+m[2])
		}
	}
	slices.Sort(wrong)
	return slices.Compact(wrong)
}

// command checks the words after cairn: the command, its flags and the settings that it sets. A whole command has
// all arguments that it needs; others are named in passing.
func (v *vocabulary) command(args []string, whole bool) error {
	cmd := v.root
	for len(args) > 0 && cmd.HasSubCommands() {
		next := slices.IndexFunc(cmd.Commands(), func(c *cobra.Command) bool { return c.Name() == args[0] })
		if next < 0 {
			if strings.HasPrefix(args[0], "-") || strings.Contains(cmd.Use, " ") { // it takes arguments, too
				break
			}
			return fmt.Errorf("unknown command %s %s", cmd.CommandPath(), args[0])
		}
		cmd, args = cmd.Commands()[next], args[1:]
	}
	for _, arg := range args {
		name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if strings.HasPrefix(arg, "-") && arg != "-" && !hasFlag(cmd, name) {
			return fmt.Errorf("%s has no flag %s", cmd.CommandPath(), arg)
		}
		if m := assignment.FindStringSubmatch(arg); m != nil && cmd.CommandPath() == "cairn settings set" &&
			!slices.Contains(v.settings, m[1]) {
			return fmt.Errorf("unknown setting %s", m[1])
		}
	}
	if !whole || cmd.Args == nil {
		return nil
	}
	fresh, rest, err := Command().Find(append(strings.Fields(strings.TrimPrefix(cmd.CommandPath(), "cairn")), args...))
	if err != nil || fresh.ParseFlags(rest) != nil { // a placeholder may not be a value of its flag
		return nil
	}
	return fresh.Args(fresh, fresh.Flags().Args())
}

func hasFlag(cmd *cobra.Command, name string) bool {
	found := false
	for _, set := range []*pflag.FlagSet{cmd.Flags(), cmd.InheritedFlags()} {
		found = found || set.Lookup(name) != nil || len(name) == 1 && set.ShorthandLookup(name) != nil
	}
	return found
}

// sameRoute compares routes segment by segment. A parameter of route matches any segment.
func sameRoute(route, named string) bool {
	return slices.EqualFunc(strings.Split(route, "/"), strings.Split(strings.TrimSuffix(named, "."), "/"),
		func(segment, other string) bool { return segment == other || strings.HasPrefix(segment, "{") })
}
