package offlinemodel

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"cairn/schemas"
)

// The size limit of this package and of what it reads transcripts with keeps the rules small. Comments and blank lines
// do not count.
func TestPackageStaysWithinItsBudget(t *testing.T) {
	t.Parallel()
	lines := 0
	for _, file := range append(sources(t, ""), sources(t, "../../domain/memoryrules/annotate_")...) {
		for line := range strings.Lines(file.text) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
				lines++
			}
		}
	}
	t.Logf("%d lines", lines)
	if lines == 0 || lines > 2000 {
		t.Errorf("%d lines of code of both, budget 2000", lines)
	}
	if len(answerers) > 36 {
		t.Errorf("%d answerers, budget 36", len(answerers))
	}
	if len(policies) > 12 {
		t.Errorf("%d tool policies, budget 12", len(policies))
	}
}

// Rules must not depend on the caller: no stage, schema name or request header.
func TestNothingDispatchesOnTheCaller(t *testing.T) {
	t.Parallel()
	for _, file := range append(sources(t, ""), sources(t, "../../domain/memoryrules/annotate_")...) {
		parsed, err := parser.ParseFile(token.NewFileSet(), file.name, file.text, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.BasicLit:
				text, _ := strconv.Unquote(node.Value)
				for _, stage := range schemas.ModelNames() {
					// "files" is also a property that replies have
					if text == stage && stage != "files" || strings.HasPrefix(text, "X-") {
						t.Errorf("%s: literal %q", file.name, text)
					}
				}
			case *ast.SelectorExpr:
				if owner, ok := node.X.(*ast.Ident); ok && owner.Name == "prompt" {
					for _, stage := range []string{"Stage", "Distill", "Segment", "Notes", "Extract", "ExtractSimple",
						"Files"} {
						if node.Sel.Name == stage {
							t.Errorf("%s: prompt.%s", file.name, stage)
						}
					}
				}
				if owner, ok := node.X.(*ast.Ident); ok && owner.Name == "r" && node.Sel.Name == "Header" {
					t.Errorf("%s: reads a request header", file.name)
				}
			}
			return true
		})
	}
}

type source struct{ name, text string }

// sources returns the files of Go whose paths begin with prefix, without tests.
func sources(t *testing.T, prefix string) []source {
	t.Helper()
	files, err := filepath.Glob(prefix + "*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files %s*.go: %v", prefix, err)
	}
	var out []source
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, source{file, string(text)})
	}
	return out
}
