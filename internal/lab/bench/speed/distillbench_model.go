package speed

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"cairn/internal/domain/prompt"
	"cairn/internal/lab/fakes/openaitest"
)

// object is a JSON object.
type object = map[string]any

// distillScript makes the server reply to all stages after delay.
func distillScript(server *openaitest.Server, delay time.Duration) error {
	if err := server.Script(openaitest.Script{}); err != nil { // removes rules with another delay
		return fmt.Errorf("script the model: %w", err)
	}
	for stage, answer := range map[string]func(prompt.Material) object{
		"segment": segmentReply, "extract": extractReply, "files": filesReply,
	} {
		server.On(openaitest.Rule{Stage: stage, Delay: delay, ReplyFunc: func(call openaitest.Call) string {
			material, err := prompt.ReadMaterial(call.Last)
			if err != nil {
				return "no material: " + err.Error() // the run fails, and the benchmark reports it
			}
			reply, err := json.Marshal(answer(material))
			if err != nil {
				return "no reply: " + err.Error()
			}
			return string(reply)
		}})
	}
	return nil
}

func segmentReply(m prompt.Material) object {
	var tasks []object
	for _, message := range m.Messages {
		if rest, begins := strings.CutPrefix(message.Content, taskMark); begins {
			name, _, _ := strings.Cut(rest, ":")
			tasks = append(tasks, object{"task_name": name, "message_indices": [][2]int{{message.Index, message.Index}},
				"query": name, "outcome": "success", "proof": []int{message.Index}, "open": false})
		}
		tasks[len(tasks)-1]["message_indices"].([][2]int)[0][1] = message.Index
	}
	return object{"tasks": tasks}
}

func extractReply(m prompt.Material) object {
	reply := object{"action": "create", "target": nil, "name": m.Task, "description": "How " + m.Task + " is done",
		"trigger": strings.Fields(m.Task),
		"procedure": fmt.Sprintf("1. Look at the part of %s\n2. Make a new one when it is missing\n3. Look at "+
			"%[1]s again", m.Task),
		"experience": []string{"A part that is missing answers 404"}, "preference": []string{}, "examples": []string{},
		"scripts": []object{}, "tools": []string{},
		"others": []object{}, "removed": []string{}, "evidence": []int{m.Messages[0].Index}, "confidence": 0.9,
		"reason": "it will come again"}
	if strings.Contains(m.Messages[0].Content, wantsScript) {
		reply["scripts"] = []object{{"file": "check.py", "purpose": "checks the part", "inputs": "none",
			"outputs": "exit code"}}
	}
	if strings.Contains(m.Messages[0].Content, wantsDocument) {
		reply["others"] = []object{{"file": "checklist.md", "purpose": "a checklist"}}
	}
	return reply
}

func filesReply(m prompt.Material) object {
	files := []object{}
	for _, f := range m.Files {
		text := "import sys\n\nsys.exit(0)\n"
		if strings.HasSuffix(f.File, ".md") {
			text = "# Checklist\n\n- first\n- second\n"
		}
		files = append(files, object{"file": f.File, "code": text})
	}
	return object{"files": files}
}
