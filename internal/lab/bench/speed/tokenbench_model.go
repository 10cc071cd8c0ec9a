package speed

import (
	"encoding/json"
	"strings"

	"cairn/internal/domain/prompt"
	"cairn/internal/domain/skill"
	"cairn/internal/lab/fakes/openaitest"
)

// tokenObject is a JSON object.
type tokenObject = map[string]any

// tokenScript makes the server reply to all stages.
func tokenScript(server *openaitest.Server, e *endpoint) {
	for stage, answer := range map[string]func(prompt.Material) tokenObject{"segment": tokenSegmentReply,
		"notes":   notesReply,
		"extract": tokenExtractReply, "files": tokenFilesReply, "judge": judgeReply} {
		server.On(openaitest.Rule{Stage: stage, UsageFunc: e.use, ReplyFunc: func(call openaitest.Call) string {
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
}

// tokenSegmentReply starts a task at each mark. Until the first mark of a window, the open task goes on.
func tokenSegmentReply(m prompt.Material) tokenObject {
	var tasks []tokenObject
	add := func(name string, index int) {
		tasks = append(tasks, tokenObject{
			"task_name":       name,
			"message_indices": [][2]int{{index, index}},
			"query":           "Do " + name + " as the customer wants",
			"outcome":         "success",
			"proof":           []int{index},
			"open":            false,
		})
	}
	for _, message := range m.Messages {
		rest, begins := strings.CutPrefix(message.Content, tokenTaskMark)
		switch {
		case begins:
			number, _, _ := strings.Cut(rest, ":")
			add("Orders"+number, message.Index)
		case len(tasks) == 0 && len(m.OpenTasks) > 0:
			add(m.OpenTasks[0].Name, message.Index)
		case len(tasks) == 0:
			continue
		}
		tasks[len(tasks)-1]["message_indices"].([][2]int)[0][1] = message.Index
	}
	if len(tasks) > 0 {
		tasks[len(tasks)-1]["open"] = true
	}
	return tokenObject{"tasks": tasks}
}

// notesReply makes as many notes as a model may.
func notesReply(m prompt.Material) tokenObject {
	var out []tokenObject
	for i := range 30 {
		at := m.Messages[i*len(m.Messages)/30].Index
		out = append(
			out,
			tokenObject{"text": "The agent reads the order before it changes it, and confirms the new price with " +
				"the customer. The tool refuses an order that was delivered.", "evidence": []int{at}},
		)
	}
	return tokenObject{"findings": out}
}

// cited is the number of messages that a draft rests on.
const cited = 12

func tokenExtractReply(m prompt.Material) tokenObject {
	var evidence []int
	for i := range cited {
		switch {
		case len(m.Messages) > 0:
			evidence = append(evidence, m.Messages[i*len(m.Messages)/cited].Index)
		case len(m.Findings) > 0:
			evidence = append(evidence, m.Findings[i*len(m.Findings)/cited].Evidence...)
		}
	}
	steps := []tokenObject{}
	for range 8 {
		steps = append(steps, tokenObject{"text": "Read the order and compare its status with the policy",
			"tool":      "get_order",
			"arguments": []string{"order_id"}, "check": "", "if_fails": "", "evidence": evidence})
	}
	return tokenObject{
		"action":      "create",
		"target":      nil,
		"name":        "Handle " + m.Task,
		"description": "Change an order as the policy allows. Use when a customer asks for " + m.Task,
		"trigger":     []string{"order", m.Task},
		"not_for":     []string{"refunds"},
		"inputs":      []tokenObject{{"name": "order number", "origin": "the customer", "required": true}},
		"steps":       steps,
		"rules": []tokenObject{{"if": "the order is delivered", "then": "refuse the change", "value": "", "unit": "",
			"source": "policy", "evidence": evidence}},
		"pitfalls": []tokenObject{{"error": "Error: price has changed", "cause": "the price is old",
			"fix": "confirm the price again", "evidence": evidence}},
		"verification": []string{"Read the order again"},
		"experience":   []string{"Confirm the price before the change"},
		"preference":   []string{"Short answers"},
		"examples":     []string{"# Summary\n- Order: …\n- Price: …"},
		"scripts": []tokenObject{
			{"file": "check_order.py", "purpose": "checks the status", "inputs": "order", "outputs": "code"},
		},
		"others":     []tokenObject{{"file": "policy.md", "purpose": "what may be changed"}},
		"tools":      []string{"get_order"},
		"removed":    []string{},
		"evidence":   evidence,
		"confidence": 0.9,
		"reason":     "it will come again",
	}
}

func tokenFilesReply(m prompt.Material) tokenObject {
	files := []tokenObject{}
	for _, f := range m.Files {
		files = append(
			files,
			tokenObject{"file": f.File, "code": "# " + f.Purpose + "\n" + strings.Repeat("# a line of text\n", 20)},
		)
	}
	return tokenObject{"files": files}
}

// judgeReply has quotes of the usual length. Their place in the transcript does not matter for the tokens.
func judgeReply(m prompt.Material) tokenObject {
	criteria := []tokenObject{}
	for _, name := range skill.CriterionNames() {
		criteria = append(criteria, tokenObject{"criterion": name, "points": 1, "quote": m.Draft.Description,
			"missing": "a check at the end"})
	}
	return tokenObject{"reason": "It has steps, and no check at the end.", "criteria": criteria}
}
