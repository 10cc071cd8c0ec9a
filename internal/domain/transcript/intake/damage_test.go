package intake_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/transcript/intake"
)

// placed matches errors that state a place or a format.
var placed = regexp.MustCompile(`^[\w-]+: [^:]+(:\d+:\d+)?: |^[^:]+: (unknown format|empty|no messages|two formats)`)

func TestCutSamplesGiveAPlacedErrorOrAReport(t *testing.T) {
	for path, data := range samples(t) {
		t.Run(path, func(t *testing.T) {
			const cuts = 200
			for i := range cuts {
				at := len(data) * i / cuts
				result, err := intake.Read(filepath.Base(path), bytes.NewReader(data[:at]), intake.Options{})
				if err == nil {
					if result.Report.Messages == 0 {
						t.Errorf("cut at %d: no error, and no messages", at)
					}
					continue
				}
				var f *fault.Error
				if !errors.As(err, &f) || f.Hint == "" || !placed.MatchString(err.Error()) {
					t.Errorf("cut at %d: %v", at, err)
				}
			}
		})
	}
}

func TestATornLastLineIsAWarningAndOtherBadLinesAreErrors(t *testing.T) {
	data := samples(t)["testdata/claude-code/sample.jsonl"]
	torn := bytes.TrimRight(data, "\n")
	torn = torn[:len(torn)-10]
	result, err := intake.Read("s.jsonl", bytes.NewReader(torn), intake.Options{})
	if err != nil || len(result.Report.Warnings) != 1 || !strings.Contains(result.Report.Warnings[0],
		"s.jsonl:20: the last line is cut off") {
		t.Errorf("%v %q", err, result.Report.Warnings)
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	lines[4] = append(bytes.TrimSuffix(lines[4], []byte("}\n")), '\n')
	_, err = intake.Read("s.jsonl", bytes.NewReader(bytes.Join(lines, nil)), intake.Options{})
	if err == nil || !regexp.MustCompile(`^claude-code: s.jsonl:5:\d+: not valid JSON`).MatchString(err.Error()) {
		t.Errorf("got %v", err)
	}
}

func TestAFileOfTwoFormatsIsAnErrorThatNamesBoth(t *testing.T) {
	all := samples(t)
	claude, codex := all["testdata/claude-code/sample.jsonl"], all["testdata/codex/sample.jsonl"]
	openAI := `{"role":"assistant","content":"a","tool_calls":[{"id":"1","function":{"name":"f","arguments":"{}"}}]}`
	anthropic := `{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{}}]}`
	for name, input := range map[string]string{
		"claude-code and codex":     string(claude) + string(codex),
		"codex and claude-code":     string(codex) + string(claude),
		"claude-code, then codex":   strings.Repeat(string(claude), 200) + string(codex),
		"openai-chat and anthropic": "[" + openAI + "," + anthropic + "]",
		"anthropic and openai-chat": `{"messages":[` + openAI + "," + anthropic + "]}",
	} {
		_, err := intake.Read("in", strings.NewReader(input), intake.Options{})
		if err == nil || !strings.Contains(err.Error(), "two formats in one file") {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, format := range regexp.MustCompile(`[a-z]+-?[a-z]+`).FindAllString(name, -1) {
			if format != "and" && format != "then" && !strings.Contains(err.Error(), format) {
				t.Errorf("%s: %v does not name %s", name, err, format)
			}
		}
	}
}

func TestUnknownInputListsItsKeysAndTheNearestFormats(t *testing.T) {
	_, err := intake.Read("x.json", strings.NewReader(`{"contentz": 1, "payload": {}, "timestamp": 7}`),
		intake.Options{})
	var f *fault.Error
	if !errors.As(err, &f) || err.Error() != "x.json: unknown format: keys contentz, payload, timestamp" ||
		!strings.Contains(f.Hint, "codex") {
		t.Fatalf("%v", err)
	}
	if !intake.IsUnknown(err) {
		t.Error("not marked as unknown")
	}
}

func TestPartsOfUnknownKindsAreKeptAndRefusedAboveFivePercent(t *testing.T) {
	const odd = `{"role":"user","content":[{"type":"hologram","beam":"blue"}]},`
	many := strings.Repeat(`{"role":"user","content":"x"},`, 60)
	for share, input := range map[string]string{"few": "[" + odd + strings.TrimSuffix(many, ",") + "]",
		"many": "[" + strings.TrimSuffix(odd, ",") + "]"} {
		o := intake.Options{Format: intake.OpenAIChat}
		result, err := intake.Read("in", strings.NewReader(input), o)
		if share == "many" {
			if err == nil || !strings.Contains(err.Error(), "1 of 2 parts are of unknown kinds: 1 hologram") {
				t.Errorf("got %v", err)
			}
			o.AllowUnknown = true
			result, err = intake.Read("in", strings.NewReader(input), o)
		}
		if err != nil {
			t.Fatalf("%s: %v", share, err)
		}
		if m := result.Conversations[0].Messages[0]; m.Content != `{"type":"hologram","beam":"blue"}` ||
			result.Report.Unknown["hologram"] != 1 {
			t.Errorf("%s: %+v %+v", share, m, result.Report)
		}
	}
}

func TestFormatCanBeForced(t *testing.T) {
	plain := `[{"role":"user","content":"hi"}]`
	result, err := intake.Read("in", strings.NewReader(plain), intake.Options{Format: "anthropic"})
	if err != nil || result.Report.Format != "anthropic" {
		t.Errorf("%v %+v", err, result.Report)
	}
	if _, err = intake.Read("in", strings.NewReader(plain), intake.Options{Format: "nonsense"}); err == nil ||
		!strings.Contains(err.Error(), `unknown format "nonsense"`) {
		t.Errorf("got %v", err)
	}
}

func TestDatabasesAndMsgpackAreRefusedWithTheExport(t *testing.T) {
	for input, want := range map[string]string{"SQLite format 3\x00": "hermes sessions export", "\x85\xa1v": "dumps"} {
		_, err := intake.Read("state.db", strings.NewReader(input), intake.Options{})
		var f *fault.Error
		if !errors.As(err, &f) || !strings.Contains(f.Hint, want) {
			t.Errorf("%q: %v", input, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	for path, data := range samples(f) {
		f.Add(formatOf(path), data)
		f.Add("", data)
	}
	f.Fuzz(func(t *testing.T, format string, data []byte) {
		result, err := intake.Read("in", bytes.NewReader(data), intake.Options{Format: format, Limit: 1 << 20})
		if err != nil {
			var known *fault.Error
			if !errors.As(err, &known) {
				t.Fatalf("%v is no error for users", err)
			}
			return
		}
		messages := 0
		for _, c := range result.Conversations {
			messages += len(c.Messages)
		}
		if messages == 0 || messages != result.Report.Messages || result.Report.Answered > result.Report.Calls {
			t.Fatalf("%d messages, report %+v", messages, result.Report)
		}
	})
}
