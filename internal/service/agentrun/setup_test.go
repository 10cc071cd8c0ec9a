package agentrun_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"cairn/internal/adapter/embedding"
	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	domainconversation "cairn/internal/domain/conversation"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/conversation"
	"cairn/internal/service/ledger"
	"cairn/internal/service/memory"
	"cairn/internal/service/search"
	"cairn/internal/service/tools"
	"cairn/internal/testkit"
)

// db is the database of a test; the name keeps the embedded field apart from Service.Store.
type db = pgtest.Store

// bundle is the agent loop over a fresh database, with a model that a test scripts
// and the tools of prompt memory.
type bundle struct {
	*agentrun.Service
	*db
	t     *testing.T
	model *model
	told  *told
	inbox *conversation.Service
}

// setup opens the loop. Its agent has more tools when a test gives some.
func setup(t *testing.T, more ...tools.Tool) *bundle {
	t.Helper()
	b := &bundle{t: t, db: pgtest.Open(t), model: &model{}, told: &told{soul: "Speak like a sailor."}}
	embedder := embedding.Hashing(embedding.DefaultDims)
	space, err := b.db.Space(t.Context(), embedder.Model(), embedder.Dims())
	testkit.Must(t, err)
	b.inbox = &conversation.Service{Ports: conversation.Ports{Store: b.db.Conversations()}}
	finder := search.Finder{Index: b.SearchIndex(), Embedder: embedder, Space: space, MinCosine: 0.35}
	memories := &memory.PromptService{PromptPorts: memory.PromptPorts{Store: b.db.Store, Embedder: embedder,
		Space:  space,
		Finder: finder}}
	all, err := tools.Memory(memories)
	testkit.Must(t, err)
	registry, err := tools.NewRegistry(append(all, more...)...)
	testkit.Must(t, err)
	b.Service = &agentrun.Service{Ports: agentrun.Ports{Store: b.Store, Tools: registry, Memory: b.told,
		Ledger:    &ledger.Ledger{Ports: ledger.Ports{Store: b.db.Store, Model: b.model, Lease: time.Minute}},
		NudgeSpec: spec, FlushSpec: spec}}
	return b
}

// spec is the configuration of a run.
func spec() agentrun.Spec {
	return agentrun.Spec{Model: "scripted", SessionTTL: time.Hour,
		Limits: agentrun.Limits{Window: 32_000, ResultChars: 2000, MaxTokens: 500, NudgeMessages: 8},
		Timing: agentrun.Timing{Model: time.Minute, Tool: time.Minute, Heartbeat: time.Second, Database: time.Second}}
}

// told is the memory of a workspace that sessions show.
type told struct {
	mu   sync.Mutex
	soul string
}

func (k *told) Remembered(context.Context, int64) (prompt.SessionContext, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return prompt.SessionContext{Soul: k.soul, Core: []prompt.Fact{{Text: "The staging host is quartz."}}}, nil
}

func (k *told) About(context.Context, int64) (identity, meta string, err error) {
	return "I am Remy.", "personal(Ada)", nil
}

func (k *told) become(soul string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.soul = soul
}

// model returns scripted replies in order.
type model struct {
	mu      sync.Mutex
	replies []func() (llm.Reply, error)
	last    func() (llm.Reply, error) // when the replies are used up; nil is an error
	asked   []llm.Request
}

func (m *model) Prepare(r llm.Request) (llm.PreparedRequest, error) {
	body, err := json.Marshal(r)
	return llm.PreparedRequest{Model: r.Model, Body: body, Label: r.Label}, err
}

func (m *model) Send(_ context.Context, p llm.PreparedRequest) (llm.Reply, error) {
	var r llm.Request
	if err := json.Unmarshal(p.Body, &r); err != nil {
		return llm.Reply{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, r)
	if len(m.replies) == 0 && m.last == nil {
		return llm.Reply{}, &llm.Error{Class: llm.Fatal, Message: "the script has no more replies"}
	}
	reply := m.last
	if len(m.replies) > 0 {
		reply, m.replies = m.replies[0], m.replies[1:]
	}
	return reply()
}

// requests are what the model was asked.
func (m *model) requests() []llm.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.asked)
}

// says makes the model reply with texts, in order.
func (m *model) says(texts ...string) {
	for _, text := range texts {
		m.replies = append(m.replies, func() (llm.Reply, error) { return reply(text), nil })
	}
}

// calls makes the model call tools in its next reply.
func (m *model) calls(calls ...llm.ToolCall) {
	m.replies = append(m.replies, func() (llm.Reply, error) { return reply("", calls...), nil })
}

// fails makes the next request fail.
func (m *model) fails(class llm.Class) {
	m.replies = append(m.replies, func() (llm.Reply, error) {
		return llm.Reply{}, &llm.Error{Class: class, Status: 400, Message: "the endpoint says no"}
	})
}

func reply(text string, calls ...llm.ToolCall) llm.Reply {
	return llm.Reply{Text: text, Calls: calls, Finish: "stop", Model: "scripted",
		Usage: llm.Usage{Input: 50, Output: 10}}
}

// call is a call of a tool, with JSON or what a model takes for it.
func call(tool, arguments string) llm.ToolCall {
	return llm.ToolCall{ID: "call-" + tool, Name: tool, Arguments: arguments}
}

// saves is a call that saves a memory.
func saves(text string) llm.ToolCall { return call("memory_save", fmt.Sprintf(`{"content":%q}`, text)) }

// say accepts a message on channel chat.
func (b *bundle) say(id, text string, change ...func(*conversation.Request)) conversation.AcceptedTurn {
	b.t.Helper()
	r := conversation.Request{Workspace: b.A.ID, WorkspaceKey: b.A.Key, Conversation: "c", Channel: agent.ChannelChat,
		MessageID: id, Text: text, Spec: spec()}
	for _, f := range change {
		f(&r)
	}
	out, err := b.inbox.Accept(b.t.Context(), r)
	testkit.Must(b.t, err)
	return out
}

// step makes one step of a run that must succeed.
func (b *bundle) step(ref run.Ref, step agent.Step) contract.StepResult {
	b.t.Helper()
	out, err := b.Step(b.t.Context(), contract.StepInput{RunRef: pgtest.RunRef(ref), Step: step})
	testkit.Must(b.t, err)
	return out
}

// ended returns the stored result of a run.
func (b *bundle) ended(ref run.Ref) run.Result { return pgtest.Stored[run.Result](b.t, b.Store, ref) }

// drive runs all steps of a run, as its workflow does.
func (b *bundle) drive(r run.Run) run.Result {
	b.t.Helper()
	s, err := agentrun.SpecOf(r)
	testkit.Must(b.t, err)
	var last contract.StepResult
	state, effect := agent.Next(agent.State{}, agent.Begin{At: time.Now(), Budget: s.Budget})
	for {
		var event agent.Event
		switch e := effect.(type) {
		case agent.Step:
			last = b.step(r.Ref, e)
			event = last.StepDone
		case agent.RunTools:
			for _, c := range e.Calls {
				testkit.Must(b.t, b.RunTool(b.t.Context(), pgtest.ToolInput(r.Ref, state.Step, c.Index)))
			}
			event = agent.ToolsRan{}
		case agent.End:
			if e.Closed || last.Ended != nil {
				ended := b.ended(r.Ref)
				if last.Ended == nil || *last.Ended != agentrun.ResultOf(ended) {
					b.t.Errorf("the last step gives %+v, want %+v", last.Ended, agentrun.ResultOf(ended))
				}
				return ended
			}
			_, err := b.Close(b.t.Context(), pgtest.CloseAgent(r.Ref, e.Reason))
			testkit.Must(b.t, err)
			return b.ended(r.Ref)
		}
		state, effect = agent.Next(state, event)
	}
}

// answer returns the status of a message.
func (b *bundle) answer(id string) domainconversation.TurnStatus {
	b.t.Helper()
	out, err := b.inbox.Answer(b.t.Context(), b.A.ID, "c", id)
	testkit.Must(b.t, err)
	return out
}

// lasts is the last message of a request.
func lasts(r llm.Request) string { return r.Messages[len(r.Messages)-1].Content }

// nothing is a tool's arguments.
type nothing struct{}

// done is a tool's result.
type done struct {
	Action string `json:"action"`
}

// use is the handler of a test tool.
type use func(context.Context, agent.Actor) (done, error)

// tool is a test tool.
func tool(t *testing.T, name string, class agent.Class, does use) tools.Tool {
	t.Helper()
	out, err := tools.New(agent.ToolSpec{Name: name, Class: class, Description: name,
		Origins: []agent.Origin{agent.OriginAgent, agent.OriginNudge}},
		func(ctx context.Context, a agent.Actor, _ nothing) (done, error) { return does(ctx, a) })
	testkit.Must(t, err)
	return out
}
