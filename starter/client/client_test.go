package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/testkit"
	"cairn/starter/client"
)

// bundle is a complete Cairn with its gateway and a client.
type bundle struct {
	*apptest.Bundle
	gateway http.Handler
	server  *httptest.Server
	key     string
	client  *client.Client
}

func setup(t *testing.T, options ...client.Option) *bundle {
	t.Helper()
	b := &bundle{Bundle: apptest.OpenIdle(t)}
	b.gateway = sent().watch(b.Handler())
	b.server = httptest.NewServer(b.gateway)
	t.Cleanup(b.server.Close)
	b.key = b.Key("client", "admin")
	b.client = b.open(client.Config{URL: b.server.URL, Key: b.key}, options...)
	return b
}

func (b *bundle) open(c client.Config, options ...client.Option) *client.Client {
	b.T.Helper()
	out, err := client.New(c, options...)
	testkit.Must(b.T, err)
	b.T.Cleanup(func() { out.Close() })
	return out
}

// script makes the agents save one memory about Alice.
func (b *bundle) script() {
	alice := []map[string]any{{"memory_type": "personal", "memory_target": "alice"}}
	does := func(tool string, arguments any) []openaitest.ToolCall {
		raw, _ := json.Marshal(arguments)
		return []openaitest.ToolCall{{ID: "c", Name: tool, Arguments: string(raw)}}
	}
	none, one := 0, 1
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "Hello, Alice."})
	b.Model.On(openaitest.Rule{Stage: "summarize", Results: &none,
		Calls: does("add_meta_memory", map[string]any{"meta_memories": alice})})
	b.Model.On(openaitest.Rule{Stage: "summarize", Results: &one,
		Calls: does("hands_off", map[string]any{"memory_tasks": alice})})
	b.Model.On(openaitest.Rule{Stage: "summarize", Reply: "Done."})
	b.Model.On(openaitest.Rule{Stage: "specialist", Results: &none,
		Calls: does("add_memory", map[string]any{
			"memories": []any{map[string]any{"memory_content": "Alice flies from Osaka only."}}})})
	b.Model.On(openaitest.Rule{Stage: "specialist", Reply: "One added."})
}

var flying = []client.Message{{Role: "user", Content: "I am Alice. I only fly from Osaka."},
	{Role: "assistant", Content: "Noted."}}

func TestTheLibrarySpeaksToTheGateway(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Start()
	b.script()
	b.ScriptR1()
	ctx := t.Context()
	turn, err := b.client.Turn(ctx, client.TurnRequest{Conversation: "c", MessageID: "m1", Text: "Hello"})
	if err != nil || turn.Reply != "Hello, Alice." || turn.Status != "ended" {
		t.Errorf("turn %+v, %v", turn, err)
	}
	corrected := client.FeedbackRequest{Conversation: "c", MessageID: "m1", Correction: "Good evening, Alice."}
	for range 2 { // both count once
		noted, err := b.client.Feedback(ctx, corrected, client.RequestID("f1"))
		if err != nil || noted.Question != "Hello" || noted.Case == 0 || noted.Failures != 1 {
			t.Errorf("feedback %+v, %v", noted, err)
		}
	}
	// the key has one vote on the answer
	if noted, err := b.client.Feedback(ctx, corrected); err != nil || noted.Failures != 1 ||
		noted.Voter != "key/1" {
		t.Errorf("feedback again %+v, %v", noted, err)
	}
	made, err := b.client.Summary(ctx, client.SummaryRequest{Messages: flying}, client.Wait(60*time.Second),
		client.RequestID("s1"))
	if err != nil || !made.Success || made.RequestID != "s1" || len(made.Summary.Tasks) != 1 ||
		len(made.Summary.Tasks[0].Added) != 1 {
		t.Fatalf("summary %+v, %v", made, err)
	}
	if shown, err := b.client.Request(ctx, "s1"); err != nil || shown.Run != made.Run {
		t.Errorf("request %+v, %v", shown, err)
	}
	answer, err := b.client.Retrieve(ctx, "Where does Alice fly from?", client.Mode("fast"), client.TopK(3),
		client.Types("personal"))
	if err != nil || len(answer.Memories) != 1 || answer.Memories[0].Content != "Alice flies from Osaka only." {
		t.Errorf("answer %+v, %v", answer, err)
	}
	found, err := b.client.Search(ctx, "Osaka", client.Types("personal"))
	if err != nil || len(found) != 1 || found[0].ID != answer.Memories[0].ID {
		t.Errorf("found %+v, %v", found, err)
	}
	long := strings.Repeat("The vault stands in Osaka.\n", 2000)
	thread := []client.Message{{Role: "user", Content: "Read the log."},
		{Role: "assistant", ToolCalls: []any{
			map[string]any{"id": "1", "type": "function",
				"function": map[string]any{"name": "read_log", "arguments": "{}"}}}},
		{Role: "tool", ToolCallID: "1", Content: long + "The code is 4711.\n"}, {Role: "user", Content: "Thanks."}}
	short, err := b.client.Offload(ctx, client.OffloadRequest{Messages: thread, Mode: "compact", Session: "log",
		KeepRecent: new(0), TotalTokens: 1000}, client.Wait(0))
	if err != nil || short.Mode != "compact" || len(short.Offloaded) != 1 || short.TokensAfter >= short.TokensBefore ||
		short.Messages[3].Content != "Thanks." {
		t.Fatalf("offloaded %+v, %v", short, err)
	}
	hits, err := b.client.Grep(ctx, client.Grep{Pattern: "the CODE", Session: "log"})
	if err != nil || hits.Total != 1 || len(hits.Hits[0].Before) != 5 {
		t.Fatalf("found %+v, %v", hits, err)
	}
	lines, err := b.client.Read(ctx, hits.Hits[0].Handle, hits.Hits[0].Line-1, 1)
	if err != nil || len(lines.Lines) != 1 || lines.Lines[0] != "The code is 4711." {
		t.Errorf("read %+v, %v", lines, err)
	}
	if whole, err := b.client.Reload(ctx, short.Offloaded[0].Handle); err != nil || whole.Content != thread[2].Content {
		t.Errorf("reloaded %d characters, %v", len(whole.Content), err)
	}
	var incident []client.Message
	for _, m := range apptest.C1().Messages {
		incident = append(incident, client.Message{Role: string(m.Role), Content: m.Content})
	}
	distilled, err := b.client.Distill(ctx, incident, client.Wait(60*time.Second))
	if err != nil || distilled.Report == nil || len(distilled.Report.Tasks) != 1 {
		t.Errorf("distilled %+v, %v", distilled, err)
	}
	undone, err := b.client.Undo(ctx, "s1")
	if err != nil || len(undone) == 0 || undone[0].Status != "undone" {
		t.Errorf("undone %+v, %v", undone, err)
	}
	if left, err := b.client.List(ctx, client.Types("personal", "summary")); err != nil || len(left) != 0 {
		t.Errorf("left %+v, %v", left, err)
	}
}

func TestOptionsOfACallCountFirst(t *testing.T) {
	t.Setenv("CAIRN_TOP_K", "1")
	t.Setenv("CAIRN_MODE", "fast")
	b := setup(t)
	ctx := t.Context()
	for _, text := range []string{"Likes green tea.", "Likes black tea.", "Likes tea with milk."} {
		_, err := b.client.Add(ctx, client.NewMemory{Content: text, Type: "personal", Target: "ann"})
		testkit.Must(t, err)
	}
	finds := func(c *client.Client, options ...client.Option) int {
		a, err := c.Retrieve(ctx, "tea", options...)
		testkit.Must(t, err)
		return len(a.Memories)
	}
	usual := b.open(client.Config{URL: b.server.URL, Key: b.key}, client.TopK(2))
	if env, client_, call := finds(b.client), finds(usual),
		finds(usual, client.TopK(3)); env != 1 || client_ != 2 || call != 3 {
		t.Errorf("the environment gives %d, the client %d, the call %d", env, client_, call)
	}
}

func TestErrorsHaveCodeAndHint(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.client.Get(t.Context(), "0000000000000000")
	var e *client.Error
	if !errors.Is(err, client.ErrNotFound) || errors.Is(err, client.ErrOpReused) || !errors.As(err, &e) ||
		e.Hint == "" || e.Status != http.StatusNotFound {
		t.Errorf("unknown: %v", err)
	}
	_, err = b.client.Retrieve(t.Context(), "x", client.Mode("slow"))
	if !errors.Is(err, client.ErrInvalidArgument) {
		t.Errorf("no mode: %v", err)
	}
	if _, err := b.open(client.Config{URL: b.server.URL, Key: "cairn_wrong"}).
		List(t.Context()); !errors.Is(err, client.ErrUnauthenticated) {
		t.Errorf("wrong key: %v", err)
	}
	away := b.open(client.Config{URL: "http://127.0.0.1:1", Key: b.key, Retries: -1})
	if _, err := away.List(t.Context()); !errors.Is(err, client.ErrUnavailable) {
		t.Errorf("unreachable: %v", err)
	}
	testkit.Must(t, b.client.Close())
	if _, err := b.client.List(t.Context()); !errors.Is(err, client.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// After a lost response, the client repeats the request, and the change takes effect once.
func TestAChangeWhoseAnswerIsLostIsDoneOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	lost := 0
	lossy := b.open(client.Config{Key: b.key, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && lost < 2 {
			lost++
			b.gateway.ServeHTTP(httptest.NewRecorder(), r)
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		b.gateway.ServeHTTP(w, r)
	})})
	w, err := lossy.Add(t.Context(), client.NewMemory{Content: "Keeps bees.", Type: "personal", Target: "ann"})
	if err != nil || w.Action != "added" || lost != 2 {
		t.Fatalf("%+v, %v after %d answers were lost", w, err, lost)
	}
	if _, err := lossy.Update(t.Context(), w.IDs[0], "Keeps goats."); err != nil {
		t.Error(err)
	}
	m, err := lossy.Get(t.Context(), w.IDs[0])
	if err != nil || m.Content != "Keeps goats." || m.Version != 2 {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := lossy.Delete(t.Context(), m.ID); err != nil {
		t.Error(err)
	}
	if all, err := lossy.List(t.Context(), client.Types("personal")); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v", all, err)
	}
}

// cutting breaks a response after a number of writes.
type cutting struct {
	http.ResponseWriter
	left int
}

func (c *cutting) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *cutting) Write(p []byte) (int, error) {
	if c.left--; c.left < 0 {
		panic(http.ErrAbortHandler)
	}
	return c.ResponseWriter.Write(p)
}

// The connection breaks several times while the model writes.
func TestAStreamedReplyContinuesAfterABreak(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Start()
	const reply = "It rains in Bergen. Take a coat, an umbrella and warm shoes."
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: reply, Pace: 60 * time.Millisecond})
	broken := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if broken < 2 {
			broken++
			w = &cutting{w, 2} // a comment and one event
		}
		b.gateway.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	c := b.open(client.Config{URL: server.URL, Key: b.key})
	text, parts := "", 0
	turn, err := c.ChatStream(t.Context(), "trip", "How is the weather?", func(d client.Delta) {
		parts++
		text += d.Text
	})
	if err != nil || turn.Reply != reply || text != reply || parts < 2 || broken != 2 || len(b.Model.Requests()) != 1 {
		t.Errorf("%v, %+v, %q in %d parts, %d breaks, %d model calls", err, turn, text, parts, broken,
			len(b.Model.Requests()))
	}
	inProcess := b.open(client.Config{Key: b.key, Handler: b.gateway})
	text = ""
	turn, err = inProcess.ChatStream(t.Context(), "trip", "And now?", func(d client.Delta) { text += d.Text })
	if err != nil || turn.Reply != reply || text != reply {
		t.Errorf("in this process: %v, %+v, %q", err, turn, text)
	}
	if _, err := c.ChatStream(
		t.Context(),
		"",
		"Hello",
		func(client.Delta) {},
	); !errors.Is(
		err,
		client.ErrInvalidArgument,
	) {
		t.Errorf("without a conversation: %v", err)
	}
}

// The hook records each message once, despite lost responses and restarts.
func TestAHookRecordsEachMessageOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	folder := t.TempDir()
	var shown []client.Message
	agent := func(_ context.Context, messages []client.Message) ([]client.Message, error) {
		shown = messages
		return append(messages, client.Message{Role: "assistant", Content: "Noted."}), nil
	}
	fails := 0
	hooked := func(lose bool) client.Agent {
		c := b.open(client.Config{Key: b.key, Retries: -1,
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if lose && strings.Contains(r.URL.Path, "summary") {
					b.gateway.ServeHTTP(httptest.NewRecorder(), r) // the request arrives, and the response is lost
					w.WriteHeader(http.StatusBadGateway)
					return
				}
				b.gateway.ServeHTTP(w, r)
			})})
		return c.Hook("s", agent, client.HookOptions{Marks: client.FileMarks(folder), Failed: func(error) { fails++ }})
	}
	_, err := b.client.Add(t.Context(), client.NewMemory{Content: "Alice flies from Osaka only.", Type: "personal",
		Target: "alice"})
	testkit.Must(t, err)
	said, err := hooked(false)(t.Context(), []client.Message{{Role: "user", Content: "Where does Alice fly from?"}})
	testkit.Must(t, err)
	if shown[0].Role != "system" || !strings.Contains(shown[0].Content, "Osaka") || len(said) != 2 {
		t.Errorf("shown %+v, returned %+v", shown, said)
	}
	said, err = hooked(true)(t.Context(), append(said, client.Message{Role: "user", Content: "And Bob?"}))
	if err != nil || fails != 1 || len(said) != 4 {
		t.Errorf("%v, %d failures, %d messages", err, fails, len(said))
	}
	// shortened
	said, err = hooked(false)(t.Context(), append(said[2:], client.Message{Role: "user", Content: "Thank you."}))
	testkit.Must(t, err)
	if _, err = hooked(false)(t.Context(), said[:2]); err != nil {
		t.Error(err)
	}
	conn := b.messages()
	want := "user: Where does Alice fly from?|assistant: Noted.|user: And Bob?|assistant: Noted.|user: Thank " +
		"you.|assistant: Noted."
	if got := strings.Join(conn, "|"); got != want {
		t.Errorf("recorded\n%s\nwant\n%s", got, want)
	}
}

// messages returns all recorded messages in order.
func (b *bundle) messages() (out []string) {
	b.T.Helper()
	conn, err := pgx.Connect(b.T.Context(), b.AdminURL)
	testkit.Must(b.T, err)
	defer conn.Close(context.Background())
	rows, err := conn.Query(b.T.Context(),
		"select role || ': ' || content from cairn.messages where workspace_id = $1 order by conversation_id, seq",
		b.Workspace.ID)
	testkit.Must(b.T, err)
	out, err = pgx.CollectRows(rows, pgx.RowTo[string])
	testkit.Must(b.T, err)
	return out
}

// Each message of a conversation gets a reply, and the history has all messages.
func TestAConversationIsHadAndReadBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Start()
	ctx := t.Context()
	tell := []openaitest.ToolCall{{ID: "c", Name: "memory_save",
		Arguments: `{"store":"core","content":"Alice flies from Osaka only."}`}}
	b.Model.On(openaitest.Rule{Stage: "turn", Match: "Osaka", Results: new(0), Calls: tell})
	b.Model.On(openaitest.Rule{Stage: "turn", Last: openaitest.RoleTool, Reply: "I will remember."})
	b.Model.On(openaitest.Rule{Stage: "turn", Times: 1, Barrier: "slow", Reply: "Hello, Alice."})
	early, err := b.client.Chat(ctx, "trip", "Hello", client.RequestID("m1"), client.Wait(time.Second))
	if err != nil || early.Status == "ended" || early.Reply != "" {
		t.Fatalf("before there is an answer: %+v, %v", early, err)
	}
	b.Model.Release("slow")
	late, err := b.client.Chat(ctx, "trip", "Hello", client.RequestID("m1"))
	if err != nil || late.Reply != "Hello, Alice." || late.Turn != 1 {
		t.Fatalf("%+v, %v", late, err)
	}
	if next, err := b.client.Chat(ctx, "trip", "I only fly from Osaka."); err != nil ||
		next.Reply != "I will remember." || next.Turn != 2 {
		t.Fatalf("%+v, %v", next, err)
	}
	if _, err := b.client.Chat(ctx, "trip", "Good evening", client.RequestID("m1")); !errors.Is(err,
		client.ErrOpReused) {
		t.Errorf("another text under the same id: %v", err)
	}
	lines, err := b.client.History(ctx, "trip")
	testkit.Must(t, err)
	var got []string
	for i, l := range lines {
		if l.Seq != i || l.CreatedAt.IsZero() || l.Turn != 1+i/2 && l.Turn != 2 {
			t.Errorf("line %d: %+v", i, l)
		}
		got = append(got, l.Role+": "+l.Content)
		for _, c := range l.ToolCalls {
			got[i] += c.Name
		}
		if l.Role == "tool" {
			got[i] = "tool: " + l.Name
		}
	}
	want := "user: Hello|assistant: Hello, Alice.|user: I only fly from Osaka.|assistant: memory_save|tool: " +
		"memory_save|assistant: I will remember."
	if strings.Join(got, "|") != want {
		t.Errorf("read back\n%s\nwant\n%s", strings.Join(got, "|"), want)
	}
	if _, err := b.client.History(ctx, "missing"); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("no conversation: %v", err)
	}
	gone, leave := context.WithCancel(ctx)
	leave()
	if _, err := b.client.Chat(gone, "trip", "Anyone?"); !errors.Is(err, context.Canceled) {
		t.Errorf("who leaves: %v", err)
	}
}

// History joins the pages of a long conversation.
func TestALongConversationIsReadWhole(t *testing.T) {
	t.Parallel()
	b := setup(t)
	conn, err := pgx.Connect(t.Context(), b.AdminURL)
	testkit.Must(t, err)
	defer conn.Close(context.Background())
	_, err = b.client.Turn(t.Context(), client.TurnRequest{Conversation: "long", MessageID: "m", Text: "first"},
		client.Wait(0))
	testkit.Must(t, err)
	_, err = conn.Exec(t.Context(), `insert into cairn.messages (workspace_id, conversation_id, seq, external_id, `+
		`role, content)
		select m.workspace_id, m.conversation_id, n, 'x' || n, 'user', 'line ' || n from cairn.messages m, `+
		`generate_series(1, 1100) n where m.content = 'first'`)
	testkit.Must(t, err)
	lines, err := b.client.History(t.Context(), "long")
	if err != nil || len(lines) != 1101 || lines[1100].Content != "line 1100" || lines[500].Seq != 500 {
		t.Errorf("%d lines, %v", len(lines), err)
	}
}

// A question includes its context; a memory keeps its versions.
func TestAQuestionTakesItsContextAlong(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Start()
	b.Model.On(openaitest.Rule{Stage: "retrieve", Reply: "From Osaka."})
	ctx := t.Context()
	made, err := b.client.Add(ctx, client.NewMemory{Content: "Alice flies from Tokyo.", Type: "personal",
		Target: "alice"})
	testkit.Must(t, err)
	_, err = b.client.Update(ctx, made.IDs[0], "Alice flies from Osaka only.")
	testkit.Must(t, err)
	said, err := b.client.Revisions(ctx, made.IDs[0])
	if err != nil || len(said) != 2 || said[0].Content != "Alice flies from Osaka only." || said[0].Version != 2 ||
		said[1].Content != "Alice flies from Tokyo." {
		t.Errorf("has said %+v, %v", said, err)
	}
	score := 0.25
	answer, err := b.client.Retrieve(ctx, "", client.Mode("agentic"),
		client.Messages(client.Message{Role: "assistant", Content: "Let me look again."}),
		client.Metadata(map[string]any{"ticket": 7}),
		client.Trajectories(client.Trajectory{TaskID: "book", Score: &score,
			Messages: []client.Message{{Role: "user", Content: "Where does Alice fly from?"},
				{Role: "assistant", Content: "From Tokyo."}}}))
	if err != nil || answer.Answer != "From Osaka." || answer.Metadata["ticket"] != 7.0 {
		t.Fatalf("%+v, %v", answer, err)
	}
	shown := b.Model.Requests()[0].Last
	for _, want := range []string{`"question":"Where does Alice fly from?"`, "score 0.25", "From Tokyo.",
		"Let me look again."} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not in\n%s", want, shown)
		}
	}
}

// If Cairn is unreachable, the agent runs without tools. The error of a tool is its
// result for the model.
func TestAHookGivesItsAgentTools(t *testing.T) {
	t.Parallel()
	b := setup(t)
	reader := b.Key("reader", "read")
	told := func(c *client.Client, mode client.HookMode, calls ...client.ToolCall) (out []string, names []string,
		fails int) {
		agent := func(ctx context.Context, messages []client.Message) ([]client.Message, error) {
			tools := client.ToolsOf(ctx)
			for _, one := range tools.List() {
				names = append(names, one.Name)
			}
			if len(tools.Definitions()) != len(names) {
				t.Errorf("%d definitions of %d tools", len(tools.Definitions()), len(names))
			}
			for _, call := range calls {
				m := tools.Call(ctx, call)
				if m.Role != "tool" || m.Name != call.Name || m.ToolCallID != call.ID {
					t.Errorf("answered %+v", m)
				}
				out = append(out, m.Content)
			}
			return append(messages, client.Message{Role: "assistant", Content: "Done."}), nil
		}
		said, err := c.Hook("s", agent, client.HookOptions{Mode: mode, Failed: func(error) { fails++ }})(t.Context(),
			[]client.Message{{Role: "user", Content: "Hello."}})
		if err != nil || len(said) != 2 {
			t.Errorf("returned %+v, %v", said, err)
		}
		return out, names, fails
	}
	save := client.ToolCall{ID: "a", Name: "memory_save", Arguments: `{"content":"Ann keeps bees."}`}
	wrong := []client.ToolCall{{ID: "b", Name: "memory_save", Arguments: `{"content":`},
		{ID: "c", Name: "memory_save", Arguments: `{"store":"attic","content":"x"}`}, {ID: "d", Name: "memory_save"},
		{ID: "e", Name: "hack"}}
	out, names, fails := told(b.client, client.HookTools, append([]client.ToolCall{save}, wrong...)...)
	if !slices.Equal(names, client.MemoryTools) || fails != 0 || !strings.Contains(out[0], `"ok":true`) {
		t.Errorf("tools %v, %d failures, told %s", names, fails, out)
	}
	for i, code := range []string{"invalid_argument", "invalid_argument", "invalid_argument", "unknown_tool"} {
		if !strings.Contains(out[i+1], `"code":"`+code+`"`) || !strings.Contains(out[i+1], `"hint":"`) ||
			!strings.Contains(out[i+1], `"ok":false`) {
			t.Errorf("call %d was told %s, want %s", i, out[i+1], code)
		}
	}
	if out, _, _ = told(b.open(client.Config{URL: b.server.URL, Key: reader}), client.HookTools,
		save); !strings.Contains(out[0], `"out_of_scope"`) {
		t.Errorf("a key that only reads: %s", out)
	}
	away := b.open(client.Config{URL: "http://127.0.0.1:1", Key: b.key, Retries: -1})
	if out, names, fails = told(away, client.HookBoth, save); len(names) != 0 || fails != 3 ||
		!strings.Contains(out[0], "unknown_tool") {
		t.Errorf("unreachable: tools %v, %d failures, told %s", names, fails, out)
	}
	if _, names, _ = told(b.client, client.HookStatic); len(names) != 0 {
		t.Errorf("a static hook gives %v", names)
	}
	if _, err := b.client.Tools(t.Context(), "wand"); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("a tool that is none: %v", err)
	}
	agent := b.client.Hook("s", nil, client.HookOptions{Mode: "sometimes"})
	if _, err := agent(t.Context(), nil); !errors.Is(err, client.ErrInvalidArgument) {
		t.Errorf("a mode that is none: %v", err)
	}
}

// The result of a memory tool is recorded once, as a lookup, although the agent returns
// it in each turn and the program restarts.
func TestAHookRecordsNothingOfWhatToolsBring(t *testing.T) {
	t.Parallel()
	b := setup(t)
	folder := t.TempDir()
	_, err := b.client.Tools(t.Context())
	testkit.Must(t, err)
	agent := func(ctx context.Context, messages []client.Message) ([]client.Message, error) {
		tools, n := client.ToolsOf(ctx), len(messages)
		call := client.ToolCall{ID: fmt.Sprint("c", n), Name: "memory_save",
			Arguments: fmt.Sprintf(`{"content":"Secret number %d."}`, n)}
		messages = append(messages, client.Message{Role: "assistant",
			ToolCalls: []any{map[string]any{"id": call.ID, "type": "function",
				"function": map[string]any{"name": call.Name, "arguments": call.Arguments}}}})
		return append(messages, tools.Call(ctx, call),
			client.Message{Role: "tool", Name: "weather", ToolCallID: "w", Content: "Rain."},
			client.Message{Role: "assistant", Content: "Noted."}), nil
	}
	said := []client.Message{}
	for n := range 3 {
		hooked := b.client.Hook("s", agent, client.HookOptions{Mode: client.HookBoth, Marks: client.FileMarks(folder),
			Failed: func(err error) { t.Error(err) }})
		said, err = hooked(t.Context(), append(said,
			client.Message{Role: "user", Content: fmt.Sprintf("Message %d.", n)}))
		testkit.Must(t, err)
		if tool := said[len(said)-3]; !strings.Contains(tool.Content, `"ok":true`) {
			t.Errorf("the agent's own messages have %+v", tool)
		}
	}
	var want []string
	for n := range 3 {
		want = append(want, fmt.Sprintf("user: Message %d.", n), "assistant: ", "tool: (looked up in memory)",
			"tool: Rain.", "assistant: Noted.")
	}
	if got := b.messages(); !slices.Equal(got, want) {
		t.Errorf("recorded\n%q\nwant\n%q", got, want)
	}
}
