package console

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"cairn/internal/domain/audit"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/run"
	"cairn/internal/service/inspect"
)

type callPage struct {
	Run      string
	Call     inspect.Exchange
	Rounds   []int
	Earlier  []llm.Message // messages that the round before has, too
	Sizes    []partSize
	Step     string
	Round    int
	Unmasked bool
	Others   []option // calls of this run, to compare with
	With     string   // the run of the call that it is compared with
	Compared bool
	Diff     string // from the other call to this one
}

// partSize is the share of a part of a request.
type partSize struct {
	Role  string
	Runes int
	Share float64
}

// exchange is a model call with the whole of its request.
type exchange struct {
	inspect.Exchange
	Rounds  []int
	Earlier []llm.Message
}

// findCall returns one of the calls of a step.
func findCall(all []inspect.Exchange, ref run.Ref, step string, round int) (out exchange, err error) {
	for _, e := range all {
		out.Rounds = append(out.Rounds, e.Key.Round)
	}
	i := slices.Index(out.Rounds, round)
	if i < 0 || step == "" {
		return out, fault.New(fault.NotFound, fmt.Sprintf("run %s has no round %d of step %.80q", ref.Run, round, step),
			"choose a model call on the page of the run")
	}
	out.Exchange = all[i]
	for _, e := range all[:i] {
		out.Earlier = append(out.Earlier, e.Messages...)
	}
	out.Earlier = out.Earlier[:min(len(out.Earlier), out.Exchange.Earlier)]
	return out, nil
}

// text returns the request and the reply as lines, for a comparison.
func (e exchange) text() string {
	var out strings.Builder
	write := func(role, content string, calls []llm.ToolCall) {
		fmt.Fprintf(&out, "[%s]\n%s\n", role, content)
		for _, c := range calls {
			fmt.Fprintf(&out, "%s(%s)\n", c.Name, c.Arguments)
		}
	}
	for _, m := range slices.Concat(e.Earlier, e.Messages) {
		write(string(m.Role), m.Content, m.Calls)
	}
	if e.Reply != nil {
		write("reply", e.Reply.Text, e.Reply.Calls)
	}
	return out.String()
}

// showCall shows the request and the reply of a model call, with secrets replaced.
func (c *Console) showCall(rq *request) error { return c.renderCall(rq, false) }

// showUnmasked shows a model call with its secrets, after it is recorded that someone looks at them.
func (c *Console) showUnmasked(rq *request) error {
	ref, err := rq.runRef()
	if err != nil {
		return err
	}
	err = c.Audit.Record(
		rq.ctx,
		rq.ws(),
		audit.PromptUnmask,
		fmt.Sprintf(
			"run %s, step %s, round %s",
			ref.Run,
			clipText(rq.text("step"), 80),
			clipText(rq.text("round"), 8),
		),
	)
	if err != nil {
		return err
	}
	return c.renderCall(rq, true)
}

func (c *Console) renderCall(rq *request, unmasked bool) error {
	ref, err := rq.runRef()
	if err != nil {
		return err
	}
	step := clipText(rq.text("step"), 300)
	round, err := rq.number("round", 0, 0, 1000)
	if err != nil {
		return err
	}
	read := c.Runs.Exchanges
	if unmasked {
		read = c.Runs.Unmasked
	}
	all, err := read(rq.ctx, ref, step)
	if err != nil {
		return err
	}
	found, err := findCall(all, ref, step, round)
	if err != nil {
		return err
	}
	out := callPage{Run: ref.Run, Step: step, Round: round, Call: found.Exchange, Rounds: found.Rounds,
		Earlier: found.Earlier, Unmasked: unmasked}
	out.Sizes = sizes(slices.Concat(out.Earlier, out.Call.Messages))
	if err := c.compareCall(rq, &out, found, ref); err != nil {
		return err
	}
	return rq.render("call", "call.title", out)
}

// compareCall lists the other calls of the run, and compares the call with another one, of this run or of another. The
// other one is named by its step and its round.
func (c *Console) compareCall(rq *request, out *callPage, found exchange, ref run.Ref) error {
	if out.Unmasked {
		return nil
	}
	report, err := c.Runs.Report(rq.ctx, ref)
	if err != nil {
		return err
	}
	chosen := rq.text("other")
	out.With = rq.text("with_run")
	for _, call := range report.Calls {
		value := fmt.Sprintf("%d %s", call.Key.Round, call.Key.Step)
		out.Others = append(out.Others, option{value, fmt.Sprintf("%s (%d)", call.Key.Step, call.Key.Round),
			value == chosen})
	}
	if chosen == "" {
		return nil
	}
	other := ref
	if out.With != "" {
		if err := run.CheckID(out.With); err != nil {
			return err
		}
		other.Run = out.With
	}
	first, step, _ := strings.Cut(chosen, " ")
	round, err := strconv.Atoi(first)
	if err != nil {
		return badParameter("other", chosen, "choose a call in the list")
	}
	all, err := c.Runs.Exchanges(rq.ctx, other, step)
	if err != nil {
		return err
	}
	theirs, err := findCall(all, other, step, round)
	if err != nil {
		return err
	}
	out.Compared = true
	out.Diff = udiff.Unified(fmt.Sprintf("%s/%s/%d", other.Run, step, round),
		fmt.Sprintf("%s/%s/%d", out.Run, out.Step, out.Round), theirs.text(), found.text())
	return nil
}
