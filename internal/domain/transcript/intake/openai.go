package intake

import (
	"math"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/transcript"
)

// Names of formats that other packages use.
const (
	OpenAIChat = "openai-chat"
	TauBench   = "tau-bench"
	PlainText  = "text"
)

func openAIChat() Adapter {
	return Adapter{Name: OpenAIChat, About: "OpenAI chat messages: an array, an object with messages, or JSON lines",
		Keys:  []string{"messages", "role", "content", "tool_calls", "tool_call_id", "name"},
		inner: true, claim: claimOpenAIChat, read: readChat}
}

func tauBench() Adapter {
	return Adapter{Name: TauBench, About: "τ-bench results with trajectories and rewards",
		Keys: []string{"traj", "task_id", "trial", "reward", "info"},
		claim: func(r record) (level, string) {
			if has(r, "traj") {
				return certain, "an object with traj"
			}
			return foreign, ""
		}, read: readChat}
}

// claimOpenAIChat accepts messages with roles. Calls in tool_calls make it likely.
func claimOpenAIChat(r record) (level, string) {
	if has(r, "messages") {
		if hasAny(r, "mapping", "trajectory_format", "response", "projectHash", "segments") {
			return foreign, ""
		}
		best, reason := possible, "an object with messages"
		for _, m := range objects(list(r, "messages")) {
			if found, why := claimChatMessage(m); found > best {
				best, reason = found, why
			}
		}
		return best, reason
	}
	return claimChatMessage(r)
}

func claimChatMessage(m record) (level, string) {
	if !has(m, "role") || hasAny(m, "parts", "uuid", "payload", "kind", "call_id") || m["type"] == "message" {
		return foreign, ""
	}
	for _, p := range objects(list(m, "content")) {
		if oneOf(text(p, "type"), "tool_use tool_result thinking redacted_thinking server_tool_use") {
			return foreign, ""
		}
	}
	switch {
	case list(m, "tool_calls") != nil, has(m, "tool_call_id"), has(m, "function_call"):
		return likely, "messages with tool_calls"
	default:
		return possible, "messages with a role and content"
	}
}

// readChat reads messages, and objects and arrays that hold them.
func readChat(s *Source, k *Sink) error {
	var loose *talk
	return s.records(func(n node) error {
		if !n.isArray() {
			return readChatValue(s, k, n, &loose)
		}
		for _, item := range n.items() {
			if err := readChatValue(s, k, item, &loose); err != nil {
				return err
			}
		}
		return nil
	})
}

// readChatValue reads one conversation, or one message of the loose conversation.
func readChatValue(s *Source, k *Sink, n node, loose **talk) error {
	if n.isArray() {
		if *loose != nil {
			return s.bad(n, "messages and conversations in one list")
		}
		return readChatList(s, k.open(""), n)
	}
	if !n.isObject() {
		return s.bad(n, `want an object with "role" or "messages"`)
	}
	o := n.members()
	messages := o.first("messages", "traj")
	switch {
	case !messages.absent():
		if *loose != nil {
			return s.bad(n, "messages and conversations in one list")
		}
		return readContainer(s, k, o, messages)
	case o["role"].absent():
		if err := k.foreignRecord(n); err != nil {
			return err
		}
		if len(o) == 0 || hasMember(o, "messages", "traj", "content") {
			return s.bad(n, "role is missing")
		}
		return s.bad(n, `no messages: the object has neither "messages" nor "traj" nor "role"`)
	case *loose == nil && len(k.all) > 0:
		return s.bad(n, "messages and conversations in one list")
	case *loose == nil:
		*loose = k.open("")
	}
	return readChatMessage(s, *loose, n, o)
}

func hasMember(o object, keys ...string) bool {
	for _, key := range keys {
		if _, ok := o[key]; ok {
			return true
		}
	}
	return false
}

func readContainer(s *Source, k *Sink, o object, messages node) error {
	if !messages.isArray() {
		return s.bad(messages, "messages must be an array")
	}
	t := k.open(taskTitle(o))
	t.model = o.str("model")
	t.Session = o.first("session_id", "conversation_id").str()
	if reward := o["reward"]; !reward.absent() {
		value, ok := reward.number()
		if !ok || math.Abs(value) > fault.MostNumber {
			return s.bad(reward, "reward must be a number between -%v and %v", float64(fault.MostNumber),
				float64(fault.MostNumber))
		}
		t.Reward = &value
	}
	return readChatList(s, t, messages)
}

func readChatList(s *Source, t *talk, messages node) error {
	for _, m := range messages.items() {
		if !m.isObject() {
			return s.bad(m, "not a chat message")
		}
		if err := readChatMessage(s, t, m, m.members()); err != nil {
			return err
		}
	}
	return nil
}

// readChatMessage reads one message of the OpenAI interface, with the names that other exports use
// for reasoning and time.
func readChatMessage(s *Source, t *talk, n node, o object) error {
	if o["role"].absent() {
		if err := t.sink.foreignRecord(n); err != nil {
			return err
		}
		return s.bad(n, "role is missing")
	}
	role, known := transcript.ParseRole(o.str("role"))
	if !known {
		return s.unknownRole(o["role"], o.str("role"))
	}
	c := content{sink: t.sink}
	if !c.read(o["content"]) || o["content"].isObject() {
		return s.bad(o["content"], "content must be a string, null or an array of parts")
	}
	for _, key := range []string{"reasoning_content", "reasoning", "thinking"} {
		if v := o[key]; v.isString() {
			c.think(v.str())
			break
		}
	}
	if refusal := o["refusal"]; refusal.isString() {
		c.texts = append(c.texts, refusal.str())
	}
	for _, call := range o["tool_calls"].items() {
		c.calls = append(c.calls, chatCall(call.members()))
	}
	if f := o["function_call"]; f.isObject() {
		c.calls = append(c.calls, chatCall(f.members()))
	}
	m := c.message(role)
	m.ID, m.Name, m.ToolCallID = o.str("id"), o.str("name"), o.str("tool_call_id")
	m.Model = o.str("model")
	m.IsError = role == transcript.Tool && (o["is_error"].isTrue() || o.str("status") == "error")
	m.Time = clock(o, "ts", "timestamp", "created_at")
	if first, taken := t.ids[m.ID]; m.ID != "" && taken {
		return s.bad(o["id"], "id %q is already used by message %d; use a unique id for each message, or leave it out",
			m.ID, first)
	}
	t.remember(m.ID)
	t.add(m, n)
	return nil
}

// chatCall reads {"id", "function": {"name", "arguments"}}, or the same without "function".
func chatCall(o object) transcript.ToolCall {
	id, f := o.str("id"), o
	for _, key := range []string{"function", "custom"} {
		if v := o[key]; v.isObject() {
			f = v.members()
		}
	}
	return transcript.ToolCall{ID: id, Name: f.str("name"), Arguments: f.first("arguments", "args", "input").text()}
}

func taskTitle(o object) string {
	task, trial := o.str("task_id"), o.str("trial")
	switch {
	case task == "":
		return o.str("title")
	case trial == "":
		return "task " + task
	default:
		return "task " + task + ", trial " + trial
	}
}
