package transcript_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"cairn/internal/domain/transcript"
)

func TestCleanOutputRemovesWhatOnlyATerminalNeeds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want string }{
		"colors": {"\x1b[1;31mred\x1b[0m \x1b]0;title\x07text", "red text"},
		"progress": {"begin\n 10% [=>    ] 1/7\n 42% [===>  ] 3/7\nGet 1 MB: 9%\nGet 3.5 MB: 99%\nend",
			"begin\n 42% [===>  ] 3/7\nGet 3.5 MB: 99%\nend"},
		"overwritten": {"1 of 3\r2 of 3\r3 of 3\ndone\r\n", "3 of 3\ndone\n"},
		"repetitions": {"a\nretry\nretry\nretry\nb\nb", "a\nretry\n[… the line above 2 more times …]\nb\n" +
			"[… the line above 1 more times …]"},
		"failed progress": {"40% done\n42% failed\n44% done", "40% done\n42% failed\n44% done"},
		"percentages":     {"Discount: 20%\nTax: 19%", "Discount: 20%\nTax: 19%"},
		"plain":           {"GET /healthz -> 502", "GET /healthz -> 502"},
		"JSON":            {"{\n  \"discount\": \"20 %\"\n}\n", `{"discount":"20 %"}`},
		"almost JSON":     {"{ \"a\": 1 } ok", "{ \"a\": 1 } ok"},
	} {
		if got := transcript.CleanOutput(c.in, 500); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestCleanOutputKeepsTheLinesAroundErrors(t *testing.T) {
	t.Parallel()
	var lines []string
	for i := range 400 {
		lines = append(lines, fmt.Sprintf("line %d of the log", i))
	}
	lines[200] = "checkout_test.go:41: error: got 502"
	got := transcript.CleanOutput(strings.Join(lines, "\n"), 600)
	for _, want := range []string{"line 0 of", "line 199 of", "got 502", "line 202 of", "line 399 of"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
	if n := utf8.RuneCountInString(got); n > 700 {
		t.Errorf("%d characters", n)
	}
	if transcript.CleanOutput("a\x1b[0m", 0) != "a\x1b[0m" {
		t.Error("without a limit, the text changes")
	}
}
