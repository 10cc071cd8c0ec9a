package skill_test

import (
	"reflect"
	"testing"

	"cairn/internal/domain/skill"
)

func TestLinesAreParsedAsTheyAreRendered(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]skill.Rule{
		"If the order is old → refuse the change [30 days; policy]": {If: "the order is old", Then: "refuse the change",
			Value: "30", Unit: "days", Source: skill.SourcePolicy},
		"If it fails → ask [user]":  {If: "If it fails", Then: "ask", Source: skill.SourceUser},
		"Read before you write":     {Then: "Read before you write"},
		"If a -> b → c [observed]":  {If: "a → b", Then: "c", Source: skill.SourceObserved},
		"Wait [2 x; observed]":      {Then: "Wait", Value: "[2]", Unit: "x;", Source: skill.SourceObserved},
		"Ask [y/n] → go [policy]":   {Then: "Ask [y/n] → go", Source: skill.SourcePolicy},
		"If a → b [50 % of it]":     {If: "a", Then: "b [50 % of it]"},
		"If a → b [high; observed]": {If: "a", Then: "b", Value: "high", Source: skill.SourceObserved},
	} {
		got := r.String()
		if again := skill.ParseRule(got); got != want || again.String() != want || again.Source != r.Source {
			t.Errorf("%+v: %q, want %q, parsed %+v", r, got, want, again)
		}
	}
	for want, p := range map[string]skill.Pitfall{
		"`price has changed` → the basket is old → read it": {Error: "price has changed", Cause: "the basket is old",
			Fix: "read it"},
		"`a 'b' c` → x -> y": {Error: "a `b`\nc", Fix: "x → y"},
	} {
		if again, ok := skill.ParsePitfall(p.String()); p.String() != want || !ok || again.String() != want {
			t.Errorf("%+v: %q, want %q, parsed %+v", p, p.String(), want, again)
		}
	}
	for want, in := range map[string]skill.Input{
		"order number: from the customer (required)": {Name: "order number", Origin: "from the customer",
			Required: true},
		"color: in the order": {Name: "color", Origin: "in the order"}, "size": {Name: "size"},
		"size (required)": {Name: "size", Required: true},
	} {
		if again := skill.ParseInput(in.String()); in.String() != want || again != in {
			t.Errorf("%+v: %q, want %q, parsed %+v", in, in.String(), want, again)
		}
	}
	w := skill.When{Text: "Before a release.", Use: []string{"deploy it", "ship, now"}, Not: []string{"rollback; undo"}}
	want := "Before a release.\n\nUse when: deploy it, ship now\nNot for: rollback undo"
	if again := skill.ParseWhen(w.String()); w.String() != want || again.String() != want ||
		again.Use[1] != "ship now" {
		t.Errorf("%q, want %q, parsed %+v", w.String(), want, again)
	}
}

func TestLinesWithoutAFormAreKept(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"If a, then b", "→", "[policy]", "If → b", "a: b: c", "(required)", "`x`",
		"` ` → y"} {
		if got := skill.ParseRule(text).String(); got != text {
			t.Errorf("rule %q became %q", text, got)
		}
		if got := skill.ParseInput(text).String(); got != text {
			t.Errorf("input %q became %q", text, got)
		}
		if p, ok := skill.ParsePitfall(text); ok && p.String() != text {
			t.Errorf("pitfall %q became %q", text, p)
		}
	}
}

var order = []skill.Step{
	{Text: "Read the order.", Tool: "get_order", Arguments: []string{"order_id"}, Check: "the order is pending.",
		IfFails: "tell the customer."},
	{Text: "Ask for a clear yes.\nName the price."}, {Text: "Change it.", Tool: "change_order"},
}

const procedure = "1. Read the order. `get_order(order_id)`\n   Check: the order is pending.\n   If it fails: tell " +
	"the customer.\n2. Ask for a clear yes.\n   Name the price.\n3. Change it. `change_order()`"

func TestStepsAreParsedAsTheyAreRendered(t *testing.T) {
	t.Parallel()
	steps, ok := skill.ParseSteps(procedure)
	if got := skill.Steps(order); got != procedure || !ok || !reflect.DeepEqual(steps, order) {
		t.Errorf("%q, parsed %+v, %t", got, steps, ok)
	}
	for _, text := range []string{"", "Just do it.", "1. a\nb", "Intro\n1. a", "1. a\n\n2. b", "3. a"} {
		if steps, ok := skill.ParseSteps(text); ok {
			t.Errorf("%q has the steps %+v", text, steps)
		}
	}
}

func TestStepsKeepTheirChecks(t *testing.T) {
	t.Parallel()
	next := "1. Greet.\n2. read the order.\n3. Change it."
	want := "1. Greet.\n2. read the order. `get_order(order_id)`\n   Check: the order is pending.\n   If it fails: " +
		"tell the customer.\n3. Change it. `change_order()`"
	if got := skill.KeepChecks(procedure, next); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, text := range []string{"", "Free text.\n1. Read the order."} {
		if got := skill.KeepChecks(procedure, text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func FuzzRule(f *testing.F) {
	f.Add("If a → b [30 days; policy]")
	f.Add("`e` → c → f")
	f.Fuzz(func(t *testing.T, text string) {
		once := skill.ParseRule(text).String()
		if again := skill.ParseRule(once).String(); again != once {
			t.Errorf("%q became %q, then %q", text, once, again)
		}
		in := skill.ParseInput(text).String()
		if again := skill.ParseInput(in).String(); again != in {
			t.Errorf("%q became %q, then %q", text, in, again)
		}
	})
}
