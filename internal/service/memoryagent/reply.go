package memoryagent

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/memory"
	memories "cairn/internal/service/memory"
)

// Operations of a fact.
const (
	opAdd    = "add"
	opUpdate = "update"
	opDelete = "delete"
	opNone   = "none"
)

// Reasons why a fact is not stored.
const (
	UnknownHandle = "unknown_handle"
	NoEvidence    = "no_evidence"
	OtherSubject  = "other_subject"
	NoContent     = "no_content"
	Repeated      = "repeated" // another fact of the reply changes the same memory
)

// fact is one statement of a reply.
type fact struct {
	Op        string `json:"op"`
	Handle    string `json:"handle"`
	Content   string `json:"content"`
	Type      string `json:"type"`
	EventTime string `json:"event_time"`
	Evidence  []int  `json:"evidence"`
	About     string `json:"about"`
}

// reply is what the model returns.
type reply struct {
	Facts  []fact `json:"facts"`
	Digest string `json:"digest"`
}

// decode reads a reply. The error describes the problem to the model.
func decode(text string) (out reply, err error) {
	raw, err := llm.ExtractJSON(text)
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		return out, fmt.Errorf("the reply does not fit the schema: %w", err)
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil || members["facts"] == nil {
		return out, errors.New("the reply has no facts: return one JSON object with facts and digest")
	}
	for i, f := range out.Facts {
		if !slices.Contains([]string{opAdd, opUpdate, opDelete, opNone}, f.Op) {
			return out, fmt.Errorf("facts[%d].op is %q, must be add, update, delete or none", i, f.Op)
		}
	}
	return out, nil
}

// addHandle returns the handle of the memory at a place.
func addHandle(i int) string { return fmt.Sprintf("m%d", i+1) }

// plan is what a reply changes for one session.
type plan struct {
	changes memories.SessionChanges
	dropped map[string]int
	ops     []string // operation by index of its item
}

func (p *plan) drop(reason string) {
	if p.dropped == nil {
		p.dropped = map[string]int{}
	}
	p.dropped[reason]++
}

// plans assigns the facts of a reply to the sessions that they rest on. A fact that cannot be
// resolved is counted, never guessed.
func plans(b batch, known []memory.Entry, r reply) []plan {
	out := make([]plan, len(b.sessions))
	byHandle := map[string]memory.Entry{}
	for i, e := range known {
		byHandle[addHandle(i)] = e
	}
	changed := map[string]bool{}
	for _, f := range r.Facts {
		if f.Op == opNone {
			continue
		}
		at, evidence := placeOf(b, f.Evidence)
		p, s := &out[at], b.sessions[at]
		old, there := byHandle[strings.TrimSpace(f.Handle)]
		switch {
		case evidence == nil:
			p.drop(NoEvidence)
		case f.Op != opAdd && !there:
			p.drop(UnknownHandle)
		case !about(s, f.About):
			p.drop(OtherSubject)
		case f.Op != opDelete && strings.TrimSpace(f.Content) == "":
			p.drop(NoContent)
		case there && f.Op != opAdd && changed[old.ID]:
			p.drop(Repeated)
		default:
			if f.Op != opAdd {
				changed[old.ID] = true
			}
			p.take(s, f, old.ID, evidence)
		}
	}
	digests := digestsOf(r.Digest, len(b.sessions))
	for i := range out {
		out[i].changes.Messages = b.sessions[i].messages
		out[i].changes.Digest = digests[i]
		out[i].changes.Fallback = Fallback(b.sessions[i].messages)
	}
	return out
}

// take adds a fact to the changes of its session.
func (p *plan) take(s session, f fact, id string, evidence *memory.Evidence) {
	index, said := len(p.ops), saidAt(s, evidence)
	p.ops = append(p.ops, f.Op)
	when := memories.ParseEventTime(strings.TrimSpace(f.EventTime))
	if when == nil {
		when = said
	}
	c := &p.changes
	switch f.Op {
	case opAdd:
		c.Inserts = append(c.Inserts, memories.NewMemory{Index: index, Content: f.Content, EventTime: when,
			Evidence: evidence})
	case opUpdate:
		ends := when
		if ends == nil {
			now := time.Now().UTC()
			ends = &now
		}
		c.Updates = append(c.Updates, memories.ChangedMemory{Index: index, ID: id, Content: f.Content,
			EventTime: when, Ends: ends, Evidence: evidence})
	case opDelete:
		c.Deletes = append(c.Deletes, memories.DeleteRequest{Index: index, ID: id})
	}
}

// placeOf returns the session of the latest message that a fact rests on, and those of its messages.
// Without any, the evidence is nil.
func placeOf(b batch, indexes []int) (at int, evidence *memory.Evidence) {
	for i, s := range b.sessions {
		var from, to int
		found := false
		for _, index := range indexes {
			m, ok := s.said(index)
			if !ok {
				continue
			}
			if !found || m.Seq < from {
				from = m.Seq
			}
			if !found || m.Seq > to {
				to = m.Seq
			}
			found = true
		}
		if found {
			at, evidence = i, &memory.Evidence{Conversation: s.Run.Conversation, FromSeq: from, ToSeq: to}
		}
	}
	return at, evidence
}

// saidAt returns the time of the latest message of the evidence, nil if it has none.
func saidAt(s session, e *memory.Evidence) (latest *time.Time) {
	for _, m := range s.messages {
		if m.Seq >= e.FromSeq && m.Seq <= e.ToSeq && !m.Time.IsZero() && (latest == nil || m.Time.After(*latest)) {
			latest = &m.Time
		}
	}
	return latest
}

// selves are names by which models call the subject of a session.
var selves = []string{"", "user", "the user", "subject", "the subject", "self", "me", "i", "用户", "主体"}

// about reports whether a fact is about the subject of the session. The model writes the name, so that
// another spelling is the subject, unless another subject has it as its ID.
func about(s session, name string) bool {
	its, err := memory.NewTarget(s.Subject.Type, s.Subject.Target)
	if err != nil {
		return false
	}
	ids := memory.Spellings(name)
	name = strings.TrimSpace(name)
	switch {
	case slices.Contains(ids, its.Key):
		return true
	case slices.ContainsFunc(ids, func(id string) bool { return slices.Contains(s.alike, id) }):
		return false
	case slices.Contains(selves, strings.ToLower(name)) || strings.EqualFold(name, soleSpeaker(s)):
		return true
	}
	named, err := memory.NamedTarget(s.Subject.Type, name)
	return err == nil && named.MatchKey() != "" && named.MatchKey() == its.MatchKey()
}

// soleSpeaker returns the name of the user, if all messages of users have the same: the target of a session is
// often an ID that no message contains.
func soleSpeaker(s session) (name string) {
	for _, m := range s.messages {
		if !m.FromHuman() {
			continue
		}
		if m.Name == "" || name != "" && m.Name != name {
			return ""
		}
		name = m.Name
	}
	return name
}

// digestsOf divides a summary into one for each session: its lines, if there are as many. A summary
// of several sessions that is not divided is that of none.
func digestsOf(text string, n int) []string {
	out := make([]string, n)
	if n == 1 {
		out[0] = strings.TrimSpace(text)
		return out
	}
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	if len(lines) == n {
		copy(out, lines)
	}
	return out
}

// actors returns the actors of the writes of all sessions.
func actors(b batch) (out []agent.Actor) {
	for _, s := range b.sessions {
		out = append(out, s.Actor(step, 0))
	}
	return out
}
