package e2e_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"cairn/internal/domain/distillation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/distill"
	"cairn/internal/testkit"
)

func TestARetryMakesOnlyTheMissingCalls(t *testing.T) {
	t.Parallel()
	for stage, want := range map[string]struct{ before, after string }{
		"segment": {"segment 1", "segment 2, extract 1, files 1"},
		"extract": {"segment 1, extract 1", "segment 1, extract 2, files 1"},
	} {
		t.Run(stage, func(t *testing.T) {
			t.Parallel()
			p := openProtocol(t)
			p.Model.On(openaitest.Rule{Stage: stage, Times: 1, Status: 401, Reply: "no such key"})
			p.ScriptR1()
			r := p.Distill(apptest.C1())
			if r.Outcome != run.Failed || !strings.Contains(r.Code+r.Reason+reasons(r), "status 401, error ID err_") {
				t.Errorf("run ended as %s: %s %s %s", r.Outcome, r.Code, r.Reason, reasons(r))
			}
			p.asked(want.before)
			ref := run.Ref{Workspace: p.Workspace.ID, Run: r.Run}
			again := p.retry(ref, false)
			p.ended(again, run.Completed, distillation.Created)
			if !strings.HasSuffix(again.WorkflowID, "/retry-2") {
				t.Errorf("the retry runs as %s", again.WorkflowID)
			}
			p.asked(want.after)
			p.paidOnce()
			p.skills(1, 1)
		})
	}
}

// reasons joins the reasons of the tasks.
func reasons(r distill.Report) (out string) {
	for _, t := range r.Tasks {
		out += t.Reason
	}
	return out
}

func TestAFreshRetryIsANewGenerationWithCallsOfItsOwn(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	p := openProtocol(t)
	p.ScriptR1()
	p.Model.On(openaitest.Rule{Stage: "merge", Reply: apptest.R1Extract})
	first := p.Distill(apptest.C1())
	p.ended(first, run.Completed, distillation.Created)
	second := p.retry(run.Ref{Workspace: p.Workspace.ID, Run: first.Run}, true)
	p.ended(second, run.Completed, distillation.Unchanged)
	if second.Run == first.Run || second.Request != first.Request || !strings.HasSuffix(second.WorkflowID, "/redo-2") {
		t.Errorf("run %s as %s after run %s", second.Run, second.WorkflowID, first.Run)
	}
	p.asked("segment 2, extract 2, files 2")
	p.skills(1, 1)
	if n := p.number("select count(*) from llm_calls where run_id = $1 and stage <> 'merge'", second.Run); n != 3 {
		t.Errorf("the second generation has %d calls of its own, want 3", n)
	}
	if n := p.number("select count(*) from conversations"); n != 1 {
		t.Errorf("%d conversations, want 1", n)
	}
}

func TestATaskThatFailsLeavesTheOthersStanding(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for name, c := range map[string]struct {
		rule     openaitest.Rule
		code     fault.Code
		requests string
	}{
		"refusal": {openaitest.Rule{Refusal: "I will not help with that."}, fault.ModelRefused,
			"segment 1, extract 2, files 1"},
		"three no JSON": {openaitest.Rule{Reply: "Sure! Here is the skill you wanted."}, fault.ModelInvalid,
			"segment 1, extract 4, files 1"},
		"bad request": {openaitest.Rule{Status: 400, Reply: "unknown parameter"}, fault.ModelRejected,
			"segment 1, extract 2, files 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := openProtocol(t)
			p.scriptTwoTasks()
			p.Model.On(openaitest.Rule{Stage: "extract", Match: "returns 502 since", Reply: apptest.R1Extract})
			rule := c.rule
			rule.Stage = "extract"
			p.Model.On(rule)
			p.ScriptR1()
			r := p.Distill(apptest.C1())
			p.ended(r, run.CompletedPartial, distillation.Created, distillation.Failed)
			p.asked(c.requests)
			p.skills(1, 1)
			if failed := r.Tasks[1]; failed.Reason == "" || failed.Skill != "" {
				t.Errorf("the failed task: %+v", failed)
			}
		})
	}
}

// A repair is a separate round that sends the error to the model.
func TestABadAnswerIsRepaired(t *testing.T) {
	t.Parallel()
	p := openProtocol(t)
	p.Model.On(openaitest.Rule{Stage: "extract", Times: 2, Reply: "no JSON at all"})
	p.ScriptR1()
	p.ended(p.Distill(apptest.C1()), run.Completed, distillation.Created)
	p.asked("segment 1, extract 3, files 1")
	p.paidOnce()
	if n := p.number("select count(*) from llm_calls where step like '%/extract' and state = 'done' and round in " +
		"(0, 1, 2)"); n != 3 {
		t.Errorf("%d rounds in the ledger, want 3", n)
	}
	if bodies := p.bodies("extract"); !strings.Contains(bodies[2], "no JSON at all") {
		t.Error("the repair does not show the answer that it repairs")
	}
}

// bodies returns the requests of a stage in order.
func (p *protocol) bodies(stage string) (out []string) {
	for _, c := range p.Model.Requests() {
		if c.Stage == stage {
			out = append(out, string(c.Body))
		}
	}
	return out
}

func TestAnEndpointInTroubleIsAskedAgain(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for name, c := range map[string]struct {
		rule    openaitest.Rule
		unknown int
		wait    time.Duration
	}{
		"429 with Retry-After":   {openaitest.Rule{Status: 429, RetryAfter: "2"}, 0, 2 * time.Second},
		"503":                    {openaitest.Rule{Status: 503}, 0, 0},
		"no answer":              {openaitest.Rule{Drop: true}, 1, 0},
		"half an answer":         {openaitest.Rule{DropAfter: true, Reply: apptest.R1Extract}, 1, 0},
		"an answer that is none": {openaitest.Rule{Malformed: true}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := openProtocol(t)
			rule := c.rule
			rule.Stage, rule.Times = "extract", 1
			p.Model.On(rule)
			p.ScriptR1()
			r := p.Distill(apptest.C1())
			p.ended(r, run.Completed, distillation.Created)
			p.asked("segment 1, extract 2, files 1")
			p.paidOnce()
			if r.Usage.Unknown != c.unknown || r.Usage.Attempts != 4 || r.Usage.Keys != 3 {
				t.Errorf("usage %+v, want 3 calls in 4 attempts with %d unknown", r.Usage, c.unknown)
			}
			var at []time.Time
			for _, call := range p.Model.Requests() {
				if call.Stage == "extract" {
					at = append(at, call.Time)
				}
			}
			if waited := at[1].Sub(at[0]); waited < c.wait {
				t.Errorf("asked again after %s, the endpoint wanted %s", waited, c.wait)
			}
			if bodies := p.bodies("extract"); bodies[0] != bodies[1] {
				t.Error("the second request is not the first, byte for byte")
			}
		})
	}
}

func TestATextTooLongForTheModelIsSentShort(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	p := openProtocol(t)
	p.Model.On(openaitest.Rule{Stage: "extract", Times: 1, Status: 400,
		Reply: "This model's maximum context length is 8192 tokens."})
	p.ScriptR1()
	c := apptest.C1()
	c.Messages[4].Content = strings.Repeat("r41 ok / r42 failing. ", 60)
	p.ended(p.Distill(c), run.Completed, distillation.Created)
	p.asked("segment 1, extract 2, files 1")
	if bodies := p.bodies("extract"); len(bodies[1]) >= len(bodies[0])-500 {
		t.Errorf("%d bytes, then %d", len(bodies[0]), len(bodies[1]))
	}
	if n := p.number("select count(*) from llm_calls where step like '%/extract/short' and state = 'done'"); n != 1 {
		t.Errorf("%d short calls in the ledger, want 1", n)
	}
}

// Case E5: a deploy changes the prompt between two attempts at a call.
func TestAPromptThatDriftsIsNotSent(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	p := openProtocol(t)
	p.Model.On(openaitest.Rule{Stage: "extract", Times: 1, Barrier: "extract", Status: 503})
	p.ScriptR1()
	r := p.begin(apptest.C1())
	p.atBarrier("extract", 1)
	// The configuration is pinned and held by the worker; the messages are read
	// again by each attempt, so changing them changes what it would send.
	p.exec(`update messages set content = 'DRIFTED ' || content`)
	p.Model.Release("extract")
	p.ended(p.Wait(r.Ref), run.Completed, distillation.Created)
	if bodies := p.bodies("extract"); len(bodies) != 2 || bodies[0] != bodies[1] ||
		strings.Contains(bodies[1], "DRIFTED") {
		t.Errorf("%d requests, the last with drift %t", len(bodies), strings.Contains(bodies[len(bodies)-1], "DRIFTED"))
	}
}

// JSON can contain a NUL character, and a database text cannot.
func TestANULCharacterDoesNotStopARun(t *testing.T) {
	t.Parallel()
	p := openProtocol(t)
	nul := func(s string) string { return strings.Replace(s, "incident", `inci\u0000dent`, 1) }
	p.Model.On(openaitest.Rule{Stage: "segment",
		Reply: strings.NewReplacer("Service Operations", `Service\u0000Operations`, "Roll a", `Roll\u0000a`).
			Replace(apptest.R1Segment)})
	p.Model.On(openaitest.Rule{Stage: "extract", Reply: nul(apptest.R1Extract)})
	p.Model.On(openaitest.Rule{Stage: "files",
		Reply: `{"check_health.py":"print(1)\u0000\n","checklist.md":"# Check\u0000list\n"}`})
	c := apptest.C1()
	c.Messages[0].Content += "\x00"
	r := p.Distill(c)
	p.ended(r, run.Completed, distillation.Created)
	p.asked(allOnce)
	if text := readFile(t, r.Tasks[0].SkillMD); bytes.Contains(text, []byte{0}) {
		t.Error("SKILL.md holds a NUL")
	}
}
