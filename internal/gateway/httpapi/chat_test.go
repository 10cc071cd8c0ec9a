package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn/internal/app"
	"cairn/internal/domain/llm"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/testkit"
)

// chatBody is a response of POST /v1/chat/completions.
type chatBody struct {
	ID, Object, Model string
	Choices           []struct {
		Message struct {
			Role, Content string
			Calls         []chatCall `json:"tool_calls"`
		}
		Delta struct {
			Role    string
			Content *string
			Calls   []chatCall `json:"tool_calls"`
		}
		Finish string `json:"finish_reason"`
	}
	Usage *struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Total      int `json:"total_tokens"`
	}
	Error *apiError
}

type chatCall struct {
	ID, Type string
	Function struct{ Name, Arguments string }
}

type apiError struct{ Message, Type, Code, Param string }

func said(role, text string) object { return object{"role": role, "content": text} }

// asking is the body of a request.
type asking object

func chatting(messages ...object) asking { return asking{"model": "cairn", "messages": messages} }

// with returns the body with another member.
func (a asking) with(name string, value any) asking {
	out := maps.Clone(a)
	out[name] = value
	return out
}

// chat sends a request and returns the reply and the conversation.
func (b *bundle) chat(body asking, headers ...string) (out chatBody, conversation string) {
	b.T.Helper()
	r := request{method: http.MethodPost, path: "/v1/chat/completions", body: body, header: map[string]string{}}
	for i := 0; i < len(headers); i += 2 {
		r.header[headers[i]] = headers[i+1]
	}
	res := b.do(r)
	res.into(http.StatusOK, &out)
	if len(out.Choices) != 1 {
		b.T.Fatalf("%d choices: %s", len(out.Choices), res.body)
	}
	return out, res.header.Get("X-Cairn-Conversation")
}

// chatted is a streamed reply.
type chatted struct {
	text   string
	calls  []chatCall
	finish string
	usage  bool
	done   bool
	failed *apiError
	parts  int
}

// chatStream sends a request with stream and reads up to the end of the stream or of ctx.
func (b *bundle) chatStream(ctx context.Context, body asking, see func(chatted)) (out chatted) {
	b.T.Helper()
	raw, err := json.Marshal(body.with("stream", true))
	testkit.Must(b.T, err)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.url+"/v1/chat/completions",
		strings.NewReader(string(raw)))
	testkit.Must(b.T, err)
	req.Header.Set("Authorization", "Bearer "+b.key)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if ctx.Err() != nil {
		return out
	}
	testkit.Must(b.T, err)
	defer res.Body.Close()
	if kind := res.Header.Get("Content-Type"); res.StatusCode != http.StatusOK || kind != "text/event-stream" {
		b.T.Fatalf("status %d, %s", res.StatusCode, kind)
	}
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		if data == "[DONE]" {
			out.done = true
			continue
		}
		var part chatBody
		testkit.Must(b.T, json.Unmarshal([]byte(data), &part))
		out.failed, out.usage = part.Error, out.usage || part.Usage != nil
		for _, c := range part.Choices {
			if c.Delta.Content != nil {
				out.text += *c.Delta.Content
				out.parts++
			}
			out.calls, out.finish = append(out.calls, c.Delta.Calls...), c.Finish
		}
		if see != nil {
			see(out)
		}
	}
	return out
}

func (b *bundle) turnsOf(conversation string) int {
	b.T.Helper()
	var out struct{ Turns int }
	b.get("/v1/conversations/"+conversation).into(http.StatusOK, &out)
	return out.Turns
}

func TestAChatContinuesByItsHistory(t *testing.T) {
	t.Parallel()
	b := idle(t)
	b.Start()
	b.Model.On(openaitest.Rule{Stage: "turn", ReplyFunc: func(c openaitest.Call) string {
		return fmt.Sprintf("Reply %d.", len(c.Messages))
	}})
	system := said("system", "You are terse.")
	first, conversation := b.chat(chatting(system, said("user", "Hello")))
	m := first.Choices[0]
	if first.Object != "chat.completion" || !strings.HasPrefix(first.ID, "chatcmpl-") ||
		m.Message.Role != "assistant" ||
		m.Finish != "stop" ||
		m.Message.Content == "" ||
		conversation == "" {
		t.Errorf("%+v in %q", first, conversation)
	}
	if u := first.Usage; u == nil || u.Prompt == 0 || u.Completion == 0 || u.Total != u.Prompt+u.Completion {
		t.Errorf("usage %+v", u)
	}
	history := []object{
		system,
		said("user", "Hello"),
		said("assistant", m.Message.Content+"\n"),
		said("user", "And now?"),
	}
	second, same := b.chat(chatting(history...))
	if same != conversation || b.turnsOf(conversation) != 2 {
		t.Errorf(
			"the second message went to %q, not %q, which has %d turns",
			same,
			conversation,
			b.turnsOf(conversation),
		)
	}
	// Another text of the first message is another conversation, with the same earlier messages.
	edited := slices.Clone(history)
	edited[3] = said("user", "And then?")
	_, branch := b.chat(chatting(edited...))
	if branch == conversation || b.turnsOf(conversation) != 2 || b.turnsOf(branch) != 2 {
		t.Errorf("the edited message went to %q; turns %d and %d", branch, b.turnsOf(conversation), b.turnsOf(branch))
	}
	// A conversation from elsewhere is imported.
	foreign := []object{said("user", "My dog is called Bello."), said("assistant", "Nice."),
		said("user", "What is my dog called?")}
	_, imported := b.chat(chatting(foreign...))
	last := b.Model.Requests()[len(b.Model.Requests())-1]
	if n := len(last.Messages); n < 4 || !strings.Contains(last.Messages[n-3].Content, "Bello") {
		t.Errorf("the model got %+v", last.Messages)
	}
	more := append(foreign, said("assistant", "Reply 4."), said("user", "Thanks"))
	if _, again := b.chat(chatting(more...)); again != imported {
		t.Errorf("the imported conversation %q was continued in %q", imported, again)
	}
	for _, r := range b.Model.Requests()[:2] {
		if !strings.HasSuffix(r.Messages[0].Content, "You are terse.") {
			t.Errorf("the client's instructions are missing: %.200q", r.Messages[0].Content)
		}
	}
	_ = second
}

func TestARepeatedRequestHasOneReply(t *testing.T) {
	t.Parallel()
	b := idle(t)
	b.Start()
	b.Model.On(openaitest.Rule{Stage: "turn", ReplyFunc: func(openaitest.Call) string {
		return fmt.Sprintf("Reply %d.", len(b.Model.Requests()))
	}})
	body := chatting(said("user", "Hello"))
	first, conversation := b.chat(body)
	again, same := b.chat(body, "X-Stainless-Retry-Count", "1")
	soon, _ := b.chat(body)
	if again.ID != first.ID || soon.ID != first.ID || same != conversation || len(b.Model.Requests()) != 1 {
		t.Errorf("%d requests, IDs %s, %s, %s", len(b.Model.Requests()), first.ID, again.ID, soon.ID)
	}
	// Later, the same request asks for another reply.
	b.admin("update cairn.turn_requests set created_at = created_at - interval '1 hour'")
	b.admin("update cairn.turns set ended_at = ended_at - interval '1 hour'")
	other, branch := b.chat(body, "X-Stainless-Retry-Count", "1")
	if other.ID == first.ID || branch == conversation || len(b.Model.Requests()) != 2 {
		t.Errorf("an hour later: %s in %s, %d requests", other.ID, branch, len(b.Model.Requests()))
	}
	// With the ID of a conversation, an equal message is a new one. A key names a message for ever.
	one, _ := b.chat(body, "X-Cairn-Conversation", "desk")
	two, _ := b.chat(body, "X-Cairn-Conversation", "desk")
	if one.ID == two.ID || b.turnsOf("desk") != 2 {
		t.Errorf("the second message of a conversation is a retry: %s", two.ID)
	}
	keyed, _ := b.chat(body, "X-Cairn-Conversation", "desk", "Idempotency-Key", "k1")
	b.admin("update cairn.turn_requests set created_at = created_at - interval '1 hour'")
	b.admin("update cairn.turns set ended_at = ended_at - interval '1 hour'")
	twice, _ := b.chat(body, "X-Cairn-Conversation", "desk", "Idempotency-Key", "k1")
	if keyed.ID != twice.ID || b.turnsOf("desk") != 3 {
		t.Errorf("the message k1 was answered twice: %s, %s", keyed.ID, twice.ID)
	}
	reused := b.do(request{method: http.MethodPost, path: "/v1/chat/completions",
		body:   chatting(said("user", "Other")),
		header: map[string]string{"X-Cairn-Conversation": "desk", "Idempotency-Key": "k1"}})
	var refused chatBody
	reused.into(http.StatusBadRequest, &refused)
	if refused.Error == nil || refused.Error.Code != "idempotency_key_reused" {
		t.Errorf("another text under the same key: %s", reused.body)
	}
}

func TestAChatIsStreamed(t *testing.T) {
	t.Parallel()
	b := idle(t)
	b.Start()
	b.Model.On(openaitest.Rule{Stage: "turn", Last: "tool", Reply: longReply, Pace: 40 * time.Millisecond})
	b.Model.On(openaitest.Rule{Stage: "turn", Match: "weather", Reply: "Let me look.",
		Calls: []llm.ToolCall{{ID: "c1", Name: "memory_search", Arguments: `{"query":"weather"}`}}})
	body := chatting(said("user", "How is the weather?"))
	early := false
	got := b.chatStream(t.Context(), body.with("stream_options", object{"include_usage": true}), func(c chatted) {
		early = early || c.text != "" && len(b.Model.Paid()) < 2
	})
	if got.text != "Let me look.\n\n"+longReply || got.finish != "stop" || !got.done || !got.usage || got.parts < 4 ||
		!early {
		t.Errorf("%+v, early %v", got, early)
	}
	// The plain response has the same text, and a client that sends it back continues.
	plain, conversation := b.chat(body)
	if plain.Choices[0].Message.Content == got.text && len(b.Model.Requests()) != 4 {
		t.Errorf("%d requests", len(b.Model.Requests()))
	}
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "You are welcome."})
	_, same := b.chat(chatting(said("user", "How is the weather?"), said("assistant", plain.Choices[0].Message.Content),
		said("user", "Thanks")))
	if same != conversation {
		t.Errorf("%q continues in %q", conversation, same)
	}
}

var lookUp = object{"type": "function", "function": object{"name": "look_up", "description": "Look up an order",
	"parameters": object{"type": "object", "properties": object{"order": object{"type": "string"}}}}}

// The model calls a tool of Cairn and one of the client in one response.
func TestAClientRunsItsOwnTools(t *testing.T) {
	t.Parallel()
	b := idle(t)
	b.Start()
	b.Model.On(openaitest.Rule{Stage: "turn", Last: "tool", ReplyFunc: func(c openaitest.Call) string {
		var results []string
		for _, m := range c.Messages {
			if m.Role == openaitest.RoleTool {
				results = append(results, m.CallID+"="+m.Content[:min(len(m.Content), 12)])
			}
		}
		return strings.Join(results, " ")
	}})
	b.Model.On(openaitest.Rule{Stage: "turn", Offers: []string{"look_up"}, Calls: []llm.ToolCall{
		{ID: "c1", Name: "memory_search", Arguments: `{"query":"order"}`},
		{ID: "c2", Name: "look_up", Arguments: `{"order":"7"}`}}})
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "No tools."})
	question := said("user", "Where is order 7?")
	body := chatting(question).with("tools", []object{lookUp})
	asked, conversation := b.chat(body)
	calls := asked.Choices[0].Message.Calls
	if asked.Choices[0].Finish != "tool_calls" || len(calls) != 1 || calls[0].ID != "c2" ||
		calls[0].Type != "function" ||
		calls[0].Function.Name != "look_up" ||
		calls[0].Function.Arguments != `{"order":"7"}` {
		t.Fatalf("%+v", asked.Choices[0])
	}
	back := object{"role": "assistant", "content": nil, "tool_calls": []object{{"id": "c2", "type": "function",
		"function": object{"name": "look_up", "arguments": `{"order":"7"}`}}}}
	result := object{"role": "tool", "tool_call_id": "c2", "content": "In Bergen"}
	answered, same := b.chat(chatting(question, back, result).with("tools", []object{lookUp}))
	text := answered.Choices[0].Message.Content
	if same != conversation || !strings.Contains(text, "c2=In Bergen") || !strings.Contains(text, `c1={"ok":true`) {
		t.Errorf("in %s: %q", same, text)
	}
	var view struct{ Counters struct{ Total int } }
	b.get("/v1/conversations/"+conversation).into(http.StatusOK, &view)
	if view.Counters.Total != 1 {
		t.Errorf("%d counted turns for one question", view.Counters.Total)
	}
	streamed := b.chatStream(
		t.Context(),
		chatting(said("user", "Where is order 7 now?")).with("tools", []object{lookUp}),
		nil,
	)
	if len(streamed.calls) != 1 || streamed.calls[0].ID != "c2" || !streamed.done {
		t.Errorf("streamed: %+v", streamed)
	}
	// The client goes on without the result.
	moved, _ := b.chat(chatting(question, back, said("user", "Never mind")).with("tool_choice", "none").
		with("tools", []object{lookUp}))
	if moved.Choices[0].Message.Content != "No tools." {
		t.Errorf("%+v", moved.Choices[0])
	}
	last := b.Model.Requests()[len(b.Model.Requests())-1]
	found := slices.ContainsFunc(last.Messages, func(m llm.Message) bool {
		return m.CallID == "c2" && strings.Contains(m.Content, "not answered by the client")
	})
	if !found {
		t.Errorf("the open call has no result: %+v", last.Messages)
	}
}

func TestOptionsOfAChatReachTheModel(t *testing.T) {
	t.Parallel()
	b := idle(t)
	b.Start()
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: `{"city":"Bergen"}`, Finish: "length"})
	schema := object{"type": "json_schema", "json_schema": object{"name": "city", "strict": true,
		"schema": object{"type": "object", "properties": object{"city": object{"type": "string"}}}}}
	body := chatting(said("developer", "Reply in JSON."), said("user", "Where?"))
	for name, value := range map[string]any{"temperature": 0.3, "top_p": 0.5, "max_completion_tokens": 77, "seed": 5,
		"stop": "END", "reasoning_effort": "low", "response_format": schema, "presence_penalty": 0.1,
		"tools": []object{lookUp}, "tool_choice": object{"type": "function", "function": object{"name": "look_up"}}} {
		body[name] = value
	}
	got, _ := b.chat(body)
	if got.Choices[0].Finish != "length" || got.Choices[0].Message.Content != `{"city":"Bergen"}` {
		t.Errorf("%+v", got.Choices[0])
	}
	var sent map[string]any
	testkit.Must(t, json.Unmarshal(b.Model.Requests()[0].Body, &sent))
	for name, want := range map[string]string{"temperature": "0.3", "top_p": "0.5", "seed": "5", "stop": `["END"]`,
		"max_tokens": "77", "reasoning_effort": `"low"`, "presence_penalty": "0.1",
		"tool_choice": `{"function":{"name":"look_up"},"type":"function"}`} {
		if raw, _ := json.Marshal(sent[name]); string(raw) != want {
			t.Errorf("%s is %s, want %s", name, raw, want)
		}
	}
	b.chat(chatting(said("user", "And then?")).with("max_tokens", 10_000_000)) // above the limit of the deployment
	all := b.Model.Requests()
	var capped struct {
		Max int `json:"max_tokens"`
	}
	testkit.Must(t, json.Unmarshal(all[len(all)-1].Body, &capped))
	if own := app.TurnSpec(b.App.Config).Limits.MaxTokens; capped.Max != own {
		t.Errorf("max_tokens is %d, want %d", capped.Max, own)
	}
	if raw, _ := json.Marshal(sent["response_format"]); !strings.Contains(string(raw), `"name":"city"`) {
		t.Errorf("response_format %s", raw)
	}
}

func TestAChatIsRefusedWithAnErrorOfOpenAI(t *testing.T) {
	t.Parallel()
	b := idle(t)
	hello := chatting(said("user", "Hello"))
	const value, argument, parameter = "invalid_value", "invalid_argument", "unsupported_parameter"
	image := chatting(object{"role": "user", "content": []object{{"type": "image_url"}}})
	orphan := chatting(said("user", "Hi"), object{"role": "tool", "tool_call_id": "x", "content": "y"})
	for name, c := range map[string]struct {
		body        any
		key         string
		status      int
		code, param string
	}{
		"key":            {hello, "cairn_wrong", 401, "invalid_api_key", ""},
		"model":          {hello.with("model", "gpt-4o"), "", 404, "model_not_found", "model"},
		"no messages":    {asking{"model": "cairn"}, "", 400, value, "messages"},
		"no question":    {chatting(said("user", "Hi"), said("assistant", "Hello")), "", 400, argument, ""},
		"role":           {chatting(said("robot", "Hi")), "", 400, value, "messages[0].role"},
		"n":              {hello.with("n", 2), "", 400, parameter, "n"},
		"logprobs":       {hello.with("logprobs", true), "", 400, parameter, "logprobs"},
		"functions":      {hello.with("functions", []object{}), "", 400, parameter, "functions"},
		"audio":          {hello.with("audio", object{}), "", 400, parameter, "audio"},
		"temperature":    {hello.with("temperature", 3), "", 400, value, "temperature"},
		"type":           {hello.with("temperature", "hot"), "", 400, value, "temperature"},
		"format":         {hello.with("response_format", object{"type": "xml"}), "", 400, value, "response_format"},
		"tool of Cairn":  {hello.with("tools", tool("memory_search")), "", 400, value, "tools[0].function.name"},
		"tool name":      {hello.with("tools", tool("a b")), "", 400, value, "tools[0].function.name"},
		"tool choice":    {hello.with("tool_choice", "required"), "", 400, value, "tool_choice"},
		"image":          {image, "", 400, value, "messages[0].content[0].image_url"},
		"unknown call":   {orphan, "", 400, argument, ""},
		"empty":          {chatting(said("user", " ")), "", 400, argument, ""},
		"not JSON":       {"{", "", 400, value, ""},
		"null":           {"null", "", 400, value, ""},
		"long":           {chatting(said("user", strings.Repeat("x", 40_000))), "", 413, "too_large", ""},
		"too many stops": {hello.with("stop", []string{"a", "b", "c", "d", "e"}), "", 400, value, "stop"},
	} {
		res := b.do(request{method: http.MethodPost, path: "/v1/chat/completions", body: c.body, key: c.key})
		var out chatBody
		if err := json.Unmarshal(res.body, &out); err != nil || out.Error == nil {
			t.Errorf("%s: %d %s", name, res.status, res.body)
			continue
		}
		if e := out.Error; res.status != c.status || e.Code != c.code || e.Param != c.param || e.Message == "" ||
			e.Type == "" {
			t.Errorf("%s: %d %+v, want %d %s %s", name, res.status, *e, c.status, c.code, c.param)
		}
	}
	var runs int
	testkit.Must(t, b.connect().QueryRow(t.Context(), "select count(*) from cairn.turns").Scan(&runs))
	if runs != 0 {
		t.Errorf("%d turns of refused requests", runs)
	}
}

func tool(name string) []object {
	return []object{{"type": "function", "function": object{"name": name}}}
}

func TestAFailedTurnIsAnErrorOfTheRequest(t *testing.T) {
	t.Parallel()
	b := idle(t)
	b.Start()
	b.Model.On(openaitest.Rule{Stage: "turn", Match: "long", Status: 400,
		Reply: "This model's maximum context length is 10 tokens"})
	b.Model.On(openaitest.Rule{Stage: "turn", Match: "locked", Status: 401, Reply: "no"})
	for text, want := range map[string]struct {
		status int
		code   string
	}{"long": {400, "context_length_exceeded"}, "locked": {502, "model_auth"}} {
		res := b.post("/v1/chat/completions", chatting(said("user", text)))
		var out chatBody
		res.into(want.status, &out)
		if out.Error == nil || out.Error.Code != want.code {
			t.Errorf("%s: %s", text, res.body)
		}
	}
	b.do(request{method: http.MethodPatch, path: "/v1/settings", body: object{"tokens_per_day": 1}}).
		into(http.StatusOK, new(any))
	res := b.post("/v1/chat/completions", chatting(said("user", "Hello")))
	var out chatBody
	res.into(http.StatusTooManyRequests, &out)
	if out.Error == nil || out.Error.Code != "insufficient_quota" || res.header.Get("X-Should-Retry") != "false" {
		t.Errorf("%s %v", res.body, res.header)
	}
}

func TestModelsAreListed(t *testing.T) {
	t.Parallel()
	b := idle(t)
	var list struct {
		Object string
		Data   []struct{ ID, Object string }
	}
	b.get("/v1/models").into(http.StatusOK, &list)
	if list.Object != "list" || len(list.Data) == 0 || list.Data[0].ID != "cairn" || list.Data[0].Object != "model" {
		t.Errorf("%+v", list)
	}
	b.get("/v1/models/cairn").into(http.StatusOK, new(any))
	res := b.get("/v1/models/gpt-4o")
	var out chatBody
	res.into(http.StatusNotFound, &out)
	if out.Error == nil || out.Error.Code != "model_not_found" {
		t.Errorf("%s", res.body)
	}
}

// The client disconnects in the middle of a reply and does not come back.
func TestAnAbandonedChatIsCancelled(t *testing.T) {
	t.Parallel()
	b := idle(t)
	b.Start()
	b.Model.On(openaitest.Rule{Stage: "turn", Match: "weather", Reply: longReply, Pace: 10 * time.Second})
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	got := b.chatStream(ctx, chatting(said("user", "How is the weather?")), func(c chatted) {
		if len(c.text) > 10 {
			leave()
		}
	})
	var reason, reply string
	conn := b.connect()
	testkit.Eventually(t, "the turn has ended", func() bool {
		_ = conn.QueryRow(t.Context(), `select t.reason, coalesce(m.content, '') from cairn.turns t
			left join cairn.messages m on m.workspace_id = t.workspace_id and m.conversation_id = t.conversation_id
				and m.seq = t.reply_seq`).
			Scan(&reason, &reply)
		return reason != ""
	})
	if reason != "interrupted" || !strings.HasPrefix(longReply, reply) ||
		!strings.HasPrefix(reply, strings.TrimSpace(got.text)) {
		t.Errorf("reason %q, reply %q, the client has %q", reason, reply, got.text)
	}
}

// The second attempt of the model gives another text. The stream ends with an error, and the same request then
// gets the whole reply, plain and streamed.
func TestAChatWhoseTextIsReplacedIsSentAgain(t *testing.T) {
	t.Parallel()
	b := idle(t)
	b.Start()
	const last = "Rain is likely in Rome tomorrow."
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "It will be sunny in Rome tomorrow.", Events: 2, DropAfter: true,
		Pace: 20 * time.Millisecond, Nth: 1})
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: last, Pace: 20 * time.Millisecond})
	body := chatting(said("user", "How is the weather in Rome?"))
	got := b.chatStream(t.Context(), body, nil)
	if got.failed == nil || got.failed.Code != "stream_interrupted" || got.done || got.text == "" {
		t.Fatalf("%+v", got)
	}
	again := b.chatStream(t.Context(), body, nil)
	if again.text != last || !again.done || again.failed != nil || len(b.Model.Requests()) != 2 {
		t.Errorf("%+v, %d model calls", again, len(b.Model.Requests()))
	}
}

// Many requests continue the same conversation at the same time.
func TestRequestsAtTheSameTimeDoNotMix(t *testing.T) {
	t.Parallel()
	b := idle(t)
	b.Start()
	b.Model.On(openaitest.Rule{Stage: "turn", ReplyFunc: func(c openaitest.Call) string {
		var users []string
		for _, m := range c.Messages {
			if m.Role == llm.RoleUser {
				users = append(users, m.Content[strings.LastIndex(m.Content, "\n")+1:])
			}
		}
		return strings.Join(users, "|")
	}})
	first, conversation := b.chat(chatting(said("user", "one")))
	reply := first.Choices[0].Message.Content
	const asked = 6
	var wg sync.WaitGroup
	var mu sync.Mutex
	in := map[string][]string{} // conversations by reply
	for i := range 2 * asked {
		wg.Go(func() { // each message twice
			text := fmt.Sprintf("two %d", i%asked)
			raw, _ := json.Marshal(chatting(said("user", "one"), said("assistant", reply), said("user", text)))
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.url+"/v1/chat/completions",
				strings.NewReader(string(raw)))
			if err != nil {
				t.Error(err)
				return
			}
			req.Header.Set("Authorization", "Bearer "+b.key)
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			defer res.Body.Close()
			var out chatBody
			if err := json.NewDecoder(res.Body).Decode(&out); err != nil || len(out.Choices) != 1 {
				t.Errorf("status %d: %v, %+v", res.StatusCode, err, out.Error)
				return
			}
			if got := out.Choices[0].Message.Content; !strings.HasSuffix(got, "one|"+text) {
				t.Errorf("%q was answered from another history: %q", text, got)
			}
			mu.Lock()
			defer mu.Unlock()
			in[text] = append(in[text], res.Header.Get("X-Cairn-Conversation"))
		})
	}
	wg.Wait()
	continued := 0
	for text, names := range in {
		if len(names) != 2 || names[0] != names[1] {
			t.Errorf("%q went to %v", text, names)
		}
		if names[0] == conversation {
			continued++
		}
	}
	if n := len(b.Model.Requests()); continued != 1 || n != 1+asked || b.turnsOf(conversation) != 2 {
		t.Errorf(
			"%d requests continued the conversation, %d model calls, %d turns",
			continued,
			n,
			b.turnsOf(conversation),
		)
	}
}

// Requests as Open WebUI (routers/openai.py) and LibreChat (custom endpoint) send them.
func TestChatApplicationsKeepTheirConversations(t *testing.T) {
	t.Parallel()
	b := idle(t)
	b.Start()
	b.Model.On(openaitest.Rule{Stage: "turn", ReplyFunc: func(openaitest.Call) string {
		return fmt.Sprintf("Reply %d.", len(b.Model.Requests()))
	}})
	later := func() {
		b.admin("update cairn.turn_requests set created_at = created_at - interval '1 hour'")
		b.admin("update cairn.turns set ended_at = ended_at - interval '1 hour'")
	}
	webUI := func(chat string) []string {
		return []string{"X-OpenWebUI-User-Name", "Ada", "X-OpenWebUI-User-Id", "u1", "X-OpenWebUI-User-Email",
			"ada@example.org", "X-OpenWebUI-User-Role", "user", "X-OpenWebUI-Chat-Id", chat}
	}
	libre := func(conversation string) []string { return []string{"X-Cairn-Conversation", conversation} }
	for name, headers := range map[string]func(string) []string{"web": webUI, "libre": libre} {
		hello := said("user", "Hello from "+name)
		body := chatting(said("system", "Today is Thursday."), hello).with("temperature", 1).with("user", "u1")
		one, first := b.chat(body, headers(name+"-1")...)
		_, other := b.chat(body, headers(name+"-2")...)
		if first != name+"-1" || other != name+"-2" {
			t.Errorf("%s: conversations %q and %q", name, first, other)
		}
		text := one.Choices[0].Message.Content
		next := chatting(said("system", "Today is Friday."), hello, said("assistant", text), said("user", "And now?"))
		two, same := b.chat(next, headers(name+"-1")...)
		if same != first || b.turnsOf(first) != 2 {
			t.Errorf("%s: %q with %d turns", name, same, b.turnsOf(first))
		}
		later() // the user asks for another reply
		again, branch := b.chat(next, headers(name+"-1")...)
		if branch == first || !strings.HasPrefix(branch, first+"~") || b.turnsOf(first) != 2 {
			t.Errorf("%s: another reply in %q, %d turns before", name, branch, b.turnsOf(first))
		}
		for reply, want := range map[string]string{two.Choices[0].Message.Content: first,
			again.Choices[0].Message.Content: branch} {
			more := chatting(hello, said("assistant", text), said("user", "And now?"), said("assistant", reply),
				said("user", "Thanks"))
			if _, got := b.chat(more, headers(name+"-1")...); got != want {
				t.Errorf("%s: after %q in %q, want %q", name, reply, got, want)
			}
		}
	}
}
