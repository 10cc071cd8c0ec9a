package skill_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"cairn/internal/domain/skill"
	"cairn/internal/testkit"
)

// orderDraft is a draft with every field of the agent profile, from the messages 3 to 9.
const orderDraft = `{"action":"create","target":null,"name":"Change an order",
"description":"Change the items of an order. Use when a customer wants other items in a pending order.",
"trigger":["change my order","swap an item"],"not_for":["a delivered order"],
"inputs":[{"name":"order number","origin":"from the customer","required":true},
 {"name":"payment method","origin":"from get_user","required":false}],
"rules":[{"if":"the order is delivered","then":"refuse the change","value":"30","unit":"days","source":"policy",
  "evidence":[3]},
 {"if":"the new item is cheaper","then":"refund the difference","value":"","unit":"","source":"observed",
 "evidence":[[4,5]]},
 {"if":"it is Monday","then":"sing","value":"","unit":"","source":"policy","evidence":[99]}],
"steps":[{"text":"Read the order.","tool":"get_order","arguments":["order_id"],"check":"the status is pending.",
  "if_fails":"tell the customer.","evidence":[4]},
 {"text":"Invent a voucher.","tool":"","arguments":[],"check":"","if_fails":"","evidence":[]},
 {"text":"Change the items.","tool":"change_order","arguments":["order_id","items"],"check":"","if_fails":"",
 "evidence":[6]}],
"pitfalls":[{"error":"Error: price has changed","cause":"the basket is old","fix":"read the order again",
 "evidence":[7]},
 {"error":"Error: teapot","cause":"","fix":"","evidence":[7]},
 {"error":"Error: made up","cause":"","fix":"nothing","evidence":[]}],
"verification":["Read the order again and compare the items."],
"experience":["Customers ask for one change at a time"],"preference":["Short answers"],"examples":[],"scripts":[],
"tools":["get_order",
 "change_order"],"others":[],"removed":[],"evidence":[3,4],"confidence":0.9,"reason":"It comes again."}`

const agentBody = `## When to Use
Use when: change my order, swap an item
Not for: a delivered order

## Inputs
- order number: from the customer (required)
- payment method: from get_user

## Decision Rules
- If the order is delivered → refuse the change [30 days; policy]
- If the new item is cheaper → refund the difference [observed]

## Procedure
1. Read the order. ` + "`get_order(order_id)`" + `
   Check: the status is pending.
   If it fails: tell the customer.
2. Change the items. ` + "`change_order(order_id, items)`" + `

## Pitfalls
- ` + "`Error: price has changed`" + ` → the basket is old → read the order again

## Verification
- Read the order again and compare the items.

## Experience
1. Customers ask for one change at a time

## User Preferences
- Short answers

## Tool Usage
- get_order
- change_order
`

const seedBody = `## Trigger
change my order, swap an item

## Procedure
Inputs:
- order number: from the customer (required)
- payment method: from get_user

1. Read the order. ` + "`get_order(order_id)`" + `
   Check: the status is pending.
   If it fails: tell the customer.
2. Change the items. ` + "`change_order(order_id, items)`" + `
3. Verify: Read the order again and compare the items.

## Experience
1. Not for: a delivered order
2. If the order is delivered → refuse the change [30 days; policy]
3. If the new item is cheaper → refund the difference [observed]
4. ` + "`Error: price has changed`" + ` → the basket is old → read the order again
5. Customers ask for one change at a time

## User Preferences
- Short answers

## Tool Usage
- get_order
- change_order
`

func orderSkill(t *testing.T) (skill.Draft, skill.Document) {
	t.Helper()
	d, _, err := skill.DecodeDraft(json.RawMessage(orderDraft), skill.Full, []int{3, 4, 5, 6, 7, 8, 9})
	testkit.Must(t, err)
	return d, skill.NewDocument(d)
}

func TestBothProfilesAreRenderedAndParsedBack(t *testing.T) {
	t.Parallel()
	_, d := orderSkill(t)
	for body, document := range map[string]skill.Document{agentBody: d, seedBody: d.Seed()} {
		if got := string(skill.RenderBody(document)); got != body {
			t.Errorf("got\n%s\nwant\n%s", got, body)
		}
		parsed := skill.ParseBody(body)
		parsed.Name, parsed.Description = d.Name, d.Description
		if !reflect.DeepEqual(parsed, document) {
			t.Errorf("parsed\n%+v\nwant\n%+v", parsed, document)
		}
		if back := parsed.Agent(); !reflect.DeepEqual(back, d) {
			t.Errorf("as an agent's\n%+v\nwant\n%+v", back, d)
		}
		if seed := parsed.Seed(); !reflect.DeepEqual(seed, d.Seed()) {
			t.Errorf("as a seed\n%+v\nwant\n%+v", seed, d.Seed())
		}
	}
	steps, ok := skill.ParseSteps(d.Procedure)
	if !ok || len(steps) != 2 || steps[0].Check == "" || steps[1].Tool != "change_order" || len(d.Triggers()) != 2 {
		t.Errorf("steps %+v", steps)
	}
}

func TestPartsWithoutACitationAreDropped(t *testing.T) {
	t.Parallel()
	d, document := orderSkill(t)
	body := string(skill.RenderBody(document))
	for _, text := range []string{"voucher", "sing", "teapot", "made up"} {
		if strings.Contains(body, text) {
			t.Errorf("the skill has %q", text)
		}
	}
	if len(d.Rules) != 2 || len(d.Pitfalls) != 1 || d.Rules[0].Value != "30" ||
		d.Rules[0].Source != skill.SourcePolicy {
		t.Errorf("%+v", d)
	}
	_, _, err := skill.DecodeDraft(json.RawMessage(orderDraft), skill.Full, []int{99})
	if err == nil || !strings.Contains(err.Error(), "procedure") || !strings.Contains(err.Error(), "evidence") {
		t.Errorf("a draft whose steps cite nothing: %v", err)
	}
}

func TestAnUpdateKeepsRulesErrorsAndChecks(t *testing.T) {
	t.Parallel()
	_, current := orderSkill(t)
	update := `{"action":"update","target":"S1","steps":[{"text":"Read the order.","evidence":[]},
	{"text":"Ask for a clear yes.","evidence":[12]},{"text":"Change the items."}, {"text":"Dance.","evidence":[1]}],
	"rules":[{"if":"the order is gone","then":"stop","source":"user","evidence":[12]}],"trigger":["edit an order"],
	"not_for":["a refund"],"verification":["Read the price, too."],
	"pitfalls":[{"error":"Error: locked","cause":"","fix":"wait","evidence":[12]}],
	"removed":["If the new item is cheaper → refund the difference [observed]"]}`
	for what, c := range map[string]skill.Document{"agent": current, "seed": current.Seed()} {
		d, _, err := skill.DecodeDraft(json.RawMessage(update), skill.Full, []int{12}, c.Procedure)
		testkit.Must(t, err)
		m := skill.Merge(c, nil, d)
		got := m.Document
		want := "1. Read the order. `get_order(order_id)`\n   Check: the status is pending.\n   If it fails: tell " +
			"the customer.\n2. Ask for a clear yes.\n3. Change the items. `change_order(order_id, items)`"
		if seed := what == "seed"; seed != strings.HasPrefix(string(skill.RenderBody(got)), "## Trigger") {
			t.Errorf("%s: the profile changed:\n%s", what, skill.RenderBody(got))
		}
		if got = got.Agent(); got.Procedure != want || len(got.Rules) != 2 || got.Rules[0].Value != "30" ||
			got.Rules[1].Source != skill.SourceUser || strings.Count(got.Pitfalls, "\n- ") != 1 ||
			strings.Count(got.Verification, "- ") != 2 || len(got.Inputs) != 2 ||
			got.WhenToUse != "Use when: change my order, swap an item, edit an order\nNot for: a delivered order; a "+
				"refund" {
			t.Errorf("%s:\n%s\n%s", what, skill.RenderBody(got), m.Summary)
		}
	}
}

func TestASkillHasAtMostFiveHundredLines(t *testing.T) {
	t.Parallel()
	d := skill.Document{Name: "n", Description: "d", Procedure: "1. Go.",
		Examples: []string{strings.Repeat("a\n", 300), strings.Repeat("b\n", 300)}}
	fitted, dropped, ok := d.Fitted()
	if lines := strings.Count(string(skill.Render(fitted, skill.RenderOptions{})), "\n"); !ok || dropped != 1 ||
		lines > skill.MaxLines {
		t.Errorf("%d lines without %d examples, %t", lines, dropped, ok)
	}
	d.Procedure = strings.Repeat("1. Go.\n", 500)
	if _, dropped, ok := d.Fitted(); ok || dropped != 2 {
		t.Errorf("a procedure of 500 lines fits without %d examples", dropped)
	}
}

// Documents that tools saved keep their sections in either profile.
func TestFreeTextKeepsItsSections(t *testing.T) {
	t.Parallel()
	body := "## When to Use\nBefore a release.\n\n## Procedure\n1. Build\n\n## Pitfalls\n- Old schema\n\n## " +
		"Verification\nProbe it.\n"
	if got := string(skill.RenderBody(skill.ParseBody(body))); got != body {
		t.Errorf("got %q", got)
	}
	want := "## When to Use\nBefore a release.\n\n## Procedure\n1. Build\n2. Verify: Probe it.\n\n## Pitfalls\n- " +
		"Old schema\n"
	if got := string(skill.RenderBody(skill.ParseBody(body).Seed())); got != want {
		t.Errorf("as a seed: %q", got)
	}
}
