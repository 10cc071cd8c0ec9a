package clients

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"cairn/internal/domain/llm"
	"cairn/internal/lab/bench/ground"
	"cairn/internal/lab/fakes/openaitest"
)

// Versions of OpenAI's clients. The one for Go runs in the tests of internal/lab/e2e.
const (
	openaiNPM  = "7.57.0"
	openaiPyPI = "3.54.0"
)

// The clients of OpenAI.
const (
	openaiJS     = "openai for JavaScript"
	openaiPython = "openai for Python"
)

//go:embed openai.mjs
var openaiMJS []byte

//go:embed openai.py
var openaiPY []byte

// RunOpenAI installs OpenAI's clients for JavaScript and Python and calls a gateway with them. The model
// of the gateway is scripted.
func RunOpenAI(ctx context.Context, o Options) (out Result, err error) {
	out.Clients = 2
	folder, packages, home, err := folders()
	if err != nil {
		return out, err
	}
	defer os.RemoveAll(folder)
	n, err := install(ctx, packages, map[string]string{"openai": openaiNPM}, o.Log)
	if err != nil {
		return out, err
	}
	python, err := installPython(ctx, filepath.Join(packages, "python"), "openai=="+openaiPyPI, o.Log)
	if err != nil {
		return out, err
	}
	model, err := openaitest.Start()
	if err != nil {
		return out, err
	}
	defer model.Close()
	script(model)
	counts := httptest.NewServer(counter(model))
	defer counts.Close()
	s, err := ground.StartGateway(ctx, o.Program, home, o.Log, "OPENAI_BASE_URL="+model.URL, "OPENAI_API_KEY=sk-test",
		"CAIRN_MODEL=gpt-test")
	if err != nil {
		return out, err
	}
	defer s.Stop()
	poor, err := poorKey(ctx, s)
	if err != nil {
		return out, err
	}
	environ := []string{"CAIRN_URL=" + s.URL, "CAIRN_KEY=" + s.Key, "CAIRN_POOR_KEY=" + poor, "MODEL_URL=" + counts.URL}
	for _, one := range []struct {
		client, file string
		calls        []byte
		command      func(script string) *exec.Cmd
	}{
		{openaiJS, "openai.mjs", openaiMJS, func(script string) *exec.Cmd { return n.command(ctx, environ, script) }},
		{openaiPython, "openai_calls.py", openaiPY, func(script string) *exec.Cmd {
			c := exec.CommandContext(ctx, python, script)
			c.Env = append([]string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}, environ...)
			return c
		}},
	} {
		script := filepath.Join(packages, one.file)
		if err := os.WriteFile(script, one.calls, 0o644); err != nil {
			return out, err
		}
		rows, err := calls(one.client, one.command(script), rowsOf)
		out.Rows = append(out.Rows, rows...)
		if err != nil {
			return out, fmt.Errorf("%s: %w", one.client, err)
		}
	}
	return out, nil
}

// counter reports how many requests the model got whose last message contains the parameter match.
func counter(model *openaitest.Server) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		n := 0
		for _, c := range model.Requests() {
			if last := c.Messages[len(c.Messages)-1]; strings.Contains(last.Content, r.FormValue("match")) {
				n++
			}
		}
		_ = json.NewEncoder(w).Encode(n) // a write error means that the client has disconnected
	}
}

// pythonOf returns the path of the python of an environment.
func pythonOf(folder string) string { return filepath.Join(folder, "bin", "python") }

// installPython makes an environment with a package and returns the path of its python.
func installPython(ctx context.Context, folder, requirement string, log io.Writer) (python string, err error) {
	return installPackages(ctx, folder, []string{requirement}, log)
}

func installPackages(ctx context.Context, folder string, requirements []string, log io.Writer) (python string,
	err error) {
	python = pythonOf(folder)
	for _, args := range [][]string{{"python3", "-m", "venv", folder}, append([]string{python, "-m", "pip", "install",
		"--quiet", "--disable-pip-version-check"}, requirements...)} {
		fmt.Fprintln(log, strings.Join(args, " "))
		if out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
		}
	}
	return python, nil
}

// script is the model of the gateway.
func script(s *openaitest.Server) {
	s.On(openaitest.Rule{Stage: "turn", Match: "A long", Status: http.StatusBadRequest,
		Reply: "This model's maximum context length is 10 tokens"})
	s.On(openaitest.Rule{Stage: "turn", Last: llm.RoleTool, Reply: "Order 7 is in Bergen."})
	s.On(openaitest.Rule{Stage: "turn", Match: "Where is order 7", Offers: []string{"look_up"}, Calls: []llm.ToolCall{
		{ID: "call_1", Name: "memory_search", Arguments: `{"query":"order 7"}`},
		{ID: "call_2", Name: "look_up", Arguments: `{"order":"7"}`}}})
	s.On(openaitest.Rule{Stage: "turn", Match: "Which city", Reply: `{"city":"Bergen"}`})
	s.On(openaitest.Rule{Stage: "turn", Match: "a slow", Reply: "Once upon a time.", Pace: 10 * time.Second})
	s.On(openaitest.Rule{Stage: "completion", Reply: "A title"})
	s.On(openaitest.Rule{Stage: "turn", Reply: "It rains in Bergen.", Pace: 5 * time.Millisecond})
}

// poorKey returns the key of a workspace whose budget is spent.
func poorKey(ctx context.Context, s *ground.Gateway) (string, error) {
	var made struct{ Key string }
	for _, step := range []struct {
		into any
		args []string
	}{{nil, []string{"workspaces", "create", "poor"}},
		{nil, []string{"settings", "set", "tokens_per_day=1", "--workspace", "poor"}},
		{&made, []string{"keys", "create", "--workspace", "poor", "--name", "poor", "--scopes", "write"}}} {
		if err := s.Run(ctx, step.into, step.args...); err != nil {
			return "", err
		}
	}
	return made.Key, nil
}

// calls runs a script and returns its calls, which read finds in its lines.
func calls(client string, c *exec.Cmd, read func(string, io.Reader) []Row) (out []Row, err error) {
	var said, trouble bytes.Buffer
	c.Stdout, c.Stderr = &said, &trouble
	ended := c.Run()
	out = read(client, &said)
	if ended != nil {
		return out, fmt.Errorf("%w\n%s", ended, &trouble)
	}
	return out, nil
}
