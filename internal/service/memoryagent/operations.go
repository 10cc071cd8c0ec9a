package memoryagent

import (
	"encoding/json"
	"strings"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/run"
	memories "cairn/internal/service/memory"
	"cairn/internal/service/tools"
)

// Operation is the result of one change in a tool call.
type Operation struct {
	Tool    string     `json:"tool"`
	Status  string     `json:"status"`
	ID      string     `json:"memory_id,omitempty"`
	Code    fault.Code `json:"code,omitempty"`
	Message string     `json:"message,omitempty"`
}

// operations collects the changes from the results of tool calls.
func operations(steps []run.Step) []Operation {
	out := []Operation{}
	for _, s := range steps {
		for _, c := range s.Calls {
			if c.Tool == tools.Think || tools.Base(c.Tool) == "hands_off" {
				continue
			}
			var r struct {
				OK    bool `json:"ok"`
				Error struct{ Message string }
				Items []memories.ItemResult `json:"items"`
				Text  string                `json:"text"`
			}
			if json.Unmarshal([]byte(c.Result), &r) != nil || !r.OK {
				out = append(out, Operation{Tool: c.Tool, Status: memories.Failed, Code: fault.Code(c.Code),
					Message: r.Error.Message})
				continue
			}
			for _, i := range r.Items {
				out = append(out, Operation{Tool: c.Tool, Status: i.Status, ID: i.ID, Code: i.Code, Message: i.Message})
			}
			if c.Tool == "update_identity_memory" && strings.HasPrefix(r.Text, memories.Updated) {
				out = append(out, Operation{Tool: c.Tool, Status: memories.Updated})
			}
		}
	}
	return out
}

// registered returns the targets that the run added.
func registered(steps []run.Step) []memory.Task {
	out := []memory.Task{}
	for _, s := range steps {
		for _, c := range s.Calls {
			var r struct {
				OK      bool                        `json:"ok"`
				Targets []memories.RegisteredTarget `json:"targets"`
			}
			if json.Unmarshal([]byte(c.Result), &r) != nil || !r.OK {
				continue
			}
			for _, t := range r.Targets {
				if t.Status == memories.Added {
					out = append(out, t.Target)
				}
			}
		}
	}
	return out
}
