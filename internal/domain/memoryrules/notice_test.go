package memoryrules

import (
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/prompt"
)

func TestShapesAreMasked(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"write to a.b@c.example":           "write to [email]",
		"on 2031-02-03 or May 20th":        "on [date] or [date]",
		"at 11:30 am":                      "at [time]",
		"it costs $1,200.50":               "it costs [amount]",
		"order LN82X1 for tom_li_3668":     "order [id] for [id]",
		"card 4111 1111 1111 1111":         "card [number]",
		"your code is ABCDEF":              "your code is [id]",
		"retry 3 times in a 24-hour frame": "retry 3 times in a 24-hour frame",
		"预订于2031年2月3日，共300元":               "预订于[date]，共[amount]",
	} {
		if got := (Mask{}).Hide(text, false); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	if got := (Mask{}).Hide("at most 250 coins in May 2", true); got != "at most 250 coins in May 2" {
		t.Errorf("a rule lost its numbers: %q", got)
	}
}

func TestNamesAreFoundWhereTheyStand(t *testing.T) {
	t.Parallel()
	mask := NewMask([]prompt.Message{
		{Role: "user", Content: "My name is Zoë Blum. The status is open.", Name: "zed"},
		{Role: "tool", Name: "find", Content: `{"status":"Open","customer":"Open ` +
			`Sky","code":"XQVW","note":"\u674e\u660e"}`},
		{Role: "assistant", ToolCalls: []string{`find({"name":"李明"})`}},
	})
	got := mask.Hide("Zoë Blum and zed, Sky and XQVW and 李明 are here; open and Ready stay", false)
	if want := "[name] and [name], [name] and [name] and [name] are here; open and Ready stay"; got != want {
		t.Errorf("got %q", got)
	}
}

func TestSentencesAreMarked(t *testing.T) {
	t.Parallel()
	marks := func(text string) string {
		s := (Mask{}).Sentences(prompt.Message{Role: "user", Content: text})
		if len(s) != 1 {
			t.Fatalf("%q gives %d sentences", text, len(s))
		}
		var out []string
		for name, on := range map[string]bool{"ordered": s[0].Ordered, "question": s[0].Question,
			"imperative": s[0].Imperative, "rule": s[0].Rule, "wish": s[0].Wish, "lesson": s[0].Lesson,
			"greeting": s[0].Greeting} {
			if on {
				out = append(out, name)
			}
		}
		slices.Sort(out)
		return strings.Join(out, " ")
	}
	for text, want := range map[string]string{
		"Then run the tests.":              "imperative ordered",
		"1. Install the tool":              "imperative ordered",
		"Could you run it?":                "question",
		"You must not enter.":              "rule",
		"From now on I like tea":           "wish",
		"The cause was a stale lock file.": "lesson",
		"Hello there!":                     "greeting",
		"然后重启服务。":                          "imperative ordered",
		"以后请用中文回答。":                        "wish",
		"Never skip the tests.":            "imperative rule wish",
		"Run it twice. That helped.":       "imperative lesson",
		"原来是缓存没有清理。":                       "lesson",
		"这样可以吗":                            "question",
		"It rains.":                        "",
	} {
		if got := marks(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestOrderedSentencesAreSplitAtEachAction(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"Then build the image, and push it.":       {"Then build the image.", "then push it."},
		"Then build the image, and the push works": {"Then build the image, and the push works"},
		"We build the image, and push it.":         {"We build the image, and push it."},
	} {
		var got []string
		for _, s := range (Mask{}).Sentences(prompt.Message{Content: text}) {
			got = append(got, s.Text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: got %q", text, got)
		}
	}
}

func TestSentencesLeaveCodeOutAndKnowTheirHeading(t *testing.T) {
	t.Parallel()
	got := (Mask{}).Sentences(prompt.Message{
		Content: "# Top\n\nOne. Two e.g. three.\n```\nrm -rf /\n```\n## Below\n- Four"})
	var texts []string
	for _, s := range got {
		texts = append(texts, s.Heading+": "+s.Text)
	}
	if want := []string{"Top: One.", "Top: Two e.g.", "Top: three.", "Below: Four"}; !slices.Equal(texts, want) {
		t.Errorf("got %q", texts)
	}
}

func TestCallsArePairedWithTheirResults(t *testing.T) {
	t.Parallel()
	got := Calls([]prompt.Message{
		{Index: 1, Role: "assistant", ToolCalls: []string{`a({"x":1})`, `b({"y":"v"})`,
			`think({"thought":"this is a long private thought"})`}},
		{Index: 2, Role: "tool", Name: "b", Content: "Error: no"},
		{Index: 3, Role: "tool", Name: "a", Content: "fine"},
		{Index: 4, Role: "tool", Name: "think", Content: ""},
	})
	if len(got) != 2 || got[0].Result != "fine" || got[0].Failed || !got[1].Failed || got[1].Index != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestToolNamesAreSplit(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"get_user": "get user", "getUser": "get user", "crm.get-user": "get user",
		"mcp__crm__getUserList": "get user list", "": ""} {
		if got := strings.Join(Call{Tool: name}.Words(), " "); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
	if !(Call{Tool: "cancel_order"}).Changes() || (Call{Tool: "list_orders"}).Changes() || (Call{}).Changes() {
		t.Error("reading and changing are mixed up")
	}
}

func TestArgumentsKeepTheirOrderAndSurviveDamage(t *testing.T) {
	t.Parallel()
	names := func(arguments string) (out []string) {
		for _, a := range (Call{Arguments: arguments}).List() {
			out = append(out, a.Name+" "+a.Kind+" "+strings.Join(a.Leaves, "|"))
		}
		return out
	}
	if got := names(`{"z":"\u674e","a":[{"inner":"i"},2],"f":true}`); !slices.Equal(got,
		[]string{"z string 李", "a array i|2", "f boolean true"}) {
		t.Errorf("got %q", got)
	}
	if got := names(`{"z":"v","a":[{"cut`); !slices.Equal(got, []string{"z string ", "a string "}) {
		t.Errorf("got %q", got)
	}
}

func TestFormsOfAWordMeet(t *testing.T) {
	t.Parallel()
	for _, forms := range [][]string{{"cancel", "cancels", "cancelled", "cancelling", "cancellation"},
		{"update", "updating", "updated"}, {"reserve", "reservation", "reservations"}, {"query", "queries"}} {
		for _, form := range forms {
			if got, want := Terms(form), Terms(forms[0]); !slices.Equal(got, want) {
				t.Errorf("%s gives %q, %s gives %q", form, got, forms[0], want)
			}
		}
	}
}

func TestAsksAreVerbAndObject(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Could you please rotate the old keys for me?": "rotate key",
		"I want to renew my library card.":             "renew card",
		"How do I publish a release of our library?":   "publish release",
		"Deploy the service to production":             "deploy service",
		"请问如何发布版本？":                                    "发布版本",
		"I want to know more.":                         "",
		"The weather is nice.":                         "",
	} {
		sentences := (Mask{}).Sentences(prompt.Message{Role: "user", Content: text})
		if got := strings.Join(Asks(sentences), ", "); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
