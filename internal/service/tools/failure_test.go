package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/service/tools"
)

// A model reads an error again with each later request, so every error is short, however long its parts are.
func TestEveryErrorOfAToolIsShort(t *testing.T) {
	t.Parallel()
	const most = 300
	long := strings.Repeat(`a "quoted" word of 漢字 `, 200)
	extras := map[string]any{"": nil, "closest": []string{"a line", long, long}, "preview": long, "size": 12,
		"matches": []memory.Hit{{ID: "0123456789abcdef", Text: "a memory in the prompt"}},
		"nearest": []string{"one", "two"}}
	for code := range fault.Table {
		for _, message := range []string{"short", long} {
			for _, hint := range []string{"", "a hint", long} {
				for name, extra := range extras {
					f := fault.New(code, message, hint)
					if name != "" {
						f = f.With(name, extra)
					}
					for _, r := range []tools.Result{tools.Failure(f), tools.Terminal(tools.Failure(f))} {
						checkShort(t, string(r.JSON), most)
						if strings.Contains(string(r.JSON), "a memory in the prompt") {
							t.Fatalf("repeats what the prompt has: %s", r.JSON)
						}
					}
				}
			}
		}
	}
	for _, why := range []agent.SkipReason{agent.SkipBudget, agent.SkipWallClock, agent.SkipGuardrail,
		agent.SkipRepeated, agent.SkipInterrupted, agent.SkipUnknownTool, agent.SkipArguments, agent.SkipTimeout,
		agent.SkipUntaken, agent.SkipUnknown} {
		checkShort(t, agent.Answers([]agent.Call{{Tool: long}}, nil, why)[0].Content, most)
	}
}

// checkShort requires an error with a message and a code.
func checkShort(t *testing.T, text string, most int) {
	t.Helper()
	var envelope struct {
		OK    *bool
		Error struct {
			Code    fault.Code
			Message string
		}
	}
	if err := json.Unmarshal([]byte(text), &envelope); err != nil || envelope.OK == nil || *envelope.OK ||
		envelope.Error.Code == "" || envelope.Error.Message == "" {
		t.Fatalf("%v: %s", err, text)
	}
	if n := utf8.RuneCountInString(text); n > most {
		t.Fatalf("%d characters: %s", n, text)
	}
}

func TestAnUnknownToolListsNoTools(t *testing.T) {
	t.Parallel()
	var all []tools.Tool
	for i := range 60 {
		one, err := tools.New(agent.ToolSpec{Name: fmt.Sprintf("a_tool_with_a_name_%d", i),
			Origins: []agent.Origin{agent.OriginAgent}},
			func(_ context.Context, _ agent.Actor, in struct{}) (struct{}, error) { return in, nil })
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	r, err := tools.NewRegistry(all...)
	if err != nil {
		t.Fatal(err)
	}
	for _, origin := range []agent.Origin{agent.OriginAgent, agent.OriginNudge} {
		for _, name := range []string{"memory_sav", strings.Repeat("x", 5000), "a_tool_with_a_name_1"} {
			out, err := r.Call(t.Context(), agent.Actor{Origin: origin}, name, nil)
			if err != nil {
				t.Fatal(err)
			}
			if !out.OK {
				checkShort(t, string(out.JSON), 300)
			}
			if strings.Contains(string(out.JSON), "a_tool_with_a_name_2") {
				t.Errorf("repeats the tools of the request: %s", out.JSON)
			}
		}
	}
}

// Errors of services and of the domain reach people, too, who have no tools: their texts name none.
func TestErrorsForPeopleNameNoTools(t *testing.T) {
	t.Parallel()
	names := toolNames(t)
	if len(names) < 25 {
		t.Fatalf("found only %d tools: %v", len(names), names)
	}
	checked := 0
	for _, root := range []string{"../../domain", "../../service"} {
		eachFile(t, root, func(path string, file *ast.File) {
			if strings.Contains(path, "service/tools/") || strings.Contains(path, "domain/prompt/") {
				return
			}
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || !makesFault(call) {
					return true
				}
				for _, text := range literals(call) {
					checked++
					for _, name := range names {
						if slices.Contains(strings.FieldsFunc(text, notInName), name) {
							t.Errorf("%s: %q names the tool %s", path, text, name)
						}
					}
				}
				return true
			})
		})
	}
	if checked < 500 {
		t.Errorf("checked only %d texts", checked)
	}
}

func notInName(r rune) bool { return r != '_' && (r < 'a' || r > 'z') }

func makesFault(call *ast.CallExpr) bool {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	of, ok := f.X.(*ast.Ident)
	return ok && of.Name == "fault" && slices.Contains([]string{"New", "Newf", "Wrap"}, f.Sel.Name)
}

// literals returns the texts in an expression.
func literals(in ast.Node) (out []string) {
	ast.Inspect(in, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			if text, err := strconv.Unquote(l.Value); err == nil {
				out = append(out, text)
			}
		}
		return true
	})
	return out
}

// toolNames returns the names in the specifications of this package, which have an underscore.
func toolNames(t *testing.T) (out []string) {
	t.Helper()
	out = slices.Clone(tools.ProgressiveNames)
	eachFile(t, ".", func(_ string, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			field, ok := n.(*ast.KeyValueExpr)
			if !ok {
				return true
			}
			if key, ok := field.Key.(*ast.Ident); ok && key.Name == "Name" {
				for _, name := range literals(field.Value) {
					if strings.Contains(name, "_") {
						out = append(out, name)
					}
				}
			}
			return true
		})
	})
	slices.Sort(out)
	return slices.Compact(out)
}

func eachFile(t *testing.T, root string, look func(path string, file *ast.File)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err == nil {
			look(filepath.ToSlash(path), file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
