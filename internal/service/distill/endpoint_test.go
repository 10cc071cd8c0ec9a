package distill_test

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"cairn/internal/adapter/openai"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/distill"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// served is the service with a scripted HTTP server as its model endpoint. rules precede the useful replies.
func served(t *testing.T, rules ...openaitest.Rule) (*distilling, *openaitest.Server) {
	t.Helper()
	d, server := setup(t), openaitest.New(t)
	d.Service.Ledger.Model = openai.New(openai.Config{BaseURL: server.URL})
	for _, r := range rules {
		server.On(r)
	}
	for role, text := range map[string]string{
		"segment": `{"tasks":[{"task_name":"Service Operations","message_indices":[[0,5]],` +
			`"query":"Roll a failing service back"}]}`,
		"extract": draft("Probe before every change"), "files": `{"check.py":"print('healthy')\n"}`,
	} {
		server.On(openaitest.Rule{Stage: role, Reply: text})
	}
	return d, server
}

// An endpoint that rejects the key or does not have the model ends the task at the first response.
func TestASettingOfTheEndpointEndsATaskAtOnce(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		rule openaitest.Rule
		want []string
	}{
		"401": {openaitest.Rule{Status: 401, Reply: "Incorrect API key sk-secret"},
			[]string{"rejected the key", "role extract", "status 401", "OPENAI_API_KEY"}},
		"403": {openaitest.Rule{Status: 403, Reply: "no access"},
			[]string{"rejected the key", "role extract", "status 403"}},
		"unknown model": {openaitest.Rule{Status: 404, Reply: `{"error":{"message":"The model does not exist",` +
			`"code":"model_not_found"}}`},
			[]string{"does not have the model", "role extract", "CAIRN_MODEL", "--fresh"}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			c.rule.Stage = "extract"
			d, server := served(t, c.rule)
			ref, key := d.chunked(d.request(talk("Checkout")))
			out, err := d.Draft(t.Context(), pgtest.TaskRef(ref, key))
			testkit.Must(t, err)
			reason := d.report(ref).Tasks[0].Reason
			host, err := url.Parse(server.URL)
			testkit.Must(t, err)
			for _, want := range append(c.want, host.Host) {
				if !strings.Contains(reason, want) {
					t.Errorf("reason %q, want %q in it", reason, want)
				}
			}
			if !out.Ended || server.Count("extract") != 1 || strings.Contains(reason, "sk-secret") {
				t.Errorf("ended %v after %d calls: %q", out.Ended, server.Count("extract"), reason)
			}
		})
	}
}

// A reply that ends at its limit is asked for once more with twice the limit, without the text that was cut off.
func TestACutReplyIsAskedForWithTwiceTheLimit(t *testing.T) {
	t.Parallel()
	d, server := served(t, openaitest.Rule{Stage: "extract", Times: 1, Finish: "length", Reply: `{"name":"Half of a`})
	ref, _ := d.drafted(d.request(talk("Checkout")))
	calls := server.Requests()
	calls = slices.DeleteFunc(calls, func(c openaitest.Call) bool { return c.Stage != "extract" })
	if len(calls) != 2 || strings.Contains(string(calls[1].Body), "Half of a") ||
		!strings.Contains(string(calls[1].Body), "tokens\":") || calls[0].Last != calls[1].Last {
		t.Errorf("asked %d times, the last time with %.200s", len(calls), calls[len(calls)-1].Body)
	}
	_, err := d.Draft(t.Context(), pgtest.TaskRef(ref, d.report(ref).Tasks[0].Key))
	if testkit.Must(t, err); server.Count("extract") != 2 {
		t.Errorf("asked %d times after a repetition", server.Count("extract"))
	}
}

// If scripts are cut off twice, each file is written by a call of its own. Repetition asks for nothing.
func TestCutScriptsAreWrittenOneByOne(t *testing.T) {
	t.Parallel()
	two := []any{
		map[string]any{"file": "check.py", "purpose": "probe"},
		map[string]any{"file": "roll.py", "purpose": "roll"},
	}
	d, server := served(
		t,
		openaitest.Rule{
			Stage: "extract",
			Reply: draft("Probe", with("scripts", two), with("others", map[string]any{})),
		},
		openaitest.Rule{Stage: "files", Times: 2, Finish: "length", Reply: `{"check.py":"print(`},
		openaitest.Rule{Stage: "files", Nth: 4, Reply: `{"roll.py":"print('rolled')\n"}`},
	)
	ref, key := d.drafted(d.request(talk("Checkout")))
	for range 2 {
		out, err := d.Write(t.Context(), pgtest.TaskRef(ref, key))
		if err != nil || out.Degraded {
			t.Fatalf("degraded %v, %v", out.Degraded, err)
		}
	}
	var files []string
	testkit.Must(t, d.Store.InWorkspaceByKeys(t.Context(), d.A.ID, func(ctx context.Context, tx store.Tx) error {
		_, task, err := tx.Tasks().RunTask(ctx, ref.Run, key)
		if err != nil {
			return err
		}
		written, err := tx.Tasks().Written(ctx, task)
		for _, w := range written {
			files = append(files, w.Name+": "+w.Content)
		}
		return err
	}))
	all := strings.Join(files, "\n")
	if !strings.Contains(all, "check.py: print('healthy')") || !strings.Contains(all, "roll.py: print('rolled')") ||
		server.Count("files") != 4 {
		t.Errorf("%d calls, files %q", server.Count("files"), files)
	}
}

// A run whose endpoint fails is waiting, and its report says when the next attempt is due.
func TestAnUnavailableEndpointIsShown(t *testing.T) {
	t.Parallel()
	d, _ := served(t, openaitest.Rule{Stage: "extract", Status: 503, Times: 3},
		openaitest.Rule{Stage: "extract", Status: 429, RetryAfter: "40", Times: 1})
	ref, key := d.chunked(d.request(talk("Checkout")))
	for attempt, want := range []string{"503, attempt 1, next in 1 s", "503, attempt 2, next in 2 s",
		"503, attempt 3, next in 4 s", "429, attempt 4, next in 40 s"} {
		if _, err := d.Draft(t.Context(), pgtest.TaskRef(ref, key)); fault.CodeOf(err) == "" {
			t.Fatalf("attempt %d: %v", attempt+1, err)
		}
		if r := d.report(ref); r.Status != run.Waiting || r.Endpoint != want {
			t.Errorf("attempt %d: %s, endpoint %q, want %q", attempt+1, r.Status, r.Endpoint, want)
		}
	}
	_, err := d.Draft(t.Context(), pgtest.TaskRef(ref, key))
	testkit.Must(t, err)
	if r := d.report(ref); r.Status != run.Running || r.Endpoint != "" {
		t.Errorf("%s, endpoint %q after a reply", r.Status, r.Endpoint)
	}
}

// A remembered failure says for how long, and how to repeat the request. Only invalid and
// refused replies are remembered.
func TestARememberedFailureSaysHowToRepeatIt(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		rule       openaitest.Rule
		remembered bool
	}{
		"invalid": {openaitest.Rule{Reply: "no JSON"}, true},
		"refused": {openaitest.Rule{Refusal: "I cannot help with that"}, true},
		"denied":  {openaitest.Rule{Status: 401}, false},
		"cut off": {openaitest.Rule{Reply: "{", Finish: "length"}, false},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			c.rule.Stage = "extract"
			d, server := served(t, c.rule)
			ref, key := d.chunked(d.request(talk("Checkout")))
			_, err := d.Draft(t.Context(), pgtest.TaskRef(ref, key))
			testkit.Must(t, err)
			before := server.Count("extract")
			other, otherKey := d.chunked(d.request(talk("Checkout"), func(r *distill.Request) { r.ID = "again" }))
			_, err = d.Draft(t.Context(), pgtest.TaskRef(other, otherKey))
			testkit.Must(t, err)
			reason := d.report(other).Tasks[0].Reason
			said := strings.Contains(reason, "for another 24 h 0 min") &&
				strings.Contains(reason, fmt.Sprintf("`cairn runs retry %s --fresh`", other.Run))
			if said != c.remembered || (server.Count("extract") == before) != c.remembered {
				t.Errorf("%d and then %d calls: %q", before, server.Count("extract"), reason)
			}
		})
	}
}

// The first step stores the models of its process. Steps of processes with other settings use them.
func TestTheWorkerOfTheFirstStepChoosesTheModels(t *testing.T) {
	t.Parallel()
	d, server := served(t)
	models := func(name string) map[string]string {
		return map[string]string{
			"segment": name,
			"extract": name + "-large",
			"files":   name,
		}
	}
	caller := &distill.Service{Ports: d.Service.Ports}
	caller.Models = models("callers")
	ref, _, err := caller.Accept(
		t.Context(),
		d.request(talk("Checkout"), func(r *distill.Request) { r.Spec.Models = nil }),
	)
	testkit.Must(t, err)
	if _, err := caller.Report(t.Context(), ref.Ref); err != nil {
		t.Error(err)
	}
	d.Models = models("workers")
	divided, err := d.Segment(t.Context(), pgtest.RunRef(ref.Ref))
	testkit.Must(t, err)
	other := &distill.Service{Ports: d.Service.Ports}
	other.Models = models("others")
	_, err = other.Draft(t.Context(), pgtest.TaskRef(ref.Ref, divided.Tasks[0]))
	testkit.Must(t, err)
	for _, call := range server.Requests() {
		if !strings.Contains(string(call.Body), `"model":"workers`) {
			t.Errorf("%s was asked of %.60s", call.Stage, call.Body)
		}
	}
	if len(server.Requests()) != 2 {
		t.Errorf("%d requests", len(server.Requests()))
	}
}
