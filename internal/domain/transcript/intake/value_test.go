package intake_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/transcript/intake"
)

func TestBeginningHasWhatComesBeforeTheCut(t *testing.T) {
	t.Parallel()
	object := func(name string, value any) map[string]any { return map[string]any{name: value} }
	for head, want := range map[string][]any{
		"":                           {nil},
		`{"a":1} {"b":"x`:            {object("a", 1.0), object("b", "")},
		`[{"a":1},{"b":{"c":["d",`:   {[]any{object("a", 1.0), object("b", object("c", []any{"d", nil}))}},
		`{"a":1,"a":2,"b":3`:         {map[string]any{"a": 2.0, "b": 3.0}},
		`{"a":"\ud800"} } {"b":"x"}`: {object("a", "\ufffd"), nil},
	} {
		if got := slices.Collect(intake.Beginning([]byte(head))); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %#v", head, got)
		}
	}
}

func TestValuesKnowTheirPlaces(t *testing.T) {
	t.Parallel()
	const input = "\n {\"a/b\": [1,\n {\"c~\": \"\\ud800\\u0000\"}], \"x\": 1, \"x\": 2}"
	s := intake.NewJSONSource("in", strings.NewReader(input), 1<<20, 1<<10, "")
	err := s.Values(func(v intake.JSONValue) error {
		for i, item := range v.Get("a/b").Items() {
			if i != 1 {
				continue
			}
			c := item.Get("c~")
			if c.Pointer() != "/a~1b/1/c~0" || c.Line() != 3 || c.Str() != "\ufffd\ufffd" {
				t.Errorf("%s, line %d: %q", c.Pointer(), c.Line(), c.Str())
			}
			if err := s.Bad(c, "odd"); err.Error() != "input: in:3:9: odd" {
				t.Error(err)
			}
		}
		if x := v.Get("x"); x.Str() != "2" {
			t.Errorf("the last of two members is %q", x.Str())
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestALineHasOneValue(t *testing.T) {
	t.Parallel()
	s := intake.NewJSONSource("in", strings.NewReader("{}\n{} {}\n"), 1<<20, 1<<10, "")
	err := s.Values(func(intake.JSONValue) error { return nil })
	if err == nil || err.Error() != "input: in:2:4: not valid JSON: text after the value" {
		t.Error(err)
	}
}
