package intake_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cairn/internal/domain/transcript/intake"
)

func TestOneSessionInSevenFormatsIsOneTranscript(t *testing.T) {
	want := strings.Join([]string{
		"user | Repair the test.", `assistant | I run it. | run#c1({"cmd":"go test"})`, "tool name=run #c1 | FAIL",
		"assistant | Repaired.", "user | Thanks."}, "\n")
	paths, err := filepath.Glob("testdata/same/*.json")
	if err != nil || len(paths) != 7 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		format := strings.TrimSuffix(filepath.Base(path), ".json")
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		result, err := intake.Read("session", bytes.NewReader(data), intake.Options{})
		if err != nil {
			t.Fatalf("%s: %v", format, err)
		}
		if result.Report.Format != format || len(result.Conversations) != 1 {
			t.Errorf("%s: read as %s, %d conversations", format, result.Report.Format, len(result.Conversations))
		}
		var lines []string
		for _, m := range result.Conversations[0].Messages {
			m.ID, m.Model = "", ""
			m.Time = m.Time.AddDate(-m.Time.Year()+1, -int(m.Time.Month())+1, -m.Time.Day()+1).Truncate(24 * 3600e9)
			lines = append(lines, line(m))
		}
		if got := strings.Join(lines, "\n"); got != want {
			t.Errorf("%s:\n%s", format, got)
		}
	}
}
