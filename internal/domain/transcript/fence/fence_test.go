package fence_test

import (
	"fmt"
	"strings"
	"testing"

	"cairn/internal/domain/transcript/fence"
)

func ExampleStrip() {
	fmt.Println(fence.Strip("before\n```sh\n# not a heading\n```\nafter"))
	// Output:
	// before
	// after
}

func TestScannerFindsFences(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		in   string // one letter a line: f inside a fence, . outside
	}{
		"plain":                       {"a\n```\nb\n```\nc", ".fff."},
		"longer closing":              {"```\nb\n`````\nc", "fff."},
		"shorter run does not close":  {"````\n```\n````\nc", "fff."},
		"other marker does not close": {"```\n~~~\n```\nc", "fff."},
		"info string":                 {"~~~ python x\nb\n~~~\nc", "fff."},
		"backtick in the info string": {"```a`b\nc", ".."},
		"inline code is no fence":     {"``x``\nc", ".."},
		"text after the closing run":  {"```\nb\n``` x\nc", "ffff"},
		"indented by three":           {"   ```\nb\n   ```\nc", "fff."},
		"indented code is no fence":   {"    ```\nb", ".."},
		"in a list item":              {"1. ```sh\n   # x\n   ```\n2. c", "fff."},
		"in a nested list item":       {"- 1. ```\n     b\n     ```\nc", "fff."},
		"unclosed runs to the end":    {"```\nb\nc", "fff"},
	} {
		t.Run(name, func(t *testing.T) {
			var s fence.Scanner
			got := ""
			for line := range strings.SplitSeq(c.text, "\n") {
				if s.Line(line) {
					got += "f"
				} else {
					got += "."
				}
			}
			if got != c.in {
				t.Errorf("got %s, want %s", got, c.in)
			}
		})
	}
}

func FuzzClosing(f *testing.F) {
	for _, seed := range []string{"```\nx", "1. ~~~~\n", "a\n  ```py\n", "- - ```"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var s fence.Scanner
		for line := range strings.SplitSeq(text, "\n") {
			s.Line(line)
		}
		if !s.Open() {
			return
		}
		if s.Line(s.Closing()); s.Open() {
			t.Errorf("%q stays open after its closing line", text)
		}
	})
}
