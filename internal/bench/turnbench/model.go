package turnbench

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"sync"
	"time"

	"cairn/internal/adapter/openai/openaitest"
	"cairn/internal/domain/llm"
)

// model is the scripted server behind a clock.
type model struct {
	script *openaitest.Server
	http   *httptest.Server
	mu     sync.Mutex
	took   map[int64]time.Duration // by run
	calls  map[int64]int
}

// callsIn reads how many model calls a message asks for.
var callsIn = regexp.MustCompile(`in (\d+) steps`)

func message(calls int) string { return fmt.Sprintf("Please find out what I like in %d steps.", calls) }

// startModel answers messages with as many calls as they ask for; each but the
// last searches the memories, for something else each time.
func startModel(delay time.Duration) (*model, error) {
	script, err := openaitest.Start()
	if err != nil {
		return nil, err
	}
	script.On(openaitest.Rule{Stage: "turn", Delay: delay, CallsFunc: func(c openaitest.Call) []llm.ToolCall {
		wanted, made := progress(c)
		if made+1 >= wanted {
			return nil
		}
		return []llm.ToolCall{{ID: fmt.Sprintf("call-%d", c.Index), Name: "memory_search",
			Arguments: fmt.Sprintf(`{"query":"what does the user like, part %d"}`, made+1)}}
	}, ReplyFunc: func(c openaitest.Call) string {
		if wanted, made := progress(c); made+1 < wanted {
			return ""
		}
		return "You like blue."
	}})
	m := &model{script: script, took: map[int64]time.Duration{}, calls: map[int64]int{}}
	m.http = httptest.NewServer(m)
	return m, nil
}

// progress is how many calls a request's message asks for, and how many results
// came since.
func progress(c openaitest.Call) (wanted, made int) {
	for i := len(c.Messages) - 1; i >= 0; i-- {
		switch m := c.Messages[i]; m.Role {
		case llm.RoleTool:
			made++
		case llm.RoleUser:
			if found := callsIn.FindStringSubmatch(m.Content); found != nil {
				wanted, _ = strconv.Atoi(found[1]) // digits
			}
			return wanted, made
		}
	}
	return wanted, made
}

// ServeHTTP writes down how long each answer took, from the request's arrival to
// the last byte of the answer.
func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	m.script.ServeHTTP(w, r)
	run, err := strconv.ParseInt(r.Header.Get("X-Skill-Run"), 10, 64)
	if err != nil {
		return // no turn's
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.took[run] += time.Since(began)
	m.calls[run]++
}

// of is what the model did for a run.
func (m *model) of(run int64) (took time.Duration, calls int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.took[run], m.calls[run]
}

func (m *model) close() {
	m.script.Close()
	m.http.Close()
}
