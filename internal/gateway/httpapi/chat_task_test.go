package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"cairn/internal/domain/llm"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/testkit"
)

// Chat applications ask for titles of their chats.
func TestATaskIsOneReplyWithoutAConversation(t *testing.T) {
	t.Parallel()
	b := idle(t)
	b.Start()
	b.Model.On(openaitest.Rule{Stage: "completion", ReplyFunc: func(openaitest.Call) string {
		return fmt.Sprintf("Title %d", len(b.Model.Requests()))
	}})
	secret := "sk-" + strings.Repeat("Zx9wV7uT", 3)
	body := asking{"model": "cairn-task", "messages": []object{said("system", "Write titles."),
		said("user", "Title of a chat about "+secret)},
		"temperature": 0.2, "max_tokens": 20}
	first, conversation := b.chat(body)
	if first.Choices[0].Message.Content != "Title 1" || first.Choices[0].Finish != "stop" || conversation != "" ||
		first.Model != "cairn-task" || first.Usage == nil || first.Usage.Total == 0 {
		t.Errorf("%+v in %q", first, conversation)
	}
	sent := b.Model.Requests()[0]
	if len(sent.Messages) != 2 || sent.Messages[0].Content != "Write titles." || len(sent.Tools) != 0 ||
		strings.Contains(string(sent.Body), secret) || !strings.Contains(string(sent.Body), `"temperature":0.2`) {
		t.Errorf("the model got %s", sent.Body)
	}
	again, _ := b.chat(body)
	retried, _ := b.chat(body, "X-Stainless-Retry-Count", "1")
	if again.ID != first.ID || retried.ID != first.ID {
		t.Errorf("the same request has the responses %s, %s, %s", first.ID, again.ID, retried.ID)
	}
	b.admin("update cairn.runs set ended_at = ended_at - interval '1 hour'")
	if later, _ := b.chat(body); later.ID == first.ID || later.Choices[0].Message.Content != "Title 2" {
		t.Errorf("an hour later: %+v", later)
	}
	streamed := b.chatStream(t.Context(), body.with("seed", 1), nil)
	if streamed.text != "Title 3" || !streamed.done || streamed.finish != "stop" {
		t.Errorf("streamed: %+v", streamed)
	}
	var id string
	testkit.Must(t, b.connect().QueryRow(t.Context(), "select workflow_id from cairn.runs limit 1").Scan(&id))
	b.RecordEnded(id, "Completion/completed")
	var conversations, memories int
	testkit.Must(t, b.connect().QueryRow(t.Context(), `select (select count(*) from cairn.conversations),
		(select count(*) from cairn.messages)`).Scan(&conversations, &memories))
	if conversations != 0 || memories != 0 {
		t.Errorf("%d conversations with %d messages", conversations, memories)
	}
}

func TestATaskMayCallToolsOfTheClient(t *testing.T) {
	t.Parallel()
	b := idle(t)
	b.Start()
	b.Model.On(openaitest.Rule{Stage: "completion", Last: "tool", Reply: "Bergen"})
	b.Model.On(openaitest.Rule{Stage: "completion", Calls: []llm.ToolCall{
		{ID: "c1", Name: "look_up", Arguments: `{"order":"7"}`}}})
	question := said("user", "Where is order 7?")
	body := asking{"model": "cairn-task", "messages": []object{question}, "tools": []object{lookUp}}
	asked, _ := b.chat(body)
	if calls := asked.Choices[0].Message.Calls; len(calls) != 1 || calls[0].ID != "c1" ||
		asked.Choices[0].Finish != "tool_calls" {
		t.Fatalf("%+v", asked.Choices[0])
	}
	back := object{"role": "assistant", "tool_calls": []object{{"id": "c1", "type": "function",
		"function": object{"name": "look_up", "arguments": `{"order":"7"}`}}}}
	answered, _ := b.chat(body.with("messages", []object{question, back,
		{"role": "tool", "tool_call_id": "c1", "content": "In Bergen"}}))
	if answered.Choices[0].Message.Content != "Bergen" {
		t.Errorf("%+v", answered.Choices[0])
	}
}

func TestATaskFailsLikeAChat(t *testing.T) {
	t.Parallel()
	b := idle(t)
	b.Start()
	b.Model.On(openaitest.Rule{Stage: "completion", Match: "locked", Status: 401, Reply: "no"})
	ask := func(text string, headers map[string]string) (out chatBody, status int) {
		res := b.do(request{method: http.MethodPost, path: "/v1/chat/completions", header: headers,
			body: asking{"model": "cairn-task", "messages": []object{said("user", text)}}})
		testkit.Must(t, json.Unmarshal(res.body, &out))
		return out, res.status
	}
	if out, status := ask("locked", nil); status != http.StatusBadGateway || out.Error.Code != "model_auth" {
		t.Errorf("%d %+v", status, out.Error)
	}
	b.Model.On(openaitest.Rule{Stage: "completion", Reply: "Fine."})
	key := map[string]string{"Idempotency-Key": "k1"}
	if out, status := ask("one", key); status != http.StatusOK {
		t.Errorf("%d %+v", status, out.Error)
	}
	if out, status := ask("two", key); status != http.StatusBadRequest || out.Error.Code != "idempotency_key_reused" {
		t.Errorf("%d %+v", status, out.Error)
	}
	key["Idempotency-Key"] = strings.Repeat("k", 201)
	if out, status := ask("three", key); status != http.StatusBadRequest {
		t.Errorf("%d %+v", status, out.Error)
	}
	b.do(request{method: http.MethodPatch, path: "/v1/settings", body: object{"tokens_per_day": 1}}).
		into(http.StatusOK, new(any))
	if out, status := ask("poor", nil); status != http.StatusTooManyRequests || out.Error.Code != "insufficient_quota" {
		t.Errorf("%d %+v", status, out.Error)
	}
}

// A task may contain the text of any conversation, so the erasure of one deletes the tasks, too.
func TestAnErasureDeletesTasks(t *testing.T) {
	t.Parallel()
	b := idle(t)
	b.Start()
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "Noted."})
	b.Model.On(openaitest.Rule{Stage: "completion", Reply: "A zebra"})
	_, conversation := b.chat(chatting(said("user", "My zebra is ill.")))
	b.chat(asking{"model": "cairn-task", "messages": []object{said("user", "Title: My zebra is ill.")}})
	b.do(request{method: http.MethodDelete, path: "/v1/conversations/" + conversation})
	testkit.Eventually(t, "the conversation is erased", func() bool {
		return b.get("/v1/conversations/"+conversation).status == http.StatusNotFound
	})
	testkit.Eventually(t, "no text of it is left", func() bool {
		var n int
		testkit.Must(t, b.connect().QueryRow(t.Context(), "select count(*) from cairn.llm_calls where "+requestOf+
			" like '%zebra%' or reply like '%zebra%'").Scan(&n))
		return n == 0
	})
	testkit.Eventually(t, "the runs of tasks are deleted", func() bool {
		var n int
		testkit.Must(t, b.connect().QueryRow(t.Context(),
			"select count(*) from cairn.runs where kind = 'completion'").Scan(&n))
		return n == 0
	})
}
