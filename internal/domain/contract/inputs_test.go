package contract_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/nudge"
)

// Histories of running workflows must stay readable with the same meaning. A missing field is zero,
// which must have the old meaning.
func TestInputsHaveTheirWireForm(t *testing.T) {
	t.Parallel()
	timeouts := contract.StepTimeouts{Model: time.Minute, Heartbeat: time.Second, Database: 3 * time.Second,
		GiveUp: time.Hour}
	ref := contract.RunRef{Workspace: 1, WorkspaceKey: "w1", Run: "run_7", Attempt: 1}
	for name, c := range map[string]struct {
		wire string
		want any
	}{
		"conversation": {`{"workspace":1,"workspace_key":"w1","conversation":2,"channel":"sms",` +
			`"limits":{"close":86400000000000,"turns":500},
			"state":{"known":true,"counters":{"memory":3,"skill":4,"tool_iters":5,"total":6,"last_reviewed":1,` +
			`"in_flight":2}` +
			`,` +
			`"settings":{"every":10,"tool_iters":0,"on_end":true,"daily_cap":12},
			"seen":["m1","m2"],"last_turn":"2026-11-20T16:00:00Z","last_number":6,"nudge_from":"2026-11-20T15:00:00Z",
			"timeouts":{"model":60000000000,"heartbeat":1000000000,"database":3000000000,"give_up":3600000000000}}}`,
			contract.ConversationInput{Workspace: 1, WorkspaceKey: "w1", Conversation: 2, Channel: "sms",
				Limits: contract.ConversationLimits{Close: 24 * time.Hour, Turns: 500},
				State: contract.ConversationState{Known: true,
					Counters: nudge.Counters{Memory: 3, Skill: 4, ToolIters: 5, Total: 6, LastReviewed: 1, InFlight: 2},
					Settings: nudge.Default(),
					Seen:     nudge.RecentIDs{"m1", "m2"}, LastTurn: time.Date(2026, 11, 20, 16, 0, 0, 0, time.UTC),
					LastNumber: 6, NudgeFrom: time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC), Timeouts: timeouts}}},
		"message": {`{"number":6,"message_id":"m6","mode":"answer","run":"run_7","attempt":1,` +
			`"workflow_id":"turn/w1/2/m6",` +
			`"budget":{"max":10,"wall":60000000000},
			"timeouts":{"model":60000000000,"heartbeat":1000000000,"database":3000000000,"give_up":3600000000000},` +
			`"settings":{"every":10,"tool_iters":0,"on_end":true,"daily_cap":12}}`,
			contract.TurnRef{Number: 6, MessageID: "m6", Mode: contract.Answer, Run: "run_7", Attempt: 1,
				WorkflowID: "turn/w1/2/m6", Budget: agent.ForChannel("sms"), Timeouts: timeouts,
				Settings: nudge.Default()}},
		"turn": {`{"workspace":1,"workspace_key":"w1","run":"run_7","attempt":1,"kind":"turn",` +
			`"conversation":2,"number":6,` +
			`"budget":{"max":10,"wall":60000000000},
			"timeouts":{"model":60000000000,"heartbeat":1000000000,"database":3000000000,"give_up":3600000000000},` +
			`"queue":"cairn-llm","base":{"known":true,"counters":{"total":5}}}`,
			contract.AgentInput{RunRef: ref, Kind: "turn", Conversation: 2, Number: 6, Budget: agent.ForChannel("sms"),
				Timeouts: timeouts, Queue: contract.QueueLLM,
				Base: contract.ConversationBase{Known: true, Counters: nudge.Counters{Total: 5}}}},
		"step": {`{"workspace":1,"workspace_key":"w1","run":"run_7","attempt":1,"n":3,"toolless":true,"last":true,` +
			`"unrun":"budget","base":{"known":false,"counters":{}}}`,
			contract.StepInput{RunRef: ref, Step: agent.Step{N: 3, Toolless: true, Last: true,
				Unrun: agent.SkipBudget}}},
		"response": {`{"calls":[{"index":0,"tool":"memory_save","class":"fast"}],"tripped":true,` +
			`"ended":{"reason":"final","steps":2,"saved":1,"reply_seq":9,"counters":{"total":6},"may_nudge":true}}`,
			contract.StepResult{StepDone: agent.StepDone{
				Calls: []agent.CallRef{{Index: 0, Tool: "memory_save", Class: agent.Fast}}, Tripped: true},
				Ended: &contract.AgentResult{Reason: agent.Final, Steps: 2, Saved: 1, ReplySeq: 9,
					Counters: nudge.Counters{Total: 6}, MayNudge: true}}},
		"review": {`{"workspace":1,"workspace_key":"w1","conversation":2,"channel":"sms","parent":"conversation/w1/` +
			`2","number":10,"turn":12,"memory":true,"skill":true,
			"counters":{"total":10,"in_flight":10},"timeouts":{"model":60000000000,"heartbeat":1000000000,` +
			`"database":3000000000,"give_up":3600000000000}}`,
			contract.NudgeInput{Workspace: 1, WorkspaceKey: "w1", Conversation: 2, Channel: "sms",
				Parent: "conversation/w1/2", Number: 10, Turn: 12, Memory: true, Skill: true,
				Counters: nudge.Counters{Total: 10, InFlight: 10}, Timeouts: timeouts}},
		"reviewed": {`{"number":10,"run":"run_8","status":"saved","saved":1,"steps":2}`,
			contract.NudgeResult{Number: 10, Run: "run_8", Status: "saved", Saved: 1, Steps: 2}},
		"reflection": {`{"workspace":"w1","date":"2026-03-01","zone":"Europe/Berlin","from":"2026-02-28T22:00:00Z",` +
			`"to":"2026-03-01T22:00:00Z","why":"sweep","generation":2}`,
			contract.ReflectionInput{Workspace: "w1", Date: "2026-03-01", Zone: "Europe/Berlin",
				From: time.Date(2026, 2, 28, 22, 0, 0, 0, time.UTC), To: time.Date(2026, 3, 1, 22, 0, 0, 0, time.UTC),
				Why: contract.ReflectionOfSweep, Generation: 2}},
		"reflected": {`{"run":"run_9","status":"saved","steps":2,"distills":1}`,
			contract.ReflectionResult{Run: "run_9", Status: "saved", Steps: 2, Distills: 1}},
		"distill": {`{"workspace":1,"workspace_key":"w1","run":"run_7","attempt":1,"workflow_id":"distill/w1/7",
			"timeouts":{"tasks":5,"model":60000000000,"heartbeat":1000000000,"database":3000000000,` +
			`"give_up":3600000000000}` +
			`}`,
			contract.DistillInput{RunRef: ref, WorkflowID: "distill/w1/7",
				Timeouts: contract.StepTimeouts{Tasks: 5, Model: timeouts.Model, Heartbeat: timeouts.Heartbeat,
					Database: timeouts.Database, GiveUp: timeouts.GiveUp}}},
	} {
		got := reflect.New(reflect.TypeOf(c.want))
		decoder := json.NewDecoder(bytes.NewReader([]byte(c.wire)))
		decoder.DisallowUnknownFields() // a removed field would lose its meaning
		if err := decoder.Decode(got.Interface()); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !reflect.DeepEqual(got.Elem().Interface(), c.want) {
			t.Errorf("%s is read as\n%+v, want\n%+v", name, got.Elem().Interface(), c.want)
		}
	}
}
