package speed

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"sync"
	"time"

	"cairn/internal/domain/llm"
	"cairn/internal/lab/fakes/openaitest"
)

// turnModel is the scripted server with a clock.
type turnModel struct {
	script *openaitest.Server
	http   *httptest.Server
	mu     sync.Mutex
	runs   map[string]*answers
}

// answers are the responses to the requests of a run.
type answers struct {
	open  sync.WaitGroup // requests whose response is not yet timed: a turn can end before
	took  time.Duration
	calls int
}

// callsIn matches the number of model calls in a message.
var callsIn = regexp.MustCompile(`in (\d+) steps`)

func message(calls int) string { return fmt.Sprintf("Please find out what I like in %d steps.", calls) }

// turnStartModel starts a server that replies to a message with as many calls as it requests. Each
// call except the last searches the memories with a different query.
func turnStartModel(delay time.Duration) (*turnModel, error) {
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
	m := &turnModel{script: script, runs: map[string]*answers{}}
	m.http = httptest.NewServer(m)
	return m, nil
}

// progress returns the number of calls that the message requests, and the number of results so
// far.
func progress(c openaitest.Call) (wanted, made int) {
	for i := len(c.Messages) - 1; i >= 0; i-- {
		switch m := c.Messages[i]; m.Role {
		case llm.RoleTool:
			made++
		case llm.RoleUser:
			if found := callsIn.FindStringSubmatch(m.Content); found != nil {
				wanted, _ = strconv.Atoi(found[1]) // matched digits
			}
			return wanted, made
		}
	}
	return wanted, made
}

// ServeHTTP records the time of each response, from the arrival of the request to the last byte.
func (m *turnModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	run := r.Header.Get("X-Skill-Run")
	if run == "" {
		m.script.ServeHTTP(w, r) // not part of a turn
		return
	}
	of := m.answers(run)
	of.open.Add(1)
	defer of.open.Done()
	m.script.ServeHTTP(w, r)
	m.mu.Lock()
	defer m.mu.Unlock()
	of.took += time.Since(began)
	of.calls++
}

func (m *turnModel) answers(run string) *answers {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.runs[run] == nil {
		m.runs[run] = &answers{}
	}
	return m.runs[run]
}

// of returns the time and the number of model calls of a run that has its replies.
func (m *turnModel) of(run string) (took time.Duration, calls int) {
	of := m.answers(run)
	of.open.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	return of.took, of.calls
}

func (m *turnModel) close() {
	m.script.Close()
	m.http.Close()
}
