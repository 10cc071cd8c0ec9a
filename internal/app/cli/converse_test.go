package cli

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"cairn/internal/app/config"
	"cairn/internal/domain/agent"
	"cairn/internal/domain/conversation"
	"cairn/internal/domain/settings"
	"cairn/internal/gateway/mcpserver"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/devtest"
	"cairn/internal/service/inspect"
	"cairn/internal/service/memory"
	"cairn/internal/testkit"
)

// known prepares examples about memories and conversations.
func (w *world) known(t *testing.T, args []string) []string {
	t.Helper()
	switch args[0] {
	case "conversations":
		w.Say("terminal", 1, "Hello, I am Ada.")
	case "soul":
		_, err := w.Memory.SoulUpdate(t.Context(),
			agent.Actor{Workspace: w.Workspace.ID, Origin: agent.OriginUser, Op: "test/soul"},
			memory.SoulArgs{Content: "Answer in German."})
		testkit.Must(t, err)
	case "memories":
		switch args[1] {
		case "get", "update", "delete", "history":
			args[2] = w.remembered(t, agent.OriginUser).IDs[0]
		case "restore":
			args[2] = w.forgotten(t)
		}
	}
	return args
}

// forgotten returns the ID of a deleted long-term memory.
func (w *world) forgotten(t *testing.T) string {
	t.Helper()
	var added memory.WriteResult
	w.must(&added, "", "memories", "add", "Ada rows on Sundays.", "--type", "personal", "--target", "ada")
	w.must(&struct{}{}, "", "memories", "delete", added.IDs[0])
	return added.IDs[0]
}

// remembered saves a new fact.
func (w *world) remembered(t *testing.T, by agent.Origin) memory.WriteResult {
	t.Helper()
	w.retired++
	text := fmt.Sprintf("Has lived at number %d.", w.retired)
	out, err := w.Memory.Save(t.Context(), agent.Actor{Workspace: w.Workspace.ID, Origin: by, Op: "test/" + text},
		memory.SaveArgs{Content: text, Store: "profile"})
	testkit.Must(t, err)
	return out
}

// must runs a command that must succeed and decodes what it prints.
func (w *world) must(into any, in string, args ...string) {
	w.T.Helper()
	code, out, errs := w.run(in, append(args, "-o", "json")...)
	if code != 0 {
		w.T.Fatalf("cairn %s: exit %d: %s", strings.Join(args, " "), code, errs)
	}
	if err := json.Unmarshal([]byte(out), into); err != nil {
		w.T.Fatalf("cairn %s: %v in %s", strings.Join(args, " "), err, out)
	}
}

func TestATurnIsAnsweredOnceInTheTerminal(t *testing.T) {
	t.Parallel()
	w := open(t)
	var first, again conversation.TurnStatus
	w.must(&first, "", "turn", "Hello,", "I", "am", "Ada.", "--conversation", "c", "--message-id", "m1")
	w.must(&again, "Hello, I am Ada.\n", "turn", "-", "--conversation", "c", "--message-id", "m1")
	if first.Reply == "" || first.Status != "ended" || again != first {
		t.Errorf("answered %+v, then %+v", first, again)
	}
	if code, _, errs := w.run("", "turn", "Something", "else.", "--conversation", "c", "--message-id",
		"m1"); code != 4 || !strings.Contains(errs, "op_reused") {
		t.Errorf("exit %d: %s", code, errs)
	}
	code, out, errs := w.run("", "turn", "And", "now?", "--conversation", "c", "-o", "text")
	if code != 0 || strings.TrimSpace(out) == "" || !strings.Contains(errs, "offline rules") {
		t.Errorf("exit %d: %q, %q", code, out, errs)
	}
	var shown struct {
		inspect.ConversationDetail
		Transcript []conversation.Line
	}
	if w.must(&shown, "", "conversations", "show", "c", "--messages", "2"); shown.Turns != 2 ||
		len(shown.Transcript) != 2 || shown.Transcript[0].Content != "And now?" {
		t.Errorf("shown %+v", shown)
	}
	var run struct {
		Run struct {
			Kind  string
			Agent inspect.AgentReport
		}
	}
	if w.must(&run, "", "runs", "show", first.Run); run.Run.Kind != "turn" ||
		run.Run.Agent.Reply != first.Reply {
		t.Errorf("run %+v", run)
	}
	if code, out, _ := w.run("", "runs", "show", first.Run); code != 0 ||
		!strings.Contains(out, "turn of c") || !strings.Contains(out, "model calls") {
		t.Errorf("exit %d: %s", code, out)
	}
	if code, out, errs := w.run("", "runs", "show", first.Run, "--calls"); code != 0 || !strings.Contains(out,
		"\n  Hello, I am Ada.") || !strings.Contains(out, "reply:\n  "+strings.SplitN(first.Reply, "\n", 2)[0]) {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	if code, _, errs := w.run("", "runs", "show", first.Run, "--call", "nonsense"); code != 3 ||
		!strings.Contains(errs, "no call of step") {
		t.Errorf("exit %d: %s", code, errs)
	}
	if code, _, errs := w.run("", "runs", "retry", first.Run); code != 2 ||
		!strings.Contains(errs, "cannot be retried") {
		t.Errorf("exit %d: %s", code, errs)
	}
	if code, _, errs := w.run("", "turn", " "); code != 2 {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// Piped, a chat prints an answer for each line, and what follows /quit is not said.
func TestAChatAnswersEachLineThatIsPiped(t *testing.T) {
	t.Parallel()
	w := open(t)
	code, out, errs := w.run("Hello, I am Ada.\n\nI always cook with olive oil.\n/quit\nThis is not said.\n", "chat",
		"--conversation", "kitchen", "-o", "text")
	if code != 0 || strings.Contains(out, "> ") {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	var shown struct {
		Turns      int
		Transcript []conversation.Line
	}
	w.must(&shown, "", "conversations", "show", "kitchen")
	if shown.Turns != 2 {
		t.Errorf("%d turns: %+v", shown.Turns, shown.Transcript)
	}
	for _, l := range shown.Transcript {
		if l.Role == "assistant" && l.Content != "" && len(l.ToolCalls) == 0 && !strings.Contains(out, l.Content) {
			t.Errorf("%q was not printed: %s", l.Content, out)
		}
	}
	if code, _, errs := w.run("", "conversations", "end", "kitchen"); code != 0 {
		t.Errorf("exit %d: %s", code, errs)
	}
}

func TestSettingsAreSetByName(t *testing.T) {
	t.Parallel()
	w := idle(t)
	var s settings.Document
	w.must(&s, "", "settings", "set", "time_zone=Asia/Shanghai", "nudge.every=5", "nudge.on_end=false",
		"write_approval.memory=all")
	if s.TimeZone != "Asia/Shanghai" || s.Nudge.Every != 5 || s.Nudge.OnEnd ||
		s.WriteApproval.Memory != settings.GateAll || s.Nudge.DailyCap != 12 {
		t.Errorf("set %+v", s)
	}
	w.must(&s, `{"nudge":null}`, "settings", "set", "-")
	w.must(&s, "", "settings", "set", "time_zone=default")
	if s.TimeZone != "UTC" || s.Nudge != settings.Default().Nudge || s.WriteApproval.Memory != settings.GateAll {
		t.Errorf("set %+v", s)
	}
	if code, out, _ := w.run("", "settings", "show"); code != 0 || !strings.Contains(out, "nudge.every") ||
		!strings.Contains(out, "write_approval.memory") {
		t.Errorf("exit %d: %s", code, out)
	}
	for _, wrong := range []string{"nudge.each=5", "nudge.every=often", "time_zone=Mars/Olympus", "nudge"} {
		if code, _, errs := w.run("", "settings", "set", wrong); code != 2 {
			t.Errorf("%s: exit %d: %s", wrong, code, errs)
		}
	}
}

// The program itself, as an agent starts it.
func TestTheProgramOffersEveryToolOverMCP(t *testing.T) {
	t.Parallel()
	w := &world{folder: t.TempDir()}
	w.Bundle = apptest.OpenIdle(t, func(c *config.Config) { c.BaseURL, c.APIKey, c.Model = "", "", "" })
	cairn := devtest.Program(t, "starter")
	speak := func(workspace string, args ...string) *mcp.ClientSession {
		c := exec.Command(cairn, append([]string{"mcp", "-w", workspace}, args...)...)
		c.Dir, c.Stderr = w.folder, t.Output()
		c.Env = []string{"HOME=" + w.folder, "DATABASE_URL=" + w.Config.DatabaseURL,
			"CAIRN_HOME=" + filepath.Join(w.folder, "home"), "SKILLS_LOCAL_DIR=" + w.Config.SkillsDir,
			"CAIRN_MCP_NAME=memory"}
		s, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).
			Connect(t.Context(), &mcp.CommandTransport{Command: c}, nil)
		testkit.Must(t, err)
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Errorf("cairn mcp did not end well: %v", err)
			}
		})
		return s
	}
	ours, theirs := speak("ours", "--profile", mcpserver.All), speak("theirs")
	if got := ours.InitializeResult().ServerInfo.Name; got != "memory" {
		t.Errorf("the server is called %q", got)
	}
	listed, err := ours.ListTools(t.Context(), nil)
	testkit.Must(t, err)
	offered := w.Offered.Offered(agent.OriginAgent)
	if len(listed.Tools) != len(offered) {
		t.Fatalf("%d tools listed, %d there are", len(listed.Tools), len(offered))
	}
	call := func(s *mcp.ClientSession, name string, arguments map[string]any) *mcp.CallToolResult {
		r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
		testkit.Must(t, err)
		return r
	}
	for i, tool := range listed.Tools {
		if tool.Name != offered[i].Name {
			t.Errorf("%s comes in the place of %s", tool.Name, offered[i].Name)
		}
		if r := call(ours, tool.Name, map[string]any{"no_such_argument": 1}); !r.IsError ||
			!strings.Contains(r.Content[0].(*mcp.TextContent).Text, "invalid_argument") {
			t.Errorf("%s with wrong arguments: %+v", tool.Name, r)
		}
	}
	if r := call(ours, "memory_save", map[string]any{"content": "The cat is called Miso."}); r.IsError {
		t.Errorf("saved %+v", r.StructuredContent)
	}
	look := map[string]any{"query": "What is the cat called?"}
	if r := call(ours, "memory_search", look); !strings.Contains(fmt.Sprint(r.StructuredContent), "Miso") {
		t.Errorf("ours finds %+v", r.StructuredContent)
	}
	if r := call(theirs, "memory_search", look); r.IsError ||
		strings.Contains(fmt.Sprint(r.StructuredContent), "Miso") {
		t.Errorf("theirs finds %+v", r.StructuredContent)
	}
}

// A deleted memory is restored under its ID: a long-term memory, and one of every prompt.
func TestADeletedMemoryIsRestoredByName(t *testing.T) {
	t.Parallel()
	w := open(t)
	id := w.forgotten(t)
	var back memory.WriteResult
	if w.must(&back, "", "memories", "restore", id); back.Action != memory.Restored || back.IDs[0] != id {
		t.Errorf("restored %+v", back)
	}
	if code, out, _ := w.run("", "memories", "list", "--type", "personal"); code != 0 ||
		!strings.Contains(out, "rows on Sundays") {
		t.Errorf("listed %s", out)
	}
	made := w.remembered(t, agent.OriginUser).IDs[0]
	w.must(&back, "", "memories", "delete", made)
	if w.must(&back, "", "memories", "restore", made); back.Action != memory.Restored || back.IDs[0] != made {
		t.Errorf("restored %+v", back)
	}
	if code, out, _ := w.run("", "memories", "list", "--store", "profile"); code != 0 || !strings.Contains(out, made) {
		t.Errorf("listed %s", out)
	}
}
