package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"cairn/internal/domain/erasure"
	"cairn/internal/domain/memory"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/memoryagent"
	"cairn/internal/service/search"
	"cairn/internal/testkit"
)

// textsWith returns the tables that contain a text anywhere, with the number of rows.
func textsWith(b *apptest.Bundle, text string) (out []string) {
	b.T.Helper()
	for table := range rows(b, b.Workspace) {
		if table == "workspaces" {
			continue
		}
		if n := count(b, fmt.Sprintf("select count(*) from cairn.%s t where t::text ~* '%s'", table, text)); n > 0 {
			out = append(out, fmt.Sprintf("%s %d", table, n))
		}
	}
	return out
}

// cities are where people fly from.
var cities = map[string]string{"alice": "Osaka", "bob": "Turin"}

// scriptCities scripts agents that remember where a person flies from, and answer from a memory or,
// to "What did …", from the transcript.
func scriptCities(b *apptest.Bundle) {
	type responder = func(openaitest.Call) played
	of := func(response func(name, city string, c openaitest.Call) responder) responder {
		return func(c openaitest.Call) played {
			for name, city := range cities {
				text := fmt.Sprint(c.Messages)
				if strings.Contains(text, "only fly from "+city) || strings.Contains(text, "does "+name) ||
					strings.Contains(text, "did "+name) {
					return response(name, city, c)(c)
				}
			}
			return played{}
		}
	}
	perform(b, "summarize", "", of(func(name, city string, _ openaitest.Call) responder {
		return does(handsOff("personal/"+name), addSummary(name+" told about "+city+"."), addMeta("personal/"+name))
	}), of(func(name, _ string, _ openaitest.Call) responder {
		return does(handsOff("personal/" + name))
	}), says("Up to date."))
	perform(b, "specialist", "", does(looksFor("airport")),
		of(func(name, city string, _ openaitest.Call) responder {
			return does(adds(name + " flies from " + city + " only."))
		}), says("One added."))
	perform(b, "retrieve", "", of(func(name, city string, c openaitest.Call) responder {
		if strings.Contains(fmt.Sprint(c.Messages), "did "+name) {
			return does(saying("read_history_memory", object{"memory_ids": column[string](b,
				"select history_id from cairn.memories where target = $1", name)}))
		}
		return does(saying("vector_retrieve_memory", object{"query_items": []object{{"memory_type": "personal",
			"memory_target": name, "query": city}}}))
	}), of(func(_, city string, _ openaitest.Call) responder {
		return says("From " + city + ".")
	}))
}

// Two people talk with Cairn, whose agents remember, summarize and answer. Then one is erased while
// the worker runs.
func TestEraseOfASubjectLeavesNothingOfIt(t *testing.T) {
	t.Parallel()
	b := apptest.Open(t)
	scriptCities(b)
	for _, city := range cities {
		if got := summarized(b, summarize(b, chat("I only fly from "+city+".", "Noted.")).Ref); got.Status !=
			memoryagent.OK {
			t.Fatalf("%+v", got)
		}
	}
	for name, city := range cities {
		for _, question := range []string{"Where does " + name + " fly from?", "What did " + name + " say?"} {
			if got := retrieve(b, question, memoryagent.Agentic); got.Text != "From "+city+"." {
				t.Fatalf("%+v", got)
			}
		}
	}
	if n := len(textsWith(b, "osaka")); n < 8 {
		t.Fatalf("before: %v", textsWith(b, "osaka"))
	}
	bob := column[string](b, "select content from cairn.memories where status = 'active' and content ~* 'turin'")

	e := erased(b, erasure.Target{Workspace: b.Workspace.ID, Subject: "alice"})
	if left := textsWith(b, "osaka|alice"); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
	for table, n := range e.Remaining {
		if n != 0 {
			t.Errorf("%d rows are left in %s", n, table)
		}
	}
	if len(e.NeedsReview) != 0 || e.Deleted["memories"] != 2 || e.Deleted["conversations"] != 1 {
		t.Errorf("the report is %+v", e)
	}
	if now := column[string](b, "select content from cairn.memories where status = 'active'"); strings.Join(now,
		"|") != strings.Join(bob, "|") || len(now) != 2 {
		t.Errorf("of bob are left %q, were %q", now, bob)
	}
	for query, want := range map[string]bool{"flies from Osaka": false, "flies from Turin": true} {
		found, err := b.Finder.Find(t.Context(), b.Workspace.ID, search.Request{Query: query})
		testkit.Must(t, err)
		if strings.Contains(fmt.Sprint(found), "Osaka") || want && len(found) == 0 {
			t.Errorf("%s finds %+v", query, found)
		}
	}
	if rows := remembers(b, memory.Personal); len(rows) != 1 {
		t.Errorf("remembers %q", rows)
	}
}
