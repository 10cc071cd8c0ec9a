package reference

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
)

// field is the description of a struct field in the source code.
type field struct {
	doc     string // comment of the field, on one line
	section string // latest comment between empty lines above the field
}

// fields returns the descriptions of the fields of all struct types in a folder, by "Type.Field".
func fields(folder string) (map[string]field, error) {
	files := token.NewFileSet()
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil, err
	}
	out := map[string]field{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(files, path, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if s, ok := spec.Type.(*ast.StructType); ok {
				describe(spec.Name.Name, s, file.Comments, out)
			}
			return false
		})
	}
	return out, nil
}

func describe(name string, s *ast.StructType, comments []*ast.CommentGroup, out map[string]field) {
	attached := map[*ast.CommentGroup]bool{}
	for _, f := range s.Fields.List {
		attached[f.Doc], attached[f.Comment] = true, true
	}
	for _, f := range s.Fields.List {
		section := ""
		for _, c := range comments {
			if c.Pos() > s.Pos() && c.Pos() < f.Pos() && !attached[c] {
				section = oneLine(c)
			}
		}
		doc := strings.TrimSpace(oneLine(f.Doc) + " " + oneLine(f.Comment))
		for _, id := range f.Names {
			out[name+"."+id.Name] = field{doc: doc, section: section}
		}
	}
}

func oneLine(c *ast.CommentGroup) string { return strings.Join(strings.Fields(c.Text()), " ") }
