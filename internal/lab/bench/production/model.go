package production

import (
	"encoding/json"
	"fmt"
	"time"

	"cairn/internal/domain/llm"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/skill"
	"cairn/internal/lab/fakes/openaitest"
)

const (
	// replyHead begins each reply. The mark of the message and the number of the request follow.
	replyHead  = "I am well, "
	modelDelay = 20 * time.Millisecond
)

// object is a JSON object.
type object = map[string]any

// script makes the server reply based only on the request.
func script(server *openaitest.Server) {
	attackScript(server)
	for _, group := range []int{dumped, archived} {
		server.On(openaitest.Rule{Stage: "turn", Match: fmt.Sprintf("^hold p%d", group), Barrier: barrier(group),
			Reply: lostText})
	}
	server.On(openaitest.Rule{Stage: "turn", Delay: modelDelay, ReplyFunc: func(c openaitest.Call) string {
		return fmt.Sprintf("%s%s #%d", replyHead, asked(c), c.Index)
	}})
	for _, stage := range []string{"nudge", "reflection"} {
		server.On(openaitest.Rule{Stage: stage, Delay: modelDelay, Reply: "Nothing to save."})
	}
	for stage, reply := range map[string]func(prompt.Material) any{"segment": segmentReply,
		"extract": extractReply} {
		server.On(openaitest.Rule{Stage: stage, Delay: modelDelay, ReplyFunc: func(c openaitest.Call) string {
			material, err := prompt.ReadMaterial(c.Last)
			if err != nil {
				return "no material: " + err.Error() // fails the run, which the audit reports
			}
			raw, err := json.Marshal(reply(material))
			if err != nil {
				panic(err) // cannot fail for maps of strings
			}
			return string(raw)
		}})
	}
}

// asked returns the mark of the message that a request answers.
func asked(c openaitest.Call) string {
	for i := len(c.Messages) - 1; i >= 0; i-- {
		if m := c.Messages[i]; m.Role == llm.RoleUser {
			return markIn.FindString(prompt.WithoutContext(m.Content))
		}
	}
	return ""
}

// segmentReply makes one task of a conversation with tool results, and none of another one.
func segmentReply(m prompt.Material) any {
	for _, message := range m.Messages {
		if message.Role == "tool" {
			return object{"tasks": []object{
				{
					"task_name":       taskName(m),
					"query":           taskName(m),
					"outcome":         "success",
					"proof":           []int{},
					"open":            false,
					"message_indices": [][2]int{{m.Messages[0].Index, m.Messages[len(m.Messages)-1].Index}},
				},
			}}
		}
	}
	return object{"tasks": []object{}}
}

func taskName(m prompt.Material) string {
	return "Export report " + markIn.FindString(m.Messages[0].Content)
}

func extractReply(m prompt.Material) any {
	return object{"action": skill.Create, "target": nil, "name": taskName(m), "trigger": []string{"export a report"},
		"description": "Export the report " + markIn.FindString(m.Messages[0].Content) + " as a table",
		"procedure":   "1. Open the report\n2. Choose the format\n3. Check the number of rows",
		"experience":  []string{"Check the number of rows"}, "preference": []string{}, "examples": []string{},
		"scripts": []object{}, "tools": []string{}, "others": []object{}, "removed": []string{},
		"evidence":   []int{m.Messages[0].Index, m.Messages[len(m.Messages)-1].Index},
		"confidence": 0.9, "reason": "it will come again"}
}
