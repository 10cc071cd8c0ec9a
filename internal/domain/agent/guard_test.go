package agent_test

import (
	"fmt"
	"testing"

	"cairn/internal/domain/agent"
)

func TestTheLoopGuard(t *testing.T) {
	t.Parallel()
	call := func(tool, args, outcome string) agent.CallRecord {
		return agent.CallRecord{Tool: tool, ArgsSHA: args, OutcomeSHA: outcome}
	}
	a := call("list", "x", "one")
	withheld := call("list", "x", agent.Withheld)
	for name, c := range map[string]struct {
		history []agent.CallRecord
		want    agent.Verdict
	}{
		"first":                  {nil, agent.Allow},
		"second":                 {[]agent.CallRecord{a}, agent.Allow},
		"third with one outcome": {[]agent.CallRecord{a, a}, agent.Repeat},
		"fourth":                 {[]agent.CallRecord{a, a, withheld}, agent.Trip},
		"fifth":                  {[]agent.CallRecord{a, a, withheld, withheld}, agent.Trip},
		"ping-pong": {[]agent.CallRecord{a, call("view", "y", "two"), a, call("view", "y", "two")},
			agent.Repeat},
		"other arguments": {[]agent.CallRecord{call("list", "y", "one"), call("list", "z", "one")},
			agent.Allow},
		"other tool": {[]agent.CallRecord{call("view", "x", "one"), call("view", "x", "one")},
			agent.Allow},
		"the outcome moves": {[]agent.CallRecord{a, call("list", "x", "two"), call("list", "x", "three")},
			agent.Allow},
		"the outcome moved once":     {[]agent.CallRecord{call("list", "x", "zero"), a, a}, agent.Repeat},
		"the outcome has just moved": {[]agent.CallRecord{a, a, call("list", "x", "two")}, agent.Allow},
		"an empty outcome":           {[]agent.CallRecord{call("list", "x", ""), call("list", "x", "")}, agent.Repeat},
	} {
		if got := agent.Judge(c.history, "list", "x"); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestTheThirdFailureInARowIsTerminal(t *testing.T) {
	t.Parallel()
	record := func(tool, target string, failed bool) agent.CallRecord {
		return agent.CallRecord{Tool: tool, Target: target, Failed: failed}
	}
	fail, succeed := record("skill_patch", "deploy", true), record("skill_patch", "deploy", false)
	for name, c := range map[string]struct {
		history []agent.CallRecord
		want    bool
	}{
		"none":                 {nil, false},
		"two":                  {[]agent.CallRecord{fail, fail}, false},
		"three":                {[]agent.CallRecord{fail, fail, fail}, true},
		"four":                 {[]agent.CallRecord{fail, fail, fail, fail}, true},
		"a success in between": {[]agent.CallRecord{fail, fail, succeed, fail}, false},
		"a success at the end": {[]agent.CallRecord{fail, fail, fail, succeed}, false},
		"another target":       {[]agent.CallRecord{fail, fail, record("skill_patch", "test", true)}, false},
		"another tool":         {[]agent.CallRecord{fail, fail, record("skill_save", "deploy", true)}, false},
		"another call in between": {[]agent.CallRecord{fail, record("skill_view", "deploy", false), fail, fail},
			true},
		"another target in between": {[]agent.CallRecord{fail, record("skill_patch", "test", false), fail, fail},
			true},
		"failures before a recovery": {[]agent.CallRecord{fail, fail, fail, succeed, fail, fail}, false},
	} {
		if got := agent.Done(c.history, "skill_patch", "deploy"); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestCanonicalArguments(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"b":1,"a":2}`: `{"a":2,"b":1}`,
		" {\n\"b\" : [ 1, {\"d\":1,\"c\":2} ] } ": `{"b":[1,{"c":2,"d":1}]}`,
		`{"a":"<&>\u00e9"}`:                       `{"a":"<&>é"}`,
		`{"n":12345678901234567890.10}`:           `{"n":12345678901234567890.10}`,
		`{"a":1}{"a":1}`:                          `{"a":1}{"a":1}`,
		`{"a":1} ]`:                               `{"a":1} ]`,
		`{"a": `:                                  `{"a": `,
		`not json `:                               `not json `,
		``:                                        ``,
		"{\"a\": \"\xff\"}":                       "{\"a\": \"\xff\"}",
		`null`:                                    `null`,
	} {
		if got := string(agent.Canonical([]byte(in))); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
		if got := string(agent.Canonical([]byte(want))); got != want {
			t.Errorf("%q is not stable: %q", want, got)
		}
	}
	if agent.ArgsSHA([]byte(`{"a":1, "b":2}`)) != agent.ArgsSHA([]byte(`{"b":2,"a":1}`)) {
		t.Error("the order of keys changes the hash")
	}
	distinct := map[string]string{}
	for _, text := range []string{`{"a":1}`, `{"a":1.0}`, `{"a":"1"}`, `{"a":[1]}`, `{"a": `, `{}`, ``, "\xff",
		"\xfe"} {
		sha := agent.ArgsSHA([]byte(text))
		if other, ok := distinct[sha]; ok {
			t.Errorf("%q and %q have one hash", text, other)
		}
		distinct[sha] = text
	}
}

func FuzzCanonicalIsStable(f *testing.F) {
	for i := range 3 {
		f.Add(fmt.Appendf(nil, `{"b":%d,"a":[null,true,"x\n"]}`, i))
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		once := agent.Canonical(document)
		if twice := agent.Canonical(once); string(twice) != string(once) {
			t.Errorf("%q: %q, then %q", document, once, twice)
		}
	})
}
