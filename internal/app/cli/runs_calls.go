package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"cairn/internal/domain/llm"
	"cairn/internal/domain/run"
	"cairn/internal/service/inspect"
)

// showCalls prints what the model calls of a run sent and got.
func (c *cli) showCalls(ctx context.Context, id, step string) error {
	if err := run.CheckID(id); err != nil {
		return err
	}
	s, err := c.open(ctx, needs{})
	if err != nil {
		return err
	}
	defer s.close()
	all, err := s.Runs.Exchanges(ctx, run.Ref{Workspace: s.workspace.ID, Run: id}, step)
	if err != nil {
		return err
	}
	if c.output == "json" {
		out := make([]exchangeRow, len(all))
		for i, e := range all {
			out[i] = exchangeRow{
				e.Key.Step,
				e.Key.Round,
				string(e.State),
				e.Stage,
				e.Model,
				e.Input,
				e.Cached,
				e.Written,
				e.Output,
				e.CostMicros,
				e.Erased,
				e.Earlier,
				e.Messages,
				e.Tools,
				e.Reply,
				e.Rejected,
				e.ErrorClass,
				e.Error,
			}
		}
		return c.printJSON(map[string]any{"calls": out})
	}
	if len(all) == 0 {
		fmt.Fprintln(c.out, "no model calls")
	}
	for _, e := range all {
		printExchange(c.out, e)
	}
	return nil
}

// exchangeRow is a model call in JSON.
type exchangeRow struct {
	Step       string        `json:"step"`
	Round      int           `json:"round"`
	State      string        `json:"state"`
	Stage      string        `json:"stage"`
	Model      string        `json:"model"`
	Input      int64         `json:"input_tokens"`
	Cached     int64         `json:"cached_tokens,omitempty"`
	Written    int64         `json:"written_tokens,omitempty"`
	Output     int64         `json:"output_tokens"`
	CostMicros *int64        `json:"cost_micros"`
	Erased     bool          `json:"request_erased,omitempty"`
	Earlier    int           `json:"earlier_messages"` // that the round before has, too
	Messages   []llm.Message `json:"messages"`
	Tools      []string      `json:"tools,omitempty"`
	Reply      *llm.Reply    `json:"reply"`
	Rejected   bool          `json:"rejected,omitempty"`
	ErrorClass string        `json:"error_class,omitempty"`
	Error      string        `json:"error,omitempty"`
}

func printExchange(w io.Writer, e inspect.Exchange) {
	fmt.Fprintf(w, "── %s, round %d · %s · %s · %d tokens in%s, %d out", e.Key.Step, e.Key.Round, e.Model, e.State,
		e.Input, fromCache(e.Cached), e.Output)
	if e.CostMicros != nil {
		fmt.Fprintf(w, " · %s", dollars(*e.CostMicros))
	}
	fmt.Fprintln(w)
	if e.Erased {
		fmt.Fprintln(w, "the request was erased")
	}
	if e.Earlier > 0 {
		fmt.Fprintf(w, "(%d messages as in the round before)\n", e.Earlier)
	}
	for _, m := range e.Messages {
		printMessage(w, m.Role, m.Prefix+m.Content, m.Calls)
	}
	if len(e.Tools) > 0 {
		fmt.Fprintf(w, "tools: %s\n", strings.Join(e.Tools, ", "))
	}
	switch {
	case e.Reply != nil && e.Rejected:
		printMessage(w, "reply ✗", e.Reply.Text+e.Reply.Refusal, e.Reply.Calls)
	case e.Reply != nil:
		printMessage(w, "reply", e.Reply.Text+e.Reply.Refusal, e.Reply.Calls)
	case e.Error != "":
		fmt.Fprintf(w, "error: %s\n", e.Error)
	}
	fmt.Fprintln(w)
}

// printMessage prints a message with its text indented.
func printMessage(w io.Writer, role, text string, calls []llm.ToolCall) {
	fmt.Fprintf(w, "%s:\n", role)
	if text = strings.TrimRight(text, "\n"); text != "" {
		fmt.Fprintf(w, "  %s\n", strings.ReplaceAll(text, "\n", "\n  "))
	}
	for _, call := range calls {
		fmt.Fprintf(w, "  → %s %s\n", call.Name, call.Arguments)
	}
}
