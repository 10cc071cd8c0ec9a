package skill_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"cairn/internal/domain/skill"
)

func ExampleDecodeDraft() {
	reply := `{"name":"Code Review","description":"Review a change","tags":"review, pull request",
		"procedure":["Read the diff","2. Run the tests"],"experience":"Ask before ` +
		`rewriting","update":false,"old_memory_id":"","mood":"good"}`
	draft, notes, err := skill.DecodeDraft(json.RawMessage(reply), skill.Full, []int{4, 5})
	fmt.Printf("%s %q %q %q %v\n", draft.Action, draft.Trigger, draft.Procedure, draft.Experience, draft.Evidence)
	fmt.Println(notes, err)
	// Output:
	// create ["review" "pull request"] "1. Read the diff\n2. Run the tests" ["Ask before rewriting"] [4 5]
	// [mood: unknown field, ignored] <nil>
}

const core = `"name":"N","description":"D","procedure":"1. P"`

func decode(t *testing.T, mode, reply string) (skill.Draft, []string) {
	t.Helper()
	draft, notes, err := skill.DecodeDraft(json.RawMessage(reply), mode, chunkSeqs)
	if err != nil {
		t.Fatalf("%s: %v", reply, err)
	}
	return draft, notes
}

func TestNothingToLearnIsASkip(t *testing.T) {
	for _, reply := range []string{`null`, `{}`, `[]`, `"none"`, `[null]`, `{"skill":null}`,
		`{"action":"skip","reason":"too special"}`, `{"action":"none"}`} {
		draft, _ := decode(t, skill.Full, reply)
		if draft.Action != skill.Skip || draft.Name != "" {
			t.Errorf("%s: got %+v", reply, draft)
		}
	}
	if draft, _ := decode(t, skill.Full, `{"action":"skip","reason":"too special"}`); draft.Reason != "too special" {
		t.Errorf("the reason is lost: %+v", draft)
	}
}

func TestActionAndTarget(t *testing.T) {
	for fields, want := range map[string][2]string{
		`"action":"create"`:                            {"create", ""},
		`"action":"Update","target":"S2"`:              {"update", "S2"},
		`"action":"create","target":"S2"`:              {"create", ""},
		`"update":true,"old_memory_id":"not-a-uuid"`:   {"update", "not-a-uuid"}, // the caller rejects it
		`"update":"true","old_memory_id":"S1"`:         {"update", "S1"},
		`"update":false,"old_memory_id":"S1"`:          {"create", ""},
		`"update":true,"old_memory_id":null`:           {"update", ""},
		`"old_memory_id":"S3"`:                         {"update", "S3"},
		`"target":"null"`:                              {"create", ""},
		`"action":"update","target":"S1","update":0`:   {"update", "S1"},
		`"update":false,"old_memory_id":"","action":0`: {"create", ""},
	} {
		if draft, _ := decode(t, skill.Full, "{"+core+","+fields+"}"); draft.Action != want[0] ||
			draft.Target != want[1] {
			t.Errorf("%s: %s %q, want %q", fields, draft.Action, draft.Target, want)
		}
	}
}

func TestUpdateMayLeaveEverythingUnchanged(t *testing.T) {
	draft, _ := decode(t, skill.Full, `{"action":"update","target":"S1","name":"","description":"","procedure":"",`+
		`"trigger":[],"removed":["old lesson",{"field":"Scripts","item":"a.py","reason":"gone"}]}`)
	want := []skill.Removal{{Item: "old lesson"}, {Field: "scripts", Item: "a.py", Reason: "gone"}}
	if draft.Action != skill.Update || !reflect.DeepEqual(draft.Removed, want) {
		t.Errorf("got %+v", draft)
	}
	if err := draft.Complete(); err == nil || !strings.Contains(err.Error(), "missing: name, description, procedure") {
		t.Errorf("as a new skill it must be incomplete, got %v", err)
	}
}

func TestTextIsCleaned(t *testing.T) {
	draft, _ := decode(t, skill.Full, `{"NAME":" Cafe\u0301\u0000 ","Description":"a\n b\t c","procedure":"1. `+
		`a\r\n2. b\u0007\n","experience":[7,true,null,"  ","Same","same"]}`)
	if draft.Name != "Café" || draft.Description != "a b c" || draft.Procedure != "1. a\n2. b" ||
		!reflect.DeepEqual(draft.Experience, []string{"7", "true", "Same"}) {
		t.Errorf("got %+v", draft)
	}
}

func TestWhatExceedsALimitIsCutWithANote(t *testing.T) {
	long := func(n int) string { return strings.Repeat("汉", n) }
	var items []string
	for i := range 30 {
		items = append(items, fmt.Sprintf("%q", fmt.Sprintf("item %d", i)))
	}
	list := "[" + strings.Join(items, ",") + "]"
	draft, notes := decode(t, skill.Full, fmt.Sprintf(`{"name":%q,"description":%q,"procedure":"p","trigger":%s,`+
		`"experience":%s,"preference":["%s"],"examples":%s,"scripts":%s}`,
		long(81), long(1025), list, list, long(10), strings.Replace(list, "item 0", long(8001), 1), list))
	for what, c := range map[string][2]int{
		"name":        {len([]rune(draft.Name)), 80},
		"description": {len([]rune(draft.Description)), 1024},
		"trigger":     {len(draft.Trigger), 15},
		"experience":  {len(draft.Experience), 20},
		"examples":    {len(draft.Examples), 5},
		"example":     {len([]rune(draft.Examples[0])), 8000},
		"scripts":     {len(draft.Scripts), 8},
		"notes":       {len(notes), 7},
	} {
		if c[0] != c[1] {
			t.Errorf("%s: %d, want %d", what, c[0], c[1])
		}
	}
	if draft, _ := decode(t, skill.Full, `{`+core+`,"trigger":["`+long(65)+`"]}`); len([]rune(draft.Trigger[0])) != 64 {
		t.Errorf("a trigger of %d characters", len([]rune(draft.Trigger[0])))
	}
}

func TestFaultsNameEveryFieldForRepair(t *testing.T) {
	_, _, err := skill.DecodeDraft(json.RawMessage(`{"name":{},"description":["a"],"procedure":{"a":1},`+
		`"experience":[{"a":1}],"scripts":7,"action":"maybe","removed":[[1]]}`), skill.Full, nil)
	for _, want := range []string{"description: want a string, got an array", "procedure: want a string, got an object",
		"experience[0]: want a string, got an object",
		"scripts: want a list", `action: want create, update or skip, got "maybe"`, "removed[0]: want a string"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v\nwant %q in it", err, want)
		}
	}
	for reply, want := range map[string]string{
		`{"name":"N"}`: "missing: description, procedure",
		`7`:            "one JSON object, or null",
		`[{},{}]`:      "one JSON object",
		`{"a":`:        "not valid JSON",
		`{} {}`:        "more than one JSON value",
		`{` + core[:len(core)-6] + `"` + strings.Repeat("x", skill.MaxProcedure+1) +
			`"}`: "procedure: 20001 characters, at most 20000",
	} {
		if _, _, err := skill.DecodeDraft(json.RawMessage(reply), skill.Full, nil); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: got %v, want %q", reply, err, want)
		}
	}
}

func TestProcedureFromSteps(t *testing.T) {
	draft, _ := decode(t, skill.Full, `{"name":"N","description":"D","procedure":["1. a","- b\nmore",`+
		`{"step":"c"},"",3]}`)
	if want := "1. a\n2. b\n   more\n3. c\n4. 3"; draft.Procedure != want {
		t.Errorf("got %q, want %q", draft.Procedure, want)
	}
}

func TestScriptsInEveryShape(t *testing.T) {
	for name, c := range map[string]struct {
		mode, scripts string
		want          []skill.FilePlan
	}{
		"schema": {skill.Full, `[{"file":"a.py","purpose":"p","inputs":["x","y"],"outputs":"o"}]`,
			[]skill.FilePlan{{File: "a.py", Purpose: "p", Inputs: "x, y", Outputs: "o"}}},
		"null":            {skill.Full, `null`, nil},
		"a word for null": {skill.Full, `"None"`, nil},
		"string plan": {skill.Full, `"Write a parser"`,
			[]skill.FilePlan{{File: "write_a_parser.py", Purpose: "Write a parser"}}},
		"list of strings": {skill.Full, `["check.py: probe it","x.sh"]`,
			[]skill.FilePlan{{File: "check.py", Purpose: "probe it"}, {File: "x.sh"}}},
		"object of plans": {skill.Full, `{"a.py":"probe it"}`, []skill.FilePlan{{File: "a.py", Purpose: "probe it"}}},
		"object of code": {skill.Full, `{"a.py":"import sys\nprint(1)\n"}`,
			[]skill.FilePlan{{File: "a.py", Code: "import sys\nprint(1)"}}},
		"object of both": {skill.Full, `{"a.py":{"purpose":"p","code":"x"}}`,
			[]skill.FilePlan{{File: "a.py", Purpose: "p", Code: "x"}}},
		"without a name": {skill.Full, `[{"purpose":"Probe it"}]`,
			[]skill.FilePlan{{File: "probe_it.py", Purpose: "Probe it"}}},
		// CheckFile judges
		"hostile names":    {skill.Full, `{"../../x.py":"p"}`, []skill.FilePlan{{File: "../../x.py", Purpose: "p"}}},
		"simple":           {skill.Simple, `{"a.py":"x"}`, nil},
		"simple, as MemOS": {skill.SimpleKeep, `{"a.py":"x"}`, []skill.FilePlan{{File: "a.py", Code: "x"}}},
	} {
		t.Run(name, func(t *testing.T) {
			draft, notes := decode(t, c.mode, `{`+core+`,"scripts":`+c.scripts+`}`)
			if !reflect.DeepEqual(draft.Scripts, c.want) {
				t.Errorf("got %+v, want %+v", draft.Scripts, c.want)
			}
			if ignored := c.mode == skill.Simple; ignored != (len(notes) == 1) {
				t.Errorf("notes %q", notes)
			}
		})
	}
}

func TestOthersAreFilesOrInlineEntries(t *testing.T) {
	draft, _ := decode(t, skill.Full, `{`+core+`,"others":{"a.md":"brief","b.md":"# B\ntext","Note":"inline"}}`)
	if !reflect.DeepEqual(draft.Others, []skill.FilePlan{{File: "a.md", Purpose: "brief"},
		{File: "b.md", Code: "# B\ntext"}}) ||
		!reflect.DeepEqual(draft.Inline, []skill.Entry{{Key: "Note", Text: "inline"}}) {
		t.Errorf("got %+v %+v", draft.Others, draft.Inline)
	}
	draft, _ = decode(t, skill.Full, `{`+core+
		`,"others":[{"file":"a.md","purpose":"p"},{"title":"Release notes","brief":"b"},{"title":"T","text":"x"}]}`)
	if !reflect.DeepEqual(draft.Others, []skill.FilePlan{{File: "a.md", Purpose: "p"},
		{File: "release_notes.md", Purpose: "b"}}) ||
		!reflect.DeepEqual(draft.Inline, []skill.Entry{{Key: "T", Text: "x"}}) {
		t.Errorf("got %+v %+v", draft.Others, draft.Inline)
	}
}

func TestEvidenceAndConfidence(t *testing.T) {
	for fields, want := range map[string]struct {
		evidence string
		cited    bool
	}{
		`"evidence":[3,"1",3]`:       {"[1 3]", true},
		`"evidence":[[0,2],99]`:      {"[0 1 2]", true},
		`"evidence":2`:               {"[2]", true},
		`"evidence":[99,-1,1.5,"x"]`: {fmt.Sprint(chunkSeqs), false},
		`"evidence":null`:            {fmt.Sprint(chunkSeqs), false},
	} {
		if draft, _ := decode(t, skill.Full, "{"+core+","+fields+"}"); fmt.Sprint(draft.Evidence) != want.evidence ||
			draft.Cited != want.cited {
			t.Errorf("%s: got %v %v, want %v", fields, draft.Evidence, draft.Cited, want)
		}
	}
	for value, want := range map[string]string{`0.4`: "0.4", `"0.4"`: "0.4", `7`: "1", `-1`: "0", `"high"`: "nil",
		`null`: "nil"} {
		draft, _ := decode(t, skill.Full, `{`+core+`,"confidence":`+value+`}`)
		got := "nil"
		if draft.Confidence != nil {
			got = fmt.Sprint(*draft.Confidence)
		}
		if got != want {
			t.Errorf("confidence %s: got %s, want %s", value, got, want)
		}
	}
}

func FuzzDecodeDraft(f *testing.F) {
	for _, name := range []string{"ac1_extract.json", "ac5_extract.json", "ac10_extract.json"} {
		f.Add(fixture(f, name), true)
	}
	f.Add([]byte(`{"name":1,"description":true,"procedure":[{"text":"a"},"b"],"tags":"a,b;c","others":[{"title":"x"}],`+
		`"evidence":[[0,1],"2"]}`), false)
	f.Fuzz(func(t *testing.T, raw []byte, full bool) {
		mode := skill.Simple
		if full {
			mode = skill.Full
		}
		draft, _, err := skill.DecodeDraft(raw, mode, chunkSeqs)
		if err != nil || draft.Action == skill.Skip {
			return
		}
		if draft.Action == skill.Create && draft.Complete() != nil {
			t.Fatalf("incomplete: %+v", draft)
		}
		if len(draft.Trigger) > 15 || len(draft.Experience) > 20 || len(draft.Examples) > 5 || len(draft.Scripts) > 8 ||
			len(draft.Others)+len(draft.Inline) > 8 {
			t.Fatalf("over a limit: %+v", draft)
		}
		for _, seq := range draft.Evidence {
			if seq < 0 || seq > 13 {
				t.Fatalf("evidence %d", seq)
			}
		}
		document := skill.NewDocument(draft)
		if document.Name == "" {
			return
		}
		document.Name = skill.Canonical(document.Name)
		again, err := skill.ParseDocument(skill.Render(document, skill.RenderOptions{}))
		if err != nil || !reflect.DeepEqual(again, document) {
			t.Fatalf("%v\n%+v\n%+v", err, document, again)
		}
	})
}

// An update repeats the skill's items, so its new lesson is at the end. No limit may cut it off.
func TestDecodeDraftKeepsTheLessonThatAnUpdateAdds(t *testing.T) {
	t.Parallel()
	lessons := make([]string, skill.MaxItems+5)
	for i := range lessons {
		lessons[i] = fmt.Sprintf("lesson %d", i)
	}
	raw, err := json.Marshal(map[string]any{"action": "update", "target": "S1", "experience": lessons})
	if err != nil {
		t.Fatal(err)
	}
	d, _, err := skill.DecodeDraft(raw, skill.Full, []int{0, 1})
	if err != nil || len(d.Experience) != len(lessons) {
		t.Errorf("%d of %d lessons, %v", len(d.Experience), len(lessons), err)
	}
}
