package httpapi_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cairn/internal/domain/access"
	"cairn/internal/domain/llm"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/testkit"
)

// responseBody is a response of POST /v1/responses.
type responseBody struct {
	ID, Object, Status, Model string
	Background, Store         bool
	Previous                  string `json:"previous_response_id"`
	Instructions              string
	Metadata                  map[string]any
	Output                    []outputItem
	Conversation              struct{ ID string }
	Usage                     *struct {
		Total int `json:"total_tokens"`
	}
	Incomplete *struct{ Reason string } `json:"incomplete_details"`
	Error      *struct{ Code, Message string }
}

type outputItem struct {
	ID, Type, Status, Name, Arguments string
	CallID                            string `json:"call_id"`
	Content                           []struct{ Type, Text string }
}

func (r responseBody) text() (all string) {
	for _, item := range r.Output {
		for _, part := range item.Content {
			all += part.Text
		}
	}
	return all
}

func responding(input any) asking { return asking{"model": "cairn", "input": input} }

func (b *bundle) respond(body asking) (out responseBody) {
	b.T.Helper()
	b.post("/v1/responses", body).into(http.StatusOK, &out)
	return out
}

// eventOf is an event of a stream.
type eventOf struct {
	Type     string
	Number   int `json:"sequence_number"`
	Delta    string
	Response responseBody
	Item     outputItem
	Code     string
}

// responseStream reads the events of a stream; see may end it.
func (b *bundle) responseStream(method, path string, body any, see func(eventOf) bool) (all []eventOf) {
	b.T.Helper()
	var raw []byte
	if body != nil {
		var err error
		raw, err = json.Marshal(body)
		testkit.Must(b.T, err)
	}
	req, err := http.NewRequestWithContext(b.T.Context(), method, b.url+path, strings.NewReader(string(raw)))
	testkit.Must(b.T, err)
	req.Header.Set("Authorization", "Bearer "+b.key)
	res, err := http.DefaultClient.Do(req)
	testkit.Must(b.T, err)
	defer res.Body.Close()
	if kind := res.Header.Get("Content-Type"); res.StatusCode != http.StatusOK || kind != "text/event-stream" {
		b.T.Fatalf("status %d, %s", res.StatusCode, kind)
	}
	lines, name := bufio.NewScanner(res.Body), ""
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if kind, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			name = kind
		}
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var e eventOf
		testkit.Must(b.T, json.Unmarshal([]byte(data), &e))
		if e.Type != name {
			b.T.Errorf("event %s has the type %s", name, e.Type)
		}
		if n := len(all); n > 0 && e.Number <= all[n-1].Number {
			b.T.Errorf("event %d follows %d", e.Number, all[n-1].Number)
		}
		all = append(all, e)
		if see != nil && see(e) {
			break
		}
	}
	return all
}

func deltas(all []eventOf) (text string) {
	for _, e := range all {
		if e.Type == "response.output_text.delta" {
			text += e.Delta
		}
	}
	return text
}

func TestAResponseContinuesThePreviousOne(t *testing.T) {
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
	first := b.respond(responding("one").with("instructions", "Be terse.").with("metadata", object{"case": "7"}))
	if first.Object != "response" || first.Status != "completed" || !strings.HasPrefix(first.ID, "resp_") ||
		first.text() != "one" || first.Usage == nil || first.Usage.Total == 0 || first.Instructions != "Be terse." ||
		first.Metadata["case"] != "7" || !first.Store || len(first.Output) != 1 || first.Output[0].Type != "message" {
		t.Errorf("%+v", first)
	}
	second := b.respond(responding("two").with("previous_response_id", first.ID))
	if second.text() != "one|two" || second.Previous != first.ID || second.Conversation != first.Conversation {
		t.Errorf("%+v", second)
	}
	branch := b.respond(responding("other").with("previous_response_id", first.ID)) // as after an edited message
	if branch.text() != "one|other" || branch.Conversation == first.Conversation {
		t.Errorf("%+v", branch)
	}
	third := b.respond(responding("three").with("previous_response_id", branch.ID))
	if third.text() != "one|other|three" || third.Conversation != branch.Conversation {
		t.Errorf("%+v", third)
	}
	for _, body := range []asking{responding("x").with("conversation", "desk"),
		responding([]object{said("user", "y")}).with("conversation", object{"id": "desk"})} {
		if got := b.respond(body); got.Conversation.ID != "desk" {
			t.Errorf("%+v", got)
		}
	}
	if b.turnsOf("desk") != 2 {
		t.Errorf("desk has %d turns", b.turnsOf("desk"))
	}
	// A client without IDs sends the whole conversation.
	whole := b.respond(responding([]object{said("user", "a"), said("assistant", "b"),
		{"role": "user", "content": []object{{"type": "input_text", "text": "c"}}}}))
	if whole.text() != "a|c" {
		t.Errorf("%+v", whole)
	}
	for range 2 {
		var shown responseBody
		b.get("/v1/responses/"+second.ID).into(http.StatusOK, &shown)
		if shown.text() != second.text() || shown.Previous != first.ID || shown.Status != "completed" {
			t.Errorf("%+v", shown)
		}
		// A response outlives the details of its run.
		if _, err := b.Admin().Exec(t.Context(), "select cairn.prune_runs('0 s', 1000)"); err != nil {
			t.Fatal(err)
		}
	}
	b.do(request{method: http.MethodDelete, path: "/v1/responses/" + second.ID}).into(http.StatusOK, new(any))
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		var gone chatBody
		b.do(request{method: method, path: "/v1/responses/" + second.ID}).into(http.StatusNotFound, &gone)
		if gone.Error == nil || gone.Error.Code != "response_not_found" {
			t.Errorf("%+v", gone.Error)
		}
	}
	b.get("/v1/conversations/"+first.Conversation.ID).into(http.StatusOK, new(any))
	hidden := b.respond(responding("secret").with("store", false))
	if res := b.get("/v1/responses/" + hidden.ID); hidden.Store || res.status != http.StatusNotFound {
		t.Errorf("%d %s", res.status, res.body)
	}
}

func TestAResponseCallsToolsOfTheClient(t *testing.T) {
	t.Parallel()
	b := idle(t)
	b.Start()
	b.Model.On(openaitest.Rule{Stage: "turn", Last: "tool", ReplyFunc: func(c openaitest.Call) string {
		return "It is " + c.Messages[len(c.Messages)-1].Content
	}})
	b.Model.On(openaitest.Rule{Stage: "turn", Offers: []string{"look_up"}, Calls: []llm.ToolCall{
		{ID: "c2", Name: "look_up", Arguments: `{"order":"7"}`}}})
	tools := []object{{"type": "function", "name": "look_up", "parameters": object{"type": "object"}}}
	asked := b.respond(responding("Where is order 7?").with("tools", tools))
	if len(asked.Output) != 1 || asked.Output[0].Type != "function_call" || asked.Output[0].CallID != "c2" ||
		asked.Output[0].Name != "look_up" || asked.Output[0].Arguments != `{"order":"7"}` {
		t.Fatalf("%+v", asked)
	}
	result := object{"type": "function_call_output", "call_id": "c2", "output": "in Bergen"}
	answered := b.respond(responding([]object{result}).with("previous_response_id", asked.ID).with("tools", tools))
	if answered.text() != "It is in Bergen" {
		t.Errorf("%+v", answered)
	}
	all := b.responseStream(http.MethodPost, "/v1/responses",
		responding("Where is order 7 now?").with("tools", tools).with("stream", true), nil)
	var kinds []string
	for _, e := range all {
		kinds = append(kinds, strings.TrimPrefix(e.Type, "response."))
	}
	want := []string{"created", "in_progress", "output_item.added", "function_call_arguments.delta",
		"function_call_arguments.done", "output_item.done", "completed"}
	if !slices.Equal(kinds, want) {
		t.Errorf("%q, want %q", kinds, want)
	}
	// A client without IDs sends the items back.
	again := b.respond(responding([]object{said("user", "Where is order 7?"),
		{"type": "reasoning", "summary": []object{}},
		{"type": "function_call", "call_id": "c2", "name": "look_up", "arguments": `{"order":"7"}`},
		result}).with("tools", tools))
	if again.text() != "It is in Bergen" {
		t.Errorf("%+v", again)
	}
}

// A stream is cut after each part and continues after its last event.
func TestAResponseStreamContinues(t *testing.T) {
	t.Parallel()
	b := idle(t)
	b.Start()
	b.Model.On(openaitest.Rule{Stage: "turn", Last: "tool", Reply: longReply + " Größe.", Pace: 40 * time.Millisecond})
	b.Model.On(openaitest.Rule{Stage: "turn", Match: "weather", Reply: "Let me look.",
		Calls: []llm.ToolCall{{ID: "c1", Name: "memory_search", Arguments: `{"query":"weather"}`}}})
	want := "Let me look.\n\n" + longReply + " Größe."
	parts := 0
	first := b.responseStream(http.MethodPost, "/v1/responses",
		responding("How is the weather?").with("stream", true).with("background", true), func(e eventOf) bool {
			if e.Type == "response.output_text.delta" {
				parts++
			}
			return parts == 2
		})
	id := first[0].Response.ID
	if !strings.HasPrefix(id, "resp_") || first[0].Type != "response.created" ||
		first[0].Response.Status != "in_progress" {
		t.Fatalf("%+v", first[0])
	}
	text, last := deltas(first), first[len(first)-1].Number
	for range 200 {
		ended := false
		next := b.responseStream(
			http.MethodGet,
			fmt.Sprintf("/v1/responses/%s?stream=true&starting_after=%d", id, last),
			nil,
			func(e eventOf) bool {
				ended = e.Type == "response.completed"
				return e.Type == "response.output_text.delta"
			},
		)
		text += deltas(next)
		if len(next) > 0 {
			last = next[len(next)-1].Number
		}
		if ended {
			break
		}
	}
	if text != want {
		t.Errorf("the parts add up to %q, want %q", text, want)
	}
	all := b.responseStream(http.MethodGet, "/v1/responses/"+id+"?stream=true", nil, nil)
	if end := all[len(all)-1]; deltas(all) != want || end.Type != "response.completed" || end.Response.text() != want ||
		end.Number != last {
		t.Errorf("from the beginning: %q, %+v", deltas(all), end)
	}
	after := fmt.Sprintf("/v1/responses/%s?stream=true&starting_after=", id)
	if rest := b.responseStream(http.MethodGet, after+strconv.Itoa(last), nil, nil); len(rest) != 0 {
		t.Errorf("a client that has everything gets %+v", rest)
	}
	if r := b.get(after + strconv.Itoa(last+1000)); r.status != http.StatusServiceUnavailable { // it has another text
		t.Errorf("status %d: %s", r.status, r.body)
	}
	var shown responseBody
	b.get("/v1/responses/"+id).into(http.StatusOK, &shown)
	if shown.text() != want || shown.Status != "completed" || !shown.Background {
		t.Errorf("%+v", shown)
	}
}

func TestABackgroundResponse(t *testing.T) {
	t.Parallel()
	b := idle(t)
	b.Start()
	b.Model.On(openaitest.Rule{Stage: "turn", Match: "slow", Reply: longReply, Pace: 10 * time.Second})
	b.Model.On(openaitest.Rule{Stage: "turn", Match: "locked", Status: 401, Reply: "no"})
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "Done.", Finish: "length"})
	status := func(id string) (out responseBody) {
		b.get("/v1/responses/"+id).into(http.StatusOK, &out)
		return out
	}
	quick := b.respond(responding("quick").with("background", true))
	testkit.Eventually(t, "the response is ready", func() bool { return status(quick.ID).Status != "in_progress" })
	if got := status(quick.ID); got.Status != "incomplete" || got.Incomplete == nil ||
		got.Incomplete.Reason != "max_output_tokens" || got.text() != "Done." {
		t.Errorf("%+v", got)
	}
	broken := b.respond(responding("locked").with("background", true))
	testkit.Eventually(t, "the response has failed", func() bool { return status(broken.ID).Status == "failed" })
	if got := status(broken.ID); got.Error == nil || got.Error.Code != "model_auth" {
		t.Errorf("%+v", got)
	}
	slow := b.respond(responding("slow").with("background", true))
	if slow.Status != "in_progress" {
		t.Errorf("%+v", slow)
	}
	var canceled responseBody
	b.post("/v1/responses/"+slow.ID+"/cancel", nil).into(http.StatusOK, &canceled)
	testkit.Eventually(t, "the response is canceled", func() bool { return status(slow.ID).Status == "cancelled" })
	waited := b.respond(responding("wait"))
	var refused chatBody
	b.post("/v1/responses/"+waited.ID+"/cancel", nil).into(http.StatusBadRequest, &refused)
	if refused.Error == nil || refused.Error.Message == "" {
		t.Errorf("%+v", refused)
	}
}

func TestAResponseIsRefusedWithAnErrorOfOpenAI(t *testing.T) {
	t.Parallel()
	b := idle(t)
	hello := responding("Hello")
	const value, argument = "invalid_value", "invalid_argument"
	for name, c := range map[string]struct {
		body        any
		status      int
		code, param string
	}{
		"model":       {hello.with("model", "gpt-4o"), 404, "model_not_found", "model"},
		"task":        {hello.with("model", "cairn-task"), 400, value, "model"},
		"no input":    {asking{"model": "cairn"}, 400, value, "input"},
		"empty input": {responding([]object{}), 400, value, "input"},
		"number":      {responding(5), 400, value, "input"},
		"role":        {responding([]object{said("robot", "Hi")}), 400, value, "input[0].role"},
		"image": {responding([]object{{"role": "user", "content": []object{{"type": "input_image"}}}}), 400, value,
			"input[0].content[0].image_url"},
		"item": {responding([]object{{"type": "computer_call"}}), 400, value, "input[0].type"},
		"orphan": {responding([]object{{"type": "function_call_output", "call_id": "x", "output": "y"}}), 400, argument,
			""},
		"previous": {hello.with("previous_response_id", "resp_none"), 400, "previous_response_not_found",
			"previous_response_id"},
		"unknown": {hello.with("previous_response_id", "resp_0h3xk9m2p7q4r8s1t5v6w0y3zd"), 400,
			"previous_response_not_found", "previous_response_id"},
		"both": {hello.with("previous_response_id", "resp_0h3xk9m2p7q4r8s1t5v6w0y3zd").with("conversation", "c"), 400,
			value, "previous_response_id"},
		"conversation": {hello.with("conversation", 5), 400, value, "conversation"},
		"tool":         {hello.with("tools", []object{{"type": "web_search"}}), 400, value, "tools[0].type"},
		"tool of Cairn": {hello.with("tools", []object{{"type": "function", "name": "memory_search"}}), 400, value,
			"tools[0].name"},
		"format":      {hello.with("text", object{"format": object{"type": "xml"}}), 400, value, "text.format"},
		"limit":       {hello.with("max_output_tokens", -1), 400, value, "max_output_tokens"},
		"truncation":  {hello.with("truncation", "half"), 400, value, "truncation"},
		"unstored":    {hello.with("background", true).with("store", false), 400, value, "store"},
		"temperature": {hello.with("temperature", 3), 400, value, "temperature"},
		"prompt":      {hello.with("prompt", object{"id": "p"}), 400, "unsupported_parameter", "prompt"},
	} {
		res := b.do(request{method: http.MethodPost, path: "/v1/responses", body: c.body})
		var out chatBody
		if err := json.Unmarshal(res.body, &out); err != nil || out.Error == nil {
			t.Errorf("%s: %d %s", name, res.status, res.body)
			continue
		}
		if e := out.Error; res.status != c.status || e.Code != c.code || e.Param != c.param || e.Message == "" {
			t.Errorf("%s: %d %+v, want %d %s %s", name, res.status, *e, c.status, c.code, c.param)
		}
	}
	for _, path := range []string{"/v1/responses/resp_none", "/v1/responses/none",
		"/v1/responses/resp_0h3xk9m2p7q4r8s1t5v6w0y3zd?stream=true"} {
		if res := b.get(path); res.status != http.StatusNotFound {
			t.Errorf("%s: %d %s", path, res.status, res.body)
		}
	}
	var runs int
	testkit.Must(t, b.connect().QueryRow(t.Context(), "select count(*) from cairn.runs").Scan(&runs))
	if runs != 0 {
		t.Errorf("%d runs of refused requests", runs)
	}
}

func TestOptionsOfAResponseReachTheModel(t *testing.T) {
	t.Parallel()
	b := idle(t)
	b.Start()
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: `{"city":"Bergen"}`})
	body := responding("Where?").with("temperature", 0.3).with("max_output_tokens", 77).
		with("reasoning", object{"effort": "low"}).with("text", object{"format": object{"type": "json_schema",
		"name": "city", "strict": true, "schema": object{"type": "object"}}})
	b.respond(body)
	var sent map[string]any
	testkit.Must(t, json.Unmarshal(b.Model.Requests()[0].Body, &sent))
	for name, want := range map[string]string{"temperature": "0.3", "max_tokens": "77", "reasoning_effort": `"low"`,
		"response_format": `{"json_schema":{"name":"city","schema":{"type":"object"},"strict":true},` +
			`"type":"json_schema"}`,
	} {
		if raw, _ := json.Marshal(sent[name]); string(raw) != want {
			t.Errorf("%s is %s, want %s", name, raw, want)
		}
	}
}

// A key reaches only the responses of its workspace.
func TestAResponseOfAnotherWorkspaceIsNotFound(t *testing.T) {
	t.Parallel()
	b := idle(t)
	b.Start()
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "Fine."})
	mine := b.respond(responding("Hello"))
	ws, err := b.App.Store.Workspace(t.Context(), "other", true)
	testkit.Must(t, err)
	other := b.makeKey(ws, access.Admin)
	for _, r := range []request{{path: "/v1/responses/" + mine.ID},
		{method: http.MethodDelete, path: "/v1/responses/" + mine.ID},
		{method: http.MethodPost, path: "/v1/responses/" + mine.ID + "/cancel"}} {
		r.key = other
		if res := b.do(r); res.status != http.StatusNotFound {
			t.Errorf("%s %s: %d", r.method, r.path, res.status)
		}
	}
	res := b.do(request{method: http.MethodPost, path: "/v1/responses", key: other,
		body: responding("Hi").with("previous_response_id", mine.ID)})
	if res.status != http.StatusBadRequest {
		t.Errorf("continued from another workspace: %d %s", res.status, res.body)
	}
}
