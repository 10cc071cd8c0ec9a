package taubench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"cairn/internal/adapter/offlinemodel"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/skill"
	"cairn/internal/lab/fakes/openaitest"
)

// script makes a server write drafts by the offline rules, under the name of a model, and judge each of them
// with 15 of 16 points, a score of 9.4. So neither the author nor the judge holds a draft back.
func script(server *openaitest.Server) {
	for _, stage := range []string{"segment", "notes", "extract", "merge", "files"} {
		server.On(openaitest.Rule{Stage: stage, ReplyFunc: offline})
	}
	server.On(openaitest.Rule{Stage: "judge", ReplyFunc: praise})
	server.On(openaitest.Rule{Stage: "compare", Reply: `{"reason":"They help equally.","better":"tie"}`})
}

// offline answers a request by the offline rules.
func offline(call openaitest.Call) string {
	reply, err := offlinemodel.Client().Post("http://offline.invalid/v1/chat/completions", "application/json",
		bytes.NewReader(call.Body))
	if err != nil {
		return "no reply: " + err.Error() // the run fails, and the benchmark reports it
	}
	defer reply.Body.Close()
	var out struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.NewDecoder(reply.Body).Decode(&out); err != nil || reply.StatusCode != http.StatusOK ||
		len(out.Choices) == 0 {
		return fmt.Sprintf("no reply: status %d, %v", reply.StatusCode, err)
	}
	return out.Choices[0].Message.Content
}

// praise judges a draft. Its quotes are in the draft and in the conversation.
func praise(call openaitest.Call) string {
	m, err := prompt.ReadMaterial(call.Last)
	if err != nil || m.Draft == nil {
		return fmt.Sprintf("no draft: %v", err)
	}
	said := ""
	for _, message := range m.Messages {
		if line, _, _ := strings.Cut(message.Content, "\n"); len(line) > len(said) && len(line) < 200 {
			said = line
		}
	}
	var criteria []map[string]any
	for i, name := range skill.CriterionNames() {
		c := map[string]any{"criterion": name, "points": skill.MaxPoints, "quote": m.Draft.Description, "missing": ""}
		if i == 0 {
			c["points"], c["missing"] = 1, "more words of users"
		}
		if name == skill.CriterionGrounded {
			c["quote"] = said
		}
		criteria = append(criteria, c)
	}
	raw, _ := json.Marshal(map[string]any{"reason": "It has all that it needs.", "criteria": criteria}) // plain values
	return string(raw)
}
