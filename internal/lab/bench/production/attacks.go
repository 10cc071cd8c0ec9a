package production

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"regexp"
	"strings"

	"cairn/internal/lab/fakes/openaitest"
)

// attack is an attack on one edge. It returns what was observed, and an error if the edge did not hold.
type attack struct {
	edge, must string
	run        func(context.Context, *siege, tenant) (observed string, err error)
}

// attackList has the attacks of docs/contributing/attacks.md on running gateways and workers. Each has its
// own workspace.
var attackList = []attack{
	{"body", "a chunked request without data is cut after 10 s; a refused request closes", attackBody},
	{"numbers", "1e999, NaN and numbers out of range are refused, nothing is stored", attackNumbers},
	{"model reply", "5 MiB, and an answer of 300 KiB: model_invalid, not sent again", attackReply},
	{"model errors", "the tenant gets class and error ID, the log the text", attackModelErrors},
	{"redaction", "a secret of a turn reaches neither model nor ledger", attackRedaction},
	{"streams", "the 21st stream of a key gets 429", attackStreams},
	{"spend", "a workspace stops at 5 $ a day", attackSpend},
	{"run IDs", "run_ and 26 characters; the run of another workspace is not found", attackRuns},
	{"cairn config", "no planted password is shown", attackConfig},
	{"secrets", "NAME and NAME_FILE together do not start, NAME_FILE alone works", attackSecrets},
	// The last one, because the gateway then refuses unknown keys from this address for a minute.
	{"bad keys", "the 21st bad key gets 429, a known key passes", attackBadKeys},
}

// siege holds what attacks use.
type siege struct {
	e       *experiment
	fleet   fleet
	c       *client
	tenants []tenant // one for each attack, in order
}

// prices makes a turn cost about a dollar.
const prices = `CAIRN_PRICES={"scripted":{"input_micros":300000000,"output_micros":300000000}}`

// attacks is step 9.
func (e *experiment) attacks(ctx context.Context, to sheet) error {
	f, err := e.startFleet(ctx, append(e.pooled(), "CAIRN_LOG=warn", prices))
	if err != nil {
		return err
	}
	tenants, err := e.tenants(ctx, 9, len(attackList))
	if err != nil {
		return err
	}
	s := &siege{e: e, fleet: f, c: newClient(f.urls()...), tenants: tenants}
	for i, a := range attackList {
		e.say("attack: %s", a.edge)
		observed, err := a.run(ctx, s, tenants[i])
		to.row(err == nil, a.edge+": "+a.must, "%s", describe(err, observed))
	}
	s.c.mu.Lock()
	wrong := append(s.c.wrong, s.c.foreign...)
	s.c.mu.Unlock()
	to.none(wrong, "no attack causes a 5xx or shows a row of another workspace", "%s", s.c.shown())
	if e.options.GoTests {
		return e.edgeTests(ctx, to)
	}
	return nil
}

// edgePackages have tests of edges that need their own servers, or a sandbox.
var edgePackages = []string{"./internal/gateway/httpapi", "./internal/adapter/openai", "./internal/app/config",
	"./internal/service/ledger", "./internal/adapter/sandbox", "./internal/store"}

const edgeTests = "^(TestEdge.*|TestMemoryOfSocketsIsLimited|TestAKeyIsChangedWithoutARestart|" +
	"TestAPasswordIsChangedWithoutARestart|TestTheCapOfTheDeploymentCountsAllWorkspaces)$"

// verdictIn matches the result of a test in the output of the go command.
var verdictIn = regexp.MustCompile(`(?m)^--- (PASS|FAIL|SKIP): (\S+)`)

// edgeTests runs the tests of edges.
func (e *experiment) edgeTests(ctx context.Context, to sheet) error {
	e.say("tests of edges")
	c := exec.CommandContext(ctx, "go", append([]string{"test", "-vet=off", "-count=1", "-v", "-run", edgeTests},
		edgePackages...)...)
	c.Dir = e.root
	out, err := c.CombinedOutput()
	counts := map[string]int{}
	for _, m := range verdictIn.FindAllStringSubmatch(string(out), -1) {
		counts[m[1]]++
		if m[1] != "PASS" {
			to.found(m[2] + " " + m[1])
		}
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return fmt.Errorf("run the tests: %w", err)
	}
	to.row(err == nil && counts["PASS"] > 0, "the tests of edges pass, also for the sandbox and changed secrets",
		"%d pass, %d fail, %d skipped", counts["PASS"], counts["FAIL"], counts["SKIP"])
	return nil
}

// Words at which the scripted model misbehaves.
const (
	wordEndless = "an endless reply"
	wordLong    = "a long reply"
	wordRefused = "a refused request"
	wordHeld    = "a held request"
)

// endpointError is the text of an endpoint that a tenant must not see.
const endpointError = "Incorrect API key sk-aB3dE6gHaB3dE6gHaB3dE6gH for org-acme at llm.internal.example"

func attackScript(server *openaitest.Server) {
	for _, r := range []openaitest.Rule{
		{Match: wordEndless, Reply: strings.Repeat("x", 5<<20)},
		{Match: wordLong, Reply: strings.Repeat("x", 300<<10)},
		{Match: wordRefused, Status: http.StatusUnauthorized, Reply: endpointError},
		{Match: wordHeld, Barrier: "streams", Reply: "released"},
	} {
		r.Stage = "turn"
		server.On(r)
	}
}

// ask sends a message with words, waits for its end, and returns the turn and its run as text.
func (s *siege) ask(ctx context.Context, t tenant, n int, words string) (out turn, shown string, err error) {
	body := message("c", t.mark(n), 30)
	body["text"] = fmt.Sprintf("This is %s: I want %s.", t.mark(n), words)
	var a answer
	if err = until(ctx, s.e.options.Patience, "the turn ends", func() (bool, error) {
		a, err = s.c.do(ctx, t, http.MethodPost, "/v1/turns", body)
		return a.status == http.StatusOK, err
	}); err != nil {
		return out, "", err
	}
	if err := json.Unmarshal(a.body, &out); err != nil {
		return out, "", fmt.Errorf("decode the turn: %w", err)
	}
	r, err := s.c.do(ctx, t, http.MethodGet, out.Links.Run, nil)
	return out, string(a.body) + string(r.body), err
}

// asked counts the requests of turns that contain words.
func (s *siege) asked(words string) (n int) {
	for _, c := range s.e.model.Requests() {
		if c.Stage == "turn" && strings.Contains(c.Last, words) {
			n++
		}
	}
	return n
}

// log returns what the workers have logged.
func (s *siege) log() (out string) {
	for _, w := range s.fleet.workers {
		out += w.log.String()
	}
	return out
}
