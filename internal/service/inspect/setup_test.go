package inspect_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/conversation"
	"cairn/internal/service/distill"
	"cairn/internal/service/inspect"
	"cairn/internal/service/memoryagent"
	"cairn/internal/service/tools"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// workflows is a scripted set of conversation workflows.
type workflows struct {
	running   bool
	knows     contract.ConversationView
	err       error
	stateErr  error // of a workflow that does not answer
	cancelled []run.Run
	ended     int
}

func (w *workflows) Runs(context.Context, string, int64) (bool, error) { return w.running, w.err }

func (w *workflows) State(context.Context, string, int64) (contract.ConversationView, error) {
	return w.knows, w.stateErr
}

func (w *workflows) CancelTurn(_ context.Context, _ string, turn run.Run) error {
	if w.err == nil {
		w.cancelled = append(w.cancelled, turn)
	}
	return w.err
}

func (w *workflows) EndRunning(context.Context, string, int64) (bool, error) {
	if w.running && w.err == nil {
		w.ended++
	}
	return w.running, w.err
}

// nothing is what the agents of these tests remember and can do.
type nothing struct{}

func (nothing) Remembered(context.Context, int64) (out prompt.SessionContext, err error) {
	return out, nil
}

func (nothing) About(context.Context, int64) (identity, meta string, err error) { return "", "", nil }

func (nothing) Offered(agent.Origin, ...string) []agent.ToolSpec { return nil }

func (nothing) Call(context.Context, agent.Actor, string, json.RawMessage) (out tools.Result, err error) {
	return out, nil
}

// bundle is the services over a fresh database.
type bundle struct {
	*pgtest.Store
	runs       *inspect.Runs
	threads    *inspect.Conversations
	workspaces *inspect.Workspaces
	agents     *agentrun.Service
	distill    *distill.Service
	t          *testing.T
}

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{t: t, Store: pgtest.Open(t)}
	b.distill = &distill.Service{Ports: distill.Ports{Store: b.Store.Store}}
	b.agents = &agentrun.Service{Ports: agentrun.Ports{Store: b.Store.Store, Memory: nothing{}, Tools: nothing{}}}
	b.runs = &inspect.Runs{RunPorts: inspect.RunPorts{Store: b.Store.Store, Distill: b.distill}}
	b.threads = &inspect.Conversations{ConversationPorts: inspect.ConversationPorts{Store: b.Store.Store,
		Closer: b.Inbox()}}
	b.workspaces = &inspect.Workspaces{WorkspacePorts: inspect.WorkspacePorts{Store: b.Workspaces(),
		Check: memoryagent.NewRegistry().Check}}
	return b
}

// asks accepts a message without a reply.
func (b *bundle) asks(name, message, text string) conversation.AcceptedTurn {
	b.t.Helper()
	return b.AcceptMessage(conversation.Request{Conversation: name, MessageID: message, Text: text,
		Spec: agentrun.Spec{Model: "scripted", Timing: agentrun.Timing{Database: time.Minute}}})
}

// fails ends a turn whose model did not answer.
func (b *bundle) fails(ref run.Ref) {
	b.t.Helper()
	_, err := b.agents.Close(b.t.Context(), contract.CloseAgentInput{RunRef: pgtest.RunRef(ref),
		Reason: agent.ProviderError, Detail: "model_auth"})
	testkit.Must(b.t, err)
}

// reviews opens the review of the messages up to a turn.
func (b *bundle) reviews(conversation int64, turn int) run.Run {
	b.t.Helper()
	b.agents.NudgeSpec = func() agentrun.Spec {
		return agentrun.Spec{Limits: agentrun.Limits{InputTokens: 100_000, NudgeMessages: 24, ResultChars: 1000}}
	}
	out, err := b.agents.OpenNudge(b.t.Context(), contract.NudgeInput{Workspace: b.A.ID, WorkspaceKey: b.A.Key,
		Conversation: conversation, Number: turn, Turn: turn, Memory: true})
	testkit.Must(b.t, err)
	var opened run.Run
	testkit.Must(b.t, b.InWorkspace(b.t.Context(), b.A.ID, func(ctx context.Context, tx store.Tx) error {
		opened, err = tx.Runs().Run(ctx, out.Run)
		return err
	}))
	return opened
}

// distils accepts a conversation to be distilled.
func (b *bundle) distils(title string) run.Run {
	b.t.Helper()
	said := transcript.Conversation{ID: title, Title: title, Messages: []transcript.Message{
		{Role: transcript.User, Content: "Roll it back."}, {Role: transcript.Assistant, Content: "Done."}}}
	out, _, err := b.distill.Accept(b.t.Context(), distill.Request{Workspace: b.A.ID, WorkspaceKey: b.A.Key,
		Channel: "import", Conversation: said})
	testkit.Must(b.t, err)
	return out
}

// wants checks the code of an error and that it has a hint.
func wants(t *testing.T, what string, err error, code fault.Code) {
	t.Helper()
	if f := fault.From(err); f == nil || f.Code != code || f.Hint == "" {
		t.Errorf("%s: %v, want %s with a hint", what, err, code)
	}
}
