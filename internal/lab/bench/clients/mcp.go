package clients

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"cairn/internal/lab/bench/ground"
)

// keyed starts a proxy that adds the key, because the suite cannot send one. It passes all
// other headers unchanged, including Host and Origin.
func keyed(s *ground.Gateway) (address string, stop func(), err error) {
	to, err := url.Parse(s.URL)
	if err != nil {
		return "", nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	proxy := &http.Server{ReadHeaderTimeout: 10 * time.Second,
		Handler: &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Host = r.In.Host
			r.Out.Header.Set("Authorization", "Bearer "+s.Key)
		}}}
	go func() { _ = proxy.Serve(l) }()
	return "http://" + l.Addr().String() + "/mcp", func() { _ = proxy.Close() }, nil
}

// absent lists scenarios that need a feature that Cairn does not have. Each has a pattern of
// the server's response that proves the cause.
var absent = []struct {
	scenarios *regexp.Regexp
	answer    *regexp.Regexp
	why       string
}{
	{regexp.MustCompile(`^(tools-call-|elicitation-|json-schema-2020-12)`),
		regexp.MustCompile(`unknown tool "test_|Tool 'json_schema_2020_12_tool' not found`),
		"needs a tool of the suite"},
	{regexp.MustCompile(`^prompts-get-`), regexp.MustCompile(`unknown prompt "test_`),
		"needs a prompt of the suite; Cairn announces tools only"},
	{regexp.MustCompile(`^resources-`), regexp.MustCompile(`Resource not found|method not found: "resources/`),
		"needs a resource of the suite; Cairn announces tools only"},
	{regexp.MustCompile(`^completion-`), regexp.MustCompile(`method not found: "completion/`),
		"needs completions, which are for prompts and resources; Cairn announces tools only"},
	{regexp.MustCompile(`^server-sse-`), regexp.MustCompile(`did not provide session ID`),
		"needs a session with streams; each response of Cairn is one JSON body"},
}

// check is one check of a scenario in the output of the suite.
type check struct {
	Status  string
	Message string `json:"errorMessage"`
	Details json.RawMessage
}

// runConformance runs all server scenarios of the conformance suite.
func runConformance(ctx context.Context, n npm, s *ground.Gateway) ([]Row, error) {
	address, stop, err := keyed(s)
	if err != nil {
		return nil, err
	}
	defer stop()
	results := filepath.Join(n.folder, "conformance")
	out, failed := n.command(ctx, nil, n.module("@modelcontextprotocol/conformance/dist/index.js"), "server", "--url",
		address, "--suite", "all", "-o", results).CombinedOutput()
	ended := time.Now()
	folders, err := os.ReadDir(results)
	if err != nil {
		return nil, fmt.Errorf("%w: %w\n%s", failed, err, out) // the output explains why there is no result
	}
	slices.SortFunc(folders, func(a, b os.DirEntry) int { return began(a.Name()).Compare(began(b.Name())) })
	var rows []Row
	for i, folder := range folders {
		raw, err := os.ReadFile(filepath.Join(results, folder.Name(), "checks.json"))
		if err != nil {
			return rows, err
		}
		var checks []check
		if err := json.Unmarshal(raw, &checks); err != nil {
			return rows, err
		}
		row := judged(stamped.ReplaceAllString(strings.TrimPrefix(folder.Name(), "server-"), ""), checks)
		row.Took = ended.Sub(began(folder.Name()))
		if i+1 < len(folders) {
			row.Took = began(folders[i+1].Name()).Sub(began(folder.Name()))
		}
		rows = append(rows, row)
	}
	if len(rows) < scenariosLeast {
		return rows, fmt.Errorf("only %d scenarios were run\n%s", len(rows), out)
	}
	return rows, nil
}

var stamped = regexp.MustCompile(`-\d{4}-\d\d-\d\dT.*$`)

// began returns the start time of a scenario, which is part of its folder's name. The suite
// runs scenarios one after another.
func began(folder string) time.Time {
	t, _ := time.Parse("-2006-01-02T15-04-05.000Z",
		regexp.MustCompile(`-(\d+)Z$`).ReplaceAllString(stamped.FindString(folder), ".${1}Z"))
	return t
}

// scenariosLeast is the number of scenarios in the suite.
const scenariosLeast = 32

// judged returns the result of a scenario from its checks.
func judged(scenario string, checks []check) Row {
	row := Row{Client: conformance, Call: scenario, State: OK}
	passed, trouble := 0, []string{}
	for _, c := range checks {
		switch c.Status {
		case "SUCCESS":
			passed++
		case "FAILURE", "WARNING":
			if c.Message == "" {
				c.Message = string(c.Details)
			}
			trouble = append(trouble, c.Message)
		}
	}
	row.Detail = fmt.Sprintf("%d of %d checks passed", passed, passed+len(trouble))
	if len(trouble) == 0 && passed > 0 {
		return row
	}
	for _, a := range absent {
		other := func(message string) bool { return !a.answer.MatchString(message) }
		if a.scenarios.MatchString(scenario) && len(trouble) > 0 && !slices.ContainsFunc(trouble, other) {
			row.State, row.Detail = NotApplicable, a.why
			return row
		}
	}
	row.State, row.Detail = Failed, row.Detail+": "+strings.Join(trouble, "; ")
	return row
}

// runInspector lists and calls tools with the command line of the Inspector, over HTTP with a
// key and over standard input and output.
func runInspector(ctx context.Context, n npm, s *ground.Gateway) (out []Row, err error) {
	cli := n.module("@modelcontextprotocol/inspector/clients/launcher/build/index.js")
	ways := []struct {
		name string
		args []string
	}{
		{"HTTP", []string{s.URL + "/mcp", "--transport", "http", "--header", "Authorization: Bearer " + s.Key}},
		{"stdio", []string{s.Program, "mcp"}},
	}
	for _, way := range ways {
		call := func(name string, holds func(result []byte) (string, error), args ...string) {
			out = append(out, timed(inspector, name+" over "+way.name, func() (string, error) {
				c := n.command(ctx, s.Environ, cli, append(append([]string{"--cli"}, way.args...), args...)...)
				c.Dir = s.Home
				var trouble strings.Builder
				c.Stderr = &trouble
				raw, err := c.Output()
				if err != nil {
					return "", fmt.Errorf("%w: %s", err, strings.TrimSpace(trouble.String()))
				}
				return holds(raw)
			}))
		}
		call("tools/list", listed, "--method", "tools/list", "--strict", "--format", "json")
		fact := "content=The office over " + way.name + " closes at five."
		call("tools/call memory_save", worked, "--method", "tools/call", "--tool-name", "memory_save", "--tool-arg",
			fact, "--format", "json")
		call("tools/call memory_search", worked, "--method", "tools/call", "--tool-name", "memory_search", "--tool-arg",
			"query=When does the office close?", "--format", "json")
	}
	return out, nil
}

// listed counts the tools in a list.
func listed(raw []byte) (string, error) {
	var list struct {
		Result, Data struct{ Tools []struct{ Name string } }
	}
	var plain struct{ Tools []struct{ Name string } }
	if err := errors.Join(json.Unmarshal(raw, &list), json.Unmarshal(raw, &plain)); err != nil {
		return "", fmt.Errorf("%w in %.300s", err, raw)
	}
	n := max(len(plain.Tools), len(list.Result.Tools), len(list.Data.Tools))
	if n < 8 {
		return "", fmt.Errorf("%d tools: %.300s", n, raw)
	}
	return fmt.Sprintf("%d tools", n), nil
}

// worked checks that the result of a tool has ok true.
func worked(raw []byte) (string, error) {
	if !regexp.MustCompile(`"ok": ?true`).Match(raw) {
		return "", fmt.Errorf("not ok: %.300s", raw)
	}
	return "", nil
}
