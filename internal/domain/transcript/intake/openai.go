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
func readChat(s *JSONSource, k *Sink) error {
	var loose *talk
	return s.Records(func(n JSONValue) error {
		if !n.IsArray() {
			return readChatValue(s, k, n, &loose)
		}
		for _, item := range n.Items() {
			if err := readChatValue(s, k, item, &loose); err != nil {
				return err
			}
		}
		return nil
	})
}

// readChatValue reads one conversation, or one message of the loose conversation.
func readChatValue(s *JSONSource, k *Sink, n JSONValue, loose **talk) error {
	if n.IsArray() {
		if *loose != nil {
			return s.Bad(n, "messages and conversations in one list")
		}
		return readChatList(s, k.open(""), n)
	}
	if !n.IsObject() {
		return s.Bad(n, `want an object with "role" or "messages"`)
	}
	o := n.Members()
	messages := o.First("messages", "traj")
	switch {
	case !messages.Absent():
		if *loose != nil {
			return s.Bad(n, "messages and conversations in one list")
		}
		return readContainer(s, k, o, messages)
	case o["role"].Absent():
		if err := k.foreignRecord(n); err != nil {
			return err
		}
		if len(o) == 0 || hasMember(o, "messages", "traj", "content") {
			return s.Bad(n, "role is missing")
		}
		return s.Bad(n, `no messages: the object has neither "messages" nor "traj" nor "role"`)
	case *loose == nil && len(k.all) > 0:
		return s.Bad(n, "messages and conversations in one list")
	case *loose == nil:
		*loose = k.open("")
	}
	return readChatMessage(s, *loose, n, o)
}

func hasMember(o JSONObject, keys ...string) bool {
	for _, key := range keys {
		if _, ok := o[key]; ok {
			return true
		}
	}
	return false
}

func readContainer(s *JSONSource, k *Sink, o JSONObject, messages JSONValue) error {
	if !messages.IsArray() {
		return s.Bad(messages, "messages must be an array")
	}
	t := k.open(taskTitle(o))
	t.model = o.Str("model")
	t.Session = o.First("session_id", "conversation_id").Str()
	if reward := o["reward"]; !reward.Absent() {
		value, ok := reward.Number()
		if !ok || math.Abs(value) > fault.MaxNumber {
			return s.Bad(reward, "reward must be a number between -%v and %v", float64(fault.MaxNumber),
				float64(fault.MaxNumber))
		}
		t.Reward = &value
	}
	return readChatList(s, t, messages)
}

func readChatList(s *JSONSource, t *talk, messages JSONValue) error {
	for _, m := range messages.Items() {
		if !m.IsObject() {
			return s.Bad(m, "not a chat message")
		}
		if err := readChatMessage(s, t, m, m.Members()); err != nil {
			return err
		}
	}
	return nil
}

// readChatMessage reads one message of the OpenAI interface, with the names that other exports use
// for reasoning and time.
func readChatMessage(s *JSONSource, t *talk, n JSONValue, o JSONObject) error {
	if o["role"].Absent() {
		if err := t.sink.foreignRecord(n); err != nil {
			return err
		}
		return s.Bad(n, "role is missing")
	}
	role, known := transcript.ParseRole(o.Str("role"))
	if !known {
		return unknownRole(s, o["role"], o.Str("role"))
	}
	c := content{sink: t.sink}
	if !c.read(o["content"]) || o["content"].IsObject() {
		return s.Bad(o["content"], "content must be a string, null or an array of parts")
	}
	for _, key := range []string{"reasoning_content", "reasoning", "thinking"} {
		if v := o[key]; v.IsString() {
			c.think(v.Str())
			break
		}
	}
	if refusal := o["refusal"]; refusal.IsString() {
		c.texts = append(c.texts, refusal.Str())
	}
	for _, call := range o["tool_calls"].Items() {
		c.calls = append(c.calls, chatCall(call.Members()))
	}
	if f := o["function_call"]; f.IsObject() {
		c.calls = append(c.calls, chatCall(f.Members()))
	}
	m := c.message(role)
	m.ID, m.Name, m.ToolCallID = o.Str("id"), o.Str("name"), o.Str("tool_call_id")
	m.Model = o.Str("model")
	m.IsError = role == transcript.Tool && (o["is_error"].IsTrue() || o.Str("status") == "error")
	m.Time = clock(o, "ts", "timestamp", "created_at")
	if first, taken := t.ids[m.ID]; m.ID != "" && taken {
		return s.Bad(o["id"], "id %q is already used by message %d; use a unique id for each message, or leave it out",
			m.ID, first)
	}
	t.remember(m.ID)
	t.add(m, n)
	return nil
}

// chatCall reads {"id", "function": {"name", "arguments"}}, or the same without "function".
func chatCall(o JSONObject) transcript.ToolCall {
	id, f := o.Str("id"), o
	for _, key := range []string{"function", "custom"} {
		if v := o[key]; v.IsObject() {
			f = v.Members()
		}
	}
	return transcript.ToolCall{ID: id, Name: f.Str("name"), Arguments: f.First("arguments", "args", "input").Text()}
}

func taskTitle(o JSONObject) string {
	task, trial := o.Str("task_id"), o.Str("trial")
	switch {
	case task == "":
		return o.Str("title")
	case trial == "":
		return "task " + task
	default:
		return "task " + task + ", trial " + trial
	}
}
