package chaos

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"regexp"
	"slices"
	"strings"
	"time"

	"cairn/internal/domain/prompt"
	"cairn/internal/domain/skill"
	"cairn/internal/lab/fakes/openaitest"
)

// script makes the server reply to each stage of a distillation based only on the material
// in the request.
func script(server *openaitest.Server, delay time.Duration) {
	for stage, answer := range map[string]func(prompt.Material) any{
		"segment": segmentReply, "extract": extractReply, "merge": mergeReply, "files": filesReply,
	} {
		server.On(openaitest.Rule{Stage: stage, Delay: delay, ReplyFunc: func(call openaitest.Call) string {
			material, err := prompt.ReadMaterial(call.Last)
			if err != nil {
				return "no material: " + err.Error() // leads to a repair and a failed run, which the audit reports
			}
			reply, err := json.Marshal(answer(material))
			if err != nil {
				return "no reply: " + err.Error()
			}
			return string(reply)
		}})
	}
}

// object is a JSON object.
type object = map[string]any

// segmentReply starts a task at each message that names a theme.
func segmentReply(m prompt.Material) any {
	tasks := []object{}
	for i, message := range m.Messages {
		if t, named := themeIn(message.Content); named {
			tasks = append(tasks, object{"task_name": t.title,
				"message_indices": [][2]int{{message.Index, message.Index}}, "query": t.title,
				"outcome": "success", "proof": []int{message.Index}, "open": false})
		}
		if len(tasks) > 0 {
			last := tasks[len(tasks)-1]["message_indices"].([][2]int)
			last[0][1] = m.Messages[i].Index
		}
	}
	return object{"tasks": tasks}
}

var ticketIn = regexp.MustCompile(`c\d{4}[ab]`)

// extractReply updates the theme's skill if the request contains it, as a good model does.
// Sometimes it creates the skill again, under the same or a similar name, as models do.
func extractReply(m prompt.Material) any {
	t, _ := themeIn(m.Task)
	ticket := ticketIn.FindString(m.Messages[0].Content)
	reply := object{"action": skill.Create, "target": nil, "name": t.title, "description": t.description,
		"trigger": t.trigger, "procedure": t.procedure,
		"experience": []string{t.lesson(ticket)}, "preference": []string{}, "examples": []string{},
		"scripts": []object{}, "tools": []string{}, "others": []object{},
		"removed": []string{}, "evidence": []int{m.Messages[0].Index, m.Messages[len(m.Messages)-1].Index},
		"confidence": 0.9, "reason": "it will come again"}
	if t.script {
		reply["scripts"] = []object{{"file": t.scriptFile(), "purpose": "checks " + t.parts[0], "inputs": "none",
			"outputs": "exit code"}}
	}
	if t.document {
		reply["others"] = []object{{"file": t.documentFile(), "purpose": "a list of " + t.parts[0]}}
	}
	if m.Language == "zh" && !t.chinese || ticket == "" {
		return object{"action": skill.Skip, "reason": "this is not what the request says"}
	}
	switch mood := hash(ticket) % 10; mood {
	case 0:
		reply["name"] = t.alias
		return reply
	case 1, 2:
		return reply
	}
	for _, c := range m.Candidates {
		if c.Description == t.description {
			reply["action"], reply["target"] = skill.Update, c.Handle
			break
		}
	}
	return reply
}

// mergeReply returns the complete changed members: the lessons of the head and of the draft.
func mergeReply(m prompt.Material) any {
	head := m.Candidates[0]
	return object{"action": skill.Update, "target": head.Handle, "name": "", "description": "", "trigger": []string{},
		"procedure":  "",
		"experience": slices.Concat(head.Experience, m.Draft.Experience), "preference": []string{},
		"examples": []string{}, "scripts": []object{}, "tools": []string{},
		"others": []object{}, "removed": []string{}, "evidence": []int{m.Messages[0].Index}, "confidence": 0.9,
		"reason": "both hold"}
}

func filesReply(m prompt.Material) any {
	files := []object{}
	for _, f := range m.Files {
		text := fmt.Sprintf("import sys\n\n# %s\nsys.exit(0)\n", f.Purpose)
		if strings.HasSuffix(f.File, ".md") {
			text = fmt.Sprintf("# %s\n\n- first\n- second\n", f.Purpose)
		}
		files = append(files, object{"file": f.File, "code": text})
	}
	return object{"files": files}
}

func hash(text string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(text))
	return h.Sum32()
}
