package intake

import (
	"regexp"
	"strings"

	"cairn/internal/domain/transcript"
)

func codex() Adapter {
	return Adapter{Name: "codex", About: "Codex rollouts (JSON lines), old and new",
		Keys:  []string{"timestamp", "type", "payload", "record_type", "instructions", "call_id"},
		claim: claimCodex, read: readCodex}
}

const rolloutKinds = "session_meta turn_context response_item event_msg compacted world_state"

func claimCodex(r record) (level, string) {
	switch {
	case has(r, "timestamp", "payload") && oneOf(text(r, "type"), rolloutKinds):
		return certain, "records with timestamp, type and payload"
	case has(r, "timestamp", "payload", "type"):
		return possible, "records with timestamp, type and payload"
	case text(r, "record_type") == "state":
		return certain, "records of type state"
	case has(r, "id", "timestamp", "instructions") && !hasAny(r, "type", "role", "model"):
		return certain, "a header with id, timestamp and instructions"
	case oneOf(text(r, "type"), responseItems), text(r, "type") == "message" && list(r, "content") != nil:
		if found, _ := claimItem(r); found == likely {
			return possible, "response items"
		}
	}
	return foreign, ""
}

// rollout is a session file of Codex.
type rollout struct {
	sink  *Sink
	talk  *talk
	items items
	named bool // the first header was read; a fork repeats the headers of its parents
}

func readCodex(s *JSONSource, k *Sink) error {
	t := k.open("")
	r := rollout{sink: k, talk: t, items: items{talk: t, origin: codexOrigin, codes: map[string]int{}}}
	return s.Values(func(n JSONValue) error {
		if !n.IsObject() {
			return s.Bad(n, "want an object a line")
		}
		return r.read(n)
	})
}

func (r *rollout) read(n JSONValue) error {
	o := n.Members()
	payload := o["payload"]
	kind := o.Str("type")
	if !payload.IsObject() {
		switch {
		case o.Str("record_type") != "":
			r.sink.skip("record "+o.Str("record_type"), 1)
			return nil
		case kind == "" && o["role"].Absent() && !o["id"].Absent():
			r.header(o, n)
			return nil
		}
		return r.items.read(n, o)
	}
	r.items.time = o.Str("timestamp")
	p := payload.Members()
	switch kind {
	case "session_meta":
		r.header(p, payload)
	case "turn_context":
		if model := p.Str("model"); model != "" {
			r.items.model = model
		}
		r.sink.skip(kind, 1)
	case "response_item":
		return r.items.read(payload, p)
	case "compacted":
		return r.compacted(p, payload)
	case "event_msg":
		r.event(p)
	case "world_state":
		r.sink.skip(kind, 1)
	default:
		if err := r.sink.foreignRecord(n); err != nil {
			return err
		}
		r.sink.unknown(kind)
		r.items.put(unknownRecord(r.sink, n), n, o)
	}
	return nil
}

// header reads the first record of a session. Later headers are those of its parents.
func (r *rollout) header(o JSONObject, n JSONValue) {
	r.sink.skip("session_meta", 1)
	if r.named {
		return
	}
	r.named = true
	r.talk.Session = o.Str("id")
	if version := o.Str("cli_version"); version != "" {
		parts := strings.SplitN(version, ".", 3)
		r.sink.report.Version = strings.Join(parts[:min(len(parts), 2)], ".")
	}
	spawned := o.Path("source", "subagent", "thread_spawn", "parent_thread_id")
	for _, parent := range []JSONValue{o["parent_thread_id"], spawned, o["forked_from_id"]} {
		if r.talk.Parent == "" {
			r.talk.Parent = parent.Str()
		}
	}
	for _, text := range []JSONValue{o.Path("base_instructions", "text"), o["instructions"]} {
		if text.IsString() && text.Str() != "" {
			r.items.put(transcript.Message{Role: transcript.System, Content: text.Str(),
				Details: transcript.Details{Origin: transcript.OriginHarness}}, n, o)
		}
	}
}

// compacted reads a compaction. The messages before it are kept; what the replacement adds to them
// is a summary.
func (r *rollout) compacted(o JSONObject, n JSONValue) error {
	if text := o.Str("message"); text != "" {
		r.items.put(transcript.Message{Role: transcript.User, Content: text,
			Details: transcript.Details{Origin: transcript.OriginSummary}}, n, o)
	}
	known := map[string]bool{}
	for _, m := range r.talk.Messages {
		known[m.Content] = true
	}
	fresh := len(r.talk.Messages) == 0
	for _, item := range o["replacement_history"].Items() {
		io := item.Members()
		before := len(r.talk.Messages)
		if !fresh && io.Str("type") != "message" {
			r.sink.skip("repeated item", 1)
			continue
		}
		if err := r.items.read(item, io); err != nil {
			return err
		}
		if fresh {
			continue
		}
		kept := r.talk.Messages[:before]
		for _, m := range r.talk.Messages[before:] {
			if known[m.Content] {
				r.sink.skip("repeated item", 1)
				continue
			}
			if m.Role == transcript.User {
				m.Origin = transcript.OriginSummary
			}
			kept = append(kept, m)
		}
		r.talk.Messages = kept
		r.items.open = false
	}
	r.items.open = false
	return nil
}

// event reads an event. Events repeat items, but for rollbacks and exit codes.
func (r *rollout) event(o JSONObject) {
	kind := o.Str("type")
	switch kind {
	case "thread_rolled_back":
		if turns := o["num_turns"].Integer(); turns != nil {
			r.rollBack(*turns)
		}
	case "exec_command_end":
		if code := o["exit_code"].Integer(); code != nil {
			r.items.codes[o.Str("call_id")] = *code
			r.code(o.Str("call_id"), *code)
		}
	}
	r.sink.skip(compare(kind, "event"), 1)
}

// code sets the exit code of a result that was read before.
func (r *rollout) code(call string, code int) {
	for i := len(r.talk.Messages) - 1; i >= 0; i-- {
		if m := &r.talk.Messages[i]; m.Role == transcript.Tool && m.ToolCallID == call && call != "" {
			m.ExitCode = &code
			return
		}
	}
}

// rollBack removes the last turns, which the user took back.
func (r *rollout) rollBack(turns int) {
	ms := r.talk.Messages
	at := len(ms)
	for turns > 0 && at > 0 {
		at--
		if ms[at].FromHuman() {
			turns--
		}
	}
	r.sink.skip("message of rolled back turns", len(ms)-at)
	r.talk.Messages = ms[:at]
	r.items.open = false
}

// codexHarness matches texts that Codex wrote in the name of the user.
var codexHarness = regexp.MustCompile(`^\s*(<(environment_context|user_instructions|INSTRUCTIONS|turn_aborted|` +
	`user_shell_command|skill|skills_instructions|subagent_notification|permissions instructions|collaboration_mode|` +
	`apps_instructions|plugins_instructions|recommended_plugins)\b|# AGENTS\.md instructions)`)

func codexOrigin(text string) transcript.Origin {
	if codexHarness.MatchString(text) {
		return transcript.OriginHarness
	}
	return transcript.OriginHuman
}
