package peerbench

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"cairn/internal/domain/llm"
	"cairn/internal/lab/fakes/openaitest"
)

// dims is the number of dimensions of the embeddings.
const dims = 256

// searched is the user whose memories are searched.
const searched = "user-searched"

// marked is the first fact that is added before a kill.
const marked = 900_000

func user(i int) string { return fmt.Sprintf("user-%d", i%4) }

// statement is a message from which one fact can be inferred.
func statement(i, fact int) string {
	return fmt.Sprintf("%s I keep fact-%d in the shed.", user(i), fact)
}

var things = strings.Fields("anchor barrel candle dynamo easel fiddle gadget hammock inkwell jigsaw kettle lantern")

// record is a memory to search for, question asks for it.
func record(i int) string {
	return fmt.Sprintf("Keeps the %s number %d in room %d.", things[i%len(things)], 10_000+i, i%37)
}

func question(i int) string {
	return fmt.Sprintf("Where is the %s number %d?", things[i%len(things)], 10_000+i)
}

func holds(text string, i int) bool {
	return strings.Contains(text, fmt.Sprintf("number %d in", 10_000+i))
}

func holdsFact(text string, fact int) bool {
	return strings.Contains(text, fmt.Sprintf("fact-%d ", fact))
}

// model is a scripted model with embeddings. Each add infers the fact of its message.
type model struct {
	server *openaitest.Server
	from   int // index of the first request that is counted
	mu     sync.Mutex
}

var (
	factInText = regexp.MustCompile(`(user-[a-z0-9]+) I keep (fact-\d+)`)
	noResults  = 0
)

// fact returns the user and the content of the last message of a request that has a fact.
func fact(c openaitest.Call) (who, content string) {
	for i := len(c.Messages) - 1; i >= 0; i-- {
		if all := factInText.FindAllStringSubmatch(c.Messages[i].Content, -1); len(all) > 0 {
			last := all[len(all)-1]
			return last[1], fmt.Sprintf("Keeps %s in the shed.", last[2])
		}
	}
	return "", ""
}

func call(name string, arguments any) []llm.ToolCall {
	raw, _ := json.Marshal(arguments) // it has plain members
	return []llm.ToolCall{{ID: "call_1", Name: name, Arguments: string(raw)}}
}

type object = map[string]any

func startModel(latency time.Duration) (*model, error) {
	s, err := openaitest.Start()
	if err != nil {
		return nil, err
	}
	s.Dims(dims)
	for _, rule := range []openaitest.Rule{
		{Offers: []string{"hands_off"}, Results: &noResults, CallsFunc: func(c openaitest.Call) []llm.ToolCall {
			who, _ := fact(c)
			return call("hands_off", object{"memory_tasks": []object{
				{"memory_type": "personal", "memory_target": who}}})
		}},
		{Offers: []string{"add_memory"}, Results: &noResults, CallsFunc: func(c openaitest.Call) []llm.ToolCall {
			_, content := fact(c)
			return call("add_memory", object{"memories": []object{{"memory_content": content}}})
		}},
		{Offers: []string{"Memory"}, CallsFunc: func(c openaitest.Call) []llm.ToolCall { // LangMem
			_, content := fact(c)
			return call("Memory", object{"content": content})
		}},
		{System: "linked_memory_ids", ReplyFunc: func(c openaitest.Call) string { // mem0
			_, content := fact(c)
			raw, _ := json.Marshal(object{"memory": []object{{"id": "0", "text": content, "attributed_to": "user"}}})
			return string(raw)
		}},
		{System: "evidence", ReplyFunc: func(c openaitest.Call) string { // one call of Cairn
			who, content := fact(c)
			raw, _ := json.Marshal(object{"facts": []object{{"op": "add", "handle": "", "content": content,
				"type": "personal", "event_time": "", "evidence": []int{0}, "about": who}}, "digest": content})
			return string(raw)
		}},
		{Reply: "Done."},
	} {
		rule.Delay = latency
		s.On(rule)
	}
	return &model{server: s}, nil
}

func (m *model) close() { m.server.Close() }

// reset starts counting.
func (m *model) reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.from = len(m.server.Requests())
}

// counted returns the number of chat requests since reset and their bytes.
func (m *model) counted() (calls, bytes int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.server.Requests()[m.from:] {
		if strings.HasSuffix(c.Path, "/chat/completions") {
			calls, bytes = calls+1, bytes+len(c.Body)
		}
	}
	return calls, bytes
}
