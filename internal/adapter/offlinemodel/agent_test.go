package offlinemodel

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"cairn/internal/domain/llm"
	"cairn/internal/domain/prompt"
)

func offered(name, schema string) llm.Tool {
	return llm.Tool{Name: name, Description: "A tool.", Schema: json.RawMessage(schema)}
}

// agentTools have the parameters that tools of an agent have.
var agentTools = []llm.Tool{
	offered("memory_replace", `{"type":"object","required":["store","match","content"],`+
		`"properties":{"store":{"type":"string","enum":["core","profile"]},"match":{"type":"string"},`+
		`"content":{"type":"string"}}}`),
	offered("memory_save", `{"type":"object","additionalProperties":false,"required":["content"],`+
		`"properties":{"content":{"type":"string","maxLength":1000},"store":{"type":"string","enum":["core",`+
		`"profile"],"default":"core"}}}`),
	offered("memory_search", `{"type":"object","required":["query"],"properties":{"query":{"type":"string",`+
		`"maxLength":200},"k":{"type":"integer","minimum":1},"sources":{"type":"array","items":{"type":"string"},`+
		`"minItems":1}}}`),
	offered("send_message", `{"type":"object","required":["to","text"],"properties":{"to":{"type":"string"},`+
		`"text":{"type":"string"}}}`),
	offered("skill_list", `{"type":"object","properties":{"query":{"type":"string"},"limit":{"type":"integer"}}}`),
	offered("skill_patch", `{"type":"object","required":["name","old_string","new_string"],`+
		`"properties":{"name":{"type":"string"},"old_string":{"type":"string"},"new_string":{"type":"string"}}}`),
	offered("skill_save", `{"type":"object","additionalProperties":false,"required":["name","description",`+
		`"content"],"properties":{"name":{"type":"string","maxLength":64,"pattern":"^[a-z0-9]+(-[a-z0-9]+)*$"},`+
		`"description":{"type":"string","maxLength":240},"content":{"type":"string","maxLength":100000},`+
		`"category":{"type":["string","null"]},"mode":{"type":"string","enum":["upsert","create","update"]},`+
		`"expected_version":{"type":"integer","minimum":1},"allow_similar":{"type":"boolean"}}}`),
	offered("soul_update", `{"type":"object","required":["content"],"properties":{"content":{"type":"string"},`+
		`"mode":{"type":"string","enum":["replace","append"]}}}`),
}

// made is a tool call with its arguments.
type made struct {
	tool      string
	arguments map[string]any
}

// agent runs the agent's loop with the real client. result returns the results of calls.
func agent(t *testing.T, r llm.Request, result func(made) string) (calls []made, final string) {
	t.Helper()
	r.Tools = agentTools
	return play(t, r, result)
}

// loop runs the loop with other tools, which all succeed.
func loop(t *testing.T, r llm.Request, tools []llm.Tool) []made {
	t.Helper()
	r.Tools = tools
	calls, _ := play(t, r, done)
	return calls
}

func play(t *testing.T, r llm.Request, result func(made) string) (calls []made, final string) {
	t.Helper()
	model := New(0)
	seen := map[string]bool{}
	r.Model = "offline"
	for range 6 {
		p, err := model.Prepare(r)
		if err != nil {
			t.Fatal(err)
		}
		reply, err := model.Send(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if len(reply.Calls) == 0 {
			if reply.Empty() {
				t.Fatal("an empty reply")
			}
			return calls, reply.Text
		}
		r.Messages = append(slices.Clone(r.Messages),
			llm.Message{Role: llm.RoleAssistant, Content: reply.Text, Calls: reply.Calls})
		for _, call := range reply.Calls {
			one := made{tool: call.Name}
			if err := json.Unmarshal([]byte(call.Arguments), &one.arguments); err != nil ||
				seen[call.Name+call.Arguments] {
				t.Fatalf("sent again, or no JSON: %+v, %v", call, err)
			}
			seen[call.Name+call.Arguments] = true
			calls = append(calls, one)
			r.Messages = append(r.Messages, llm.Message{Role: llm.RoleTool, CallID: call.ID, Content: result(one)})
		}
	}
	t.Fatalf("the loop does not end: %+v", calls)
	return nil, ""
}

func done(made) string { return `{"ok":true,"action":"created","usage":"3%"}` }

func han(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Han, r) })
}

func TestWhatAUserAsksToRememberIsSavedOnce(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"Please remember that I prefer window seats":   "I prefer window seats",
		"Can you remember that I prefer aisle seats?":  "I prefer aisle seats",
		"Hi! I prefer window seats.":                   "I prefer window seats.",
		"Don't forget that the office closes at five.": "The office closes at five.",
		"Please note that my sister lives in Oslo.":    "My sister lives in Oslo.",
		"From now on answer in short sentences.":       "From now on answer in short sentences.",
		"请记住我喜欢靠窗的座位":                                  "我喜欢靠窗的座位",
		"你好！我习惯喝绿茶。":                                   "我习惯喝绿茶。",
	} {
		calls, final := agent(t, llm.Request{System: "You are an assistant. Remember what users prefer.",
			Messages: llm.User(said)}, done)
		if len(calls) != 1 || calls[0].tool != "memory_save" || calls[0].arguments["content"] != want ||
			len(calls[0].arguments) != 1 {
			t.Errorf("%q: called %+v, want one memory_save of %q", said, calls, want)
		}
		if !strings.Contains(final, strings.Trim(want, ".。")) || han(final) != han(said) {
			t.Errorf("%q: ends with %q", said, final)
		}
		failing := func(made) string {
			return `{"ok":false,"error":{"code":"too_large","message":"the store has no room"}}`
		}
		want := phrases["failed"][0]
		if han(said) {
			want = phrases["failed"][1]
		}
		if _, final := agent(t, llm.Request{Messages: llm.User(said)}, failing); final != want {
			t.Errorf("%q: nothing was saved, and it says %q", said, final)
		}
	}
}

func TestQuestionsAreSearchedAndAnsweredFromWhatCameBack(t *testing.T) {
	t.Parallel()
	for question, c := range map[string]struct {
		terms []string
		items string
		want  string
	}{
		"What kind of seat do I prefer?": {[]string{"seat", "prefer"}, `{"ok":true,"query":"seat ` +
			`prefer","items":[{"id":"m1","content":"I prefer window seats.","score":0.9},{"id":"m2","content":"I ` +
			`keep goats."}]}`, "window"},
		"Tell me where my sister lives": {[]string{"sister", "live"},
			"1. The brother lives in Rome.\n2. My sister lives in Lima.", "Lima"},
		"我喜欢什么样的座位？": {[]string{"喜欢", "座位"},
			`{"memories":[{"content":"我喜欢靠窗的座位"},{"content":"养了两只山羊"}]}`, "靠窗"},
	} {
		calls, final := agent(t, llm.Request{System: "Help.", Messages: llm.User(question)}, func(made) string {
			return c.items
		})
		if len(calls) != 1 || calls[0].tool != "memory_search" || len(calls[0].arguments) != 1 {
			t.Fatalf("%q: called %+v", question, calls)
		}
		for _, term := range c.terms {
			if !strings.Contains(calls[0].arguments["query"].(string), term) {
				t.Errorf("%q: query %v lacks %q", question, calls[0].arguments, term)
			}
		}
		if !strings.Contains(final, c.want) {
			t.Errorf("%q: answered %q", question, final)
		}
		if _, final := agent(t, llm.Request{Messages: llm.User(question)}, func(made) string {
			return `{"ok":true,"items":[]}`
		}); final == "" || han(final) != han(question) || strings.Contains(final, c.want) {
			t.Errorf("%q, nothing found: answered %q", question, final)
		}
	}
}

// Facts and calls of earlier turns are neither saved nor searched again.
func TestEarlierTurnsAreOver(t *testing.T) {
	t.Parallel()
	before := []llm.Message{{Role: llm.RoleUser, Content: "I keep two goats. Where does Kim live?"},
		{Role: llm.RoleAssistant, Content: "Kim lives in Oslo."}}
	calls, final := agent(t, llm.Request{Messages: append(slices.Clone(before), llm.User("Thanks!")...)}, done)
	if len(calls) != 0 || strings.Contains(final, "goats") {
		t.Errorf("called %+v, said %q", calls, final)
	}
	calls, _ = agent(t, llm.Request{Messages: append(before, llm.User("My dentist is Dr. Brook.")...)}, done)
	if len(calls) != 1 || calls[0].arguments["content"] != "My dentist is Dr." &&
		calls[0].arguments["content"] != "My dentist is Dr. Brook." {
		t.Errorf("called %+v", calls)
	}
}

// The caller's loop asks for a final reply; this is not a question of the user.
func TestWithoutCallsThereIsAFinalAnswer(t *testing.T) {
	t.Parallel()
	messages := []llm.Message{
		{Role: llm.RoleUser, Content: "Where does my sister live?"},
		{Role: llm.RoleAssistant, Calls: []llm.ToolCall{
			{ID: "1", Name: "memory_search", Arguments: `{"query":"sister"}`}}},
		{Role: llm.RoleTool, CallID: "1", Content: "The sister lives in Lima."},
		{Role: llm.RoleUser,
			Content: "Answer now, from what you know about this; call nothing more. What remains open?"},
	}
	if calls, final := agent(t, llm.Request{Messages: messages, ToolChoice: llm.ChooseNone}, done); len(calls) != 0 ||
		!strings.Contains(final, "Lima") {
		t.Errorf("called %+v, said %q", calls, final)
	}
	for said, chinese := range map[string]bool{"I prefer window seats. Where do I sit?": false, "请记住我喜欢靠窗的座位": true,
		"Hi": false} {
		if calls, final := agent(t, llm.Request{Messages: llm.User(said), ToolChoice: llm.ChooseNone},
			done); len(calls) != 0 || han(final) != chinese {
			t.Errorf("called %+v, said %q", calls, final)
		}
	}
}

func TestMemoriesInTheInstructionsAnswer(t *testing.T) {
	t.Parallel()
	for _, lang := range []string{"en", "zh"} {
		for _, city := range []string{"Oslo", "Lima"} {
			system, err := prompt.Session(lang, "chat", prompt.SessionContext{Soul: "About the person:\n- Be brief.",
				Profile: []prompt.Fact{{Text: "My sister lives in " + city + ".", Origin: "agent"}},
				Core:    []prompt.Fact{{Text: "The user keeps goats.", Origin: "user"}}})
			if err != nil {
				t.Fatal(err)
			}
			_, final := agent(t, llm.Request{System: system, Messages: llm.User("Where does my sister live?")},
				func(made) string { return `{"items":[]}` })
			if final != "My sister lives in "+city+"." {
				t.Errorf("said %q", final)
			}
		}
	}
}

// review is a nudge: messages to review, without a question.
func review(t *testing.T, messages []prompt.Message, candidates ...prompt.Candidate) ([]made, string) {
	t.Helper()
	text, err := prompt.User(prompt.Material{Messages: messages, Candidates: candidates})
	if err != nil {
		t.Fatal(err)
	}
	return agent(t, llm.Request{System: "Review.", Messages: llm.User(text)}, done)
}

func TestAReviewSavesTheMethodThatTheToolsShow(t *testing.T) {
	t.Parallel()
	calls, final := review(t, loanDesk(ada))
	var skills, memories []made
	for _, call := range calls {
		if call.tool == "skill_save" {
			skills = append(skills, call)
		} else if memories = append(memories, call); call.tool != "memory_save" {
			t.Errorf("called %+v", call)
		}
	}
	if len(skills) != 1 || len(memories) != 2 ||
		!strings.Contains(memories[0].arguments["content"].(string), "reminders by post") {
		t.Fatalf("called %+v", calls)
	}
	arguments := skills[0].arguments
	content := arguments["content"].(string)
	requireInOrder(t, content, "## When to Use\n", "## Procedure\n\n1. ", "\n2. ", "\n3. ", "`renew_loan`",
		"## Pitfalls\n\n- ", "closing day", "## Verification\n\n- ", "`renew_loan`")
	if !regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`).MatchString(arguments["name"].(string)) ||
		arguments["name"] != "renew-loan" || arguments["description"] == "" {
		t.Errorf("%v", arguments)
	}
	for _, private := range []string{ada.first, ada.last, ada.card, ada.loan, ada.date} {
		if strings.Contains(content, private) {
			t.Errorf("the skill contains %q", private)
		}
	}
	for _, optional := range []string{"expected_version", "allow_similar", "mode", "category"} {
		if arguments[optional] != nil {
			t.Errorf("%s is sent for nothing", optional)
		}
	}
	if final == "" || strings.Contains(final, "nothing to save") {
		t.Errorf("after %d calls it says %q", len(calls), final)
	}
	if again, _ := review(t, loanDesk(ada), renewing()); slices.ContainsFunc(again, func(c made) bool {
		return c.tool == "skill_save"
	}) {
		t.Error("an existing skill is saved again")
	}
}

// A conversation that only searches the memory contains nothing that the tool's description does
// not contain.
func TestAReviewMakesNoSkillOfToolsThatAreOffered(t *testing.T) {
	t.Parallel()
	var said [][]prompt.Message
	for _, about := range []string{"crepes", "chickpeas", "saffron", "asparagus", "paella", "salt"} {
		said = append(said, []prompt.Message{user("What do you know about " + about + "?"),
			calls(`memory_search({"query":"` + about + `"})`), result("memory_search", `{"ok":true,"results":[]}`),
			assistant("Nothing.")})
	}
	if got, _ := review(t, numbering(slices.Concat(said...)...)); slices.ContainsFunc(got, func(c made) bool {
		return c.tool == "skill_save"
	}) {
		t.Errorf("called %+v", got)
	}
}

func TestAReviewInChineseSavesUnderALatinName(t *testing.T) {
	t.Parallel()
	calls, _ := review(t, numbering(
		user("请问如何续借图书？我叫李明。"),
		calls(`find_member({"name":"李明"})`), result("find_member", `{"loan":"LN82X1"}`),
		calls(`get_rules({"kind":"renewal"})`), result("get_rules", "两次"),
		assistant("可以续借。确认吗？"), user("好的，确认。"),
		calls(`renew_loan({"loan":"LN82X1"})`), result("renew_loan", `{"status":"ok"}`),
		assistant("已续借。"), user("以后我都更喜欢短信提醒。")))
	tools := map[string]int{}
	for _, call := range calls {
		tools[call.tool]++
		if name, ok := call.arguments["name"].(string); ok && han(name) {
			t.Errorf("name %q", name)
		}
		if content := call.arguments["content"].(string); call.tool == "skill_save" &&
			!strings.Contains(content, "`renew_loan(loan)`") {
			t.Errorf("%s", content)
		}
	}
	if tools["memory_save"] < 1 || tools["skill_save"] != 1 || len(calls) != tools["memory_save"]+1 {
		t.Errorf("called %+v", calls)
	}
}

func TestAReviewSavesEachFactOfATalk(t *testing.T) {
	t.Parallel()
	for _, said := range [][]string{
		{"I work at night.", "I am allergic to walnuts.", "My sister lives in Kyoto."},
		{"I am vegetarian.", "We have two children."},
	} {
		var talk []prompt.Message
		for _, text := range said {
			talk = append(talk, user(text), assistant("Noted."))
		}
		calls, _ := review(t, numbering(talk...))
		var saved []string
		for _, c := range calls {
			saved = append(saved, fmt.Sprint(c.arguments["content"]))
		}
		if !slices.Equal(saved, said) {
			t.Errorf("of %q it saved %q", said, saved)
		}
	}
}

func TestAReviewSavesAFewFactsAndNotWhatPasses(t *testing.T) {
	t.Parallel()
	var talk strings.Builder
	for i := range 12 {
		fmt.Fprintf(&talk, "My cousin number %s plays chess. ", []string{"one", "two", "three", "four"}[i%4])
	}
	calls, _ := review(t,
		numbering(user("I am tired today. I want a refund. Can you help me? I always pay by invoice. "+talk.String()),
			assistant("I prefer tea.")))
	if len(calls) != maxFacts || calls[0].arguments["content"] != "I always pay by invoice." {
		t.Errorf("called %+v", calls)
	}
	for _, said := range []string{"Hi!", "I am waiting for it right now.", "Could you cancel my order?", "你好",
		"谢谢，再见！"} {
		calls, final := review(t, numbering(user(said), assistant("Sure.")))
		if len(calls) != 0 || final != phrases["nothing"][map[bool]int{true: 1}[han(said)]] {
			t.Errorf("%q: called %+v, said %q", said, calls, final)
		}
	}
}
