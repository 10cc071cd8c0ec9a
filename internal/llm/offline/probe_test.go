package offline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"cairn/internal/prompt"
	"cairn/schemas"
)

type tauRun struct {
	Reward float64
	Traj   []struct {
		Role, Name, Content string
		ToolCalls           []struct {
			Function struct{ Name, Arguments string }
		} `json:"tool_calls"`
	}
}

func probeAsk(m prompt.Material, schema string) map[string]any {
	user, _ := prompt.User(m)
	body, _ := json.Marshal(map[string]any{"model": "x", "messages": []any{map[string]any{"role": "system", "content": "do"}, map[string]any{"role": "user", "content": user}},
		"response_format": map[string]any{"type": "json_schema", "json_schema": map[string]any{"name": "x", "schema": schemas.Model(schema)}}})
	r, err := Client().Post("http://offline/v1/chat/completions", "application/json", bytes.NewReader(body))
	if err != nil {
		panic(err)
	}
	data, _ := io.ReadAll(r.Body)
	var out struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if r.StatusCode != http.StatusOK || json.Unmarshal(data, &out) != nil {
		panic(string(data))
	}
	var v map[string]any
	if err := json.Unmarshal([]byte(out.Choices[0].Message.Content), &v); err != nil {
		panic(err)
	}
	return v
}

func TestProbe(t *testing.T) {
	data, _ := os.ReadFile("/work/shared/data/tau/airline-train.json")
	var runs []tauRun
	if err := json.Unmarshal(data, &runs); err != nil {
		t.Fatal(err)
	}
	names := map[string][]int{}
	many := 0
	start := time.Now()
	var slow time.Duration
	for i, run := range runs {
		var m prompt.Material
		for j, x := range run.Traj {
			msg := prompt.Message{Index: j, Role: x.Role, Name: x.Name, Content: x.Content}
			for _, c := range x.ToolCalls {
				msg.ToolCalls = append(msg.ToolCalls, c.Function.Name+"("+c.Function.Arguments+")")
			}
			m.Messages = append(m.Messages, msg)
		}
		s := time.Now()
		tasks := probeAsk(m, "chunk")["tasks"].([]any)
		d := probeAsk(m, "extract")
		slow = max(slow, time.Since(s))
		if len(tasks) != 1 {
			many++
			fmt.Println("TASKS", i, len(tasks), tasks)
		}
		key := fmt.Sprint(d["action"], " ", d["name"])
		if d["action"] == "skip" {
			key = "skip " + fmt.Sprint(tasks)[:min(60, len(fmt.Sprint(tasks)))]
		}
		names[key] = append(names[key], i)
		if want := os.Getenv("SHOW"); strings.Contains(","+want+",", fmt.Sprintf(",%d,", i)) {
			out, _ := json.MarshalIndent(d, "", " ")
			fmt.Println("=====", i, tasks)
			fmt.Println(strings.ReplaceAll(string(out), `\n`, "\n    "))
		}
	}
	fmt.Println("time", time.Since(start), "slowest", slow, "many", many, "names", len(names))
	for k, v := range names {
		fmt.Println(len(v), k, v[:min(6, len(v))])
	}
}
