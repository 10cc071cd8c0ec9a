package workingmemory_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/lang"
	"cairn/internal/domain/transcript"
	"cairn/internal/domain/workingmemory"
)

// long returns a thread of sixty messages: parallel calls with results of 200 KB each, then an
// ordinary last turn.
func long() []transcript.Message {
	ms := []transcript.Message{{Role: transcript.System, Content: "You help with deployments."}}
	for n := 0; len(ms) < 56; n++ {
		ms = append(ms, transcript.Message{Role: transcript.User,
			Content: fmt.Sprintf("Please check service number %d and its neighbour in region eu-west.", n)})
		calls := transcript.Message{Role: transcript.Assistant}
		for k := range 2 {
			calls.ToolCalls = append(calls.ToolCalls,
				transcript.ToolCall{ID: fmt.Sprintf("call-%d-%d", n, k), Name: "read_log",
					Arguments: fmt.Sprintf(`{"service":%d}`, n+k)})
		}
		ms = append(ms, calls)
		for k := range 2 {
			ms = append(ms, transcript.Message{Role: transcript.Tool, Name: "read_log",
				ToolCallID: fmt.Sprintf("call-%d-%d", n, k), Content: log(n, k)})
		}
		ms = append(ms, transcript.Message{Role: transcript.Assistant,
			Content: fmt.Sprintf("Service %d answers on port %d.", n, 8000+n)})
	}
	return append(ms,
		transcript.Message{Role: transcript.User, Content: "And which port did service number 3 have?"},
		transcript.Message{Role: transcript.Assistant,
			ToolCalls: []transcript.ToolCall{{ID: "last", Name: "read_log", Arguments: `{"service":3}`}}},
		transcript.Message{Role: transcript.Tool, Name: "read_log", ToolCallID: "last", Content: log(3, 0)},
		transcript.Message{Role: transcript.Assistant, Content: "Port 8003."})
}

// log returns a tool result of 200 KB with one informative line.
func log(n, k int) string {
	line := fmt.Sprintf("2026-03-01T10:00:00Z service %d-%d handled a request in 12 ms\n", n, k)
	text := strings.Repeat(line, 200_000/len(line)/2)
	return text + fmt.Sprintf("listening on port %d, build Quokka-%d-%d\n", 8000+n+k, n, k) + text
}

func options(t *testing.T, o workingmemory.Options) workingmemory.Options {
	t.Helper()
	o, err := o.Complete()
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// check verifies what every endpoint requires of messages: each call is followed by its result, and
// each result has its call.
func check(t *testing.T, ms []transcript.Message) {
	t.Helper()
	open := map[string]bool{}
	for i, m := range ms {
		if m.Role == transcript.Tool {
			if !open[m.ToolCallID] {
				t.Errorf("message %d is the result of no call", i)
			}
			delete(open, m.ToolCallID)
			continue
		}
		if len(open) > 0 {
			t.Errorf("message %d comes before the results of %v", i, open)
		}
		for _, c := range m.ToolCalls {
			open[c.ID] = true
		}
	}
	if len(open) > 0 {
		t.Errorf("calls %v have no result", open)
	}
}

// lastTurn returns the last user message and everything after it.
func lastTurn(ms []transcript.Message) []transcript.Message {
	for i := len(ms) - 1; ; i-- {
		if ms[i].Role == transcript.User {
			return ms[i:]
		}
	}
}

func same(a, b []transcript.Message) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

// A17, without a model.
func TestCompactKeepsCallsWithTheirResultsAndTheLastTurn(t *testing.T) {
	t.Parallel()
	ms := long()
	if len(ms) != 60 {
		t.Fatalf("%d messages", len(ms))
	}
	for _, keep := range []int{0, 1, 3, 10, 31, 59, 60, 61} {
		o := options(t, workingmemory.Options{KeepRecent: keep, Preview: -1})
		out, away := workingmemory.Compact(ms, o)
		check(t, out)
		if len(out) != len(ms) || !same(lastTurn(out), lastTurn(ms)) || !same(ms, long()) {
			t.Fatalf("keep %d: messages were lost, or the last turn or the input was changed", keep)
		}
		if keep <= 10 && (workingmemory.Tokens(out) >= workingmemory.Tokens(ms)/5 || len(away) < 20) {
			t.Errorf("keep %d: %d tokens of %d, %d put away", keep, workingmemory.Tokens(out), workingmemory.Tokens(ms),
				len(away))
		}
		byHandle := map[string]workingmemory.Blob{}
		for _, b := range away {
			byHandle[b.Handle()] = b
		}
		for i, m := range out {
			if h := workingmemory.Pointed(m.Content); h != "" {
				out[i].Content = byHandle[h].Content
			}
		}
		if !same(out, ms) {
			t.Errorf("keep %d: what was put away does not restore the thread", keep)
		}
	}
	o := options(t, workingmemory.Options{KeepRecent: -1, Preview: -1})
	once, _ := workingmemory.Compact(ms, o)
	if twice, away := workingmemory.Compact(once, o); !same(once, twice) || len(away) != 0 {
		t.Error("compacting again changed something")
	}
	if out, away := workingmemory.Compact(ms[:1], o); !same(out, ms[:1]) || len(away) != 0 {
		t.Error("a short thread was changed")
	}
}

func TestGroupsPartNoCallFromItsResults(t *testing.T) {
	t.Parallel()
	ms := long()
	for _, size := range []int{200, 150_000, 1_000_000} {
		for _, keep := range []int{0, 7, 30} {
			groups, err := workingmemory.Groups(ms,
				options(t, workingmemory.Options{KeepRecent: keep, GroupTokens: size}))
			if err != nil || len(groups) == 0 {
				t.Fatalf("%v, %v", groups, err)
			}
			texts := make([]string, len(groups))
			at := 1 // after the instructions
			for i, g := range groups {
				texts[i] = "record of " + g.Blob.Label
				part, err := g.Blob.Messages()
				if err != nil || !same(part, ms[g.From:g.To]) || g.From != at {
					t.Fatalf("group %d from %d: %v", i, g.From, err)
				}
				check(t, part)
				at = g.To
			}
			out := workingmemory.Compressed(ms, groups, texts)
			check(t, out)
			if !same(lastTurn(out), lastTurn(ms)) || out[0].Role != transcript.System ||
				workingmemory.Tokens(out) >= workingmemory.Tokens(ms) {
				t.Errorf("size %d keep %d: %d messages", size, keep, len(out))
			}
		}
	}
}

// A model's reply is accepted only if it is a snapshot of the messages.
func TestASnapshotHasToBeOne(t *testing.T) {
	t.Parallel()
	of := []transcript.Message{{Role: transcript.User, Content: "Please move the Reykjavik booking of Ólafur to the " +
		"14th of May, and tell the hotel about his allergy to walnuts."},
		{Role: transcript.Assistant, Content: "Moved to the 14th of May. The hotel Borg knows about the walnuts " +
			"now. The old booking RX-2219 was given back without a fee."},
		{Role: transcript.User, Content: "Good. 请把发票寄给雷克雅未克的会计部门，不要寄给他本人。"}}
	good := `{"goal":"Move Ólafur's Reykjavik booking to 14 May","key_facts":["allergy to ` +
		`walnuts"],"recent_actions":["booking RX-2219 given back"],"pending":[]}`
	s, err := workingmemory.ReadSnapshot(good, of)
	if err != nil {
		t.Fatalf("a good one: %v", err)
	}
	text := s.Render("en", "offload://x", 3)
	for _, want := range []string{"3 messages", "offload://x", "- allergy to walnuts", "Done:"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
	if zh := s.Render("zh", "offload://x", 3); !strings.Contains(zh, "3 条消息") {
		t.Error(zh)
	}
	if _, err := workingmemory.ReadSnapshot(
		`{"goal":"发票寄给会计部门","key_facts":["雷克雅未克"],"recent_actions":[],"pending":[]}`, of); err != nil {
		t.Errorf("a Chinese one: %v", err)
	}
	longer, _ := json.Marshal(map[string]any{"goal": "Move the Reykjavik booking",
		"key_facts": []string{strings.Repeat("walnuts again ", 200)}, "recent_actions": []string{},
		"pending": []string{}})
	for name, bad := range map[string]string{
		"empty": " ", "hello": "hello", "hello in shape": `{"goal":"hello","key_facts":["hello"],` +
			`"recent_actions":[],"pending":[]}`,
		"nothing in shape": `{"goal":"","key_facts":[],"recent_actions":[],"pending":[]}`,
		"goal alone":       `{"goal":"Move the Reykjavik booking","key_facts":[" "],"recent_actions":[],"pending":[]}`,
		"another schema":   `{"summary":"Reykjavik booking"}`,
		"wrong types":      `{"goal":"Reykjavik","key_facts":"walnuts","recent_actions":[],"pending":[]}`, "list": `[]`,
		"cut off": good[:40], "two": good + good,
		"error": `{"goal":"Error: 429 rate limit exceeded for the booking model","key_facts":["retry ` +
			`later"],"recent_actions":[],"pending":[]}`,
		"apology": `{"goal":"I'm sorry, I cannot help with this ` +
			`booking","key_facts":["Reykjavik"],"recent_actions":[],"pending":[]}`,
		"longer": string(longer),
	} {
		if s, err := workingmemory.ReadSnapshot(bad, of); err == nil {
			t.Errorf("%s was taken as %+v", name, s)
		}
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	text := "alpha\nBeta one\ngamma\nbeta TWO\ndelta\nbeta.three\n" + strings.Repeat("x", 950) + "needle" +
		strings.Repeat("y", 500) + "needle"
	find := func(p workingmemory.Pattern) workingmemory.Hits {
		t.Helper()
		f, err := workingmemory.NewFinder(p)
		if err != nil {
			t.Fatal(err)
		}
		f.Look("h", "", text)
		return f.Found()
	}
	got := find(workingmemory.Pattern{Pattern: "BETA", Before: 1, After: 1, Limit: 2})
	if got.Total != 3 || len(got.Hits) != 2 || *got.NextOffset != 2 || got.Hits[0].Line != 2 ||
		got.Hits[1].Text != "beta TWO" || !slices.Equal(got.Hits[1].Before, []string{"gamma"}) ||
		!slices.Equal(got.Hits[1].After, []string{"delta"}) {
		t.Errorf("%+v", got)
	}
	if got := find(workingmemory.Pattern{Pattern: "beta", Offset: 2, Limit: 2}); len(got.Hits) != 1 ||
		got.NextOffset != nil || got.Hits[0].Line != 6 {
		t.Errorf("the next page: %+v", got)
	}
	if got := find(workingmemory.Pattern{Pattern: "a.o", Limit: 9}); got.Total != 0 {
		t.Errorf("a literal was taken as an expression: %+v", got)
	}
	if got := find(workingmemory.Pattern{Pattern: `^beta\.t`, Regex: true, Limit: 9}); got.Total != 1 ||
		got.Hits[0].Line != 6 {
		t.Errorf("an expression: %+v", got)
	}
	if got := find(workingmemory.Pattern{Pattern: "needle", Limit: 9}); got.Total != 2 || got.Hits[0].Line != 9 ||
		got.Hits[1].Line != 10 || len(got.Hits[0].Text) > 400 {
		t.Errorf("in a long line: %+v", got)
	}
	for name, p := range map[string]workingmemory.Pattern{
		"empty": {Limit: 1}, "huge": {Pattern: strings.Repeat("x", 501), Limit: 1},
		"two lines": {Pattern: "a\nb", Limit: 1}, "no text": {Pattern: "a\xff", Limit: 1},
		"negative offset": {Pattern: "a", Offset: -1, Limit: 1},
		"negative before": {Pattern: "a", Before: -5, Limit: 1}, "huge after": {Pattern: "a", After: 51, Limit: 1},
		"no limit": {Pattern: "a"}, "huge limit": {Pattern: "a", Limit: 51},
		"bad expression": {Pattern: "(", Regex: true, Limit: 1},
		"look-around":    {Pattern: "(?=a)", Regex: true, Limit: 1},
	} {
		if _, err := workingmemory.NewFinder(p); fault.CodeOf(err) != fault.InvalidArgument ||
			fault.From(err).Message == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	text := log(1, 1)
	seen, total := 0, 0
	for at := 0; ; {
		p, err := workingmemory.Read(text, at, 1000)
		if err != nil || p.From != at+1 {
			t.Fatalf("%+v, %v", p, err)
		}
		seen, total = seen+len(p.Lines), p.Total
		if p.NextOffset == nil {
			break
		}
		at = *p.NextOffset
	}
	if seen != total || total != strings.Count(text, "\n") {
		t.Errorf("%d lines of %d were read, the text has %d", seen, total, strings.Count(text, "\n"))
	}
	if p, err := workingmemory.Read(text, 1_000_000, 5); err != nil || len(p.Lines) != 0 || p.NextOffset != nil {
		t.Errorf("past the end: %+v, %v", p, err)
	}
	for _, bad := range [][2]int{{-1, 5}, {0, 0}, {0, 1001}, {0, -1}} {
		if _, err := workingmemory.Read(text, bad[0], bad[1]); fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

func TestHandlesAndOptionsAreChecked(t *testing.T) {
	t.Parallel()
	b := workingmemory.NewText("abc", "x")
	if sha, err := workingmemory.ParseHandle(b.Handle()); err != nil || sha != b.SHA {
		t.Error(sha, err)
	}
	for _, bad := range []string{"", "offload://", "offload://zz", b.Handle() + "0", "http://" + b.Handle()[10:],
		"../x"} {
		if _, err := workingmemory.ParseHandle(bad); fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, bad := range []workingmemory.Options{{Mode: "zip"}, {TotalTokens: -1}, {ToolTokens: -5}, {KeepRecent: 1001},
		{KeepRecent: -2}, {Preview: 4001}, {GroupTokens: 199}, {Ratio: 1.5}, {Ratio: -1}} {
		if _, err := bad.Complete(); fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	if lang.EstimateTokens("四个汉字abcd") != 5 {
		t.Error("tokens")
	}
}
