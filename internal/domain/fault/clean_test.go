package fault_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"cairn/internal/domain/fault"
)

func TestCleanHidesTypesAndEscapesControlCharacters(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain\ttext\nof two lines, é 👩‍👩‍👧": "plain\ttext\nof two lines, é 👩‍👩‍👧",
		"a\x00b\x1b[2J\u0085\u202e":          `a\u0000b\u001b[2J\u0085\u202e`,
		"a\xffb":                             "a\uFFFDb",
		"a\xff\x00":                          "a\uFFFD\\u0000",
	} {
		if got := fault.Clean(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
	var v struct{ Name struct{ First string } }
	for in, want := range map[string]string{`{"Name":{"First":[]}}`: "x: Name.First: unexpected array; y",
		`3`: "x: unexpected number; y", `{"Name":1e999}`: "x: Name: unexpected number; y"} {
		err := json.Unmarshal([]byte(in), &v)
		if err == nil {
			t.Fatalf("%s was decoded", in)
		}
		if got := fault.Clean("x: " + err.Error() + "; y"); got != want {
			t.Errorf("%s is said to be %q, want %q: %v", in, got, want, err)
		}
	}
}

func TestCleanShortens(t *testing.T) {
	t.Parallel()
	got := fault.Clean(strings.Repeat("é", 50_000))
	if len(got) > 3100 || !strings.HasSuffix(got, "…") || !utf8.ValidString(got) || strings.Contains(got, "\uFFFD") {
		t.Errorf("%d bytes, valid: %t", len(got), utf8.ValidString(got))
	}
}
