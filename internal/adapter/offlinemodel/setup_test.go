package offlinemodel

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"cairn/internal/domain/prompt"
	skills "cairn/internal/domain/skill"
	"cairn/schemas"
)

// chat sends a request body to the handler and returns the reply.
func chat(t *testing.T, body map[string]any, headers ...string) completion {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://offline/v1/chat/completions",
		bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK {
		t.Fatalf("status %d: %s", response.StatusCode, text)
	}
	var out completion
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

type completion struct {
	Model   string
	Choices []struct {
		Message struct {
			Content   string
			ToolCalls []struct {
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		FinishReason string `json:"finish_reason"`
	}
	Usage struct {
		PromptTokens     int `json:"prompt_tokens"`
		CompletionTokens int `json:"completion_tokens"`
		Estimated        bool
	}
}

// ask fills a shipped schema from the material.
func ask(t *testing.T, stage prompt.Stage, m prompt.Material) map[string]any {
	t.Helper()
	return askSchema(t, schemas.Model(string(stage)), m)
}

// procedure returns the steps of a draft as a skill shows them. Known steps of an update cite nothing.
func procedure(draft map[string]any) string {
	reader := skills.SourceReader{Cites: func(any) bool { return true }}
	return skills.Steps(reader.Steps(draft["steps"], nil))
}

// parts returns the rules or the pitfalls of a draft as a skill shows them, if they cite a message.
func parts(draft map[string]any, field string) string {
	reader := skills.SourceReader{Cites: func(evidence any) bool { return len(evidence.([]any)) > 0 }}
	var out []string
	for _, r := range reader.Rules(draft["rules"]) {
		if field == "rules" {
			out = append(out, r.String())
		}
	}
	for _, p := range reader.Pitfalls(draft["pitfalls"]) {
		if field == "pitfalls" {
			out = append(out, p.String())
		}
	}
	return strings.Join(out, "\n")
}

func askSchema(t *testing.T, schema json.RawMessage, m prompt.Material) map[string]any {
	t.Helper()
	user, err := prompt.User(m)
	if err != nil {
		t.Fatal(err)
	}
	reply := chat(t, map[string]any{
		"model": "any",
		"messages": []any{map[string]any{"role": "system", "content": "Follow the schema."},
			map[string]any{"role": "user", "content": user}},
		"response_format": map[string]any{"type": "json_schema",
			"json_schema": map[string]any{"name": "reply", "strict": true, "schema": schema}},
	})
	var out map[string]any
	if err := json.Unmarshal([]byte(reply.Choices[0].Message.Content), &out); err != nil {
		t.Fatalf("%v: %s", err, reply.Choices[0].Message.Content)
	}
	return out
}

// numbering gives messages their indices.
func numbering(messages ...prompt.Message) []prompt.Message {
	for i := range messages {
		messages[i].Index = i
	}
	return messages
}

func user(text string) prompt.Message      { return prompt.Message{Role: "user", Content: text} }
func assistant(text string) prompt.Message { return prompt.Message{Role: "assistant", Content: text} }
func calls(text string) prompt.Message {
	return prompt.Message{Role: "assistant", ToolCalls: []string{text}}
}
func result(tool, text string) prompt.Message {
	return prompt.Message{Role: "tool", Name: tool, Content: text}
}

// person is the subject of one instance of the library desk's work.
type person struct{ first, last, card, loan, date string }

var (
	ada  = person{"Ada", "Quill", "card_4471", "LN82X1", "2031-02-03"}
	bela = person{"Bela", "Orth", "card_9035", "LN10Z7", "2032-11-28"}
)

// loanDesk is a day at a library's desk: a member is looked up, a renewal fails
// and is put right, the rules are in the system message.
func loanDesk(p person) []prompt.Message {
	member := fmt.Sprintf(`{"member":{"first_name":%q,"last_name":%q},"email":"%s@library.example","loans":[%q]}`,
		p.first, p.last, strings.ToLower(p.first), p.loan)
	return numbering(
		prompt.Message{Role: "system", Content: "# Desk\n\n## Renew loans\n\n- You must check for reservations by " +
			"others before any renewal.\n- Loans can be renewed at most twice.\n\n## Fines\n\n- Never waive fines " +
			"above 20 coins."},
		user("Hello, I'd like to renew my loan. My name is "+p.first+" "+p.last+"."),
		assistant("Sure, "+p.first+". Which card do you have?"),
		user("It is "+p.card+". And from now on I prefer reminders by post."),
		calls(`find_member({"card":"`+p.card+`"})`),
		result("find_member", member),
		assistant("I found the loan "+p.loan+". Shall I renew it until "+p.date+"?"),
		user("Yes, please do."),
		calls(`renew_loan({"loan_id":"`+p.loan+`","until":"`+p.date+`"})`),
		result("renew_loan", "Error: date "+p.date+" is on a closing day for "+p.first),
		calls(`renew_loan({"loan_id":"`+p.loan+`","until":"2031-02-04"})`),
		result("renew_loan", `{"status":"renewed"}`),
		assistant("The loan is renewed, "+p.first+".\n\n- **Loan**: "+p.loan+"\n- **Until**: "+p.date+
			"\n- **Fine**: $0"),
		user("Thank you!"),
	)
}
