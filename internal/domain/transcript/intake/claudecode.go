package intake

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"cairn/internal/domain/transcript"
)

func claudeCode() Adapter {
	return Adapter{Name: "claude-code", About: "Claude Code sessions (JSON lines), with sub-agents",
		Keys:  []string{"uuid", "parentUuid", "sessionId", "isSidechain", "cwd", "version", "message", "type"},
		claim: claimClaudeCode, read: readClaudeCode}
}

// sessionRecords are the kinds of records without messages.
const sessionRecords = "summary file-history-snapshot queue-operation progress last-prompt permission-mode mode " +
	"agent-name agent-setting agent-color pr-link saved_hook_context worktree-state tag content-replacement ai-title " +
	"custom-title bridge-session task-summary attribution-snapshot marble-origami-commit marble-origami-snapshot " +
	"speculation-accept"

func claimClaudeCode(r record) (level, string) {
	kind := text(r, "type")
	switch {
	case has(r, "uuid", "sessionId", "parentUuid"):
		return certain, "records with uuid, parentUuid and sessionId"
	case has(r, "uuid", "sessionId"):
		return likely, "records with uuid and sessionId"
	case oneOf(kind, sessionRecords) && !hasAny(r, "role", "content", "payload"):
		return possible, "records of type " + kind
	case kind != "" && has(r, "sessionId") && !has(r, "projectHash"):
		return possible, "records with sessionId"
	}
	return foreign, ""
}

// entry is a record of a session file.
type entry struct {
	uuid, parent, session string
	join                  string // ID of the reply that several records share
	thread                string // of a sub-agent
	side                  bool   // of a sub-agent
	messages              []transcript.Message
	taken                 bool
}

// session collects the records of a file.
type session struct {
	sink    *Sink
	entries []*entry
	byID    map[string]int
	titles  map[string]string // by session
}

func readClaudeCode(s *JSONSource, k *Sink) error {
	f := session{sink: k, byID: map[string]int{}, titles: map[string]string{}}
	if err := s.Values(f.read); err != nil {
		return err
	}
	f.divide()
	return nil
}

// read reads one record.
func (f *session) read(n JSONValue) error {
	if !n.IsObject() {
		return f.sink.source.Bad(n, "want an object a line")
	}
	o := n.Members()
	kind := o.Str("type")
	if version := o.Str("version"); version != "" {
		parts := strings.SplitN(version, ".", 3)
		f.sink.report.Version = strings.Join(parts[:min(len(parts), 2)], ".")
	}
	e := &entry{uuid: o.Str("uuid"), parent: o.Str("parentUuid"), session: o.Str("sessionId"),
		side: o["isSidechain"].IsTrue(), thread: o.Str("agentId")}
	switch {
	case kind == "user", kind == "assistant":
		if err := f.message(e, o, n); err != nil {
			return err
		}
	case kind == "system":
		if e.parent == "" {
			e.parent = o.Str("logicalParentUuid")
			if _, known := f.byID[e.parent]; e.parent != "" && !known {
				f.sink.warn("%s:%d: continues after %s, which is in another file", f.sink.source.Name,
					n.Line(), e.parent)
			}
		}
		f.sink.skip(compare(o.Str("subtype"), "system"), 1)
	case kind == "attachment":
		f.attachment(e, o["attachment"], clock(o, "timestamp"))
	case oneOf(kind, sessionRecords):
		f.sink.skip(kind, 1)
		if name := o.First("customTitle", "aiTitle", "title"); strings.HasSuffix(kind, "-title") && name.IsString() {
			f.titles[e.session] = name.Str()
		}
	default:
		if err := f.sink.foreignRecord(n); err != nil {
			return err
		}
		f.sink.unknown(kind)
		e.messages = []transcript.Message{unknownRecord(f.sink, n)}
	}
	f.keep(e)
	return nil
}

func (f *session) keep(e *entry) {
	if e.uuid == "" && len(e.messages) == 0 {
		return
	}
	if _, double := f.byID[e.uuid]; e.uuid != "" && double {
		f.sink.skip("repeated record", 1)
		return
	}
	if _, known := f.byID[e.parent]; !known && e.uuid != "" && len(f.entries) > 0 {
		f.adopt(e)
	}
	f.byID[e.uuid] = len(f.entries)
	f.entries = append(f.entries, e)
}

// adopt joins a record whose parent is missing to the record before it.
func (f *session) adopt(e *entry) {
	if e.parent == "" || e.side {
		return
	}
	for i := len(f.entries) - 1; i >= 0; i-- {
		if before := f.entries[i]; before.session == e.session && !before.side && before.uuid != "" {
			f.sink.warn("%s: the parent of record %s is missing; it follows the record before it", f.sink.source.Name,
				e.uuid)
			e.parent = before.uuid
			return
		}
	}
}

// unknownRecord keeps a record of an unknown kind as JSON text.
func unknownRecord(k *Sink, n JSONValue) transcript.Message {
	return transcript.Message{Role: transcript.System, Content: n.JSON(),
		Details: transcript.Details{Origin: transcript.OriginHarness, Place: k.place(n)}}
}

func compare(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func (f *session) message(e *entry, o JSONObject, n JSONValue) error {
	inner := o["message"]
	if !inner.IsObject() {
		return f.sink.source.Bad(n, "a record of type %s without message", o.Str("type"))
	}
	m := inner.Members()
	role, known := transcript.ParseRole(m.Str("role"))
	if !known {
		role, _ = transcript.ParseRole(o.Str("type"))
	}
	if o["isApiErrorMessage"].IsTrue() {
		f.sink.skip("API error", 1)
		return nil
	}
	if m.Str("model") == "<synthetic>" {
		f.sink.skip("synthetic reply", 1)
		return nil
	}
	if role == transcript.Assistant {
		e.join = m.Str("id")
	}
	b := blocks{sink: f.sink, origin: func(text string) transcript.Origin { return claudeOrigin(o, text) }}
	b.read(m["content"], role)
	for i, one := range b.messages {
		if i == 0 {
			one.ID = e.uuid
		}
		one.Time, one.Place = clock(o, "timestamp"), f.sink.place(n)
		if role == transcript.Assistant {
			one.Model = m.Str("model")
		}
		if one.Role == transcript.Tool {
			one.ExitCode = exitCode(one.Content)
		}
		if one.Origin == transcript.OriginHuman {
			one.Origin = ""
		}
		e.messages = append(e.messages, one)
	}
	return nil
}

// attachment keeps a text that the user sent while the agent worked.
func (f *session) attachment(e *entry, a JSONValue, at time.Time) {
	prompt := a.Get("prompt")
	if a.Get("type").Str() != "queued_command" || prompt.Absent() {
		f.sink.skip("attachment", 1)
		return
	}
	c := content{sink: f.sink}
	c.read(prompt)
	m := c.message(transcript.User)
	m.ID, m.Time, m.Place = e.uuid, at, f.sink.place(a)
	if mode := a.Get("commandMode").Str(); mode != "" && mode != "prompt" || claudeHarness.MatchString(m.Content) {
		m.Origin = transcript.OriginHarness
	}
	e.messages = []transcript.Message{m}
}

// claudeHarness matches texts that the program wrote in the name of the user.
var claudeHarness = regexp.MustCompile(`^\s*(<(command-name|command-message|command-args|local-command-[a-z]+|` +
	`bash-(input|stdout|stderr)|system-reminder|task-notification|user-memory-input|teammate-message)\b|` +
	`\[Request interrupted by user|Caveat: The messages below were generated by the user while running local)`)

func claudeOrigin(o JSONObject, text string) transcript.Origin {
	switch {
	case o["isCompactSummary"].IsTrue():
		return transcript.OriginSummary
	case o["isMeta"].IsTrue(), o["isSidechain"].IsTrue(), claudeHarness.MatchString(text):
		return transcript.OriginHarness
	}
	return transcript.OriginHuman
}

// exited matches the exit codes that tools of agents print.
var exited = regexp.MustCompile(`(?im)^(?:Error: )?(?:exit code:?|process exited with code) (-?\d{1,9})\b`)

// exitCode returns the exit code that a command's output states at its beginning.
func exitCode(output string) *int {
	found := exited.FindStringSubmatch(output[:min(len(output), 300)])
	if found == nil {
		return nil
	}
	code, err := strconv.Atoi(found[1])
	if err != nil {
		return nil
	}
	return &code
}
