package client_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"regexp"
	"testing"

	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
)

// TestMain starts one Cairn for all examples. The examples find it in CAIRN_URL and CAIRN_KEY, as
// programs do. Its model is scripted, so the output of the examples is always the same.
func TestMain(m *testing.M) {
	os.Exit(func() int {
		for _, name := range []string{"CAIRN_MODE", "CAIRN_TOP_K", "CAIRN_WAIT"} {
			os.Unsetenv(name) // the examples show the defaults
		}
		t := &exampleT{}
		defer t.cleanup()
		b := apptest.Open(t)
		server := httptest.NewServer(sent().watch(b.Handler()))
		t.Cleanup(server.Close)
		for name, value := range map[string]string{"CAIRN_URL": server.URL, "CAIRN_KEY": b.Key("examples", "admin")} {
			if err := os.Setenv(name, value); err != nil {
				log.Fatal(err)
			}
		}
		scriptExamples(b)
		code := m.Run()
		t.cleanup()
		if t.failed || code == 0 && !sent().complete() {
			return 1
		}
		return code
	}())
}

// exampleT lets apptest open a Cairn without a test. It ends the process on failure.
type exampleT struct {
	testing.TB // nil: methods that are not below are not used
	cleanups   []func()
	failed     bool
}

func (t *exampleT) Helper()                           {}
func (t *exampleT) Name() string                      { return "Examples" }
func (t *exampleT) Context() context.Context          { return context.Background() }
func (t *exampleT) Output() io.Writer                 { return os.Stderr }
func (t *exampleT) Cleanup(f func())                  { t.cleanups = append(t.cleanups, f) }
func (t *exampleT) Log(args ...any)                   { log.Print(args...) }
func (t *exampleT) Logf(format string, args ...any)   { log.Printf(format, args...) }
func (t *exampleT) Error(args ...any)                 { t.failed = true; log.Print(args...) }
func (t *exampleT) Errorf(format string, args ...any) { t.failed = true; log.Printf(format, args...) }
func (t *exampleT) Fatal(args ...any)                 { t.cleanup(); log.Fatal(args...) }
func (t *exampleT) Fatalf(format string, args ...any) { t.cleanup(); log.Fatalf(format, args...) }

func (t *exampleT) TempDir() string {
	folder, err := os.MkdirTemp("", "examples")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	return folder
}

func (t *exampleT) cleanup() {
	for i := len(t.cleanups) - 1; i >= 0; i-- {
		t.cleanups[i]()
	}
	t.cleanups = nil
}

// person matches the person that a session is about.
var person = regexp.MustCompile(`I am (\w+)\.`)

// sailor matches the person in the examples that let a model write one text.
var sailor = regexp.MustCompile(`Sven|Tess`)

// scriptExamples sets the replies of the model. A session in which a user says "I am Alice." adds
// one memory about Alice.
func scriptExamples(b *apptest.Bundle) {
	b.Model.On(openaitest.Rule{Stage: "turn", Match: "Osaka", Reply: "Noted: you only fly from Osaka."})
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "Hello! How can I help?"})
	b.Model.On(openaitest.Rule{Stage: "facts", Reply: `{"facts": [], "digest": ""}`})
	b.Model.On(openaitest.Rule{Stage: "retrieve", Reply: "Alice flies from Osaka."})
	b.Model.On(openaitest.Rule{Stage: "condense", ReplyFunc: func(c openaitest.Call) string {
		name := cmp.Or(sailor.FindString(string(c.Body)), "Sven")
		return fmt.Sprintf(`{"context":"%s sails on Sundays.","used":["m1"]}`, name)
	}})
	calls := func(tool, arguments string) []openaitest.ToolCall {
		return []openaitest.ToolCall{{ID: "c", Name: tool, Arguments: arguments}}
	}
	target := func(c openaitest.Call) string {
		name := "alice"
		if found := person.FindStringSubmatch(string(c.Body)); found != nil {
			name = found[1]
		}
		return fmt.Sprintf(`[{"memory_type":"personal","memory_target":%q}]`, name)
	}
	b.Model.On(
		openaitest.Rule{Stage: "summarize", Results: new(0), CallsFunc: func(c openaitest.Call) []openaitest.ToolCall {
			return calls("add_meta_memory", `{"meta_memories":`+target(c)+`}`)
		}},
	)
	b.Model.On(
		openaitest.Rule{Stage: "summarize", Results: new(1), CallsFunc: func(c openaitest.Call) []openaitest.ToolCall {
			return calls("hands_off", `{"memory_tasks":`+target(c)+`}`)
		}},
	)
	b.Model.On(openaitest.Rule{Stage: "summarize", Reply: "Done."})
	b.Model.On(openaitest.Rule{Stage: "specialist", Results: new(0),
		Calls: calls("add_memory", `{"memories":[{"memory_content":"Only flies from Osaka."}]}`)})
	b.Model.On(openaitest.Rule{Stage: "specialist", Reply: "One memory added."})
	b.Model.On(openaitest.Rule{Stage: "segment", Reply: `[{"task_id":1,"task_name":"Service Operations",` +
		`"message_indices":[[0,5]],"reasoning":"one incident"}]`})
	b.ScriptR1()
}
