package intake

import (
	"strings"

	"cairn/internal/domain/transcript"
)

func sweAgent() Adapter {
	return Adapter{Name: "swe-agent", About: "SWE-agent and mini-SWE-agent trajectories",
		Keys: []string{"trajectory", "history", "info", "trajectory_format", "exit_status", "messages"},
		claim: func(r record) (level, string) {
			switch {
			case text(r, "trajectory_format") != "":
				return certain, "trajectory_format"
			case list(r, "trajectory") != nil && hasAny(r, "info", "history"):
				return certain, "an object with trajectory and info"
			}
			return foreign, ""
		}, read: readSWE}
}

// readSWE reads the steps of SWE-agent, or the messages of mini-SWE-agent.
func readSWE(s *Source, k *Sink) error {
	return s.values(func(n node) error {
		o := n.members()
		t := k.open("")
		t.Session = cmp(o.str("instance_id"), o.str("environment"))
		t.model = o["info"].path("config", "model", "model_name").str()
		if steps := o["trajectory"]; steps.isArray() {
			readSWESteps(t, o, steps)
			return nil
		}
		if !o["messages"].isArray() {
			if err := k.foreignRecord(n); err != nil {
				return err
			}
			return s.bad(n, "neither trajectory nor messages")
		}
		for _, m := range o["messages"].items() {
			mo := m.members()
			if mo.str("role") == "exit" {
				k.skip("exit message", 1)
				continue
			}
			if err := readMini(s, t, m, mo); err != nil {
				return err
			}
		}
		return nil
	})
}

// readMini reads a message of mini-SWE-agent. Its actions are in extra.
func readMini(s *Source, t *talk, n node, o object) error {
	if err := readChatMessage(s, t, n, o); err != nil {
		return err
	}
	m := &t.Messages[len(t.Messages)-1]
	extra := o["extra"].members()
	m.Time = clock(extra, "timestamp")
	if len(m.ToolCalls) == 0 {
		for _, action := range extra["actions"].items() {
			a := action.members()
			m.ToolCalls = append(m.ToolCalls, t.pairs.call(transcript.ToolCall{ID: a.str("tool_call_id"), Name: "bash",
				Arguments: cmp(a.str("command"), action.text())}))
		}
	}
	code := extra.first("returncode", "exit_code").integer()
	switch {
	case m.Role == transcript.User && code != nil: // the output of an action
		m.Role, m.Name = transcript.Tool, "bash"
		m.ToolCallID = t.pairs.result("", "bash")
		m.ExitCode = code
	case m.Role == transcript.Tool && code != nil:
		m.ExitCode = code
	}
	return nil
}

// readSWESteps reads thoughts, actions and observations. The history holds the first messages, which
// no step repeats.
func readSWESteps(t *talk, o object, steps node) {
	for _, m := range o["history"].items() {
		mo := m.members()
		role, known := transcript.ParseRole(mo.str("role"))
		if !known || role == transcript.Assistant {
			break
		}
		c := content{sink: t.sink}
		c.read(mo["content"])
		message := c.message(role)
		if mo["is_demo"].isTrue() {
			message.Origin = transcript.OriginHarness
		}
		t.add(message, m)
	}
	if rest := o["history"].count() - len(t.Messages); rest > 0 {
		t.sink.skip("history repeated by steps", rest)
	}
	for _, step := range steps.items() {
		so := step.members()
		m := transcript.Message{Role: transcript.Assistant, Content: strings.TrimSpace(so.str("thought"))}
		if m.Content == "" && so.str("action") == "" {
			m.Content = so.str("response")
		}
		if action := strings.TrimSpace(so.str("action")); action != "" {
			m.ToolCalls = []transcript.ToolCall{t.pairs.call(transcript.ToolCall{Name: "bash", Arguments: action})}
		}
		t.add(m, step)
		if observation := so["observation"]; !observation.absent() && len(m.ToolCalls) > 0 {
			t.add(transcript.Message{Role: transcript.Tool, Name: "bash", Content: observation.text(),
				ToolCallID: t.pairs.result("", "bash")}, observation)
		}
	}
}

func atif() Adapter {
	return Adapter{Name: "atif", About: "Agent Trajectory Interchange Format (ATIF) 1.x",
		Keys: []string{"schema_version", "session_id", "agent", "steps", "final_metrics"},
		claim: func(r record) (level, string) {
			if strings.HasPrefix(text(r, "schema_version"), "ATIF-") {
				return certain, "schema_version " + text(r, "schema_version")
			}
			return foreign, ""
		}, read: readATIF}
}

func readATIF(s *Source, k *Sink) error {
	return s.values(func(n node) error {
		o := n.members()
		if !o["steps"].isArray() {
			if err := k.foreignRecord(n); err != nil {
				return err
			}
			return s.bad(n, "a trajectory without steps")
		}
		k.report.Version = strings.TrimPrefix(o.str("schema_version"), "ATIF-v")
		t := k.open("")
		t.Session, t.model = o.str("session_id"), o["agent"].get("model_name").str()
		for _, step := range o["steps"].items() {
			if err := readATIFStep(s, t, step); err != nil {
				return err
			}
		}
		return nil
	})
}

var atifSources = map[string]transcript.Role{"system": transcript.System, "user": transcript.User,
	"agent": transcript.Assistant}

func readATIFStep(s *Source, t *talk, step node) error {
	o := step.members()
	role, known := atifSources[o.str("source")]
	if !known {
		return s.bad(step, "unknown source %q; use system, user or agent", o.str("source"))
	}
	c := content{sink: t.sink}
	if !c.read(o["message"]) {
		return s.bad(o["message"], "message must be a text or a list of parts")
	}
	c.think(o.str("reasoning_content"))
	for _, call := range o["tool_calls"].items() {
		co := call.members()
		c.calls = append(c.calls, transcript.ToolCall{ID: co.str("tool_call_id"), Name: co.str("function_name"),
			Arguments: co["arguments"].text()})
	}
	m := c.message(role)
	m.Model, m.Time = o.str("model_name"), clock(o, "timestamp")
	if o["is_copied_context"].isTrue() {
		m.Origin = transcript.OriginSummary
	}
	t.add(m, step)
	for _, result := range o["observation"].get("results").items() {
		ro := result.members()
		rc := content{sink: t.sink}
		if !rc.read(ro["content"]) {
			rc.texts = append(rc.texts, ro["content"].text())
		}
		for _, ref := range ro["subagent_trajectory_ref"].items() {
			rc.texts = append(rc.texts, "[sub-agent "+ref.get("session_id").str()+"]")
		}
		answer := rc.message(transcript.Tool)
		answer.ToolCallID, answer.Time = ro.str("source_call_id"), m.Time
		answer.ExitCode = exitCode(answer.Content)
		t.add(answer, result)
	}
	return nil
}

func openHands() Adapter {
	return Adapter{Name: "openhands", About: "OpenHands events, V0 and V1",
		Keys: []string{"kind", "source", "action", "observation", "cause", "tool_call_id", "llm_message", "timestamp"},
		claim: func(r record) (level, string) {
			switch {
			case oneOf(text(r, "kind"), openHandsKinds):
				return certain, "events of kind " + text(r, "kind")
			case has(r, "cause", "observation", "source"), has(r, "action", "source", "args"):
				return certain, "events with source, action and cause"
			case has(r, "history") && has(r, "instance_id"):
				return likely, "an object with history"
			}
			return foreign, ""
		}, read: readOpenHands}
}

const openHandsKinds = "MessageEvent ActionEvent ObservationEvent AgentErrorEvent UserRejectObservation " +
	"SystemPromptEvent Condensation CondensationRequest CondensationSummaryEvent ConversationStateUpdateEvent " +
	"PauseEvent TokenEvent ConversationErrorEvent LLMCompletionLogEvent InterruptEvent"

func readOpenHands(s *Source, k *Sink) error {
	var loose *talk
	return s.values(func(n node) error {
		o := n.members()
		if history := o["history"]; history.isArray() {
			t := k.open("")
			t.Session = o.str("instance_id")
			for _, e := range history.items() {
				if err := readHandsEvent(t, e, e.members()); err != nil {
					return err
				}
			}
			return nil
		}
		if loose == nil {
			loose = k.open("")
		}
		return readHandsEvent(loose, n, o)
	})
}

func readHandsEvent(t *talk, n node, o object) error {
	k := t.sink
	var m transcript.Message
	switch kind := o.str("kind"); kind {
	case "":
		return readHandsV0(t, n, o)
	case "MessageEvent":
		message := o["llm_message"].members()
		c := content{sink: k}
		c.read(message["content"])
		c.think(message.str("reasoning_content"))
		role, _ := transcript.ParseRole(cmp(message.str("role"), o.str("source")))
		m = c.message(role)
	case "SystemPromptEvent":
		m = transcript.Message{Role: transcript.System, Content: o["system_prompt"].get("text").str()}
	case "ActionEvent":
		m = handsAction(k, o)
	case "ObservationEvent", "AgentErrorEvent", "UserRejectObservation":
		m = handsResult(k, o)
	default:
		if oneOf(kind, openHandsKinds) {
			k.skip(kind, 1)
			return nil
		}
		if err := k.foreignRecord(n); err != nil {
			return err
		}
		k.unknown(kind)
		m = unknownRecord(k, n)
	}
	m.ID, m.Time = o.str("id"), clock(o, "timestamp")
	t.add(m, n)
	return nil
}

// handsAction reads an action of V1: the thought, and the call with its arguments.
func handsAction(k *Sink, o object) transcript.Message {
	c := content{sink: k}
	c.read(o["thought"])
	c.think(o.str("reasoning_content"))
	call := o["tool_call"].members()
	arguments := call["arguments"].text()
	if arguments == "" {
		arguments = cmp(call["function"].get("arguments").text(), o["action"].text())
	}
	c.calls = []transcript.ToolCall{{ID: o.str("tool_call_id"), Name: o.str("tool_name"), Arguments: arguments}}
	return c.message(transcript.Assistant)
}

func handsResult(k *Sink, o object) transcript.Message {
	c := content{sink: k}
	observation := o["observation"].members()
	if body := observation.first("content", "output"); !c.read(body) {
		c.texts = append(c.texts, body.text())
	} else if observation.first("content", "output").absent() {
		c.texts = append(c.texts, o.first("error", "rejection_reason", "observation").text())
	}
	m := c.message(transcript.Tool)
	m.ToolCallID, m.Name = o.str("tool_call_id"), o.str("tool_name")
	m.IsError = o.str("kind") != "ObservationEvent" || observation["is_error"].isTrue()
	m.ExitCode = observation.first("exit_code", "metadata").integer()
	if m.ExitCode == nil {
		m.ExitCode = observation["metadata"].get("exit_code").integer()
	}
	return m
}

// readHandsV0 reads an event of V0. An observation names its action by cause.
func readHandsV0(t *talk, n node, o object) error {
	k := t.sink
	id := o.str("id")
	meta := o["tool_call_metadata"].members()
	m := transcript.Message{ID: id, Time: clock(o, "timestamp")}
	switch action, observation := o.str("action"), o.str("observation"); {
	case action == "message", action == "system":
		m.Role = map[string]transcript.Role{"user": transcript.User, "agent": transcript.Assistant}[o.str("source")]
		m.Content = cmp(o["args"].get("content").str(), o.str("message"))
		if m.Role == "" || action == "system" {
			m.Role = transcript.System
		}
	case oneOf(action, "change_agent_state recall null condensation"), observation == "agent_state_changed",
		observation == "null":
		k.skip(cmp(action, observation), 1)
		return nil
	case action != "":
		m.Role, m.Content = transcript.Assistant, o["args"].get("thought").str()
		m.ToolCalls = []transcript.ToolCall{{ID: cmp(meta.str("tool_call_id"), "event-"+id), Name: action,
			Arguments: o["args"].json()}}
	case observation != "":
		m.Role, m.Content = transcript.Tool, o["content"].text()
		m.ToolCallID = cmp(meta.str("tool_call_id"), "event-"+o.str("cause"))
		m.IsError = observation == "error"
		m.ExitCode = o["extras"].path("metadata", "exit_code").integer()
		if m.ExitCode == nil {
			m.ExitCode = o["extras"].get("exit_code").integer()
		}
		if o["cause"].absent() {
			k.skip("observation without a cause", 1)
			return nil
		}
	default:
		if err := k.foreignRecord(n); err != nil {
			return err
		}
		k.unknown("event")
		m = unknownRecord(k, n)
	}
	t.add(m, n)
	return nil
}
