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
func readSWE(s *JSONSource, k *Sink) error {
	return s.Values(func(n JSONValue) error {
		o := n.Members()
		t := k.open("")
		t.Session = compare(o.Str("instance_id"), o.Str("environment"))
		t.model = o["info"].Path("config", "model", "model_name").Str()
		if steps := o["trajectory"]; steps.IsArray() {
			readSWESteps(t, o, steps)
			return nil
		}
		if !o["messages"].IsArray() {
			if err := k.foreignRecord(n); err != nil {
				return err
			}
			return s.Bad(n, "neither trajectory nor messages")
		}
		for _, m := range o["messages"].Items() {
			mo := m.Members()
			if mo.Str("role") == "exit" {
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
func readMini(s *JSONSource, t *talk, n JSONValue, o JSONObject) error {
	if err := readChatMessage(s, t, n, o); err != nil {
		return err
	}
	m := &t.Messages[len(t.Messages)-1]
	extra := o["extra"].Members()
	m.Time = clock(extra, "timestamp")
	if len(m.ToolCalls) == 0 {
		for _, action := range extra["actions"].Items() {
			a := action.Members()
			m.ToolCalls = append(m.ToolCalls, t.pairs.call(transcript.ToolCall{ID: a.Str("tool_call_id"), Name: "bash",
				Arguments: compare(a.Str("command"), action.Text())}))
		}
	}
	code := extra.First("returncode", "exit_code").Integer()
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
func readSWESteps(t *talk, o JSONObject, steps JSONValue) {
	for _, m := range o["history"].Items() {
		mo := m.Members()
		role, known := transcript.ParseRole(mo.Str("role"))
		if !known || role == transcript.Assistant {
			break
		}
		c := content{sink: t.sink}
		c.read(mo["content"])
		message := c.message(role)
		if mo["is_demo"].IsTrue() {
			message.Origin = transcript.OriginHarness
		}
		t.add(message, m)
	}
	if rest := o["history"].Count() - len(t.Messages); rest > 0 {
		t.sink.skip("history repeated by steps", rest)
	}
	for _, step := range steps.Items() {
		so := step.Members()
		m := transcript.Message{Role: transcript.Assistant, Content: strings.TrimSpace(so.Str("thought"))}
		if m.Content == "" && so.Str("action") == "" {
			m.Content = so.Str("response")
		}
		if action := strings.TrimSpace(so.Str("action")); action != "" {
			m.ToolCalls = []transcript.ToolCall{t.pairs.call(transcript.ToolCall{Name: "bash", Arguments: action})}
		}
		t.add(m, step)
		if observation := so["observation"]; !observation.Absent() && len(m.ToolCalls) > 0 {
			t.add(transcript.Message{Role: transcript.Tool, Name: "bash", Content: observation.Text(),
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

func readATIF(s *JSONSource, k *Sink) error {
	return s.Values(func(n JSONValue) error {
		o := n.Members()
		if !o["steps"].IsArray() {
			if err := k.foreignRecord(n); err != nil {
				return err
			}
			return s.Bad(n, "a trajectory without steps")
		}
		k.report.Version = strings.TrimPrefix(o.Str("schema_version"), "ATIF-v")
		t := k.open("")
		t.Session, t.model = o.Str("session_id"), o["agent"].Get("model_name").Str()
		for _, step := range o["steps"].Items() {
			if err := readATIFStep(s, t, step); err != nil {
				return err
			}
		}
		return nil
	})
}

var atifSources = map[string]transcript.Role{"system": transcript.System, "user": transcript.User,
	"agent": transcript.Assistant}

func readATIFStep(s *JSONSource, t *talk, step JSONValue) error {
	o := step.Members()
	role, known := atifSources[o.Str("source")]
	if !known {
		return s.Bad(step, "unknown source %q; use system, user or agent", o.Str("source"))
	}
	c := content{sink: t.sink}
	if !c.read(o["message"]) {
		return s.Bad(o["message"], "message must be a text or a list of parts")
	}
	c.think(o.Str("reasoning_content"))
	for _, call := range o["tool_calls"].Items() {
		co := call.Members()
		c.calls = append(c.calls, transcript.ToolCall{ID: co.Str("tool_call_id"), Name: co.Str("function_name"),
			Arguments: co["arguments"].Text()})
	}
	m := c.message(role)
	m.Model, m.Time = o.Str("model_name"), clock(o, "timestamp")
	if o["is_copied_context"].IsTrue() {
		m.Origin = transcript.OriginSummary
	}
	t.add(m, step)
	for _, result := range o["observation"].Get("results").Items() {
		ro := result.Members()
		rc := content{sink: t.sink}
		if !rc.read(ro["content"]) {
			rc.texts = append(rc.texts, ro["content"].Text())
		}
		for _, ref := range ro["subagent_trajectory_ref"].Items() {
			rc.texts = append(rc.texts, "[sub-agent "+ref.Get("session_id").Str()+"]")
		}
		answer := rc.message(transcript.Tool)
		answer.ToolCallID, answer.Time = ro.Str("source_call_id"), m.Time
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

func readOpenHands(s *JSONSource, k *Sink) error {
	var loose *talk
	return s.Values(func(n JSONValue) error {
		o := n.Members()
		if history := o["history"]; history.IsArray() {
			t := k.open("")
			t.Session = o.Str("instance_id")
			for _, e := range history.Items() {
				if err := readHandsEvent(t, e, e.Members()); err != nil {
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

func readHandsEvent(t *talk, n JSONValue, o JSONObject) error {
	k := t.sink
	var m transcript.Message
	switch kind := o.Str("kind"); kind {
	case "":
		return readHandsV0(t, n, o)
	case "MessageEvent":
		message := o["llm_message"].Members()
		c := content{sink: k}
		c.read(message["content"])
		c.think(message.Str("reasoning_content"))
		role, _ := transcript.ParseRole(compare(message.Str("role"), o.Str("source")))
		m = c.message(role)
	case "SystemPromptEvent":
		m = transcript.Message{Role: transcript.System, Content: o["system_prompt"].Get("text").Str()}
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
	m.ID, m.Time = o.Str("id"), clock(o, "timestamp")
	t.add(m, n)
	return nil
}

// handsAction reads an action of V1: the thought, and the call with its arguments.
func handsAction(k *Sink, o JSONObject) transcript.Message {
	c := content{sink: k}
	c.read(o["thought"])
	c.think(o.Str("reasoning_content"))
	call := o["tool_call"].Members()
	arguments := call["arguments"].Text()
	if arguments == "" {
		arguments = compare(call["function"].Get("arguments").Text(), o["action"].Text())
	}
	c.calls = []transcript.ToolCall{{ID: o.Str("tool_call_id"), Name: o.Str("tool_name"), Arguments: arguments}}
	return c.message(transcript.Assistant)
}

func handsResult(k *Sink, o JSONObject) transcript.Message {
	c := content{sink: k}
	observation := o["observation"].Members()
	if body := observation.First("content", "output"); !c.read(body) {
		c.texts = append(c.texts, body.Text())
	} else if observation.First("content", "output").Absent() {
		c.texts = append(c.texts, o.First("error", "rejection_reason", "observation").Text())
	}
	m := c.message(transcript.Tool)
	m.ToolCallID, m.Name = o.Str("tool_call_id"), o.Str("tool_name")
	m.IsError = o.Str("kind") != "ObservationEvent" || observation["is_error"].IsTrue()
	m.ExitCode = observation.First("exit_code", "metadata").Integer()
	if m.ExitCode == nil {
		m.ExitCode = observation["metadata"].Get("exit_code").Integer()
	}
	return m
}

// readHandsV0 reads an event of V0. An observation names its action by cause.
func readHandsV0(t *talk, n JSONValue, o JSONObject) error {
	k := t.sink
	id := o.Str("id")
	meta := o["tool_call_metadata"].Members()
	m := transcript.Message{ID: id, Time: clock(o, "timestamp")}
	switch action, observation := o.Str("action"), o.Str("observation"); {
	case action == "message", action == "system":
		m.Role = map[string]transcript.Role{"user": transcript.User, "agent": transcript.Assistant}[o.Str("source")]
		m.Content = compare(o["args"].Get("content").Str(), o.Str("message"))
		if m.Role == "" || action == "system" {
			m.Role = transcript.System
		}
	case oneOf(action, "change_agent_state recall null condensation"), observation == "agent_state_changed",
		observation == "null":
		k.skip(compare(action, observation), 1)
		return nil
	case action != "":
		m.Role, m.Content = transcript.Assistant, o["args"].Get("thought").Str()
		m.ToolCalls = []transcript.ToolCall{{ID: compare(meta.Str("tool_call_id"), "event-"+id), Name: action,
			Arguments: o["args"].JSON()}}
	case observation != "":
		m.Role, m.Content = transcript.Tool, o["content"].Text()
		m.ToolCallID = compare(meta.Str("tool_call_id"), "event-"+o.Str("cause"))
		m.IsError = observation == "error"
		m.ExitCode = o["extras"].Path("metadata", "exit_code").Integer()
		if m.ExitCode == nil {
			m.ExitCode = o["extras"].Get("exit_code").Integer()
		}
		if o["cause"].Absent() {
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
