package apptest

import (
	"strings"

	"cairn/internal/domain/transcript"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/testkit"
)

// C1 returns a conversation of 14 messages, 5 of them from tools.
func C1() transcript.Conversation {
	lines := []string{
		"user: Checkout API returns 502 since the last deploy, bring it back.", "assistant: Checking health.",
		"tool: GET /healthz -> 502",
		"assistant: Listing releases.", "tool: r41 ok / r42 failing", "assistant: Rolling back.",
		"tool: rollout undone to r41", "assistant: Waiting.",
		"tool: 3/3 replicas ready", "assistant: Probing again.", "tool: GET /healthz -> 200", "assistant: Recovered.",
		"user: Good. Always send me a short status after each step.", "assistant: Understood."}
	return Conversation("c1", lines...)
}

// Conversation builds a conversation from `role: text` lines.
func Conversation(id string, lines ...string) transcript.Conversation {
	c := transcript.Conversation{ID: id, Title: id}
	for i, l := range lines {
		role, text, _ := strings.Cut(l, ": ")
		c.Messages = append(c.Messages, transcript.Message{Seq: i, Role: transcript.Role(role), Content: text})
	}
	return c
}

// Model replies of R1, the script for C1.
const (
	R1Query   = "Roll a failing service back to its last healthy release"
	R1Segment = `{"tasks":[{"task_name":"Service Operations","message_indices":[[0,13]],"query":"` + R1Query +
		`","outcome":"success","proof":[12,13],"open":false}]}`
	R1Extract = `{"name":"Service Deployment Rollback","description":"Restore a failing service to its last healthy ` +
		`release and confirm recovery",
 "trigger":["rollback","deployment","incident"],
 "procedure":"1. Confirm the symptom with a health probe\n2. Find the last release that passed its probe\n3. Roll ` +
		`back and wait for all replicas\n4. Probe again and record the outcome",
 "experience":["Probe before and after every change","Pin the release identifier instead of using latest"],
 "preference":["Short status updates after each step"],
 "examples":["# Rollback report\n## Symptom\n...\n## Action\n...\n## Result\n..."],
 "scripts":[{"file":"check_health.py","purpose":"probe","inputs":"url","outputs":"exit code"}],
 "tool":["kubectl"],"others":{"checklist.md":"short operator checklist"},"update":false,"old_memory_id":""}`
	R1Files = `{"check_health.py":"import sys\n\n\ndef main() -> int:\n    return 0\n\n\nif __name__ == ` +
		`\"__main__\":\n    sys.exit(main())\n","checklist.md":"# Checklist\n\n- probe\n- roll back\n- probe\n"}`
)

// Judgment is a judge's reply about the skill of R1 from C1, with a sum of 0 to 16 points.
func Judgment(points int, reason string) string {
	return testkit.Judgment(points, "Service Deployment Rollback", "3/3 replicas ready", reason)
}

// ScriptR1 makes the model reply as in R1.
func (b *Bundle) ScriptR1() {
	for stage, reply := range map[string]string{"segment": R1Segment, "extract": R1Extract, "merge": R1Extract,
		"files": R1Files} {
		b.Model.On(openaitest.Rule{Stage: stage, Reply: reply})
	}
}
