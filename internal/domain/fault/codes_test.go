package fault_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"cairn/internal/domain/fault"
)

// declared parses the code constants from the source, because the compiler does not list them.
func declared(t *testing.T) map[fault.Code]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "codes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	out := map[fault.Code]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); !ok || kind.Name != "Code" {
			return false
		}
		for i, value := range spec.Values {
			code, err := strconv.Unquote(value.(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			if other, twice := out[fault.Code(code)]; twice {
				t.Errorf("%s and %s are both %q", other, spec.Names[i], code)
			}
			out[fault.Code(code)] = spec.Names[i].Name
		}
		return false
	})
	return out
}

func TestEveryCodeHasOneRow(t *testing.T) {
	t.Parallel()
	codes := declared(t)
	if len(codes) < 30 {
		t.Fatalf("found only %d codes", len(codes))
	}
	for code, name := range codes {
		if _, there := fault.Table[code]; !there {
			t.Errorf("%s has no row", name)
		}
	}
	spelling := regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
	for code, row := range fault.Table {
		if codes[code] == "" {
			t.Errorf("the row %q is of no code", code)
		}
		if !spelling.MatchString(string(code)) || row.HTTP < 400 || http.StatusText(row.HTTP) == "" || row.Exit < 1 ||
			row.Exit > 125 || row.Hint == "" {
			t.Errorf("%s: %+v", code, row)
		}
		again := []int{http.StatusServiceUnavailable, http.StatusTooManyRequests, http.StatusRequestTimeout}
		if row.Retryable && !slices.Contains(again, row.HTTP) {
			t.Errorf("%s: status %d does not say that trying again helps", code, row.HTTP)
		}
	}
}

// Codes that only HTTP uses have the statuses that HTTP defines.
func TestTheCodesOfHTTPHaveItsStatuses(t *testing.T) {
	t.Parallel()
	for code, status := range map[fault.Code]int{fault.Unauthenticated: http.StatusUnauthorized,
		fault.MethodNotAllowed: http.StatusMethodNotAllowed, fault.RateLimited: http.StatusTooManyRequests,
		fault.RequestTimeout: http.StatusRequestTimeout, fault.OutOfScope: http.StatusForbidden,
		fault.NotFound: http.StatusNotFound,
		fault.TooLarge: http.StatusRequestEntityTooLarge} {
		if fault.Table[code].HTTP != status {
			t.Errorf("%s is answered with %d, want %d", code, fault.Table[code].HTTP, status)
		}
	}
}
