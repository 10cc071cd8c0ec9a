package e2e_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"cairn/internal/app/config"
	"cairn/internal/domain/approval"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/skill"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/testkit"
)

// toolsOf returns the names of the tools in a request.
func toolsOf(t *testing.T, c openaitest.Call) string {
	t.Helper()
	var sent struct {
		Tools []struct{ Function struct{ Name string } }
	}
	testkit.Must(t, json.Unmarshal(c.Body, &sent))
	var names []string
	for _, tool := range sent.Tools {
		names = append(names, tool.Function.Name)
	}
	return strings.Join(names, " ")
}

// execute scripts commands in one response and returns the result of each.
func execute(t *testing.T, b *apptest.Bundle, conversation string, commands ...string) (told []string) {
	t.Helper()
	var calls []llm.ToolCall
	for _, c := range commands {
		calls = append(calls, saying("execute_shell", map[string]string{"skill_name": "brew-tea", "command": c}))
	}
	b.Model.On(openaitest.Rule{Stage: "turn", Times: 1, Calls: calls})
	b.Model.On(openaitest.Rule{Stage: "turn", Times: 1, Reply: "Done."})
	if got := b.Say(conversation, 1, "Go on."); got.Reply != "Done." {
		t.Fatalf("answered %+v", got)
	}
	all := asked(b, "turn")
	for _, m := range all[len(all)-1].Messages {
		if m.Role == llm.RoleTool {
			told = append(told, m.Content)
		}
	}
	if len(told) != len(commands) {
		t.Fatalf("%d commands, told %q", len(commands), told)
	}
	return told
}

func TestCommandsOfSkillsRunInSandboxedWorkersOnly(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t, func(c *config.Config) { c.Shell, c.ShellTimeout = true, 2*time.Second })
	archive, err := skill.Zip("brew-tea", []byte(
		"---\nname: brew-tea\ndescription: Makes tea\n---\n\n## When to Use\nAlways.\n\n## Procedure\n1. Ask\n"),
		[]skill.File{{Path: "reference/leaves.md", Content: "oolong\n"},
			{Path: "scripts/timer.sh", Content: "cat reference/leaves.md; echo $1 minutes; env; ls /proc\n"},
			{Path: "scripts/fail.sh", Content: "echo no water >&2; exit 7\n"},
			{Path: "scripts/wait.sh", Content: "touch waiting; while :; do :; done\n"}})
	testkit.Must(t, err)
	_, err = b.Library.Import(t.Context(), b.Workspace.ID, archive, "import", &approval.Override{})
	testkit.Must(t, err)

	b.Model.On(openaitest.Rule{Stage: "turn", Times: 1, Reply: "Hello."})
	b.Say("before", 1, "Hello")
	if names := toolsOf(t, asked(b, "turn")[0]); strings.Contains(names, "execute_shell") ||
		strings.Contains(names, "load_skills") {
		t.Fatalf("a workspace that chose nothing is offered %s", names)
	}
	exec(b, `update cairn.workspaces set settings = '{"tools":{"shell":true,"skills":true}}'`)

	told := execute(t, b, "nobody", "scripts/timer.sh 3")
	if !strings.Contains(told[0], "no sandboxed worker accepted execute_shell") ||
		!strings.Contains(told[0], `"unavailable"`) {
		t.Errorf("without a sandboxed worker: %s", told)
	}
	calls := asked(b, "turn")
	if names := toolsOf(t, calls[len(calls)-1]); !strings.HasSuffix(names,
		"load_meta_skills load_skills load_reference_skills execute_shell") {
		t.Errorf("offered %s", names)
	}

	worker := b.StartQueue(contract.QueueSandbox)
	told = execute(t, b, "somebody", "scripts/timer.sh 3", "scripts/fail.sh", "cat SKILL.md; id", "cat ../x",
		"curl example.com", "scripts/none.sh", "scripts/wait.sh")
	for i, want := range []string{`oolong\n3 minutes`, "command_failed", "command_refused", "out_of_scope",
		"command_refused", "not_found", "limit_exceeded"} {
		if !strings.Contains(told[i], want) {
			t.Errorf("command %d: %s, want %s", i, told[i], want)
		}
	}
	if !strings.Contains(told[1], "no water") || !strings.Contains(told[1], `"exit_code":7`) {
		t.Errorf("a command that fails: %s", told[1])
	}
	if strings.Contains(told[0], "DATABASE_URL") || strings.Contains(told[0], "OPENAI") {
		t.Errorf("the worker's environment: %s", told[0])
	}
	recordTurn(b, "nobody", "m1", "Turn/unsandboxed")
	recordTurn(b, "somebody", "m1", "Turn/isolated")
	if n := column[int64](b, "select uses from cairn.skills")[0]; n != 1 {
		t.Errorf("a run counts %d uses of the skill", n)
	}
	validThreads(t, b)

	// If a worker dies during a command, the command is not started again.
	var killed = make(chan struct{})
	go func() {
		defer close(killed)
		for range 500 {
			if n := column[int64](b, "select count(*) from cairn.tool_op_log where result ? 'begun'")[0]; n == 4 {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		worker.Kill()
		b.StartQueue(contract.QueueSandbox)
	}()
	told = execute(t, b, "crash", "scripts/wait.sh crash")
	<-killed
	recordTurn(b, "crash", "m1", "Turn/isolated-lost")
	if !strings.Contains(told[0], "unknown_outcome") ||
		!strings.Contains(told[0], "execute_shell was interrupted: outcome unknown") {
		t.Errorf("after a crash: %s", told)
	}
	if told = execute(t, b, "after", "scripts/timer.sh 4"); !strings.Contains(told[0], "4 minutes") {
		t.Errorf("the next worker: %s", told)
	}
	if begun := column[int64](b, "select count(*) from cairn.tool_op_log where result ? 'begun'")[0]; begun != 5 {
		t.Errorf("%d commands were begun, want 5", begun)
	}
}
